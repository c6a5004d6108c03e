"""What came of the links that stand beside a link.

A list is often of one kind, and so is a stretch of a longer page: a paragraph, a row of a table,
the end of an article. Siblings of a whole page are told by the ledger; here the nearest count most.
What came of a link is spread over its neighbours on every page that it stands on, as far as these
are remembered; whether they were met before it was followed or after makes no difference.

A page is met far more often than one of its links is followed: where on it a link stands is looked
for only then.
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
"""Places after which a neighbour counts 1/e as much."""
_ROW = 300
"""Links of a page that are looked at: the first."""
_PLACES = 8
"""Places in which a link stands that are looked at."""
_PAGES = 3_000
_LINKS = 50_000
"""Pages, and links that were followed, that are remembered; the oldest are forgotten first."""
_CHARACTERS = 30_000_000
"""Of the addresses on these pages together."""
_LONG = 500
"""Characters of an address that is remembered."""
_WEIGHTS = np.exp(-np.abs(np.arange(-_REACH, _REACH + 1)) / _FADE)
_WEIGHTS[_REACH] = 0.0
_NEAREST = sorted(range(2 * _REACH + 1), key=lambda at: abs(at - _REACH))[1:]
"""Places around a link, the nearest first, …"""
_nearest = itemgetter(*_NEAREST)
_COUNTS = _WEIGHTS[_NEAREST].tolist()
"""… and what each counts for."""
_EDGE = [Url("")] * _REACH
"""Stands before and after a page's links, so that every link has neighbours."""


def visit_yield(visit: Visit) -> float:
    """What came of a link: a page's verdict. A copy is nothing new, and no page is nothing."""
    if visit.verdict is None or visit.duplicate is not None:
        return 0.0
    return as_chance(visit.verdict.score)


class NeighbourLinks:
    """Told of every page's links in their order, and of what came of each that was followed.

    ``given``: what is known beforehand. ``waiting``: the links to tell of it.
    """

    def __init__(self, judged: JudgedPages, waiting: Mapping[Url, WaitingLinkStats]) -> None:
        self._judged = judged
        self._waiting = waiting
        self._rows: OrderedDict[Url, list[Url]] = OrderedDict()
        self._size = 0
        """Characters of the addresses in them."""
        self._outcomes: OrderedDict[Url, complex] = OrderedDict()
        """That something is known of a link, and what: 1 + value·i, so that both are spread over
        its neighbours at once."""

    def __contains__(self, source: Url) -> bool:
        """Whether it is known what stands where on that page."""
        return source in self._rows

    def record_row(
        self, source: Url, row: Sequence[Url], waiting: Mapping[Url, WaitingLinkStats]
    ) -> None:
        """These addresses stand on a page, in this order; those that wait are told what came of
        those beside them that do not."""
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
        """This came of a link, which waits no longer: those that wait and know more now."""
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
