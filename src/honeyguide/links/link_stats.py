"""Statistics of one waiting link, pages that people judged, and yields of neighbouring links.

The yield of a link to a judged page is known before it is followed, and a judged page counts like
any visited page for the links on it. No page is fetched for that, and no link is followed only
because it stands on such a page.

A list often contains links of one kind, and so does a stretch of a longer page: a paragraph, a row
of a table. links/history.py treats all links of a page alike; here the nearest count most. The
yield of a link is spread over its neighbours on every stored page with it, whether these were found
before or after it was followed.

Pages are found far more often than one of their links is followed: the place of a link on its pages
is searched only then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, Self

import numpy as np

from honeyguide.types import Example, Link, LinkStats, Page, Url, Visit

_MAX_PAGE_LINKS = 300
"""Links of a page that are read."""
_MAX_LINKS = 50_000
"""Links that are stored."""
_MAX_URL_LENGTH = 500
"""Longest address that is stored."""
NO_JUDGED_LINKS = 0.0, 0
"""Of a link that no judged page contains."""


class JudgedPages:
    """Judged pages by address, and the links on those whose links are known."""

    def __init__(
        self, values: Mapping[Url, float] | None = None, pages: Iterable[Page] = ()
    ) -> None:
        self.values = {
            name: as_chance(value)
            for url, value in (values or {}).items()
            for name in _slash_variants(url)
        }
        """Address → value by people."""
        self.named: dict[Url, tuple[float, int]] = {}
        """Link → sum of the values of the judged pages with it, and their number."""
        self._read: set[Url] = set()
        for page in pages:
            self.add_page(page)

    @classmethod
    def from_examples(cls, examples: Sequence[Example], labels: dict[Url, float]) -> Self:
        """From example pages and labels of addresses; the best value over all topics counts."""
        values: dict[Url, float] = {}
        for example in examples:
            url = example.page.url
            values[url] = max(values.get(url, 0.0), example.target)
        return cls(values | labels, (example.page for example in examples))

    def __bool__(self) -> bool:
        return bool(self.values)

    def __contains__(self, url: Url) -> bool:
        return url in self.values

    def has_read(self, url: Url) -> bool:
        """Whether its links are counted."""
        return url in self._read

    def add_page(self, page: Page) -> None:
        """Count the links of a judged page, once."""
        value = self.values.get(page.url)
        if value is None or page.url in self._read:
            return
        self._read.add(page.url)
        for url in {link.url: None for link in page.links[:_MAX_PAGE_LINKS]}:
            if len(url) <= _MAX_URL_LENGTH and (url in self.named or len(self.named) < _MAX_LINKS):
                good, count = self.named.get(url, NO_JUDGED_LINKS)
                self.named[url] = good + value, count + 1


def _slash_variants(url: str) -> tuple[Url, Url]:
    """The address with and without a slash at its end: one redirects to the other."""
    bare = url.rstrip("/")
    return Url(bare), Url(f"{bare}/")


def as_chance(value: Any) -> float:
    """A score between 0 and 1; 0 for anything else, since a store may come from a stranger."""
    return float(value) if isinstance(value, int | float) and 0 <= value <= 1 else 0.0


# --- Waiting links ---


NEIGHBOUR_PRIOR: float = LinkStats._field_defaults["beside"]
"""Expected yield of a link without known neighbours, with the weight of one adjacent neighbour."""


class WaitingLinkStats:
    """Statistics of one waiting link."""

    __slots__ = (
        "barren", "best", "count", "former", "good", "known", "places", "relevant", "sources",
        "total",
    )  # fmt: skip

    def __init__(self, barren: int = 0) -> None:
        self.sources: tuple[Url, ...] = ()
        """Pages that it stands on, at most a few."""
        self.count = 0
        self.total = 0.0
        """Sum of the verdicts of all its pages."""
        self.best = 0.0
        self.relevant = 0
        self.barren = barren
        """Fewest steps since a relevant page."""
        self.good = 0.0
        """Weighted yield of its neighbours, the nearest counting most."""
        self.known = 0.0
        """Sum of the weights of these neighbours."""
        self.places: tuple[Link, ...] = ()
        """The link as it stands on each of its pages, for strategies that use its words."""
        self.former: tuple[Url, ...] = ()
        """Its former addresses, if these redirected."""

    def neighbour_mean(self) -> float:
        """Mean yield of its neighbours."""
        return (self.good + NEIGHBOUR_PRIOR) / (self.known + 1)


_UNSEEN_VERDICT = 0.2
"""Verdict of the unseen page that is added to the pages of a link."""


def parent_mean(total: float, count: float) -> float:
    """Mean verdict of ``count`` pages with this sum, and one unseen page."""
    return (total + _UNSEEN_VERDICT) / (count + 1)


# --- Neighbouring links ---

_REACH = 8
"""Places to either side within which a link is a neighbour."""
_FADE = 3.0
"""Places after which the weight is 1/e."""
_ROW = 300
"""First links of a page that are stored."""
_PLACES = 8
"""Places of a link that are looked at."""
_PAGES = 3_000
_FOLLOWED_LINKS = 50_000
"""Pages, and followed links, that are stored; the oldest are dropped first."""
_CHARACTERS = 30_000_000
"""Characters of all stored addresses."""
_WEIGHTS = np.exp(-np.abs(np.arange(-_REACH, _REACH + 1)) / _FADE)
_WEIGHTS[_REACH] = 0.0
_NEAREST = sorted(range(2 * _REACH + 1), key=lambda at: abs(at - _REACH))[1:]
"""Places around a link, the nearest first."""
_nearest = itemgetter(*_NEAREST)
_COUNTS = _WEIGHTS[_NEAREST].tolist()
"""Weights of these places."""
_EDGE = [Url("")] * _REACH
"""Padding before and after the links of a page, so that every link has neighbours."""


def visit_yield(visit: Visit) -> float:
    """The yield of a link: the verdict of its page; 0 for a copy or without a page."""
    if visit.verdict is None or visit.duplicate is not None:
        return 0.0
    return as_chance(visit.verdict.score)


class NeighbourLinks:
    """The order of the links on pages, and the yields of those that were followed.

    ``judged``: yields that are known beforehand. ``waiting``: the statistics to update.
    """

    def __init__(self, judged: JudgedPages, waiting: Mapping[Url, WaitingLinkStats]) -> None:
        self._judged = judged
        self._waiting = waiting
        self._rows: OrderedDict[Url, list[Url]] = OrderedDict()
        self._size = 0
        """Characters of all addresses in the rows."""
        self._outcomes: OrderedDict[Url, complex] = OrderedDict()
        """Link → 1 + yield·i, so that weight and yield are spread over the neighbours at once."""

    def __contains__(self, source: Url) -> bool:
        """Whether the links of that page are known."""
        return source in self._rows

    def record_row(
        self, source: Url, row: Sequence[Url], waiting: Mapping[Url, WaitingLinkStats]
    ) -> None:
        """Store the links of a page in their order; waiting ones get the yields of followed
        neighbours."""
        row = row[:_ROW]
        if max(map(len, row), default=0) > _MAX_URL_LENGTH:
            row = [url if len(url) <= _MAX_URL_LENGTH else Url("") for url in row]
        self._size -= sum(map(len, self._rows.pop(source, ())))
        self._rows[source] = [*_EDGE, *row, *_EDGE]
        self._size += sum(map(len, row))
        while len(self._rows) > _PAGES or self._size > _CHARACTERS:
            _, old = self._rows.popitem(last=False)
            self._size -= sum(map(len, old))
        came, judged = self._outcomes, self._judged.values
        outcomes = [came.get(url, 0j) for url in row]
        if judged:
            outcomes = [
                complex(1.0, judged[url]) if url in judged else one
                for url, one in zip(row, outcomes, strict=True)
            ]
        if any(outcomes):
            spread: list[complex] = np.convolve(outcomes, _WEIGHTS)[
                _REACH : len(row) + _REACH
            ].tolist()
            for url, share in zip(row, spread, strict=True):
                if share and (stats := waiting.get(url)) is not None:
                    stats.known += share.real
                    stats.good += share.imag

    def record_outcome(self, url: Url, stats: WaitingLinkStats | None, value: float) -> list[Url]:
        """Record what a followed link yielded; returns waiting neighbours with new statistics."""
        if len(url) > _MAX_URL_LENGTH or url in self._judged:
            return []  # its neighbours know already
        self._outcomes.pop(url, None)
        self._outcomes[url] = complex(1.0, value)
        if len(self._outcomes) > _FOLLOWED_LINKS:
            self._outcomes.popitem(last=False)
        changed: dict[Url, None] = {}
        waiting = self._waiting.get
        for row, at in islice(self._find_places(url, stats), _PLACES) if stats is not None else ():
            around = _nearest(row[at - _REACH : at + _REACH + 1])
            for name, count in zip(around, _COUNTS, strict=True):
                if (neighbour := waiting(name)) is not None:
                    neighbour.good += count * value
                    neighbour.known += count
                    changed[name] = None
        return list(changed)

    def _find_places(self, url: Url, stats: WaitingLinkStats) -> Iterator[tuple[list[Url], int]]:
        for source in dict.fromkeys(stats.sources):
            row = self._rows.get(source, [])
            for name in (url, *stats.former):
                at = -1
                for _ in range(row.count(name)):
                    at = row.index(name, at + 1)
                    yield row, at
