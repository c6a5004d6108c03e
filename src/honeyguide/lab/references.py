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
from honeyguide.types import Example, Habits, Link, Page, Reason, Verdict


@dataclass(frozen=True)
class TrueParent:
    """Best-first on the true relevance of the page a link stood on."""

    habits: ClassVar[Habits] = Habits()
    relevant: tuple[str, ...] = ()
    """Addresses without their scheme."""

    def judge(self, page: Page) -> Verdict:
        return Verdict(float(without_scheme(page.url) in _set(self.relevant)))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [link.parent for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason("the parent's true relevance", link.parent),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - it knows
        return self


@dataclass(frozen=True)
class Oracle:
    """Best-first on the target's own true relevance, then on the parent's: an upper bound."""

    habits: ClassVar[Habits] = Habits()
    relevant: tuple[str, ...] = ()

    def judge(self, page: Page) -> Verdict:
        return Verdict(float(without_scheme(page.url) in _set(self.relevant)))

    def rank(self, links: Sequence[Link]) -> list[float]:
        known = _set(self.relevant)
        return [1.0 if without_scheme(link.url) in known else 0.5 * link.parent for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason("the target's true relevance", self.rank([link])[0]),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - it knows
        return self


@dataclass(frozen=True)
class Chance:
    """Any link, with equal chance."""

    habits: ClassVar[Habits] = Habits()
    relevant: tuple[str, ...] = ()
    seed: int = 1

    def judge(self, page: Page) -> Verdict:
        return Verdict(float(without_scheme(page.url) in _set(self.relevant)))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [xxh3_64_intdigest(link.url.encode(), seed=self.seed) / 2**64 for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason("chance", self.rank([link])[0]),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - it cannot
        return self


REFERENCES: dict[str, Callable[..., Strategy]] = {
    "random": Chance,
    "true-parent": TrueParent,
    "oracle": Oracle,
}


@lru_cache(maxsize=4)
def _set(relevant: tuple[str, ...]) -> frozenset[str]:
    return frozenset(relevant)
