"""How much of a topic is found, and how much is left in reach.

A focused crawl is no random sample: promising links go first. No single estimator is reliable, so
two with different errors are combined:

- the **queue**: the recent harvest times the waiting links. Too large, since waiting links are
  worse than those just taken; too small, since pages without a known link are missing.
- the **recapture**: visited pages that link to a page are its captures. Chao (1984),
  bias-corrected: ``f1 (f1 - 1) / (2 (f2 + 1))`` relevant pages were never captured, f1 and f2 being
  found ones that one and two pages linked to. Links are counted until the visit only, so a page
  taken at once is captured once: the estimate is no lower bound, and ignores the order of links.

Their geometric mean is the estimate. Both of them, with two standard deviations of a count, are its
range, which is no confidence interval: it contained the truth in two of three cases
(docs/reference/stop.md, with alternatives that were tried). New hosts are estimated by Good (1953):
as often as relevant hosts gave just one relevant page.

With a search engine there is a third one: the **channels**. Links and searches are two catches of
the same pages (Chapman 1951). A page that is easy to find by links is often easy to find by words,
so the estimate is too low. For the recapture only pages that link count, not result pages of the
engine; if no link led to a relevant page, the queue alone is used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import erf, sqrt
from typing import Self

from honeyguide.types import Visit
from honeyguide.url import host_of

_WINDOW = 200
"""Recent visits."""
_LAST_VISITS = 100
"""Visits from which the chance of the next is estimated."""
_MIN_RELEVANT = 10
"""Relevant pages, and recent visits times ten, that an estimate needs."""
_MIN_BOTH = 5
"""Pages found by links and by searches that their comparison needs."""
_MASK = (1 << _WINDOW) - 1


@dataclass(frozen=True, slots=True)
class ChannelEstimate:
    """Relevant pages found by links, by searches, and by both."""

    links: int
    search: int
    both: int
    total: float
    """All relevant pages, if both ways were independent: mostly too few, since what is easy to find
    is easy to find for both."""
    error: float
    """Standard error of the total."""

    @property
    def is_reliable(self) -> bool:
        """Whether the estimate is meaningful."""
        return self.both >= _MIN_BOTH and self.error >= 0.5


def estimate_channels(links: int, search: int, both: int) -> ChannelEstimate:
    """Chapman's estimate (1951), and its variance after Seber (1970)."""
    both = min(both, links, search)
    total = (links + 1) * (search + 1) / (both + 1) - 1
    spread = (links + 1) * (search + 1) * (links - both) * (search - both)
    error = sqrt(spread / ((both + 1) ** 2 * (both + 2)))
    return ChannelEstimate(links, search, both, total, error)


@dataclass(frozen=True, slots=True)
class CoverageEstimate:
    """How much of a topic was found. Relevant is what the strategy calls so."""

    found: int = 0
    total: float = 0.0
    """Relevant pages in reach, found ones included."""
    low: float = 0.0
    high: float = 0.0
    """Range of the total."""
    covered: float = 0.0
    """Found ÷ total; 0 while too little is known."""
    recent: float = 0.0
    """Harvest rate of the last 200 visits."""
    trend: float = 0.0
    """Change of that rate in 100 visits."""
    falling: float = 0.5
    """Probability that it falls: 0..1, 0.5 if unknown."""
    chance: float = 0.5
    """Probability that the next visit is relevant."""
    new_host: float = 1.0
    """Probability that the next relevant page is on a new host."""
    why: str = ""
    channels: ChannelEstimate | None = None
    """Estimate from links and searches together; None without searches."""

    @property
    def remaining(self) -> float:
        return self.total - self.found


class Coverage:
    """Counts visits: a few sums, and one bit for each recent visit."""

    def __init__(self) -> None:
        self.visits = 0
        self.relevant = 0
        self._once = 0
        self._twice = 0
        """Relevant pages that one page, and two pages, linked to when they were visited."""
        self._recent = 0
        """The newest visit is the lowest bit; 1: relevant."""
        self._hosts: Counter[str] = Counter()
        self._lonely = 0
        """Hosts with one relevant page."""

    def add_visit(self, visit: Visit, relevant: bool) -> None:
        if not visit.was_requested:
            return
        link, host = visit.link, host_of(visit.link.url) if relevant else ""
        self.add_outcome(relevant, host, link.channel, link.inlinks)

    def add_outcome(self, relevant: bool, name: str, channel: str, inlinks: int) -> None:
        """Count one visit of a link that stood on so many pages."""
        self.visits += 1
        self._recent = (self._recent << 1 | relevant) & _MASK
        if not relevant:
            return
        self.relevant += 1
        # A seed, a redirect or a sitemap's entry was captured by no page; of those that a search
        # found, the engine's page counts as one that links, and is none.
        if channel in ("link", "search"):
            linked = inlinks - (channel == "search")
            self._once += linked == 1
            self._twice += linked == 2
        pages = self._hosts[name] = self._hosts[name] + 1
        self._lonely += 1 if pages == 1 else -1 if pages == 2 else 0

    def estimate(self, waiting: int) -> CoverageEstimate:
        """The estimate when so many links wait."""
        size, hits = min(self.visits, _WINDOW), self._recent.bit_count()
        last = min(self.visits, _LAST_VISITS)
        recent = hits / size if size else 0.0
        queue = recent * waiting
        unseen = self._once * (self._once - 1) / (2 * (self._twice + 1))
        # Where links led to none, as where only an engine is asked, they tell nothing.
        linked = self._once + self._twice > 0
        if not linked:
            unseen = queue
        left = sqrt((queue + 1) * (unseen + 1)) - 1
        found, total = self.relevant, self.relevant + left
        less, more = sorted((queue, unseen))
        known = found >= _MIN_RELEVANT and size >= 10 * _MIN_RELEVANT
        trend, falling = _harvest_slope(self._recent, size)
        return CoverageEstimate(
            found=found,
            total=total,
            low=found + max(0.0, less - 2 * sqrt(less)),
            high=found + more + 2 * sqrt(more + 1),
            covered=found / total if known else 0.0,
            recent=recent,
            trend=100 * trend,
            falling=falling,
            chance=((self._recent & ((1 << last) - 1)).bit_count() + 0.5) / (last + 1),
            new_host=self._lonely / found if found else 1.0,
            why=self._explain(hits, size, waiting) if known else "too little is known yet",
        )

    def _explain(self, hits: int, size: int, waiting: int) -> str:
        """What the estimate is made of, in words."""
        links = "how many pages link to the relevant ones allows no estimate here"
        if self._once + self._twice:
            links = (
                f"{self._once} of the {self.relevant} relevant pages had one visited page that "
                f"linked to them, {self._twice} had two"
            )
        return f"{hits} of the last {size} visits were relevant and {waiting} links wait; {links}"

    def to_record(self) -> str:
        """Everything but the hosts, to be stored with the visits."""
        sums = (self.visits, self.relevant, self._once, self._twice, self._lonely)
        return json.dumps([*sums, f"{self._recent:x}"])

    @classmethod
    def from_record(cls, record: str, hosts: Mapping[str, int]) -> Self | None:
        """From a record and the relevant pages of each host; None if the record is invalid."""
        made = cls()
        try:
            *sums, recent = json.loads(record)
            made.visits, made.relevant, made._once, made._twice, made._lonely = map(int, sums)
            made._recent = int(recent, 16) & _MASK
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        numbers = (made.visits, made.relevant, made._once, made._twice, made._lonely)
        if min(numbers) < 0 or made.visits >= 1 << 53 or made.relevant > made.visits:
            return None
        if max(made._once + made._twice, made._lonely) > made.relevant:
            return None
        made._recent &= (1 << min(made.visits, _WINDOW)) - 1
        made._hosts.update({name: pages for name, pages in hosts.items() if pages})
        return made


def _harvest_slope(recent: int, size: int) -> tuple[float, float]:
    """Change of the rate from one visit to the next by least squares, and the probability that it
    falls, by a normal tail."""
    if size < 3:
        return 0.0, 0.5
    hits = [at for at, bit in enumerate(reversed(f"{recent:b}")) if bit == "1"]
    middle, rate = (size - 1) / 2, len(hits) / size
    spread = size * (size * size - 1) / 12
    slope = sum(middle - at for at in hits) / spread  # the newest is at 0
    rest = size * rate * (1 - rate) - slope * slope * spread
    if rest <= 1e-9:
        return slope, 0.5 if abs(slope) < 1e-12 else float(slope < 0)
    error = sqrt(rest / (size - 2) / spread)
    return slope, (1 + erf(-slope / error / sqrt(2))) / 2
