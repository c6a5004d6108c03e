"""Yields of the links that stand next to a link.

A list often contains links of one kind, and so does a stretch of a longer page: a paragraph, a row
of a table. links/history.py treats all links of a page alike; here the nearest count most. The
yield of a link is spread over its neighbours on every stored page with it, whether these were found
before or after it was followed.

Pages are found far more often than one of their links is followed: the place of a link on its pages
is searched only then.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter

import numpy as np

from honeyguide.links.link_stats import JudgedPages, WaitingLinkStats, as_chance
from honeyguide.types import Url, Visit

_REACH = 8
"""Places to either side within which a link is a neighbour."""
_FADE = 3.0
"""Places after which the weight is 1/e."""
_ROW = 300
"""First links of a page that are stored."""
_PLACES = 8
"""Places of a link that are looked at."""
_PAGES = 3_000
_LINKS = 50_000
"""Pages, and followed links, that are stored; the oldest are dropped first."""
_CHARACTERS = 30_000_000
"""Characters of all stored addresses."""
_LONG = 500
"""Longest address that is stored."""
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
        if max(map(len, row), default=0) > _LONG:
            row = [url if len(url) <= _LONG else Url("") for url in row]
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
        """Record the yield of a followed link; returns waiting neighbours whose statistics changed."""
        if len(url) > _LONG or url in self._judged:
            return []  # its neighbours know already
        self._outcomes.pop(url, None)
        self._outcomes[url] = complex(1.0, value)
        if len(self._outcomes) > _LINKS:
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
