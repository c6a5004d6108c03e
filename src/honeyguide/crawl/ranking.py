"""What a link is worth: the strategy says, except of links that are worth the same to everybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from honeyguide.crawl.languages import Languages
from honeyguide.crawl.source_bandit import Sources
from honeyguide.protocols import Frontier, Strategy
from honeyguide.types import Link, Page, Url, Visit

SITEMAP = 0.9
"""A sitemap goes before most pages of its site."""

_CHOSEN = frozenset({"seed", "example"})
"""Links that a person gave us."""


class Telling(Protocol):
    """Knows more of a link than the page that it was just found on: the ledger, or its parents."""

    ahead: int
    """Of the links in front, about so many are ranked anew after a visit."""

    def found(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None: ...
    def followed(self, visit: Visit) -> None: ...
    def told(self, links: Sequence[Link]) -> list[Link]: ...
    def further(self, links: Sequence[Link]) -> list[tuple[int, Link]]: ...
    def touched(self) -> list[Url]: ...


def rank(
    strategy: Strategy,
    ledger: Telling | None,
    links: Sequence[Link],
    languages: Languages | None = None,
    sources: Sources | None = None,
    *,
    anew: bool = False,
) -> list[float]:
    """The strategy's scores, but seeds and sitemaps keep what they are worth to everybody.

    With a ledger, each link is told what came of its like before, or what its pages are worth.
    ``anew``: it waits already, and of the places where it stands the best counts; a new one is
    compared with what it was worth so far by the frontier.
    With languages, its score is times the chance that it leads to a wanted one. With sources, it is
    corrected by how far links that came to us in the same way kept what they promised.
    """
    if ledger is not None:
        links = ledger.told(links)
    scores = strategy.rank(links)
    if ledger is not None and anew and (further := ledger.further(links)):
        scores = list(scores)
        others = strategy.rank([place for _, place in further])
        for (number, _), score in zip(further, others, strict=True):
            scores[number] = max(scores[number], score)
    if languages is not None:
        scores = languages.weighed(links, scores)
    scores = [
        1.0 if link.channel in _CHOSEN else SITEMAP * link.parent if is_sitemap(link) else score
        for link, score in zip(links, scores, strict=True)
    ]
    return scores if sources is None else sources.lifted(links, scores)


def revise(
    strategy: Strategy,
    ledger: Telling,
    frontier: Frontier,
    languages: Languages | None = None,
    sources: Sources | None = None,
) -> None:
    """After a visit: links about which more is known now are ranked by what the ledger says."""
    if (urls := ledger.touched()) or ledger.ahead:
        again = partial(rank, strategy, ledger, languages=languages, sources=sources, anew=True)
        frontier.revise(again, urls, ledger.ahead)


def is_sitemap(link: Link) -> bool:
    """Whether it leads to a sitemap, which comes under any media type."""
    return link.channel == "sitemap" and link.rel == "sitemap"
