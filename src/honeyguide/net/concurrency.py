"""How many fetches at once: a limit that follows response times, losses, lag and memory.

Meegahapola et al. swept N (threads that crawl) by hand, and the best belongs to the machine it was
found on. This finds it while the work goes on.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections import OrderedDict
from math import sqrt
from pathlib import Path
from typing import NamedTuple

_MAX_LAG_S = 0.25
"""With a longer lag of the event loop, fewer fetches may be under way."""
_MAX_MEMORY_SHARE = 0.92
"""Share of the machine's memory that may be in use."""
_MAX_HOSTS = 4_096
"""Hosts whose usual response time is remembered."""
_SPARE_FILES = 384
"""Open files that are not fetches: idle connections, databases, logs."""
_LATENCY_GAIN = 0.05
"""How fast a host's usual response time follows."""
_AGE_S = 600.0
"""In so long a host's best response time is allowed to double."""
_LIMIT_GAIN = 0.2
"""How fast the limit follows."""


def affordable_fetches(most: int = 1_024) -> int:
    """So many fetches at once, as far as the system lets us open sockets for them."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if soft == resource.RLIM_INFINITY else max(16, min(most, soft - _SPARE_FILES))


class _HostLatency(NamedTuple):
    usual: float
    """Its response time on average …"""
    least: float
    """… and at its best, lately."""
    at: float
    """When it last answered."""


class FetchConcurrency:
    """N, by the gradient of response times (the form of Netflix's Gradient2).

    L ← clip(tolerance · usual ÷ present, ½, 1) · L + √L, smoothed. The usual time is each host's
    own: a slow host that follows a fast one is not congestion. While fewer than half of the limit
    are under way it does not bind, and nothing is learned about it.

    The gradient alone is late when it is we who are busy: response times rise from the first
    answer on, and so does what is usual. Hence Little's law above it, as in Cardwell et al.'s BBR
    (2016): at the best rate seen, rate · best response time are under way without anybody waiting,
    and the limit is at most ``gain`` times that. It starts high, since a fetch costs little memory.
    Before the first answer it grows by as many again every few hundredths of a second, since there
    is nothing else to do; from then on not until the rate is known.

    Response times of one host that differ much by themselves look like congestion. If the standard
    deviation of their logarithm is 1, the defaults hold the limit near 50 of 1,000; a tolerance of
    3 and a gain of 10 leave it high enough for 300 answers a second.

    Where :meth:`watch_load` runs, the limit also falls by a third twice a second while the event
    loop lags or the machine's memory is nearly used up, and then grows by half again.
    """

    WINDOW_S = 0.05
    FADE = 0.98
    PACE_S = 0.03

    def __init__(
        self,
        most: int = 1_024,
        *,
        start: int = 256,
        least: int = 4,
        tolerance: float = 1.5,
        gain: float = 3.0,
        steady: bool = False,
    ) -> None:
        """``steady``: always the most, as in simulated time, where a crawl must repeat itself."""
        self.most = max(1, most)
        self._least = min(max(1, least), self.most)
        self._steady = steady
        if steady:
            start = self._least = self.most
        self._exact = float(min(max(start, self._least), self.most))
        self._start = self._exact
        self._grows = 0.0
        self._tolerance = tolerance
        self._gain = gain
        self._ceiling = self.most
        """What lag and memory allow."""
        self._hosts: OrderedDict[str, _HostLatency] = OrderedDict()
        self._latency = 0.0
        """Best response times of the hosts that answer now."""
        self._rate = 0.0
        """The best rate seen in a window; it fades."""
        self._window = 0.0
        self._answers = 0
        self._since = 0
        """Outcomes since the limit was last halved."""

    @property
    def limit(self) -> int:
        return min(int(self._exact), self._ceiling)

    def grows_at(self, now: float) -> float | None:
        """Asked while the limit binds: when to ask again; None: only answers will tell."""
        if self._hosts or self._exact >= self.most:
            return None
        if self._grows and now >= self._grows:
            self._set_limit(self._exact + self._start)
        if not self._grows or now >= self._grows:
            self._grows = now + self.PACE_S
        return self._grows

    def record_answer(self, host: str, elapsed: float, under_way: int, now: float) -> None:
        """An answer came after so many seconds, while so many were asked for, it included."""
        if self._steady:
            return
        self._since += 1
        elapsed = min(max(elapsed, 1e-6), 3600.0) if elapsed == elapsed else 3600.0
        known = self._hosts.pop(host, None) or _HostLatency(elapsed, elapsed, now)
        self._hosts[host] = _update_latency(known, elapsed, now)
        if len(self._hosts) > _MAX_HOSTS:
            self._hosts.popitem(last=False)
        best = self._hosts[host].least
        self._latency += _LATENCY_GAIN * (best - self._latency) if self._latency else best
        if 2 * under_way < self._exact:
            self._answers = 0
            return
        self._count_answer(now)
        gradient = min(1.0, max(0.5, self._tolerance * known.usual / elapsed))
        wanted = gradient * self._exact + sqrt(self._exact)
        limit = self._exact + _LIMIT_GAIN * (wanted - self._exact)
        most = self._gain * self._rate * self._latency if self._rate else self._exact
        self._set_limit(min(limit, most))

    def _count_answer(self, now: float) -> None:
        """How many answers come in a second."""
        if not self._answers:
            self._window = now
        elif now - self._window >= self.WINDOW_S:
            self._rate = max(self._rate * self.FADE, self._answers / (now - self._window))
            self._answers, self._window = 0, now
        self._answers += 1

    def record_loss(self, host: str, kind: str) -> None:
        """A fetch failed. A timeout says something of us only if the host used to answer; a plain
        "fetch" error, that no socket was to be had.

        What is under way now may be lost for the same reason: it is halved once for all of it.
        """
        self._since += 1
        ours = kind == "fetch" or (kind == "timeout" and host in self._hosts)
        if ours and self._since > self._exact:
            self.halve()

    def halve(self) -> None:
        """No more sockets or memory to be had."""
        self._since = 0
        self._set_limit(self._exact / 2)

    async def watch_load(self, pause_s: float = 0.5) -> None:
        """Runs beside the fetches until cancelled."""
        while not self._steady:
            before = time.monotonic()
            await asyncio.sleep(pause_s)
            self.adapt_to_load(time.monotonic() - before - pause_s, memory_used())

    def adapt_to_load(self, lag_s: float, memory: float) -> None:
        """The event loop lagged so long, and this share of the machine's memory is in use."""
        if lag_s > _MAX_LAG_S or memory > _MAX_MEMORY_SHARE:
            self._ceiling = max(1, self.limit * 2 // 3)
        else:
            self._ceiling = min(self.most, self._ceiling + max(1, self._ceiling // 2))

    def _set_limit(self, limit: float) -> None:
        self._exact = min(float(self.most), max(float(self._least), limit))


def _update_latency(host: _HostLatency, elapsed: float, now: float) -> _HostLatency:
    usual = host.usual + _LATENCY_GAIN * (elapsed - host.usual)
    if elapsed < usual / 2:
        usual *= 0.95  # a host that recovered is not held to its bad days
    # Its best is believed for minutes: all that it shows while we are busy is our own queue.
    aged = host.least * (1 + min(max(0.0, now - host.at), _AGE_S) / _AGE_S)
    return _HostLatency(usual, min(elapsed, aged), now)


def memory_used() -> float:
    """Share of the machine's memory in use; 0 where the system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    facts = {line.split(":")[0]: int(line.split()[1]) for line in lines[:5]}
    total = facts.get("MemTotal", 0)
    return 1 - facts["MemAvailable"] / total if total and "MemAvailable" in facts else 0.0
