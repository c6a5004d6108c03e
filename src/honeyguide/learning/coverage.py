"""How much of a topic is found, and how much is left in reach.

A focused crawl is no random sample: it takes the promising links first, and what many pages link
to. So no one estimator can be believed, and two are asked that see different things:

- the **queue**: the recent harvest times the links that wait. Links that wait are no better than
  those just taken, which makes it too large; pages that no visited page links to are not in it,
  which makes it too small.
- the **recapture**: visited pages that link to a page are the occasions on which it was captured.
  Chao (1984), bias-corrected: as many relevant pages were never captured as
  ``f1 (f1 - 1) / (2 (f2 + 1))``, with f1 and f2 the found ones that one and two pages linked to.
  We count links until the visit, not after it, so a page that is taken at once is seen once: the
  estimate is no longer a lower bound, and knows nothing of the order in which links are taken.

Their geometric mean is the estimate, and both of them, with two standard deviations of a count,
its range, which is no confidence interval: it held the truth in two looks of three
(docs/reference/stop.md, beside what was tried instead).
New hosts are told by Good (1953): as often as relevant hosts gave just one relevant page.

Where a search engine is asked as well, there is a third: the **channels**. Links and searches are
two catches of the same pages, and what both caught tells how many there are: Chapman (1951). A page
that is easy to find by links is often easy to find by words, too, so that both catch it more often
than by chance, and the estimate is too low; and it knows of nothing but what is relevant to them.
For the recapture only pages that link count, not the engine's pages of results; where no link led
to a relevant page, as where only the engine is asked, the queue alone is asked.
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
"""Visits that are recent."""
_LAST_VISITS = 100
"""Visits that tell the chance of the next."""
_MIN_RELEVANT = 10
"""Relevant pages, and recent visits times ten, without which nothing can be told."""
_MIN_BOTH = 5
"""Pages that links and searches must both have found, for what they say together to be told."""
_MASK = (1 << _WINDOW) - 1


@dataclass(frozen=True, slots=True)
class ChannelEstimate:
    """Relevant pages that links found, that searches found, and both."""

    links: int
    search: int
    both: int
    total: float
    """How many there are, if either way finds a page whether or not the other does: mostly too
    few, since what is easy to find is easy to find in both."""
    error: float
    """The standard error of that."""

    @property
    def is_reliable(self) -> bool:
        """Whether enough is known for the two numbers to mean something."""
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
    """How a topic stands. Numbers of pages are those that the strategy calls relevant."""

    found: int = 0
    total: float = 0.0
    """Relevant pages in reach, found ones included."""
    low: float = 0.0
    high: float = 0.0
    """Where the total should lie."""
    covered: float = 0.0
    """Found ÷ total; 0 as long as too little is known."""
    recent: float = 0.0
    """Harvest rate of the last 200 visits."""
    trend: float = 0.0
    """How much that rate changes in 100 visits."""
    falling: float = 0.5
    """How sure it is that it falls: 0..1, 0.5 if nobody can tell."""
    chance: float = 0.5
    """That the next visit is relevant."""
    new_host: float = 1.0
    """The chance that the next relevant page is on a host that gave none yet."""
    why: str = ""
    channels: ChannelEstimate | None = None
    """What links and searches say together; None: nobody searched."""

    @property
    def remaining(self) -> float:
        return self.total - self.found


class Coverage:
    """Told every visit; a few sums, and one bit for each of the recent ones."""

    def __init__(self) -> None:
        self.visits = 0
        self.relevant = 0
        self._once = 0
        self._twice = 0
        """Relevant pages that one page, and two pages, had linked to when they were visited."""
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
        """One visit to that host, of a link that stood on so many pages."""
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
        """What is left in reach, when so many links wait."""
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
        """Everything but the hosts, to be kept beside the visits."""
        sums = (self.visits, self.relevant, self._once, self._twice, self._lonely)
        return json.dumps([*sums, f"{self._recent:x}"])

    @classmethod
    def from_record(cls, record: str, hosts: Mapping[str, int]) -> Self | None:
        """What a record tells, with the relevant pages of each host; None if it is not ours."""
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
    """The change of the rate from one visit to the next, by least squares, and how sure its
    fall is: a normal tail, which 0s and 1s come near enough to."""
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
