"""Which of the best phrases stand on pages together, and what they are worth so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import log

import numpy as np
from numpy.typing import NDArray

from honeyguide.seeds.phrases import Reading, Term, damped
from honeyguide.text.keywords import Floats
from honeyguide.types import Url

_EXTENDED = 10
"""Best pairs that triples are made from."""
_TOGETHER = 2
"""Good pages that must have all phrases of a query."""
_KEPT = 30
"""Pairs and triples that are kept."""
PAGES = 5
"""Pages named as a query's reason."""

Bools = NDArray[np.bool_]
Worth = tuple[tuple[int, ...], float]
"""Places of phrases, and their score."""


class Mine:
    """Which pages have which of the best phrases, and what these are worth together."""

    def __init__(
        self, terms: Sequence[Term], good: Sequence[Reading], bad: Sequence[Reading]
    ) -> None:
        self._terms, self._good, self._bads = terms, good, len(bad)
        self._up, self._down = damped(good), damped(bad)
        self._has, self._lacks = _incidence(terms, good), _incidence(terms, bad)
        hosts = {name: n for n, name in enumerate({page.host: None for page in good})}
        self._hosts = np.array([hosts[page.host] for page in good])
        self._least = min(2, len(hosts))
        self._stems = [frozenset(term.key.split()) for term in terms]
        self._pairs: list[Worth] | None = None

    def singles(self) -> list[Worth]:
        return [((n,), term.weight) for n, term in enumerate(self._terms)]

    def pairs(self) -> list[Worth]:
        """w_a + w_b + ln lift_good(a, b) - ln lift_bad(a, b), for what stands on pages together."""
        if self._pairs is None:
            found: list[Worth] = []
            for one, other in combinations(range(len(self._terms)), 2):
                if self._fits(one, other):
                    found.append(((one, other), self._terms[one].weight + self._more(one, other)))
            self._pairs = _best(found)
        return self._pairs

    def triples(self) -> list[Worth]:
        """The best pairs, each with every other phrase, and the pair counting as one phrase."""
        made: dict[tuple[int, ...], float] = {}
        for pair, score in self.pairs()[:_EXTENDED]:
            for other in range(len(self._terms)):
                if other not in pair and self._fits(*pair, other):
                    triple = tuple(sorted((*pair, other)))
                    made[triple] = max(made.get(triple, -np.inf), score + self._more(*pair, other))
        return _best(list(made.items()))

    def pages(self, places: Sequence[int]) -> tuple[Url, ...]:
        """Good pages with all these phrases: people's first, and of different hosts first."""
        times: Counter[str] = Counter()
        ordered = []
        for n in np.flatnonzero(self._all(self._has, places)).tolist():
            page = self._good[n]
            ordered.append((-page.weight, times[page.host], n))
            times[page.host] += 1
        return tuple(self._good[n].url for _, _, n in sorted(ordered)[:PAGES])

    def why(self, places: Sequence[int]) -> str:
        both, bad = self._all(self._has, places), self._all(self._lacks, places)
        hosts = len(set(self._hosts[both].tolist()))
        sites = "1 host" if hosts == 1 else f"{hosts} hosts"
        pages = "page" if len(self._good) == 1 else "pages"
        told = f"on {int(both.sum())} of {len(self._good)} good {pages} ({sites})"
        return f"{told} and {int(bad.sum())} of {self._bads} bad ones" if self._bads else told

    def _fits(self, *places: int) -> bool:
        """Whether enough good pages of enough hosts have them all, and no word comes twice."""
        *before, last = (self._stems[n] for n in places)
        if any(not stems.isdisjoint(last) for stems in before):
            return False
        both = self._all(self._has, places)
        return int(both.sum()) >= _TOGETHER and len(set(self._hosts[both])) >= self._least

    def _more(self, *places: int) -> float:
        """What the last phrase adds to those before it."""
        first, last = places[:-1], places[-1]
        return (
            self._terms[last].weight
            + log(_lift(self._all(self._has, first), self._has[:, last], self._up))
            - log(_lift(self._all(self._lacks, first), self._lacks[:, last], self._down))
        )

    def _all(self, table: Bools, places: Sequence[int]) -> Bools:
        return np.asarray(table[:, list(places)].all(axis=1), np.bool_)


def _lift(one: Bools, other: Bools, weights: Floats) -> float:
    """How much oftener two things stand together than if they knew nothing of each other.

    ½ more on both sides, so that what was never seen says nothing.
    """
    total = float(weights.sum())
    expected = float(weights[one].sum()) * float(weights[other].sum()) / total if total else 0.0
    return (float(weights[one & other].sum()) + 0.5) / (expected + 0.5)


def _incidence(terms: Sequence[Term], pages: Sequence[Reading]) -> Bools:
    table = [[term.key in page.phrases for term in terms] for page in pages]
    return np.array(table, np.bool_).reshape(len(pages), len(terms))


def _best(found: list[Worth]) -> list[Worth]:
    return sorted(found, key=lambda one: (-round(one[1], 9), one[0]))[:_KEPT]
