"""Breadth first: the yardstick that every focused crawler must beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from honeyguide.text.relevance import keyword_relevance
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict


@dataclass(frozen=True)
class Breadth:
    """Visit pages in the order in which their links were found.

    Pages are judged by the topic's keywords, so that a harvest rate can be given; the judgement
    never influences the order. Without keywords every page is relevant. Every focused crawler
    must do better than this one.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.

    Examples
    --------
    >>> from honeyguide.types import Link, Page, Url
    >>> breadth = Breadth(keywords=("honey",))
    >>> breadth.rank([Link(Url("http://a.example/"), depth=depth) for depth in (1, 3)])
    [0.5, 0.25]
    >>> breadth.judge(Page(Url("http://a.example/"), text="honey " * 30)).score > 0.5
    True
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(order="breadth", reads="links")

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"

    def judge(self, page: Page) -> Verdict:
        if not self.keywords and not self.description:
            return Verdict(1.0)
        return keyword_relevance(self.keywords, self.description, self.language).judge(page)

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [1 / (1 + link.depth) for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(f"{link.depth} links away from a seed", 1 / (1 + link.depth)),)

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - nothing to learn
        return self
