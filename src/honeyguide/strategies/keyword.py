"""Keyword spotting: follow links whose words, surroundings or parents speak of the topic.

The classic focused crawler without learning: the rival in most papers (for one, Zheng, Kang
& Kim 2008, where the priority of a link is the count of topic words on its page). We read the
link's own words as well, which is what makes it strong; see docs/strategies/keyword.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from honeyguide.config.validation import check_within
from honeyguide.text.normalise import readable_address
from honeyguide.text.relevance import Relevance, keyword_relevance
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict
from honeyguide.url import path_of


@dataclass(frozen=True)
class Keyword:
    """Evidence of anchor, surroundings, address and parent, joined as 1 - Π(1 - weight·e).

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    anchor_weight, around_weight, url_weight
        Weight of the topic's words in the anchor, around it, and in the address.
    parent_weight
        Weight of the verdict on the page that the link stands on.

    Examples
    --------
    >>> from honeyguide.types import Link, Url
    >>> honey = Link(Url("http://a.example/1"), anchor="Honey", parent=0.0)
    >>> other = Link(Url("http://a.example/2"), anchor="Contact", parent=0.0)
    >>> keyword = Keyword(keywords=("honey",))
    >>> [round(score, 2) for score in keyword.rank([honey, other])]
    [0.42, 0.0]
    >>> keyword.explain(honey)[0].what
    'anchor “Honey”'

    References
    ----------
    Zheng, Kang & Kim 2008, "Learnable focused crawling based on ontology": the rival whose priority
    of a link is the count of topic words on its page.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(needs=("keywords", "description"))

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    anchor_weight: float = 0.7
    around_weight: float = 0.35
    url_weight: float = 0.4
    parent_weight: float = 0.3

    def __post_init__(self) -> None:
        check_within(self, "anchor_weight around_weight url_weight parent_weight", 0, 1)

    def judge(self, page: Page) -> Verdict:
        return self._topic_relevance().judge(page)

    def rank(self, links: Sequence[Link]) -> list[float]:
        texts = [text for link in links for text in _link_texts(link)]
        evidence = self._topic_relevance().score_texts(texts)
        anchor, around, address = self.anchor_weight, self.around_weight / 2, self.url_weight
        scores = []
        for place, link in enumerate(links):
            a, before, after, u = evidence[4 * place : 4 * place + 4]
            doubt = 1 - self.parent_weight * link.parent
            if a or before or after or u:
                doubt *= (1 - anchor * a) * (1 - address * u)
                doubt *= (1 - around * before) * (1 - around * after)
            scores.append(1 - doubt)
        return scores

    def explain(self, link: Link) -> tuple[Reason, ...]:
        a, before, after, u = self._topic_relevance().score_texts(_link_texts(link))
        reasons = (
            Reason(f"anchor “{link.anchor}”", self.anchor_weight * a),
            Reason(f"before it: “{link.before}”", self.around_weight / 2 * before),
            Reason(f"after it: “{link.after}”", self.around_weight / 2 * after),
            Reason("words of the address", self.url_weight * u),
            Reason(f"on a page with verdict {link.parent:.2f}", self.parent_weight * link.parent),
        )
        return tuple(sorted((r for r in reasons if r.weight), key=lambda r: -r.weight))

    def learn(self, examples: Sequence[Example]) -> Self:  # noqa: ARG002 - nothing to learn
        return self

    def _topic_relevance(self) -> Relevance:
        return keyword_relevance(self.keywords, self.description, self.language)


def _link_texts(link: Link) -> tuple[str, str, str, str]:
    """What a link says: its anchor, the words around it, and its address without the host."""
    return link.anchor, link.before, link.after, readable_address(path_of(link.url))
