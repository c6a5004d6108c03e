"""Where a waiting link stands: on how good pages, in which words, and beside which links.

A link that is met again keeps the better of its scores, but only until links are ranked anew: the
frontier knows the page that a link was found on, and no other. Strategies say in their habits what
they want to know of the others: the best of them, all together, or each by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from honeyguide.links.link_stats import NO_JUDGED_LINKS, JudgedPages, WaitingLinkStats, as_chance
from honeyguide.links.neighbours import NeighbourLinks, visit_yield
from honeyguide.types import Link, Page, Url, Visit

_UNSEEN_VERDICT = 0.2
"""What the page is thought to be worth that nobody has seen."""
_LINKS = 50_000
"""Waiting links that are remembered; the one that was longest not met is forgotten first."""
_MAX_URL_LENGTH = 500
"""Characters of an address that is."""
_PAGES = 20_000
"""Pages whose verdicts are remembered, in case that they are judged again."""
_PLACES = 4
"""Places of a link whose words are remembered: the newest, of …"""
_WORDED = 20_000
"""… so many links."""
_SOURCES = 8
"""Pages that a waiting link is remembered to stand on, for its neighbours' sake."""


def parent_mean(total: float, count: float) -> float:
    """What pages are worth together, of which so many have these verdicts in all."""
    return (total + _UNSEEN_VERDICT) / (count + 1)


class NoOtherPlaces:
    """What a knowledge of links says that has one place a link, and reports no changes."""

    def other_places(self, links: Sequence[Link]) -> list[tuple[int, Link]]:  # noqa: ARG002
        """Its pages count together: there is no other place."""
        return []

    def pop_changed_links(self) -> list[Url]:
        """None: those beside which one was followed are ranked with the links in front, or with the
        next generation. To rank them at once brought nothing."""
        return []


class _WaitingLinks(NoOtherPlaces, ABC):
    """Links that wait, and what came of those beside them.

    ``beside``: what came of the links that stand beside it counts like a page that it stands on,
    the nearest most (links/neighbours.py). That is learned on the way, and not for a crawler
    that is not to learn. ``given``: pages that people judged.
    """

    def __init__(self, judged: JudgedPages | None = None, neighbours: bool = False) -> None:
        self._judged = judged or JudgedPages()
        self._link_stats: OrderedDict[Url, WaitingLinkStats] = OrderedDict()
        self._neighbours = NeighbourLinks(self._judged, self._link_stats) if neighbours else None
        self._given_targets: dict[Url, int] = {}
        """Where addresses led that people gave us, in so many hops. What was found as a link before
        goes first, as a seed does, and its links count like any link's."""

    def record_visit(self, visit: Visit) -> None:
        """It waits no more; where it led elsewhere, its pages are those of the other address."""
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
        """The same links, each with what its place is worth for a parent."""
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
        """What is known of it; it is the last to be forgotten."""
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
        """Tell these links what came of those beside them, now and later. Where the page itself is
        not at hand, its links are only those that wait: a row that is known is known better."""
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
    """What all the pages of a link are worth together: ``parents = "all"``.

    Of one good page's links most lead elsewhere; what several good pages link to is seldom off the
    topic. So it is their mean verdict that counts, and one page more that nobody has seen is
    thought to be poor: many of a kind say more than one. Judged pages link like any other, and
    count as people said.
    """

    ahead = 20
    """Of the links in front, about so many are ranked anew after a visit: a link that was met again
    on a worse page, or beside which one was followed, keeps its score until then."""

    def __init__(self, judged: JudgedPages | None = None, neighbours: bool = False) -> None:
        super().__init__(judged, neighbours)
        self._pages: OrderedDict[Url, float] = OrderedDict()

    def record_page(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """These links, new or waiting, stand on the page that ``source`` led to."""
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
    """The words of every place where a link stands: ``parents = "each"``.

    Whoever goes by the words of a link ranks it by those of its best place. When links are ranked
    anew, a crawler that only knew the first place would lose what one that never learns keeps.
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
        """The verdict of its page counts 1, a link at once beside it .72. Nobody's page is thought
        besides: here each place is compared with others, not with how many there are."""
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
    """The verdict of the best page of a link: ``parents = "best"``."""

    ahead = 0
    """Of the links in front none is ranked anew: whoever stands on a better page has its score."""

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
    """Those that stand on a page, each once: what a list names, or a redirect, stands on none."""
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
