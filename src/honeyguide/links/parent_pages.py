"""The value of the pages that contain a waiting link: the best, the mean, or each with its
words.

A link that is found again keeps the better of its scores, but only until links are ranked again:
the frontier stores one page for each link. Strategies state in their traits which value of the
other pages they use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from honeyguide.links.link_stats import (
    NO_JUDGED_LINKS,
    JudgedPages,
    NeighbourLinks,
    WaitingLinkStats,
    as_chance,
    parent_mean,
    visit_yield,
)
from honeyguide.types import Link, Page, Url, Visit

_LINKS = 50_000
"""Waiting links that are stored; the one that was not found for longest is dropped first."""
_MAX_URL_LENGTH = 500
"""Longest address that is stored."""
_PAGES = 20_000
"""Pages whose verdicts are stored, in case they are judged again."""
_PLACES = 4
"""Newest places of a link that are stored."""
_WORDED = 20_000
"""Links whose places are stored."""
_SOURCES = 8
"""Pages stored for a waiting link, for its neighbours."""


class NoOtherPlaces:
    """Defaults for link knowledge with one place for each link that reports no changes."""

    def other_places(self, links: Sequence[Link]) -> list[tuple[int, Link]]:  # noqa: ARG002
        """Always empty: the pages of a link count together."""
        return []

    def pop_changed_links(self) -> list[Url]:
        """Always empty: changed links are ranked with the best waiting ones, or with the next
        generation. Ranking them at once brought nothing."""
        return []


class _WaitingLinks(NoOtherPlaces, ABC):
    """Waiting links and yields of their neighbours.

    ``neighbours``: yields of neighbouring links count like a page that the link stands on
    (links/link_stats.py); not for a crawler without learning. ``judged``: pages that people judged.
    """

    def __init__(self, judged: JudgedPages | None = None, neighbours: bool = False) -> None:
        self._judged = judged or JudgedPages()
        self._link_stats: OrderedDict[Url, WaitingLinkStats] = OrderedDict()
        self._neighbours = NeighbourLinks(self._judged, self._link_stats) if neighbours else None
        self._given_targets: dict[Url, int] = {}
        """Redirect targets of addresses from people, with the number of redirects. A target that
        was found as a link before has the priority of a seed, and its links count like any."""

    def record_visit(self, visit: Visit) -> None:
        """Remove a followed link; its pages pass to the target of a redirect."""
        if visit.failure is not None and not visit.failure.final:
            return  # it will be tried again
        link = visit.link
        stats = self._link_stats.pop(link.url, None)
        self._given_targets.pop(link.url, None)
        if visit.moved is not None:
            if visit.failure is None and len(visit.moved) <= _MAX_URL_LENGTH:
                if link.channel in ("seed", "example"):
                    self._given_targets[visit.moved] = link.hops + 1
                if stats is not None:
                    stats.former = (*stats.former, link.url)[-_SOURCES:]
                    self._link_stats.setdefault(visit.moved, stats)
        elif self._neighbours is not None and link.source is not None and link.channel != "example":
            # Others stood beside nothing, or their neighbours know what people said of them.
            self._neighbours.record_outcome(link.url, stats, visit_yield(visit))

    def annotate_links(self, links: Sequence[Link]) -> list[Link]:
        """The same links, each with the value of its pages as its parent."""
        found = [self._annotate_link(link, self._link_stats.get(link.url)) for link in links]
        if self._given_targets:
            hops_of = self._given_targets.get
            found = [
                link
                if (hops := hops_of(link.url)) is None
                else link._replace(channel="seed", hops=max(hops, link.hops))
                for link in found
            ]
        return found

    @abstractmethod
    def _annotate_link(self, link: Link, stats: WaitingLinkStats | None) -> Link: ...

    def _stats_for(self, url: Url) -> WaitingLinkStats:
        """The statistics of a link, which becomes the last to be dropped."""
        stats = self._link_stats.get(url)
        if stats is None:
            stats = self._link_stats[url] = WaitingLinkStats()
        else:
            self._link_stats.move_to_end(url)
        return stats

    def _record_neighbours(
        self,
        source: Link,
        waiting: Mapping[Url, WaitingLinkStats],
        links: Sequence[Link],
        read: Page | None,
    ) -> None:
        """Give these links the yields of their neighbours. Without the page itself only waiting
        links are known, so a stored row has priority."""
        if self._neighbours is not None and (
            read is not None or source.url not in self._neighbours
        ):
            # Of a link on very many pages, the first few tell: a menu is the same on all of them.
            few_sources = {
                url: stats for url, stats in waiting.items() if len(stats.sources) < _SOURCES
            }
            for stats in few_sources.values():
                stats.sources += (source.url,)
            row = [link.url for link in (read.links if read is not None else links)]
            self._neighbours.record_row(source.url, row, few_sources)


class MeanParent(_WaitingLinks):
    """The mean verdict of all pages of a link: ``parent_score = "all"``.

    Most links of one good page lead elsewhere; what several good pages link to is mostly on the
    topic. An unseen page with a low verdict is added, so several pages count more than one. Judged
    pages count with the value that people gave.
    """

    ahead = 20
    """About so many of the best waiting links are ranked again after a visit: a link that was found
    again on a worse page, or with a followed neighbour, keeps its score until then."""

    def __init__(self, judged: JudgedPages | None = None, neighbours: bool = False) -> None:
        super().__init__(judged, neighbours)
        self._pages: OrderedDict[Url, float] = OrderedDict()

    def record_page(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """These links stand on the page of ``source``."""
        if read is not None and source.channel == "example":
            self._judged.add_page(read)
        waiting = {url: self._stats_for(url) for url in _standing_urls(links)}
        if not self._judged.has_read(source.url):
            # A page that is judged again has the new verdict instead of the old one.
            verdict, before = as_chance(verdict), self._pages.pop(source.url, None)
            for stats in waiting.values():
                if before is not None and stats.count:
                    # Unless it was forgotten in between, and never counted on this page.
                    stats.total = max(0.0, stats.total + verdict - before)
                else:
                    stats.total += verdict
                    stats.count += 1
            self._pages[source.url] = verdict
            _drop_oldest(self._pages, _PAGES)
        self._record_neighbours(source, waiting, links, read)
        _drop_oldest(self._link_stats, _LINKS)

    def _annotate_link(self, link: Link, stats: WaitingLinkStats | None) -> Link:
        if link.source is None or (stats is None and link.channel != "link"):
            # It stands on no page: a seed, or on a list, or it brings what it was told.
            return link
        total, count = self._judged.named.get(link.url, NO_JUDGED_LINKS)
        if stats is not None:
            total, count = total + stats.total, count + stats.count
        if not count:
            total, count = link.parent, 1
        good, known = (stats.good, stats.known) if stats is not None else (0.0, 0.0)
        parent = parent_mean(total + good, count + known)
        if link.channel != "link":
            parent = max(parent, link.parent)
        return link.with_parent(parent)


class ParentPlaces(_WaitingLinks):
    """All places of a link with their words: ``parent_score = "each"``.

    A strategy that uses the words of a link ranks it by its best place. With only the first place,
    ranking again would lose what a crawler without learning keeps.
    """

    def __init__(self, judged: JudgedPages | None = None, neighbours: bool = False) -> None:
        super().__init__(judged, neighbours)
        self.ahead = MeanParent.ahead if neighbours else 0

    def record_page(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        waiting: dict[Url, WaitingLinkStats] = {}
        verdict = as_chance(verdict)
        for link in links:
            if link.channel == "link" and len(link.url) <= _MAX_URL_LENGTH:
                stats = waiting[link.url] = self._stats_for(link.url)
                # A page that is judged again takes the place that it had.
                others = [place for place in stats.places if not _is_same_place(place, link)]
                new_place = link if link.parent == verdict else link.with_parent(verdict)
                stats.places = (*others, new_place)[-_PLACES:]
        self._record_neighbours(source, waiting, links, read)
        _drop_oldest(self._link_stats, _WORDED)

    def other_places(self, links: Sequence[Link]) -> list[tuple[int, Link]]:
        """Other places of these links, each with the number of its link."""
        return [
            (number, self._annotate_link(place, stats))
            for number, link in enumerate(links)
            if link.channel == "link" and (stats := self._link_stats.get(link.url)) is not None
            for place in stats.places
            if not _is_same_place(place, link)
        ]

    def _annotate_link(self, link: Link, stats: WaitingLinkStats | None) -> Link:
        """The verdict of its page has weight 1, an adjacent link .72. No unseen page is added:
        places are compared with each other."""
        if stats is None or link.source is None or link.channel != "link":
            return link
        # Its page may have been judged again since.
        verdict = next(
            (place.parent for place in stats.places if _is_same_place(place, link)),
            link.parent,
        )
        parent = (verdict + stats.good) / (1 + stats.known)
        return link if parent == link.parent else link.with_parent(parent)


class BestParent(NoOtherPlaces):
    """The verdict of the best page of a link: ``parent_score = "best"``."""

    ahead = 0
    """None is ranked again: a link on a better page has its score already."""

    def __init__(self) -> None:
        self._link_stats: OrderedDict[Url, float] = OrderedDict()

    def record_page(
        self,
        source: Link,  # noqa: ARG002 - it is the verdict that counts
        verdict: float,
        links: Sequence[Link],
        read: Page | None = None,  # noqa: ARG002
    ) -> None:
        scores, verdict = self._link_stats, as_chance(verdict)
        for url in _standing_urls(links):
            scores[url] = max(verdict, scores.pop(url, 0.0))
        _drop_oldest(scores, _LINKS)

    def record_visit(self, visit: Visit) -> None:
        if visit.failure is None or visit.failure.final:
            self._link_stats.pop(visit.link.url, None)

    def annotate_links(self, links: Sequence[Link]) -> list[Link]:
        scores = self._link_stats
        return [
            link
            if link.source is None or (best := scores.get(link.url, 0.0)) <= link.parent
            else link.with_parent(best)
            for link in links
        ]


def _standing_urls(links: Sequence[Link]) -> Iterator[Url]:
    """Addresses that stand on a page, each once; not those of lists or redirects."""
    standing = (link.url for link in links if link.channel == "link")
    return iter(dict.fromkeys(url for url in standing if len(url) <= _MAX_URL_LENGTH))


def _is_same_place(one: Link, other: Link) -> bool:
    """Whether it is the same place."""
    return one.source == other.source and one.anchor == other.anchor


def _drop_oldest(
    table: OrderedDict[Url, float] | OrderedDict[Url, WaitingLinkStats], most: int
) -> None:
    while len(table) > most:
        table.popitem(last=False)
