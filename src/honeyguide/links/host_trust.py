"""Which sites are trusted, and how many visits the others may take: spam farms wait.

Trust begins at the sites of seeds and good examples and flows over links between sites, each site
handing on equal parts (TrustRank: Gyöngyi, Garcia-Molina & Pedersen 2004). A farm has many pages
but few links from outside, so hardly any trust reaches the many sites that it has.

Sites with little trust fall into regions: those between which links lead, whatever their direction
(a weak component of the graph), because the parts of a farm that were entered at different places
link to the same sites long before they link to each other. A region is on probation when more of
its sites were visited than links from trusted sites account for, or when it mostly leads to sites
on probation. All of them together get a small share of the visits, and their pages do not count as
relevant. A person who labels one of these as good frees the region, a bad label closes it.

A site is a registrable domain: its owner can create hosts without end, so many hosts count as more
than one site. Tables are bounded; sites beyond the bounds never wait.

Shards of one crawl tell each other what they learn of sites (:class:`SiteNews`): each decides of
its own sites by the links between all, and each holds its own visits to the share.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

import msgspec
import numpy as np
from numpy.typing import NDArray

from honeyguide.types import Label, Link, Url
from honeyguide.url import authority_of, domain_of, host_of

_Numbers = NDArray[np.intp]
_Flags = NDArray[np.bool_]

_MAX_SITES, _MAX_EDGES = 100_000, 400_000
_PASSED_ON, _STEPS = 0.7, 12
"""Share of its trust that a site hands on, and over how many links it flows."""
_TRUSTED, _VOUCHED = 0.2, 0.03
"""A site is trusted that has so much of the mean trust, and vouched for if trusted sites hand it
so much."""
_FREE_SITES, _SITES_PER_VOUCHED = 3, 2
"""Visited sites of a region without probation: so many, and more for each vouched one."""
_HOSTS_PER_SITE = 10
"""Visited hosts of one domain that count as a further site."""
_MAX_HOSTS = 1000
"""Hosts of a site that are counted."""
_SUSPECT_SHARE, _DOUBTS = 0.5, 3
"""A site is not trusted that has more than this share of its linked sites on probation; and how
often that is looked at."""
_REFRESH_VISITS, _REFRESH_GROWTH = 12, 0.02
"""Regions are found again after so many visits, and a share of all."""
_SAVED_GROWTH = 0.05
"""Share of new links between sites from which they are stored again."""


class _Region:
    """Sites between which links lead, none of them trusted."""

    __slots__ = ("closed", "probation", "sites", "vouched", "way_in")

    def __init__(self, way_in: str) -> None:
        self.sites = self.vouched = 0
        self.probation = self.closed = False
        self.way_in = way_in
        """The first of its sites."""


class _Site:
    __slots__ = (
        "found", "hosts", "label", "name", "named", "number", "region", "taken", "trusted",
    )  # fmt: skip

    def __init__(self, number: int, name: str, region: _Region) -> None:
        self.number = number
        self.name = name
        self.region = region
        self.trusted = self.named = self.found = False
        """Whether it is trusted; whether a person named it; whether a search engine found it."""
        self.label = 0
        """Good labels of its pages minus bad ones."""
        self.taken = 0
        self.hosts: set[str] = set()


class SiteNews(msgspec.Struct, frozen=True, array_like=True):
    """What was learned of sites since it was last told; telling it twice changes nothing."""

    links: list[tuple[str, str]]
    """Sites, and those that they link to."""
    hosts: list[str]
    """Hosts that were visited."""
    stated: dict[str, tuple[int, bool]]
    """Sites of which people spoke: good labels minus bad ones, and whether one named it."""
    visits: int


class HostTrust:
    """Trust of sites, and the share of visits of those that nobody vouches for."""

    def __init__(
        self,
        share: float,
        named: Iterable[Url] = (),
        followed: Iterable[Link] = (),
        saved: str = "",
    ) -> None:
        """``share`` of the visits that regions on probation get; ``named``: seeds and good
        examples; ``followed``: links that earlier runs followed, the oldest first; ``saved``: what
        :meth:`take_state` gave them."""
        self._share = share
        self._sites: dict[str, _Site] = {}
        self._by_number: list[_Site] = []
        self._edges: set[int] = set()
        self._ends = array("I"), array("I")
        self._visited: list[str] = []
        """Hosts that were visited, each once."""
        self._stated: set[_Site] = set()
        """Sites of which people spoke since the last news."""
        self._taken = self._elsewhere = self._on_probation = 0
        self._told = 0, 0, 0
        """Links, hosts and visits that were told others."""
        self._refresh_at = _REFRESH_VISITS
        self._waiting: list[tuple[float, int, str, _Site]] = []
        """Held hosts by the score of their best link, the best first, with their sites."""
        self._closed: list[tuple[str, _Site]] = []
        self._order = 0
        self.refreshes = 0
        """How often regions were found."""
        self.last_label = 0
        """Number of the newest label."""
        self._labels: dict[tuple[Url, str], int] = {}
        self._free: list[str] = []
        """Hosts that need no longer be held."""
        self._load_state(saved)
        self._saved_edges = len(self._edges)
        for url in named:
            if (site := self._site_of(url)) is not None:
                site.named = site.trusted = True
        for link in followed:
            self._count(link)
        self._refresh()

    def take_state(self) -> str:
        """Sites and their links, to be stored, if these grew by some; otherwise ''."""
        grown = len(self._edges) - self._saved_edges
        if grown <= _SAVED_GROWTH * len(self._edges):
            return ""
        self._saved_edges = len(self._edges)
        names = [site.name for site in self._by_number]
        return json.dumps([names, *(ends.tolist() for ends in self._ends)])

    def _load_state(self, saved: str) -> None:
        """A collection may come from a stranger: what does not fit is left out."""
        try:
            names, *ends = json.loads(saved) if saved else ([], [], [])
            for name in names[:_MAX_SITES]:
                self._add_site(str(name))
            for source, target in zip(*ends, strict=True):
                self._link_sites(self._by_number[source], self._by_number[target])
        except (ValueError, TypeError, IndexError, RecursionError):
            return

    # -- what is learned ---------------------------------------------------------------------

    def add_labels(self, labels: Iterable[tuple[int, Label]]) -> None:
        """People judged these pages. A bad one speaks against its site only on probation:
        everywhere else it is merely off the topic."""
        for number, label in labels:
            self.last_label = max(self.last_label, number)
            self._add_label(label)

    def _add_label(self, label: Label) -> None:
        site = self._site_of(label.url)
        if site is not None:
            place, good = (label.url, label.topic), 1 if label.value >= 0.5 else -1
            site.label += good - self._labels.get(place, 0)
            self._labels[place] = good
            self._stated.add(site)
            self._refresh_at = 0

    def record_links(self, source: Url, links: Sequence[Link]) -> None:
        """These links stand on that page."""
        host = authority_of(source)
        others = {
            authority: link.url
            for link in links
            if (authority := authority_of(link.url)) != host and link.channel == "link"
        }
        if not others or (origin := self._site_of(source)) is None:
            return
        for url in others.values():
            self._add_edge(origin, url)

    def _record_source(self, link: Link) -> None:
        if link.source is not None and (origin := self._site_of(link.source)) is not None:
            self._add_edge(origin, link.url)

    def _add_edge(self, origin: _Site, url: Url) -> None:
        site = self._site_of(url, origin)
        if site is not None and site is not origin:
            self._link_sites(origin, site)

    def _link_sites(self, origin: _Site, site: _Site) -> None:
        edge = origin.number << 32 | site.number
        if edge not in self._edges and len(self._edges) < _MAX_EDGES:
            self._edges.add(edge)
            self._ends[0].append(origin.number)
            self._ends[1].append(site.number)

    def _site_of(self, url: Url, finder: _Site | None = None) -> _Site | None:
        return self._named_site(domain_of(host_of(url)), finder)

    def _named_site(self, name: str, finder: _Site | None = None) -> _Site | None:
        site = self._sites.get(name)
        if site is None and len(self._sites) < _MAX_SITES:
            site = self._add_site(name, finder)
        return site

    def _add_site(self, name: str, finder: _Site | None = None) -> _Site:
        region = _Region(name) if finder is None or finder.trusted else finder.region
        site = self._sites[name] = _Site(len(self._by_number), name, region)
        self._by_number.append(site)
        return site

    def take_news(self) -> SiteNews | None:
        """What is new since the last time, or since :meth:`tell_again`; None: nothing."""
        links, hosts, visits = self._told
        now = len(self._edges), len(self._visited), self._taken + self._elsewhere
        if now == self._told and not self._stated:
            return None
        names = self._by_number
        sources, targets = ([names[number].name for number in part[links:]] for part in self._ends)
        stated = {site.name: (site.label, site.named) for site in self._stated}
        pairs = list(zip(sources, targets, strict=True))
        news = SiteNews(pairs, self._visited[hosts:], stated, now[2] - visits)
        self._told = now
        self._stated.clear()
        return news

    def tell_again(self) -> None:
        """Somebody knows nothing: the next news are all there is."""
        self._told = 0, 0, 0
        self._stated.update(site for site in self._by_number if site.label or site.named)

    def take_in(self, news: SiteNews) -> None:
        """What others learned; it is in our next news, too, unless these are thrown away."""
        for name, target in news.links:
            if (origin := self._named_site(name)) and (site := self._named_site(target, origin)):
                self._link_sites(origin, site)
        for host in news.hosts:
            if (found := self._named_site(domain_of(host))) is not None:
                self._add_host(found, host)
        for name, (label, named) in news.stated.items():
            if (found := self._named_site(name)) is not None:
                new = (label, named) != (found.label, found.named)
                found.label, found.named = label, found.named or named
                if new:
                    self._stated.add(found)
                    self._refresh_at = 0
        self._elsewhere += news.visits

    # -- what may be visited -----------------------------------------------------------------

    def must_wait(self, link: Link, score: float) -> bool:
        """Whether this link, the best of its host, must wait, and its host with it; otherwise its
        visit is counted."""
        self._record_source(link)
        self._refresh_if_due()
        site = self._site_of(link.url)
        if site and link.depth and not site.trusted and not self._may_take(site.region):
            self._order += 1
            heappush(self._waiting, (-score, self._order, host_of(link.url), site))
            return True
        self._count(link)
        return False

    def _count(self, link: Link) -> None:
        self._record_source(link)
        self._taken += 1
        if (site := self._site_of(link.url)) is None:
            return
        if link.depth == 0 and link.channel != "example" and not site.named:
            site.named = site.trusted = True  # a seed, or where it redirects to
            self._stated.add(site)
        site.found |= link.channel == "search"
        site.taken += 1
        self._on_probation += site.region.probation and not site.trusted
        self._add_host(site, host_of(link.url))

    def _add_host(self, site: _Site, host: str) -> None:
        if len(site.hosts) < _MAX_HOSTS and host not in site.hosts:
            site.hosts.add(host)
            self._visited.append(host)

    def _may_take(self, region: _Region) -> bool:
        if region.closed:
            return False
        return not region.probation or self._on_probation < self._share * self._taken

    def hosts_to_free(self) -> list[str]:
        """Hosts that need wait no longer; one at a time of those on probation."""
        self._refresh_if_due()
        free, self._free = self._free, []
        while self._waiting:
            _, _, host, site = self._waiting[0]
            if not site.trusted and site.region.closed:
                self._closed.append((host, site))
            elif site.trusted or self._may_take(site.region):
                free.append(host)
                heappop(self._waiting)
                break
            else:
                break
            heappop(self._waiting)
        return free

    @property
    def held_count(self) -> int:
        """Hosts that wait for trust."""
        return len(self._waiting) + len(self._closed)

    @property
    def held_notes(self) -> list[str]:
        """What a user should know of hosts that wait for trust; empty if there are none."""
        held = [*(site for _, site in self._closed), *(site for *_, site in self._waiting)]
        ways_in = sorted({site.region.way_in for site in held})
        if not held:
            return []
        return [
            f"{len(held)} hosts around {', '.join(ways_in[:3])} wait: they link to each other, "
            f"hardly any trusted site links to them, and so they get {self._share:.0%} of the "
            "visits (scope.unproven_share), and their pages do not count as relevant; if one of "
            "their pages is good, label it"
        ]

    def is_on_probation(self, url: Url) -> bool:
        site = self._sites.get(domain_of(host_of(url)))
        return site is not None and not site.trusted and site.region.probation

    def hosts_on_probation(self) -> set[str]:
        """Those that were visited."""
        self._refresh_if_due()
        return {
            host
            for site in self._by_number
            if site.region.probation and not site.trusted
            for host in site.hosts
        }

    def why_waiting(self, link: Link) -> str:
        """Why the links to this site wait, in words; '' if they do not."""
        self._record_source(link)
        self._refresh()
        site = self._sites.get(domain_of(host_of(link.url)))
        if site is None or site.trusted or not site.region.probation:
            return ""
        region = site.region
        known = (
            f"{site.name} is linked only from sites around {region.way_in} that link to each "
            f"other; of {region.sites} that were visited, trusted sites link to "
            f"{region.vouched or 'none'}"
        )
        if region.closed:
            return f"{known}; a person labelled one of their pages as bad, so none is visited"
        return f"{known}; they get {self._share:.0%} of the visits until one is labelled as good"

    # -- trust and regions -------------------------------------------------------------------

    def _refresh_if_due(self) -> None:
        if self._taken + self._elsewhere >= self._refresh_at:
            self._refresh()

    def _refresh(self) -> None:
        taken = self._taken + self._elsewhere
        self._refresh_at = taken + _REFRESH_VISITS + int(_REFRESH_GROWTH * taken)
        sites = self._by_number
        if not any(site.named or site.label > 0 for site in sites):
            return  # trust has nowhere to begin
        sources, targets = (np.frombuffer(ends, np.uint32).astype(np.intp) for ends in self._ends)
        count = len(sites)
        sizes = np.array(
            [bool(site.hosts) * (1 + len(site.hosts) // _HOSTS_PER_SITE) for site in sites]
        )
        labels = np.array([site.label for site in sites])
        named = np.array([site.named or site.label > 0 for site in sites])
        doubted = np.zeros(count, bool)
        for _ in range(_DOUBTS):
            trusted, vouched = self._spread_trust(sources, targets, named, doubted, sizes)
            vouched |= np.array([site.found for site in sites])
            regions = self._find_regions(sources, targets, trusted)
            visited = np.bincount(regions, sizes * ~trusted, count)
            backed = np.bincount(regions, (sizes > 0) & vouched & ~trusted, count)
            probation = visited > _FREE_SITES + _SITES_PER_VOUCHED * backed
            suspects = np.bincount(sources, probation[regions[targets]], count)
            partial = suspects > _SUSPECT_SHARE * np.bincount(sources, minlength=count)
            alike = partial & (suspects > _FREE_SITES) & ~named
            probation |= np.bincount(regions, alike & ~trusted, count) > 0
            further = alike & trusted
            if not further.any():
                break
            doubted |= further
        judged = np.bincount(regions, labels * ~trusted, count)
        found = {number: _Region(sites[number].name) for number in set(regions.tolist())}
        self._on_probation = 0
        for site, number, known in zip(sites, regions.tolist(), trusted.tolist(), strict=True):
            region = site.region = found[number]
            site.trusted = known
            region.probation = bool(probation[number])
            region.closed = region.probation and bool(judged[number] < 0)
            region.sites, region.vouched = int(visited[number]), int(backed[number])
            if not known:
                self._on_probation += site.taken * region.probation
        self.refreshes += 1
        self._reconsider_held()

    def _reconsider_held(self) -> None:
        """Hosts of regions that are free now, or closed no longer."""
        for host, site in self._closed:
            self._order += 1
            heappush(self._waiting, (-1.0, self._order, host, site))
        self._closed = []
        still = []
        for held in self._waiting:
            _, _, host, site = held
            if site.trusted or not site.region.probation:
                self._free.append(host)
            else:
                still.append(held)
        self._waiting = sorted(still)

    def _spread_trust(
        self, sources: _Numbers, targets: _Numbers, named: _Flags, doubted: _Flags, sizes: _Numbers
    ) -> tuple[_Flags, _Flags]:
        """Which sites are trusted, and which have a link from one that means something."""
        count = len(named)
        start = named / max(named.sum(), 1)
        share = ~doubted * _PASSED_ON / np.maximum(np.bincount(sources, minlength=count), 1)
        trust = start
        for _ in range(_STEPS):
            passed = np.bincount(targets, (trust * share)[sources], count)
            trust = passed + (1 - passed.sum()) * start
        # In units of the mean, over as many sites as share it in effect (inverse Simpson).
        earned = trust * ~named
        trust *= earned.sum() / ((earned * earned).sum() or 1.0)
        trusted: _Flags = (trust >= _TRUSTED * np.maximum(sizes, 1)) & ~doubted | named
        handed = np.bincount(targets, (trust * share * trusted)[sources], count)
        return trusted, handed >= _VOUCHED

    @staticmethod
    def _find_regions(sources: _Numbers, targets: _Numbers, trusted: _Flags) -> _Numbers:
        """The region of each site: the number of its first site."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        count, inside = len(trusted), ~(trusted[sources] | trusted[targets])
        ends = sources[inside], targets[inside]
        links = csr_array((np.ones(len(ends[0]), np.int8), ends), (count, count))
        part = connected_components(links, connection="weak")[1]
        first = np.full(count, count)
        np.minimum.at(first, part, np.arange(count))
        regions: _Numbers = first[part]
        return regions
