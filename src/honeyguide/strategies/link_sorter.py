"""The link sorter: backlinks and their quality, original pages, and the topic's words.

Alqaraleh & Sırın build a crawler of units, one of which orders the addresses before they go back to
the frontier. They name what it looks at (how many pages link to an address and how good they are,
how original the content is, the key words of the page and their tf-idf) and give no formula. Ours:

    rank(u) = 0.4·B + 0.2·O + 0.4·K
    B = ln(1 + Σ q(h)) / ln(1 + the largest such sum), over the hosts h that link to u, where
        q(h) is the share of the pages fetched from h that are relevant, 0.5 before the first
    O = 1 - the largest resemblance of a page that u stands on with one that was read before,
        the mean over these pages
    K = the cosine between the topic and u's anchor with its page's key words, in tf-idf

The crawl counts what the three are made of (links/authority.py). In the paper pages are judged
by another unit; here by keywords.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

from honeyguide.text.relevance import keyword_relevance
from honeyguide.text.vectors import topic_profile
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict


class SortingParts(NamedTuple):
    """What a link's rank is made of, each 0..1."""

    authority: float
    originality: float
    topic_similarity: float


@dataclass(frozen=True)
class LinkSorter:
    """Rank a link by who links to it, from how original pages, and among which words.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    backlink_weight
        Weight of B: the hosts that link to it, by the share of their pages that are relevant.
    originality_weight
        Weight of O: how little the pages it stands on resemble pages read before.
    keyword_weight
        Weight of K: the cosine between the topic and the anchor with its page's key words.

    Examples
    --------
    >>> from honeyguide.types import Link, LinkStats, Url
    >>> strategy = LinkSorter(keywords=("honey",))
    >>> link = Link(Url("http://a.example/"), source=Url("http://b.example/"))
    >>> stats = LinkStats(*[0] * 10, authority=1.0, originality=0.5, topic_similarity=0.25)
    >>> [round(score, 2) for score in strategy.rank([link.with_yields(stats)])]
    [0.6]

    References
    ----------
    Alqaraleh & Sırın, the link sorter of their crawler for Turkish topics; the formula is ours.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        needs=("keywords", "description"), uses_link_stats=True, uses_authority=True
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    backlink_weight: float = 0.4
    originality_weight: float = 0.2
    keyword_weight: float = 0.4

    def judge(self, page: Page) -> Verdict:
        return keyword_relevance(self.keywords, self.description, self.language).judge(page)

    def rank(self, links: Sequence[Link]) -> list[float]:
        backing, original, alike = self._part_weights()
        return [
            min(1.0, backing * b + original * o + alike * k)
            for b, o, k in map(self._link_parts, links)
        ]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        parts = self._link_parts(link)
        said = (
            f"backed by the hosts that link to it: {parts.authority:.2f}",
            f"is on pages that are original: {parts.originality:.2f}",
            f"similarity of its words to the topic: {parts.topic_similarity:.2f}",
        )
        shares = (weight * part for weight, part in zip(self._part_weights(), parts, strict=True))
        return tuple(Reason(what, round(s, 4)) for what, s in zip(said, shares, strict=True))

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - nothing to learn
        return self

    def _link_parts(self, link: Link) -> SortingParts:
        if (told := link.yields) is not None:
            return SortingParts(told.authority, told.originality, told.topic_similarity)
        # No statistics: its anchor is all there is.
        words = topic_profile(self.keywords, self.description, self.language)
        return SortingParts(0.0, 1.0, words.similarity_to(link.anchor))

    def _part_weights(self) -> tuple[float, float, float]:
        """They count beside each other, so that a rank lies within 0..1."""
        every = self.backlink_weight + self.originality_weight + self.keyword_weight or 1.0
        return (
            self.backlink_weight / every,
            self.originality_weight / every,
            self.keyword_weight / every,
        )
