"""Agreement of annotators: labels of the same pages, two people at a time.

Cohen 1960: kappa is the agreement beyond chance, given how often each of the two says yes, divided
by the largest possible one. For more than two people Light 1971 takes the mean of the pairs; here
each pair is weighted by the pages that both labelled, because few annotators label the same pages.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import NamedTuple, TypeVar

Page = TypeVar("Page", bound=Hashable)


class AnnotatorPair(NamedTuple):
    """Two annotators on the pages that both labelled."""

    one: str
    other: str
    pages: int
    agreed: float
    """Share of these pages with equal labels."""
    kappa: float | None
    """1: they always agree; 0: no more than by chance; None: undefined, since one of them never
    varies."""


class AnnotatorAgreement(NamedTuple):
    """All pairs of annotators."""

    pairs: tuple[AnnotatorPair, ...]
    """Pairs with common pages, the most first."""
    agreed: float | None
    """Mean of all pairs, weighted by their pages; None without common pages."""
    kappa: float | None


def measure_agreement(labels: Mapping[str, Mapping[Page, bool]]) -> AnnotatorAgreement:
    """From annotator → page → whether it is relevant."""
    pairs = []
    for (one, ones), (other, others) in combinations(sorted(labels.items()), 2):
        both = [(ones[page], others[page]) for page in ones if page in others]
        if both:
            share = sum(a == b for a, b in both) / len(both)
            pairs.append(AnnotatorPair(one, other, len(both), share, cohen_kappa(both)))
    pairs.sort(key=lambda pair: -pair.pages)
    known = [(pair.kappa, pair.pages) for pair in pairs if pair.kappa is not None]
    agreed = _weighted_mean([(pair.agreed, pair.pages) for pair in pairs])
    return AnnotatorAgreement(tuple(pairs), agreed, _weighted_mean(known))


def cohen_kappa(both: list[tuple[bool, bool]]) -> float | None:
    """The kappa of two annotators from their pairs of labels."""
    count = len(both)
    if not count:
        return None
    one, other = sum(a for a, _ in both) / count, sum(b for _, b in both) / count
    chance = one * other + (1 - one) * (1 - other)
    if chance >= 1 - 1e-12:
        return None
    return (sum(a == b for a, b in both) / count - chance) / (1 - chance)


def _weighted_mean(values: list[tuple[float, int]]) -> float | None:
    weight = sum(pages for _, pages in values)
    return sum(value * pages for value, pages in values) / weight if weight else None
