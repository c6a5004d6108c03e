"""How good the pages are that a waiting link stands on: the best of them, or all together.

A link that is met again keeps the better of its scores, but only until links are ranked anew: the
frontier knows the page that a link was found on, and no other. Strategies that go by the page
of a link say in their habits what they want to know of the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from honeyguide.crawl.given import UNNAMED, Given, chance
from honeyguide.types import Link, Page, Url, Visit

_WARY = 0.2
"""What the page is thought to be worth that nobody has seen."""
_LINKS = 50_000
"""Waiting links that are remembered; the one that was longest not met is forgotten first."""
_LONG = 500
"""Characters of an address that is."""
_PAGES = 20_000
"""Pages whose verdicts are remembered, in case that they are judged again."""


def mean(total: float, count: int) -> float:
    """What pages are worth together, of which so many have these verdicts in all."""
    return (total + _WARY) / (count + 1)


class Parents:
    """What all the pages of a link are worth together: ``parents = "all"``.

    Of one good page's links most lead elsewhere; what several good pages link to is seldom off the
    topic. So it is their mean verdict that counts, and one page more that nobody has seen is
    thought to be poor: many of a kind say more than one. ``given``: pages that people judged; they
    link like any other, and count as people said.
    """

    ahead = 20
    """Of the links in front, about so many are ranked anew after a visit: a link that was met again
    on a worse page keeps its score until then."""

    def __init__(self, given: Given | None = None) -> None:
        self._given = given or Given()
        self._met: OrderedDict[Url, tuple[float, int]] = OrderedDict()
        """Of a waiting link: the verdicts of its pages together, and how many these are."""
        self._pages: OrderedDict[Url, float] = OrderedDict()

    def found(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """These links, new or waiting, stand on the page that ``source`` led to."""
        if read is not None and source.channel == "example":
            self._given.read(read)
        if self._given.has_read(source.url):
            return
        met, verdict = self._met, chance(verdict)
        # A page that is judged again has the new verdict instead of the old one.
        before = self._pages.pop(source.url, None)
        more, again = (verdict, 1) if before is None else (verdict - before, 0)
        for url in _standing(links):
            total, count = met.pop(url, (0.0, 0))
            met[url] = (total + more, count + again) if count else (verdict, 1)
        self._pages[source.url] = verdict
        _shorten(met, _LINKS)
        _shorten(self._pages, _PAGES)

    def followed(self, visit: Visit) -> None:
        """It waits no more; where it led elsewhere, its pages are those of the other address."""
        if visit.failure is not None and not visit.failure.final:
            return  # it will be tried again
        known = self._met.pop(visit.link.url, None)
        if known is not None and visit.moved is not None and visit.failure is None:
            self._met.setdefault(visit.moved, known)

    def told(self, links: Sequence[Link]) -> list[Link]:
        """The same links, each with the worth of all its pages for a parent."""
        met, named, found = self._met, self._given.named, []
        for link in links:
            known = met.get(link.url)
            if link.source is None or (known is None and link.channel != "link"):
                # It stands on no page: a seed, or on a list, or it brings what it was told.
                found.append(link)
                continue
            worth, judged = named.get(link.url, UNNAMED) if named else UNNAMED
            total, count = known or ((0.0, 0) if judged else (link.parent, 1))
            parent = mean(total + worth, count + judged)
            if link.channel != "link":
                parent = max(parent, link.parent)
            found.append(Link(*link[:-3], parent, link.inlinks))
        return found

    def touched(self) -> list[Url]:
        """Nothing becomes of a link by what comes of others."""
        return []


class BestParent:
    """The verdict of the best page of a link: ``parents = "best"``."""

    ahead = 0
    """Of the links in front none is ranked anew: whoever stands on a better page has its score."""

    def __init__(self) -> None:
        self._met: OrderedDict[Url, float] = OrderedDict()

    def found(
        self,
        source: Link,  # noqa: ARG002 - it is the verdict that counts
        verdict: float,
        links: Sequence[Link],
        read: Page | None = None,  # noqa: ARG002
    ) -> None:
        met, verdict = self._met, chance(verdict)
        for url in _standing(links):
            met[url] = max(verdict, met.pop(url, 0.0))
        _shorten(met, _LINKS)

    def followed(self, visit: Visit) -> None:
        if visit.failure is None or visit.failure.final:
            self._met.pop(visit.link.url, None)

    def told(self, links: Sequence[Link]) -> list[Link]:
        met = self._met
        return [
            link
            if link.source is None or (best := met.get(link.url, 0.0)) <= link.parent
            else Link(*link[:-3], best, link.inlinks)
            for link in links
        ]

    def touched(self) -> list[Url]:
        return []


def _standing(links: Sequence[Link]) -> Iterator[Url]:
    """Those that stand on a page, each once: what a list names, or a redirect, stands on none."""
    return iter(
        dict.fromkeys(
            link.url for link in links if link.channel == "link" and len(link.url) <= _LONG
        )
    )


def _shorten(
    table: OrderedDict[Url, float] | OrderedDict[Url, tuple[float, int]], most: int
) -> None:
    while len(table) > most:
        table.popitem(last=False)
