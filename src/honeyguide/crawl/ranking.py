"""What a link is worth: the strategy says, except of links that are worth the same to everybody."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from honeyguide.crawl.languages import Languages
from honeyguide.crawl.ledger import Ledger
from honeyguide.crawl.sources import Sources
from honeyguide.protocols import Frontier, Strategy
from honeyguide.types import Link

SITEMAP = 0.9
"""A sitemap goes before most pages of its site."""

_AHEAD = 20
"""Of the links in front, about so many are ranked anew after a visit."""

_CHOSEN = frozenset({"seed", "example"})
"""Links that a person gave us."""


def rank(
    strategy: Strategy,
    ledger: Ledger | None,
    links: Sequence[Link],
    languages: Languages | None = None,
    sources: Sources | None = None,
) -> list[float]:
    """The strategy's scores, but seeds and sitemaps keep what they are worth to everybody.

    With a ledger, each link is told what came of its like before. With languages, its score is
    times the chance that it leads to a wanted one. With sources, it is corrected by how far links
    that came to us in the same way kept what they promised.
    """
    if ledger is not None:
        links = ledger.told(links)
    scores = strategy.rank(links)
    if languages is not None:
        scores = languages.weighed(links, scores)
    scores = [
        1.0 if link.channel in _CHOSEN else SITEMAP * link.parent if is_sitemap(link) else score
        for link, score in zip(links, scores, strict=True)
    ]
    return scores if sources is None else sources.lifted(links, scores)


def revise(
    strategy: Strategy,
    ledger: Ledger,
    frontier: Frontier,
    languages: Languages | None = None,
    sources: Sources | None = None,
) -> None:
    """After a visit: links about which more is known now are ranked by what the ledger says."""
    again = partial(rank, strategy, ledger, languages=languages, sources=sources)
    frontier.revise(again, ledger.touched(), _AHEAD)


def is_sitemap(link: Link) -> bool:
    """Whether it leads to a sitemap, which comes under any media type."""
    return link.channel == "sitemap" and link.rel == "sitemap"
