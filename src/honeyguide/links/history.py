"""Yields of followed links: by host, by place on the page, and by the pages that they stood on.

One good page says much about the other links of the list that led to it, and about its host. Each
link gets statistics of links like it (:class:`~honeyguide.types.LinkStats`); using them is up to
the strategy. Few observations are shrunk towards the mean of the wider group, as with a Beta prior:
all links → host → place on the pages of that host, or page that it stands on.

Surprises: each host, place and page has log-odds of its own by which its links brought more than
their scores promised. They are corrected after every visit, much while little is known and little
later, as in the dynamic models of West, Harrison & Migon 1985.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from honeyguide.links.authority import LinkAuthority
from honeyguide.links.link_stats import (
    NEIGHBOUR_PRIOR,
    NO_JUDGED_LINKS,
    JudgedPages,
    NeighbourLinks,
    WaitingLinkStats,
    as_chance,
    parent_mean,
    visit_yield,
)
from honeyguide.links.parent_pages import NoOtherPlaces
from honeyguide.types import Link, LinkStats, Page, Url, Visit
from honeyguide.url import authority_of

PRIOR_WEIGHT = 2.0
"""Weight of the mean of the wider group, in observations."""
DECAY = 0.98
"""Weight of an observation when the next one comes: web and topic change."""
_MIN_CHANCE = 0.02
"""Least expected probability, and its distance to 1."""
MAX_SURPRISE = 4.0
"""Largest log-odds of a surprise."""


class DecayedMean:
    """A decayed mean of yields, and a surprise in log-odds."""

    __slots__ = ("count", "doubt", "good", "lift", "most")

    def __init__(self, good: float = 0.0, count: float = 0.0, doubt: float = 0.0) -> None:
        self.good = good
        self.count = count
        self.lift = 0.0
        """Log-odds to add to the expectation."""
        self.doubt = self.most = doubt
        """Variance of that, never more than at first."""

    def add(self, value: float) -> None:
        self.good = DECAY * self.good + value
        self.count = DECAY * self.count + 1

    def mean(self, wider: float) -> float:
        return (self.good + PRIOR_WEIGHT * wider) / (self.count + PRIOR_WEIGHT)


def share_surprise(
    parts: Sequence[tuple[DecayedMean, float]], expected: float, value: float
) -> None:
    """Distribute a surprise among the parts of a prediction, by their variance."""
    expected = min(max(expected, _MIN_CHANCE), 1 - _MIN_CHANCE)
    slope = expected * (1 - expected)
    doubt = 1 / slope + sum(share * share * part.doubt for part, share in parts)
    for part, share in parts:
        gain = share * part.doubt / doubt
        part.lift = min(
            max(part.lift + gain * (value - expected) / slope, -MAX_SURPRISE), MAX_SURPRISE
        )
        # Nothing is for ever: who has been good a thousand times may still disappoint.
        part.doubt = min(part.most, (1 - gain * share) * part.doubt / DECAY)


# --- Links ---


K = TypeVar("K")
_PlaceStats = tuple[float, float, float]
_SiblingStats = tuple[float, float, int]
_HostStats = tuple[
    float, float, dict[str, _PlaceStats], dict[tuple[Url | None, ...], _SiblingStats]
]
"""Yield and count of the links to a host; statistics of its places; and of the pages that its
links stand on: most links share both with others."""


_PRIOR_YIELD = 0.1
"""Expected yield of links before any was followed."""
_PRIOR_OBSERVATIONS = 5.0
"""Weight of that expectation in observations."""
_PRIOR_VARIANCES = 1.0, 0.5, 0.5
"""Prior variance in log-odds of the links of a page, of a place and of a host."""
_SOURCES = 8
"""Pages stored for a waiting link."""
_PAGES = 20_000
_LINKS = 50_000
_GROUPS = 100_000
"""Most entries of each kind; the oldest is dropped first."""
_CHILDREN = 200
"""Links of one page that are ranked again after one of them was followed."""
_FAMILIES = 500
"""Newest pages whose links are stored."""
_MAX_URL_LENGTH = 500
"""Longest address that is ranked again because of its siblings."""
_MAX_CHANGED = 30
"""Links that are ranked again at a time."""


_UNOBSERVED = DecayedMean()


@dataclass(slots=True)
class _SourcePage:
    """A page that links stand on."""

    verdict: float
    barren: int
    children: list[Url] = field(default_factory=list)
    found: DecayedMean = field(default_factory=lambda: DecayedMean(doubt=_PRIOR_VARIANCES[0]))


class LinkHistory(NoOtherPlaces):
    """Yields of followed links; ``threshold`` makes a page relevant.

    ``authority`` gets the same visits and pages, for strategies that use it. ``judged``: pages that
    people judged. The yield of a link to one of them is known before it is followed: a page with
    several links to good pages is a list of such.
    """

    ahead = 20
    """About so many of the best waiting links are ranked again after a visit."""

    def __init__(
        self,
        threshold: float,
        authority: LinkAuthority | None = None,
        judged: JudgedPages | None = None,
    ) -> None:
        self._threshold = threshold
        self._judged = judged or JudgedPages()
        self._authority = authority
        self._all = DecayedMean(_PRIOR_YIELD * _PRIOR_OBSERVATIONS, _PRIOR_OBSERVATIONS)
        self._hosts: OrderedDict[str, DecayedMean] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str], DecayedMean] = OrderedDict()
        self._pages: OrderedDict[Url, _SourcePage] = OrderedDict()
        self._link_stats: OrderedDict[Url, WaitingLinkStats] = OrderedDict()
        self._neighbours = NeighbourLinks(self._judged, self._link_stats)
        self._recent: deque[_SourcePage] = deque()
        """Pages whose links are stored."""
        self._changed_pages: dict[Url, None] = {}
        """Pages of which a link was followed since their links were ranked."""
        self._changed_neighbours: dict[Url, None] = {}
        """Links with a neighbour that was followed."""
        self.visits = 0

    def record_visit(self, visit: Visit) -> None:
        """Record the yield of a followed link. A copy yields nothing."""
        if visit.failure is not None and not visit.failure.final:
            return  # it will be tried again
        self.visits += 1
        link = visit.link
        stats = self._link_stats.pop(link.url, None)
        if self._authority is not None:
            self._authority.record_followed(link.url, visit.moved)
            if visit.verdict is not None:
                good = as_chance(visit.verdict.score) >= self._threshold
                self._authority.record_fetch(link.url, good)
        if visit.moved is not None:
            # What comes of it is found where it leads, and counts for the pages that it stood on.
            if stats is not None:
                stats.former = (*stats.former, link.url)[-_SOURCES:]
                self._link_stats.setdefault(visit.moved, stats)
            return
        if link.source is None or link.channel == "example":
            return
        value, host = visit_yield(visit), authority_of(link.url)
        self._all.add(value)
        parts = []
        if visit.failure is None or authority_of(link.source) == host:
            # Anybody can link to pages that another site does not have: that is not its fault.
            place_stats = _get_or_add(self._groups, (host, link.tag_path), _PRIOR_VARIANCES[1])
            parts = [(place_stats, 1.0), (_get_or_add(self._hosts, host, _PRIOR_VARIANCES[2]), 1.0)]
        sources = [
            url for url in (stats.sources if stats else (link.source,)) if url in self._pages
        ]
        if link.url not in self._judged:  # or it was counted when it was met
            parts += [(self._pages[url].found, 1 / len(sources)) for url in sources]
        for part, _ in parts:
            part.add(value)
        share_surprise(parts, as_chance(visit.score), value)
        self._changed_pages.update(dict.fromkeys(sources))
        nearer = self._neighbours.record_outcome(link.url, stats, value)
        self._changed_neighbours.update(dict.fromkeys(nearer[:_MAX_CHANGED]))

    def record_page(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """Record that these links stand on the page of ``source``: ``read``, if it was just
        read."""
        if self._authority is not None and read is not None:
            self._authority.record_page(source.url, read, links)
        if read is not None and source.channel == "example":
            self._judged.add_page(read)
        verdict = as_chance(verdict)
        good = verdict >= self._threshold
        before = self._pages.get(source.source) if source.source else None
        # Whoever chose a seed had a reason, also where it is a mere list.
        barren = 0 if good or source.source is None else (before.barren if before else 0) + 1
        page = self._pages[source.url] = _SourcePage(verdict, barren)
        if len(self._pages) > _PAGES:
            self._pages.popitem(last=False)
        self._recent.append(page)
        if len(self._recent) > _FAMILIES:
            self._recent.popleft().children.clear()
        urls, waiting, source_place = [link.url for link in links], self._link_stats, (source.url,)
        on_page: dict[Url, WaitingLinkStats] = {}
        for url in urls:
            stats = waiting.get(url)
            if stats is None:
                stats = waiting[url] = WaitingLinkStats(barren)
                if len(waiting) > _LINKS:
                    waiting.popitem(last=False)
            on_page[url] = stats
            if len(stats.sources) < _SOURCES:
                stats.sources += source_place
            stats.count += 1
            stats.total += verdict
            stats.relevant += good
            if stats.best < verdict:
                stats.best = verdict
            if stats.barren > barren:
                stats.barren = barren
        page.children += [url for url in urls if len(url) <= _MAX_URL_LENGTH][:_CHILDREN]
        if urls:
            every = urls if read is None else [link.url for link in read.links] or urls
            if read is not None or source.url not in self._neighbours:
                # A page that is judged again holds what it held, not only what still waits.
                self._neighbours.record_row(source.url, every, on_page)
            if self._judged:
                self._count_judged_links(page, every)

    def _count_judged_links(self, page: _SourcePage, urls: Sequence[Url]) -> None:
        """Count links to judged pages as if they had been followed."""
        expected, values = self._all.good / self._all.count, self._judged.values
        for url in urls:
            if (value := values.get(url)) is not None:
                page.found.add(value)
                share_surprise(((page.found, 1.0),), expected, value)

    def annotate_links(self, links: Sequence[Link]) -> list[Link]:
        """The same links, each with its statistics."""
        wider, judged_links = self._all.good / self._all.count, self._judged.named
        hosts: dict[str, _HostStats] = {}
        found, new, with_yields = [], tuple.__new__, Link.with_yields
        for link in links:
            host = authority_of(link.url)
            if (known := hosts.get(host)) is None:
                seen = self._hosts.get(host, _UNOBSERVED)
                known = hosts[host] = seen.mean(wider), seen.count, {}, {}
            of_host, hosted, groups, families = known
            if (place_stats := groups.get(link.tag_path)) is None:
                place_stats = groups[link.tag_path] = self._place_stats(
                    host, link.tag_path, of_host
                )
            of_group, grouped, lift = place_stats
            stats = self._link_stats.get(link.url)
            sources = (link.source,) if stats is None else stats.sources
            if (sibling_stats := families.get(sources)) is None:
                sibling_stats = families[sources] = self._sibling_stats(sources, of_host)
            siblings, surprise, barren = sibling_stats
            if stats is None:
                parents, best = parent_mean(link.parent, 1), link.parent
                relevant, neighbours = int(link.parent >= self._threshold), NEIGHBOUR_PRIOR
            else:
                worth, judged = (
                    judged_links.get(link.url, NO_JUDGED_LINKS) if judged_links else NO_JUDGED_LINKS
                )
                parents = parent_mean(stats.total + worth, stats.count + judged)
                best = stats.best
                relevant, barren, neighbours = (
                    stats.relevant,
                    stats.barren,
                    stats.neighbour_mean(),
                )
            lift += surprise
            # Made as tuples are: a hundred of them after every visit.
            values: tuple[object, ...] = (
                of_host, hosted, of_group, grouped, siblings, parents, best, relevant, barren,
                self.visits,
                lift if -MAX_SURPRISE < lift < MAX_SURPRISE else math.copysign(MAX_SURPRISE, lift),
                0.0, 1.0, 0.0, neighbours,
            )  # fmt: skip
            found.append(with_yields(link, new(LinkStats, values)))
        return found if self._authority is None else self._authority.annotate_links(found)

    def pop_changed_links(self) -> list[Url]:
        """Waiting links whose statistics changed since the last call."""
        found: dict[Url, None] = {}
        while self._changed_neighbours and len(found) < _MAX_CHANGED:
            url, _ = self._changed_neighbours.popitem()
            if url in self._link_stats:
                found[url] = None
        self._changed_neighbours.clear()
        while self._changed_pages and len(found) < _MAX_CHANGED:
            # The newest first: what was not reached in time is no longer urgent.
            source, _ = self._changed_pages.popitem()
            children = self._pages[source].children if source in self._pages else ()
            found.update(dict.fromkeys(url for url in children if url in self._link_stats))
        self._changed_pages.clear()
        return list(found)

    def _place_stats(self, host: str, tag_path: str, of_host: float) -> _PlaceStats:
        """Yield and count of links at that place, and the surprise of place and host."""
        lift, found = self._hosts.get(host, _UNOBSERVED).lift, self._groups.get((host, tag_path))
        if found is None:
            return of_host, 0.0, lift
        return found.mean(of_host), found.count, lift + found.lift

    def _sibling_stats(self, sources: tuple[Url | None, ...], of_host: float) -> _SiblingStats:
        """Best yield of the links on these pages, mean surprise, and steps since the last relevant
        page."""
        siblings, surprise, pages, barren = -1.0, 0.0, 0, 0
        pull = PRIOR_WEIGHT * of_host
        for source in sources:
            page = self._pages.get(source) if source else None
            if page is not None:
                found = page.found
                # As Observed.mean has it: many are asked for after every visit.
                mean = (found.good + pull) / (found.count + PRIOR_WEIGHT)
                if mean > siblings:
                    siblings = mean
                surprise += found.lift
                pages += 1
                barren = page.barren
        return (siblings, surprise / pages, barren) if pages else (of_host, 0.0, 0)


def _get_or_add(yields: OrderedDict[K, DecayedMean], key: K, doubt: float) -> DecayedMean:
    found = yields.get(key)
    if found is None:
        found = yields[key] = DecayedMean(doubt=doubt)
        if len(yields) > _GROUPS:
            yields.popitem(last=False)
    return found
