"""What became of links so far: by host, by place on the page, by the pages that they stood on.

One good page says much about the other links of the list that led to it, and about its host. The
ledger counts, and tells each link what came of its like (:class:`~honeyguide.types.Yields`); what
to make of it is the strategy's business. Few observations are drawn towards the wider circle's,
as with a Beta prior: everything → host → place on the pages of that host, or page it stands on.

It also remembers by how much they brought more than their scores promised. Each host, place and
page has log-odds of its own that are corrected after every visit, much while little is known of it
and little later, as in the dynamic models of West, Harrison & Migon 1985.
"""

from __future__ import annotations

import math
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from honeyguide.crawl.standing import Standing
from honeyguide.types import Link, Page, Url, Visit, Yields
from honeyguide.url import authority

K = TypeVar("K")
_Family = tuple[float, float, int]

_PULL = 2.0
"""What the wider circle counts for, in observations."""
_FADE = 0.98
"""What an observation still counts for when the next one comes: the web, and the topic, move."""
_HOPE = 0.1
"""What links are thought to yield before any was followed; worth …"""
_HOPES = 5.0
"""… so many observations."""
_DOUBTS = 1.0, 0.5, 0.5
"""How far the links of a page, of a place and of a host may be from what is expected of any, in
log-odds: the variance before anything is known."""
_SURE = 0.02
"""Nothing is expected more surely than this, nor less."""
_FAR = 4.0
"""Most log-odds that a surprise adds."""
_SOURCES = 8
"""Pages that a waiting link is remembered to stand on."""
_PAGES = 20_000
_LINKS = 50_000
_GROUPS = 100_000
"""What is remembered of each kind; the oldest is forgotten first."""
_CHILDREN = 200
"""Links of one page that are ranked anew when one of them was followed."""
_FAMILIES = 500
"""Newest pages whose links are."""
_LONG = 500
"""Characters of an address that is ranked anew for its siblings' sake."""
_TOUCHED = 30
"""Links that are ranked anew at a time."""


class _Yield:
    """Observations that fade, and by how much they surprised."""

    __slots__ = ("count", "doubt", "good", "lift", "most")

    def __init__(self, good: float = 0.0, count: float = 0.0, doubt: float = 0.0) -> None:
        self.good = good
        self.count = count
        self.lift = 0.0
        """Log-odds to add to what is expected …"""
        self.doubt = self.most = doubt
        """… and its variance, which is never more than at first."""

    def add(self, value: float) -> None:
        self.good = _FADE * self.good + value
        self.count = _FADE * self.count + 1

    def mean(self, wider: float) -> float:
        return (self.good + _PULL * wider) / (self.count + _PULL)


def _correct(parts: Sequence[tuple[_Yield, float]], expected: float, value: float) -> None:
    """Share a surprise out among those who had a part in it, by how little is known of each."""
    expected = min(max(expected, _SURE), 1 - _SURE)
    slope = expected * (1 - expected)
    doubt = 1 / slope + sum(share * share * part.doubt for part, share in parts)
    for part, share in parts:
        gain = share * part.doubt / doubt
        part.lift = min(max(part.lift + gain * (value - expected) / slope, -_FAR), _FAR)
        # Nothing is for ever: who has been good a thousand times may still disappoint.
        part.doubt = min(part.most, (1 - gain * share) * part.doubt / _FADE)


_NOTHING = _Yield()


@dataclass(slots=True)
class _Page:
    """A page that links stand on."""

    verdict: float
    barren: int
    children: list[Url] = field(default_factory=list)
    found: _Yield = field(default_factory=lambda: _Yield(doubt=_DOUBTS[0]))


@dataclass(slots=True)
class _Met:
    """A waiting link, and where it was met."""

    sources: list[Url] = field(default_factory=list)
    count: int = 0
    total: float = 0.0
    best: float = 0.0
    relevant: int = 0
    barren: int = 0


class Ledger:
    """Told of every visit and every page's links; ``threshold`` makes a page relevant.

    ``standing`` is told of them as well, for strategies that want to know who links to a link.
    """

    def __init__(self, threshold: float, standing: Standing | None = None) -> None:
        self._threshold = threshold
        self._standing = standing
        self._all = _Yield(_HOPE * _HOPES, _HOPES)
        self._hosts: OrderedDict[str, _Yield] = OrderedDict()
        self._groups: OrderedDict[tuple[str, str], _Yield] = OrderedDict()
        self._pages: OrderedDict[Url, _Page] = OrderedDict()
        self._met: OrderedDict[Url, _Met] = OrderedDict()
        self._recent: deque[_Page] = deque()
        """Pages whose children are remembered."""
        self._touched: dict[Url, None] = {}
        """Pages of whose links one was followed since they were last ranked."""
        self.visits = 0

    def followed(self, visit: Visit) -> None:
        """A link was followed, and this came of it. A copy is nothing new."""
        if visit.failure is not None and not visit.failure.final:
            return  # it will be tried again
        self.visits += 1
        link = visit.link
        met = self._met.pop(link.url, None)
        if self._standing is not None:
            self._standing.followed(link.url, visit.moved)
            if visit.verdict is not None:
                good = _chance(visit.verdict.score) >= self._threshold
                self._standing.fetched(link.url, good)
        if visit.moved is not None:
            # What comes of it is found where it leads, and counts for the pages that it stood on.
            if met is not None:
                self._met.setdefault(visit.moved, met)
            return
        if link.source is None or link.channel == "example":
            return
        good = visit.verdict is not None and visit.copy is None
        value = _chance(visit.verdict.score) if good and visit.verdict is not None else 0.0
        host = authority(link.url)
        self._all.add(value)
        parts = []
        if visit.failure is None or authority(link.source) == host:
            # Anybody can link to pages that another site does not have: that is not its fault.
            place = _kept(self._groups, (host, link.tag_path), _DOUBTS[1])
            parts = [(place, 1.0), (_kept(self._hosts, host, _DOUBTS[2]), 1.0)]
        sources = [url for url in (met.sources if met else (link.source,)) if url in self._pages]
        parts += [(self._pages[url].found, 1 / len(sources)) for url in sources]
        for part, _ in parts:
            part.add(value)
        _correct(parts, _chance(visit.score), value)
        self._touched.update(dict.fromkeys(sources))

    def found(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None:
        """These links, new or waiting, stand on the page that ``source`` led to: ``read``, where
        it was read just now."""
        if self._standing is not None and read is not None:
            self._standing.found(source.url, read, links)
        verdict = _chance(verdict)
        good = verdict >= self._threshold
        before = self._pages.get(source.source) if source.source else None
        # Whoever chose a seed had a reason, also where it is a mere list.
        barren = 0 if good or source.source is None else (before.barren if before else 0) + 1
        page = self._pages[source.url] = _Page(verdict, barren)
        if len(self._pages) > _PAGES:
            self._pages.popitem(last=False)
        self._recent.append(page)
        if len(self._recent) > _FAMILIES:
            self._recent.popleft().children.clear()
        for link in links:
            met = self._met.get(link.url)
            if met is None:
                met = self._met[link.url] = _Met(barren=barren)
                if len(self._met) > _LINKS:
                    self._met.popitem(last=False)
            if len(met.sources) < _SOURCES:
                met.sources.append(source.url)
            met.count += 1
            met.total += verdict
            met.best = max(met.best, verdict)
            met.relevant += good
            met.barren = min(met.barren, barren)
            if len(page.children) < _CHILDREN and len(link.url) <= _LONG:
                page.children.append(link.url)

    def told(self, links: Sequence[Link]) -> list[Link]:
        """The same links, each with what came of its like."""
        wider = self._all.good / self._all.count
        hosts: dict[str, tuple[float, float, float, dict[Url | None, _Family | None]]] = {}
        """Of each host what came of it, and of the pages that its links stand on: most links stand
        on pages that others of them stand on."""
        found = []
        for link in links:
            host = authority(link.url)
            if (known := hosts.get(host)) is None:
                yielded = self._hosts.get(host, _NOTHING)
                known = hosts[host] = (yielded.mean(wider), yielded.count, yielded.lift, {})
            of_host, hosted, lift, families = known
            met = self._met.get(link.url)
            siblings, surprise, pages, barren = -1.0, 0.0, 0, 0
            for source in (link.source,) if met is None else met.sources:
                if source in families:
                    family = families[source]
                else:
                    family = families[source] = self._family(source, of_host)
                if family is not None:
                    mean, more, barren = family
                    siblings = mean if mean > siblings else siblings
                    surprise += more
                    pages += 1
            if pages:
                surprise /= pages
            else:
                siblings = of_host
            if met is None:
                parents = best = link.parent
                relevant = int(link.parent >= self._threshold)
            else:
                parents, best = met.total / met.count, met.best
                relevant, barren = met.relevant, met.barren
            lift += surprise
            group = self._groups.get((host, link.tag_path))
            if group is None:
                grouped, of_group = 0.0, of_host
            else:
                grouped, of_group = group.count, group.mean(of_host)
                lift += group.lift
            # Made as tuples are: a hundred of them after every visit.
            told: tuple[object, ...] = (
                of_host, hosted, of_group, grouped, siblings, parents, best, relevant, barren,
                self.visits, lift if -_FAR < lift < _FAR else math.copysign(_FAR, lift),
                0.0, 1.0, 0.0,
            )  # fmt: skip
            found.append(tuple.__new__(Link, (*link[:-1], tuple.__new__(Yields, told))))
        return found if self._standing is None else self._standing.told(found)

    def touched(self) -> list[Url]:
        """Waiting links about which more is known since they were last asked for here."""
        found: dict[Url, None] = {}
        while self._touched and len(found) < _TOUCHED:
            # The newest first: what was not reached in time is no longer urgent.
            source, _ = self._touched.popitem()
            children = self._pages[source].children if source in self._pages else ()
            found.update(dict.fromkeys(url for url in children if url in self._met))
        self._touched.clear()
        return list(found)

    def _family(self, source: Url | None, host: float) -> _Family | None:
        """Of a page that links stand on: what came of them, how surprising that was, steps since
        the last relevant page; None if it is not remembered."""
        page = self._pages.get(source) if source else None
        return None if page is None else (page.found.mean(host), page.found.lift, page.barren)


def _chance(score: Any) -> float:
    """A verdict may come from a stranger's journal."""
    return float(score) if isinstance(score, int | float) and 0 <= score <= 1 else 0.0


def _kept(yields: OrderedDict[K, _Yield], key: K, doubt: float) -> _Yield:
    found = yields.get(key)
    if found is None:
        found = yields[key] = _Yield(doubt=doubt)
        if len(yields) > _GROUPS:
            yields.popitem(last=False)
    return found
