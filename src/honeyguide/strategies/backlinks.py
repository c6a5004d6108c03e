"""Backlinks: pages that many good pages link to go first.

The oldest importance order (Cho, Garcia-Molina & Page 1998, "backlink count"), with the quality
of the linking page as its weight, as the link sorter of Alqaraleh & Sırın names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from honeyguide.config.validation import check_within
from honeyguide.text.relevance import keyword_relevance
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict


@dataclass(frozen=True)
class Backlinks:
    """Each link to a page is a vote, worth more when the linking page is relevant.

    ``rank`` scores one edge. The frontier combines the edges of a page as 1 - Π(1 - vote)
    (``merge="any"``), which grows with their number and their quality and stays below 1; a plain
    sum is the paper's. When the frontier is ranked again, only the number of inlinks is known, and
    all get the first edge's score.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    vote
        Score of a link from an irrelevant page.
    praise
        What a fully relevant page adds to it.

    Examples
    --------
    >>> from honeyguide.types import Link, Url
    >>> bad, good = (Link(Url("http://a.example/"), parent=verdict) for verdict in (0.0, 1.0))
    >>> scores = Backlinks(keywords=("honey",)).rank([bad, good])
    >>> [round(score, 2) for score in scores]
    [0.02, 0.1]

    References
    ----------
    Cho, Garcia-Molina & Page 1998, the backlink count.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(merge="any", reads="links")

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    vote: float = 0.02
    praise: float = 0.08

    def __post_init__(self) -> None:
        check_within(self, "vote praise", 0, 1)

    def judge(self, page: Page) -> Verdict:
        if not self.keywords and not self.description:
            return Verdict(1.0)
        return keyword_relevance(self.keywords, self.description, self.language).judge(page)

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [1 - (1 - self._link_vote(link)) ** max(1, link.inlinks) for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        vote = self._link_vote(link)
        return (
            Reason(f"{link.inlinks} pages link to it", 1 - (1 - self.vote) ** link.inlinks),
            Reason(f"found on a page with verdict {link.parent:.2f}", vote - self.vote),
        )

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - nothing to learn
        return self

    def _link_vote(self, link: Link) -> float:
        return self.vote + self.praise * link.parent
