"""Yardsticks that know the truth, or nothing: what a strategy can be measured against.

They are strategies like any other, so that the same ring runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

from xxhash import xxh3_64_intdigest

from honeyguide.lab.web import without_scheme
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict


@dataclass(frozen=True)
class _TruthfulStrategy:
    """Judges by the truth, learns nothing; ranks as its subclass does."""

    traits: ClassVar[StrategyTraits] = StrategyTraits()
    reason: ClassVar[str]
    """By what links are ranked."""
    relevant: tuple[str, ...] = ()
    """Addresses without their scheme."""

    def judge(self, page: Page) -> Verdict:
        return Verdict(float(without_scheme(page.url) in _as_set(self.relevant)))

    def rank(self, links: Sequence[Link]) -> list[float]:
        raise NotImplementedError

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(self.reason, self.rank([link])[0]),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002
        return self


@dataclass(frozen=True)
class TrueParentStrategy(_TruthfulStrategy):
    """Best-first on the true relevance of the page that a link was first found on.

    A later parent changes nothing, and equals go in order of arrival: plain best-first, as it
    is done on graphs. It follows relevant pages further than one that lets the best parent
    count, because links that all pages share are met first on pages that do not matter.
    """

    reason: ClassVar[str] = "the first parent's true relevance"

    def __post_init__(self) -> None:
        # No strategy should remember; this yardstick must, and it lives for one crawl only.
        object.__setattr__(self, "_first", {})

    def rank(self, links: Sequence[Link]) -> list[float]:
        first: dict[str, float] = vars(self)["_first"]
        return [first.setdefault(link.url, link.parent) for link in links]


@dataclass(frozen=True)
class OracleStrategy(_TruthfulStrategy):
    """Best-first on the target's own true relevance, then on the parent's: an upper bound."""

    reason: ClassVar[str] = "the target's true relevance"

    def rank(self, links: Sequence[Link]) -> list[float]:
        known = _as_set(self.relevant)
        return [1.0 if without_scheme(link.url) in known else 0.5 * link.parent for link in links]


@dataclass(frozen=True)
class RandomStrategy(_TruthfulStrategy):
    """Any link, with equal chance."""

    reason: ClassVar[str] = "chance"
    seed: int = 1

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [xxh3_64_intdigest(link.url.encode(), seed=self.seed) / 2**64 for link in links]


REFERENCE_STRATEGIES: dict[str, Callable[[tuple[str, ...], int], Strategy]] = {
    "random": lambda relevant, draw: RandomStrategy(relevant, draw + 1),
    "true-parent": lambda relevant, _: TrueParentStrategy(relevant),
    "oracle": lambda relevant, _: OracleStrategy(relevant),
}
"""Name → yardstick, from the relevant addresses and the number of the draw."""


@lru_cache(maxsize=4)
def _as_set(relevant: tuple[str, ...]) -> frozenset[str]:
    return frozenset(relevant)
