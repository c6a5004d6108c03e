"""How a crawl stands: counted while it runs, told when it ends."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple, Self

from honeyguide.config import Settings
from honeyguide.learning.coverage import Estimate
from honeyguide.store.counts import Counts
from honeyguide.types import Url, Visit

_SOON_S = 5.0


@dataclass(frozen=True, slots=True)
class Progress:
    """What a display shows while the ring turns."""

    visits: int
    pages: int
    relevant: int
    failures: int
    waiting: int
    busy: int
    sites: int
    generation: int
    now: Url | None
    """The newest address under way."""
    next_at: float | None = None
    """When the next host is ready, if links wait."""
    doing: str = ""
    """What goes on, where it is not visits."""
    stopping: bool = False
    last_failure: str = ""
    foreign: dict[str, int] = field(default_factory=dict)
    """Pages in languages that are not wanted, by language."""
    asked: int = 0
    """Requests to a search engine in this run …"""
    unanswered: str = ""
    """… and why the last ones were not answered; '': the last one was …"""
    ask_at: float | None = None
    """… when it is asked again; None: not in this run."""

    @property
    def harvest(self) -> float:
        return self.relevant / self.visits if self.visits else 0.0


Observer = Callable[[Progress], None]


class Exchanged(NamedTuple):
    """What the shards of a crawl told each other."""

    letters: int
    bytes: int
    links: int


@dataclass(frozen=True, slots=True)
class Report:
    """How a run ended."""

    progress: Progress
    reason: str
    seconds: float
    next_at: float | None = None
    """When hosts that rest will be ready again, if links still wait."""
    failed: str = ""
    """Not a single page was fetched: the last failures, in words."""
    warnings: tuple[str, ...] = ()
    estimate: Estimate = field(default_factory=Estimate)
    """How much of the topic is found."""
    exchanged: Exchanged | None = None
    """None: there was one ring only."""


@dataclass
class Tally:
    """The counts of a collection, kept up to date visit by visit."""

    threshold: float
    visits: int = 0
    pages: int = 0
    relevant: int = 0
    failures: int = 0
    tongues: Counter[str] = field(default_factory=Counter)
    """Pages by the language that was heard."""
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=3))
    _failing: set[Url] = field(default_factory=set)
    """Links that failed and will be tried again, as long as no page was seen."""

    @classmethod
    def of(cls, counts: Counts, threshold: float) -> Self:
        return cls(
            threshold,
            counts.visits,
            counts.pages,
            counts.relevant,
            sum(counts.failures.values()),
            Counter(counts.tongues),
        )

    def count(self, visit: Visit) -> bool:
        """Count it; whether it was relevant."""
        relevant = visit.verdict is not None and visit.verdict.score >= self.threshold
        self.visits += visit.asked
        self.pages += visit.page is not None
        self.relevant += relevant
        if visit.page is not None and visit.page.tongue:
            self.tongues[visit.page.tongue] += 1
        if self.pages:
            self._failing.clear()
        elif visit.failure is not None and not visit.failure.final:
            self._failing.add(visit.link.url)
        else:
            self._failing.discard(visit.link.url)
        if visit.failure is not None:
            self.failures += 1
            self._last.append(f"{visit.link.url}: {visit.failure.kind} {visit.failure.detail}")
        return relevant

    def patience(self, waiting: int, settings: Settings) -> float:
        """How long to wait for a host: a crawl whose seeds are all out of reach says so soon."""
        hopeless = not self.pages and self._failing and waiting <= len(self._failing)
        return _SOON_S if hopeless else settings.crawl.patience_s

    def trouble(self) -> str:
        """The last failures, if nothing but failures was seen; else ''."""
        return "; ".join(self._last) if self.failures and not self.pages else ""

    def foreign(self, wanted: tuple[str, ...]) -> dict[str, int]:
        return others(self.tongues, wanted)

    def last_failure(self) -> str:
        return self._last[-1] if self._last else ""


def others(tongues: Mapping[str, int], wanted: Collection[str]) -> dict[str, int]:
    """Pages in other languages than these, the most first; none where every language will do."""
    if not wanted:
        return {}
    found = sorted(tongues.items(), key=lambda item: -item[1])
    return {code: pages for code, pages in found if code not in wanted}


def money(amount: float) -> str:
    """What something costs. Half a cent is rounded up, also where its binary form lies below."""
    return f"{Decimal(repr(round(amount, 9))).quantize(Decimal('0.01'), ROUND_HALF_UP)}"


def span(seconds: float) -> str:
    """A while, in words."""
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
