"""How good the pages are that a waiting link stands on, all of them together.

Of one good page's links most lead elsewhere; what several good pages link to is seldom off the
topic. So a link is worth the mean verdict of its pages, and one page more that nobody has seen is
thought to be poor: many of a kind say more than one. This is all that strategies with
``parents = "all"`` are told; those that want to know what came of similar links have the ledger.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from honeyguide.crawl.given import UNNAMED, Given, chance
from honeyguide.types import Link, Page, Url, Visit

_WARY = 0.2
"""What the page is thought to be worth that nobody has seen."""
_LINKS = 50_000
"""Waiting links that are remembered; the oldest is forgotten first."""
_ALONE = 0.0, 0


def mean(total: float, count: int) -> float:
    """What pages are worth together, of which so many have these verdicts in all."""
    return (total + _WARY) / (count + 1)


class Parents:
    """Told of every page's links. ``given``: pages that people judged; they link like any other."""

    ahead = 20
    """Of the links in front, about so many are ranked anew after a visit: a link that was met again
    on a worse page keeps its score until then."""

    def __init__(self, given: Given | None = None) -> None:
        self._given = given or Given()
        self._met: OrderedDict[Url, tuple[float, int]] = OrderedDict()
        """Of a waiting link: the verdicts of its pages together, and how many these are."""

    def found(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """These links, new or waiting, stand on the page that ``source`` led to."""
        if read is not None and source.channel == "example":
            self._given.read(read)
        met, verdict = self._met, chance(verdict)
        for url in dict.fromkeys(link.url for link in links):
            total, count = met.get(url, _ALONE)
            met[url] = total + verdict, count + 1
        while len(met) > _LINKS:
            met.popitem(last=False)

    def followed(self, visit: Visit) -> None:
        """It waits no more; where it led elsewhere, its pages are those of the other address."""
        known = self._met.pop(visit.link.url, None)
        if known is not None and visit.moved is not None:
            self._met.setdefault(visit.moved, known)

    def told(self, links: Sequence[Link]) -> list[Link]:
        """The same links, each with the worth of all its pages for a parent."""
        met, named, found = self._met, self._given.named, []
        for link in links:
            known = met.get(link.url)
            if link.source is None or (known is None and link.channel == "redirect"):
                # A seed stands on no page; where a redirect points, it brings what it was told.
                found.append(link)
                continue
            total, count = known or (link.parent, 1)
            worth, judged = named.get(link.url, UNNAMED) if named else UNNAMED
            parent = mean(total + worth, count + judged)
            found.append(Link(*link[:-3], parent, link.inlinks))
        return found

    def touched(self) -> list[Url]:
        """Nothing becomes of a link by what comes of others."""
        return []
