"""The good and bad pages that queries are made from: a bounded number of them."""

from __future__ import annotations

from collections.abc import Iterator

from honeyguide.seeds.phrases import Reading
from honeyguide.types import Url

MOST = 1_000
"""Pages that are remembered."""
_GROWTH = 0.1
"""Phrases are weighed anew when so much of the good or the bad pages is new."""


class Memory:
    """Readings of pages. People's labels stay; of our own verdicts the oldest goes first, from the
    side that has more, so that a flood of bad pages does not wash away the good ones."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._kept: dict[tuple[bool, bool], dict[Url, Reading]] = {
            (person, good): {} for person in (False, True) for good in (False, True)
        }
        self._news = {True: 0.0, False: 0.0}
        """Weight of pages that came, went or changed sides since the last :meth:`settle` …"""
        self._then = {True: 0.0, False: 0.0}
        """… and of all pages at that time."""

    def add(self, page: Reading) -> None:
        """Remember a page; a second reading replaces the first, but our own verdict leaves a
        person's as it is. With weight 0 the page is forgotten."""
        if (old := self._pop(page.url)) and _by_person(old) and 0 < abs(page.weight) < 1:
            page = page._replace(weight=old.weight)
        if page.weight:
            self._kept[_by_person(page), page.weight > 0][page.url] = page
        if old is None or old.weight != page.weight:
            self._tell(old)
            self._tell(page)
        while len(self) > self._most:
            self._tell(self._drop())

    def side(self, good: bool) -> list[Reading]:
        """The good or the bad pages, people's first, then the oldest first."""
        return [*self._kept[True, good].values(), *self._kept[False, good].values()]

    def stale(self) -> bool:
        """Whether a tenth of the good or of the bad pages is new since the last :meth:`settle`."""
        return any(
            news > 1e-9 and news >= _GROWTH * self._then[good] - 1e-9
            for good, news in self._news.items()
        )

    def settle(self) -> None:
        """What is known now has been made use of."""
        self._news = {True: 0.0, False: 0.0}
        self._then = {good: sum(abs(p.weight) for p in self.side(good)) for good in (True, False)}

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __iter__(self) -> Iterator[Reading]:
        for pages in self._kept.values():
            yield from pages.values()

    def _pop(self, url: Url) -> Reading | None:
        for pages in self._kept.values():
            if url in pages:
                return pages.pop(url)
        return None

    def _drop(self) -> Reading:
        own = [self._kept[False, True], self._kept[False, False]]
        people = [self._kept[True, True], self._kept[True, False]]
        fullest = max(own if any(own) else people, key=len)
        return fullest.pop(next(iter(fullest)))

    def _tell(self, page: Reading | None) -> None:
        if page is not None and page.weight:
            self._news[page.weight > 0] += abs(page.weight)


def _by_person(page: Reading) -> bool:
    return abs(page.weight) >= 1
