"""What is known of a query: how it was asked and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from honeyguide.seeds.query import Query, fold
from honeyguide.types import Url

By = Literal["user", "composed"]

GAMMA = 0.99
"""What a reward counts one pull later: what was found long ago says less of what is left."""
_AHEAD = 0.2
"""What the rank of a result that is not fetched yet counts beside a verdict …"""
_UNFETCHED = 10
"""… and how many of them count."""
_DEPTH = 0.5
"""What a page of results says of the novelty of the next but one."""
_DEEPEST = 50
"""Pages of results of one query."""
_OLD_NEWS = 0.1
"""A page of results with less of new addresses brings nothing."""
_FEW = 5
"""Fewer results than these are all that there are."""
_ENDED = ("no results", "no more results", "few results")
"""Why a query is stopped whose results came to their end."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A query that was asked, or that a person wants asked."""

    query: Query
    by: By
    pages: int
    """Pages of results that were answered."""
    urls: int
    """Results on them …"""
    fresh: int
    """… of which nobody knew."""
    fetched: int
    """Results that were fetched and judged."""
    mean: float
    """The mean verdict expected of its results, 0..1."""
    stopped: str
    """Why it is not asked any more; '' if it may be."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A query that was not answered yet."""

    query: Query
    expected: float | None
    """The mean verdict expected of its results, 0..1; None: nothing is known yet."""
    pages: tuple[Url, ...]
    """Good pages that it was made from."""
    why: str


@dataclass(slots=True)
class Tally:
    """The running account of one query. Rewards fade with every pull of any query."""

    query: Query
    by: By
    terms: frozenset[str]
    page: int = 1
    """The page of results to ask for next."""
    pages: int = 0
    urls: int = 0
    fresh: int = 0
    fetched: int = 0
    stopped: str = ""
    retry_at: int = 0
    """After a failure of the engine: not before this pull, if there is another query to ask."""
    failures: int = 0
    """In a row."""
    first: float = 1.0
    """How much of its first page was new …"""
    size: int = 0
    """… and how many results that had."""
    good: float = 0.0
    """Σ φ, faded …"""
    poor: float = 0.0
    """… Σ (1 - φ) …"""
    at: int = 0
    """… as of this pull."""
    seen: float = 0.0
    new: float = 0.0
    unfetched: int = 0
    promise: float = 0.0
    """Mean rank of the results that are not fetched yet."""
    weak: int = 0
    """Pages in a row that brought nothing."""

    def answer(self, page: int, urls: int, fresh: int, promised: float) -> None:
        """A page of results came."""
        urls = max(0, urls)
        fresh = min(max(0, fresh), urls)
        self.failures, self.retry_at = 0, 0
        if not self.pages:
            self.first, self.size = fresh / urls if urls else 0.0, urls
        self.pages, self.page = self.pages + 1, max(self.page, page + 1)
        self.urls, self.fresh = self.urls + urls, self.fresh + fresh
        self.seen, self.new = _DEPTH * self.seen + urls, _DEPTH * self.new + fresh
        if fresh and isfinite(promised):
            both = self.unfetched + fresh
            promised = min(1.0, max(0.0, promised))
            self.promise = (self.promise * self.unfetched + promised * fresh) / both
            self.unfetched = both

    def judge(
        self, urls: int, fresh: int, promised: float, median: float, usual: float, more: bool
    ) -> None:
        """Whether to go on after that page. A page of fewer than five results, or of less than
        half the ``usual`` number, is the last one; after one without anything new, the next has
        hardly more."""
        known = fresh < _OLD_NEWS * urls
        self.weak = self.weak + 1 if known or promised < median else 0
        if not urls:
            self.stopped = "no results" if self.pages == 1 else "no more results"
        elif not more:
            self.stopped = "no more results"
        elif urls < max(_FEW, usual / 2):
            self.stopped = "few results"
        elif fresh <= 0:
            self.stopped = "a page without anything new"
        elif self.weak >= 2:
            what = "hardly anything new" if known else "less promising than what waits"
            self.stopped = f"two pages in a row: {what}"
        elif self.page > _DEEPEST:
            self.stopped = f"{_DEEPEST} pages of results"

    def reopen(self) -> None:
        """It may be asked again: for its next page, or the first where there were no more."""
        if self.stopped in _ENDED:
            self.page = 1
        self.stopped, self.weak = "", 0

    def bring(self, now: int, verdict: float) -> None:
        """A result was fetched and judged."""
        verdict = min(1.0, max(0.0, verdict)) if isfinite(verdict) else 0.0
        faded = GAMMA ** (now - self.at)
        self.good, self.poor = self.good * faded + verdict, self.poor * faded + 1 - verdict
        self.at = now
        self.fetched, self.unfetched = self.fetched + 1, max(0, self.unfetched - 1)

    def counts(self, now: int) -> tuple[float, float]:
        """Σ φ and Σ (1 - φ): verdicts, and for what is not fetched yet what was promised."""
        faded, ahead = GAMMA ** (now - self.at), _AHEAD * min(self.unfetched, _UNFETCHED)
        return (
            self.good * faded + ahead * self.promise,
            self.poor * faded + ahead * (1 - self.promise),
        )

    def mean(self, now: int) -> float:
        """The mean of Beta(1 + Σ φ, 1 + Σ (1 - φ))."""
        good, poor = self.counts(now)
        return (1 + good) / (2 + good + poor)

    def novelty(self) -> float:
        """How much of the next page will be new."""
        return (1 + self.new) / (1 + self.seen)


def terms_of(query: Query) -> frozenset[str]:
    return frozenset(map(fold, query.terms))
