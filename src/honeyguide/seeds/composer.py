"""What to ask a search engine next, mined from good and bad pages.

Xu, Yoon & Tourassi let their crawler compose queries "built on content-based mining" of pages that
the user rated, and do not say how. The method here is ours, on their measures; it is written down
in docs/reference/query-composition.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

from honeyguide.seeds.example_buffer import Memory
from honeyguide.seeds.initial_queries import Stated, from_topic
from honeyguide.seeds.phrase_pairs import Mine
from honeyguide.seeds.phrases import Reading, reading, telling, unwanted
from honeyguide.seeds.query import Query
from honeyguide.text.language import language_of
from honeyguide.types import Url

_SINGLES = 30
"""Phrases that queries are made of."""
_NEGATIVES = 3
"""Phrases that are left out of results."""
_LEAST = 2
"""Good pages without which nothing is made from pages: what one page says, mostly it alone says."""
_TRUSTED = 10
"""With so many good pages the best of their phrases counts as much as a keyword."""
_SHARES = (1 / 2, 1 / 3, 1 / 6)
"""Of the queries asked for: singles, pairs, triples."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A query that could be asked."""

    query: Query
    score: float
    """Comparable among queries of as many terms."""
    pages: tuple[Url, ...]
    """Good pages that have all its terms, at most five."""
    why: str
    stated: Stated = ""
    """What of the topic makes it; '': only pages do."""


class Composer:
    """Makes queries from the pages that it is told of. Nothing is random; nothing waits."""

    def __init__(
        self,
        language: str,
        keywords: Sequence[str] = (),
        description: str = "",
        least: int = _LEAST,
    ) -> None:
        """``least``: good pages without which only the topic's own words are used."""
        self._least = least
        self._tongue = language_of(language)
        self._memory = Memory()
        words = from_topic(keywords, description, self._tongue)
        self._start = [Proposal(one.query, one.score, (), one.why, one.stated) for one in words]
        self._topic = frozenset(
            self._tongue.stems[word]
            for word in self._tongue.words(" ".join(keywords)[:10_000])
            if word not in self._tongue.stops
        )
        self._made = self._start

    def read(self, url: Url, title: str, text: str, weight: float) -> None:
        """Hear of a page: +1 a person's good page, +½ one that we took for good, negative: bad.

        A second reading replaces the first; 0 forgets the page.
        """
        weight = min(1.0, max(-1.0, weight)) if isfinite(weight) else 0.0
        if weight:
            self._memory.add(reading(url, title, text, weight, self._tongue))
        else:
            self._memory.add(Reading(url, "", 0.0, {}))

    def candidates(self, most: int = 60) -> list[Proposal]:
        """Queries, the best first; made anew when a tenth of the pages is new.

        Until there are two good pages they come from the topic's keywords and description.
        """
        if self._memory.stale():
            self._made = self._mined()
            self._memory.settle()
        return _served(self._made, most)

    def _mined(self) -> list[Proposal]:
        good, bad = self._memory.side(True), self._memory.side(False)
        terms = telling(good, bad, _SINGLES) if len(good) >= self._least else []
        if not terms:
            return self._start
        spared = {stem for term in terms for stem in term.key.split()} | self._topic
        without = tuple(_written(term.key, bad) for term in unwanted(good, bad, spared, _NEGATIVES))
        mine = Mine(terms, good, bad)
        names = [_written(term.key, good) for term in terms]
        made: dict[str, Proposal] = {}
        for places, score in mine.singles() + mine.pairs() + mine.triples():
            query = Query(tuple(names[n] for n in places), without)
            # Two keys may be written alike; the first is the better one.
            made.setdefault(query.key, Proposal(query, score, mine.pages(places), mine.why(places)))
        # What a few pages have in common may be anything: what the topic states counts for more
        # than the best phrase found, until they are many.
        trust = terms[0].weight * 2 * _TRUSTED / (_TRUSTED + len(good))
        for own in self._start:
            if (mined := made.get(own.query.key)) is not None:
                made[own.query.key] = replace(mined, stated=own.stated)
            else:
                made[own.query.key] = replace(own, score=trust * own.score)
        return list(made.values())


def _written(key: str, pages: Sequence[Reading]) -> str:
    """How a phrase is written most often."""
    names = Counter(page.phrases[key] for page in pages if key in page.phrases)
    return min(names, key=lambda name: (-names[name], len(name), name))


def _served(made: Sequence[Proposal], most: int) -> list[Proposal]:
    """Some of each length, the best of each; places that a length does not fill go to others."""
    taken: list[Proposal] = []
    left: list[Proposal] = []
    ranked = sorted(made, key=lambda proposal: -proposal.score)
    for size, share in enumerate(_SHARES, 1):
        here = [proposal for proposal in ranked if len(proposal.query.terms) == size]
        cut = round(most * share)
        taken, left = taken + here[:cut], left + here[cut:]
    chosen = (taken + left)[: max(0, most)]
    return sorted(chosen, key=lambda proposal: -proposal.score)
