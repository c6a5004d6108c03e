"""Do people agree? Their labels of the same pages, two people at a time.

Cohen 1960: kappa is the share of agreement less the share that chance alone would bring, given how
often each of the two says yes, over the most there could be beyond it. For more than two people,
Light 1971 takes the mean of the pairs; we weigh each pair by the pages that both labelled, because
few of ours have labelled the same ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import NamedTuple, TypeVar

Page = TypeVar("Page", bound=Hashable)


class AnnotatorPair(NamedTuple):
    """Two people on the pages that both labelled."""

    one: str
    other: str
    pages: int
    agreed: float
    """Share of these pages of which both say the same."""
    kappa: float | None
    """1: they always agree; 0: no more than by chance; None: one of them never differs, and
    chance explains everything."""


class AnnotatorAgreement(NamedTuple):
    pairs: tuple[AnnotatorPair, ...]
    """Those with pages in common, the most first."""
    agreed: float | None
    """Over all pairs, weighed by their pages; None: nobody labelled what another did."""
    kappa: float | None


def measure_agreement(labels: Mapping[str, Mapping[Page, bool]]) -> AnnotatorAgreement:
    """Person → page → whether it is relevant."""
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
    """Cohen's, of the answers of two people to the same questions."""
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
