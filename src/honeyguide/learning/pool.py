"""The examples that a strategy learns from, with the caps that keep self-training from drifting.

The caps are ours (Iliou et al. 2017 have none): with each lesson a strategy may believe as many
more of its own verdicts as people gave examples, never more than ten times as many, and they are
thinned until neither kind of page outnumbers the other more than three times. Strategies that say
how many they believe get the surest ones (surest.py); the others the newest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from honeyguide.learning.self_training import PAGES, surest
from honeyguide.types import Example, Page, Url
from honeyguide.url import domain, host

TEXT = 20_000
"""Characters of a page that are remembered."""
BACKGROUND = 300
"""Visits remembered for a strategy that does not learn from every visit."""
VISITS = 3_000
_BASIS = 20
"""Without people's examples, self-training may begin with so many."""
_TIMES = 10
_JUDGED = 2_000
_HEADINGS = 20
_DOMAINS = 10
_LEAST = 2
"""Own verdicts on one registrable domain: a tenth of all, and two in any case, also where there
is no other. A single site must not be able to teach what the topic is."""
_RATIO = 3
LINKS = 100


class Pool:
    """One example per page: a person's word replaces the strategy's own, never the other way."""

    def __init__(self, visits: bool = False) -> None:
        self._most = VISITS if visits else BACKGROUND
        self._links = LINKS if visits else 0
        self._labelled: dict[Url, Example] = {}
        self._judged: dict[Url, Example] = {}
        self._visits: dict[Url, Example] = {}
        self._learned = 0
        """Of its own verdicts, those in the last lesson."""
        self._seen = 0
        """Pages that went by."""
        self._believed: dict[Url, Example] = {}
        """Of its own verdicts, those that were chosen as the surest."""

    def add(self, example: Example) -> None:
        url = example.page.url
        if example.by in ("seed", "user"):
            self._labelled[url] = small(example, self._links)
            self._judged.pop(url, None)
            self._believed.pop(url, None)
        elif example.by == "judge":
            if url not in self._labelled:
                self._judged.pop(url, None)  # the newest last
                self._judged[url] = small(example, self._links)
                if len(self._judged) > _JUDGED:
                    del self._judged[next(iter(self._judged))]
        else:
            self._seen += 1
            self._visits.pop(url, None)
            self._visits[url] = small(example, self._links)
            if len(self._visits) > self._most:
                del self._visits[next(iter(self._visits))]

    def labelled(self) -> list[Example]:
        """People's examples."""
        return list(self._labelled.values())

    def visits(self) -> list[Example]:
        """Visits that nobody labelled."""
        return [e for url, e in self._visits.items() if url not in self._labelled]

    def judged(self, labelled: list[Example]) -> list[Example]:
        """The strategy's own, as many as the caps allow beside these; the newest go first."""
        basis = len(labelled) or _BASIS
        room = min(_TIMES * basis, self._learned + basis)
        chosen = _spread(list(self._judged.values()), room)
        good = sum(e.target >= 0.5 for e in labelled)
        bad = len(labelled) - good
        return list(_balanced(chosen, good, bad))

    def surest(
        self, labelled: list[Example], score: Callable[[Page], float], good: int
    ) -> list[Example]:
        """The strategy's own of which it is surest now: ``good`` good ones in fourteen pages."""
        most = _TIMES * (len(labelled) or _BASIS)
        believed = list(self._believed.values())
        allowed = good * (self._seen // PAGES)
        judged = list(self._judged.values())
        chosen = surest(judged, believed, labelled, score, allowed, most)
        goods = sum(e.target >= 0.5 for e in labelled)
        return list(_balanced(chosen, goods, len(labelled) - goods))

    def learned(self, judged: int) -> None:
        self._learned = judged

    def believe(self, judged: Iterable[Example]) -> None:
        """These stay, until a person speaks."""
        self._believed = {e.page.url: e for e in judged}


def _spread(judged: list[Example], room: int) -> list[Example]:
    """The newest, but few of any one domain; in the order in which they came."""
    places = [domain(host(e.page.url)) for e in judged]
    most = max(_LEAST, room // _DOMAINS)
    seen: Counter[str] = Counter()
    kept: list[Example] = []
    for place, example in zip(reversed(places), reversed(judged), strict=True):
        if len(kept) < room and seen[place] < most:
            seen[place] += 1
            kept.append(example)
    return kept[::-1]


def _balanced(judged: list[Example], good: int, bad: int) -> Iterator[Example]:
    """Leave out the oldest of the larger kind, until it is at most three times the smaller."""
    mine_good = sum(e.target >= 0.5 for e in judged)
    mine_bad = len(judged) - mine_good
    spare = {
        True: good + mine_good - _RATIO * max(1, bad + mine_bad),
        False: bad + mine_bad - _RATIO * max(1, good + mine_good),
    }
    for example in judged:
        kind = example.target >= 0.5
        if spare[kind] > 0:
            spare[kind] -= 1
        else:
            yield example


def small(example: Example, links: int) -> Example:
    """What is worth remembering of it; few strategies read the links of a page."""
    page: Page = example.page
    if len(page.text) > TEXT or len(page.links) > links or len(page.headings) > _HEADINGS:
        page = replace(
            page,
            text=page.text[:TEXT],
            links=page.links[:links],
            headings=page.headings[:_HEADINGS],
        )
        return replace(example, page=page)
    return example
