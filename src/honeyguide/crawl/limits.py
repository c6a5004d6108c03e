"""How much at once, how much of one domain, and when it is enough."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from honeyguide.net.retry import blames_host

_MAX_LAG_S = 0.25
"""The loop should come round at least this often."""
_MAX_MEMORY_SHARE = 0.92
"""Share of the machine's memory that may be in use."""


class CrawlConcurrency:
    """How many visits may be under way: grows by half, falls by a third when short of it.

    Short of breath means that the event loop comes round late (too much work per turn) or that
    the machine's memory is nearly used up.
    """

    def __init__(self, most: int, pause_s: float = 0.5, steady: bool = False) -> None:
        """``steady``: always the most, as in a lab that must repeat itself."""
        self.limit = most if steady else min(most, 8)
        self._steady = steady
        self._most = most
        self._pause_s = pause_s

    async def watch_load(self) -> None:
        """Runs beside the ring until cancelled."""
        while not self._steady:
            before = time.monotonic()
            await asyncio.sleep(self._pause_s)
            self.adapt(time.monotonic() - before - self._pause_s, memory_used())

    def adapt(self, lag_s: float, memory: float) -> None:
        if lag_s > _MAX_LAG_S or memory > _MAX_MEMORY_SHARE:
            self.limit = max(1, self.limit * 2 // 3)
        else:
            self.limit = min(self._most, self.limit + max(1, self.limit // 2))


def memory_used() -> float:
    """Share of the machine's memory in use; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    facts = {line.split(":")[0]: int(line.split()[1]) for line in lines[:5]}
    total = facts.get("MemTotal", 0)
    return 1 - facts["MemAvailable"] / total if total and "MemAvailable" in facts else 0.0


class DomainQuota:
    """How many visits a registrable domain gets: a base, and more for every relevant page.

    An endless calendar gives no relevant page and ends at the base; a rich archive never ends.
    """

    def __init__(self, base: int, bonus: int = 20) -> None:
        self._base = base
        self._bonus = bonus
        self._visits: Counter[str] = Counter()
        self._relevant: Counter[str] = Counter()

    def count_visits(self, domain: str, visits: int = 1, relevant: int = 0) -> None:
        if visits:
            self._visits[domain] += visits
        if relevant:
            self._relevant[domain] += relevant

    def domain_count(self) -> int:
        """How many domains were visited."""
        return len(self._visits)

    def is_spent(self, domain: str) -> bool:
        if not self._base:
            return False
        return self._visits[domain] >= self._base + self._bonus * self._relevant[domain]


class FailureStreaks:
    """Consecutive failures per host, forgotten with the first success."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def record_failure(self, host: str, kind: str | int) -> int:
        """The streak after such a failure; one that is not the host's fault does not count."""
        if blames_host(kind):
            self._count[host] += 1
        return self._count.get(host, 0)

    def record_status(self, host: str, status: int) -> int:
        """The streak after an answer: trouble counts, anything else ends it."""
        if blames_host(status):
            return self.record_failure(host, status)
        self._count.pop(host, None)
        return 0


class StopConditions:
    """The reasons to stop that the user chose: pages, hours, the topic, a full disk, or Ctrl-C."""

    def __init__(
        self,
        *,
        pages: int,
        hours: float,
        free_mb: Callable[[], float],
        min_free_mb: float,
        clock: Callable[[], float] = time.monotonic,
        exhausted: Callable[[], str] = str,
    ) -> None:
        """``exhausted`` says why nothing more is to be found, or ''."""
        self._pages = pages
        self._clock = clock
        self._until = clock() + hours * 3600 if hours else float("inf")
        self._free_mb = free_mb
        self._min_free_mb = min_free_mb
        self._exhausted = exhausted
        self._looked = float("-inf")
        self.asked = False
        """Set by a signal handler: finish what is under way."""

    def keeps_waiting(self, _why: str) -> bool:
        """There is nothing to do, and why: a ring that is alone does not wait for more."""
        return False

    def has_room(self, visits: int) -> bool:
        """May another visit start, when so many were made or are under way?"""
        return not self._pages or visits < self._pages

    def stop_reason(self, visits: int) -> str:
        """Why to stop now, in words; '' to go on."""
        if self.asked:
            return "you asked for it"
        if self._pages and visits >= self._pages:
            noun = "visit" if self._pages == 1 else "visits"
            return f"the budget of {self._pages} {noun} is used up (crawl.pages)"
        now = self._clock()
        if now >= self._until:
            return "the time is up (crawl.hours)"
        if reason := self._exhausted():
            return reason
        if now - self._looked > 5:
            self._looked = now
            free = self._free_mb()
            if free < self._min_free_mb:
                return (
                    f"the disk has only {free:.0f} MB left (store.min_free_mb = "
                    f"{self._min_free_mb:.0f}); make room and run crawl again"
                )
        return ""
