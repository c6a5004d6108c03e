"""Sites: all hosts of one registrable domain, which one owner can have without end.

What is limited is limited for a site as a whole: its links, its hosts, and how many of its hosts
are asked at once. Without limits nobody's site is looked up.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush, heapreplace
from math import inf, isqrt
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.rows import COLD, HOT, LAST_CODE, ROW_MASK, FrontierRows, RowIndex
from honeyguide.types import Link, Url
from honeyguide.url import domain_of
from honeyguide.url import host_of as host_name


class SiteUsage:
    __slots__ = ("blocked", "busy", "hosts", "rows")

    def __init__(self) -> None:
        self.rows = 0
        """Links ever taken in, whatever became of them."""
        self.hosts = 0
        self.busy = 0
        """Hosts that are being asked."""
        self.blocked: list[int] | None = None
        """A heap of codes: the best links of hosts that wait until another is done. Few sites
        ever have one, and an empty list would cost each of the others as much as itself."""


class SiteLimits:
    """Every site, and the most that any of them may have; 0: no limit."""

    def __init__(self, links: int = 0, hosts: int = 0, busy: int = 0) -> None:
        self.limited = bool(links or hosts or busy)
        self.links = links or inf
        self.hosts = hosts or inf
        self.busy = busy or inf
        self._sites: dict[str, SiteUsage] = {}

    def add_host(self, host: str) -> SiteUsage:
        """The site of a host, which is one of its hosts from now on."""
        name = domain_of(host) if self.limited else ""
        site = self._sites.get(name)
        if site is None:
            # Most sites have one host: the same name twice would be as large as the site.
            site = self._sites[host if name == host else name] = SiteUsage()
        site.hosts += 1
        return site

    def admits_new_host(self, host: str) -> bool:
        """Whether a host that is new to us may bring a link."""
        site = self._sites.get(domain_of(host))
        return site is None or (site.hosts < self.hosts and site.rows < self.links)


# --------------------------------------------------------------------------------------------------
# One host's waiting links, strictly best first.
#
# The best few are *hot*, a heap of codes; all others are *cold*, a plain array of rows whose
# order is looked at only when the hot part runs out. Every hot code is smaller than ``floor`` and
# every cold one is not, so the best link is always in the hot part.
# --------------------------------------------------------------------------------------------------


MIN_HOT = 8
"""A hot part that gives away keeps at least so many. A hot link takes 60 bytes and a cold one 4,
and most hosts have few links: what is hot for no good reason is most of a small frontier."""
HOT_LIMIT = 2 * MIN_HOT
"""A hot part of this size gives nothing away."""


def hot_share(count: int) -> int:
    """How many of so many links should be hot: refilling them then costs little per link."""
    return max(MIN_HOT, 2 * isqrt(count))


class HostLinkQueue:
    """A host: its queue, and whether it may be asked."""

    __slots__ = (
        "busy", "cold", "floor", "hot", "listed", "name", "number", "parked", "rests", "site",
        "stale",
    )  # fmt: skip

    def __init__(self, number: int, name: str, site: SiteUsage) -> None:
        self.number = number
        self.name = name
        self.site = site
        self.hot: list[int] = []
        self.cold: array[int] | None = None
        self.floor = LAST_CODE
        self.stale = 0
        """Rows in the cold part that have left it since it was last tidied."""
        self.busy = False
        self.rests = 0.0
        self.parked = 0.0
        self.listed = 0.0
        """The time under which the heap of resting hosts knows it; 0: not at all."""

    @property
    def free_at(self) -> float:
        return self.rests if self.rests > self.parked else self.parked

    def add_link(self, code: int, rows: FrontierRows) -> bool:
        """A link that is in neither part enters one. Whether it leads now."""
        row = code & ROW_MASK
        if code >= self.floor:
            self.add_cold(row)
            rows.state[row] = COLD
            return False
        rows.state[row] = HOT
        heappush(self.hot, code)
        if len(self.hot) > HOT_LIMIT:
            self.shrink_hot(rows)
        return self.hot[0] == code

    def shrink_hot(self, rows: FrontierRows) -> None:
        """A hot part beyond the limit gives its worse half away, unless it has a right to more."""
        if len(self.hot) > 2 * self._max_hot():
            self._spill_hot(rows)

    def add_cold(self, row: int) -> None:
        """A link behind the floor enters the cold part; its state becomes COLD elsewhere."""
        if self.cold is None:
            self.cold = array("I")
        self.cold.append(row)

    def move_link(self, code: int, rows: FrontierRows) -> bool:
        """A waiting link whose rank has changed takes its new place. Whether it leads now."""
        row = code & ROW_MASK
        if rows.state[row] == COLD:
            if code >= self.floor:
                return False
            self.stale += 1
        # If it was hot, its former code stays behind and is dropped when it surfaces.
        return self.add_link(code, rows)

    def best_code(self, rows: FrontierRows) -> int | None:
        """The code of the best link, or None if none waits here."""
        hot = self.hot
        while True:
            while hot:
                code = hot[0]
                if self._is_current(code, rows):
                    return code
                heappop(hot)
            if not self.cold:
                return None
            self._refill_hot(rows)

    def load_queue(self, codes: list[int], cold: RowIndex, floor: int) -> None:
        """Everything that waits, when a frontier opens: sorted hot codes, then cold rows."""
        self.hot = codes
        self.floor = floor
        if len(cold):
            self.cold = array("I", cold.tobytes())

    def _max_hot(self) -> int:
        return hot_share(len(self.cold)) if self.cold else MIN_HOT

    def _is_current(self, code: int, rows: FrontierRows) -> bool:
        row = code & ROW_MASK
        return bool(rows.state[row] == HOT and rows.rank[row] == code >> 32)

    def _spill_hot(self, rows: FrontierRows) -> None:
        """The worse part of an overfull heap becomes cold."""
        codes = sorted({code for code in self.hot if self._is_current(code, rows)})
        keep = self._max_hot()
        self.hot[:] = codes[:keep]
        if len(codes) > keep:
            self.floor = codes[keep]
            spilled = np.array([code & ROW_MASK for code in codes[keep:]], np.uint32)
            rows.state[spilled] = COLD
            self.cold = self.cold or array("I")
            self.cold.frombytes(spilled.tobytes())
        if self.cold and self.stale > MIN_HOT + len(self.cold) // 2:
            self.cold = array("I", self._cold_rows(rows).tobytes())

    def _cold_rows(self, rows: FrontierRows) -> RowIndex:
        """The cold part without what has left it."""
        assert self.cold is not None
        held: NDArray[np.uint32] = np.frombuffer(self.cold, np.uint32)
        if self.stale:
            held = np.unique(held[rows.state[held] == COLD])
            self.stale = 0
        return held

    def _refill_hot(self, rows: FrontierRows) -> None:
        """The best of the cold part become hot."""
        held = self._cold_rows(rows)
        ranks = rows.rank[held]
        keep = hot_share(len(held))
        if len(held) <= 2 * keep:
            best = np.ones(len(held), bool)
        else:
            bar = np.partition(ranks, keep - 1)[keep - 1]
            best = ranks < bar
            ties = held[ranks == bar]
            room = keep - int(best.sum())
            best |= (ranks == bar) & (held <= np.partition(ties, room - 1)[room - 1])
        rows.state[held[best]] = HOT
        pairs = zip(ranks[best].tolist(), held[best].tolist(), strict=True)
        self.hot[:] = sorted([rank << 32 | row for rank, row in pairs])
        rest, worse = held[~best], ranks[~best]
        if len(rest):
            lowest = worse.min()
            self.floor = int(lowest) << 32 | int(rest[worse == lowest].min())
            self.cold = array("I", rest.tobytes())
        else:
            self.floor, self.cold = LAST_CODE, None


# --------------------------------------------------------------------------------------------------
# Which host goes next: the one whose best link is best, among those that are rested.
#
# All heaps are lazy. An entry is checked when it surfaces, and what no longer holds is dropped or
# corrected there. For every rested host with links there is an entry that is at least as good as
# the host's best link: in ``ready``, or in its site's ``blocked`` while the site has as many hosts
# busy as it may. When it has room again, its best blocked entry becomes ready, and the next one
# when that is gone: so ``ready`` always has an entry of the site at least as good as all blocked.
# --------------------------------------------------------------------------------------------------


HeapItem = TypeVar("HeapItem", int, tuple[float, int])


class HostHeap:
    def __init__(self, rows: FrontierRows, now: float, sites: SiteLimits) -> None:
        self._rows = rows
        self._sites = sites
        self._ready: list[int] = []
        self._blocked = 0
        """Entries of all sites together."""
        self._resting: list[tuple[float, int]] = []
        self._by_name: dict[str, HostLinkQueue] = {}
        self.hosts: list[HostLinkQueue] = []
        self.now = now
        """The last time we were told."""

    def get_host(self, name: str) -> HostLinkQueue:
        """The host of that name, made known if it is new."""
        host = self._by_name.get(name)
        if host is None:
            host = HostLinkQueue(len(self.hosts), name, self._sites.add_host(name))
            self._by_name[name] = host
            self.hosts.append(host)
        return host

    def hosts_of_urls(self, urls: list[Url]) -> list[HostLinkQueue]:
        """The hosts of addresses; the short way for those known, without port or password."""
        known = self._by_name.get
        return [known(url.split("/", 3)[2]) or self.get_host(host_name(url)) for url in urls]

    def admit_links(self, links: list[Link]) -> list[HostLinkQueue | None]:
        """The host of each link, which counts for its site now; None if that has no room for it.

        A seed is somebody's wish and always finds room.
        """
        found: list[HostLinkQueue | None] = []
        known, most = self._by_name.get, self._sites.links
        for link in links:
            host = known(link.url.split("/", 3)[2])
            if host is None:
                name = host_name(link.url)
                if self._has_room(name) or link.channel == "seed":
                    host = self.get_host(name)
            elif host.site.rows >= most and link.channel != "seed":
                host = None
            if host is not None:
                host.site.rows += 1
            found.append(host)
        return found

    def has_room_for(self, url: Url) -> bool:
        """Whether the site of this address may have one more link."""
        return self._has_room(host_name(url))

    def _has_room(self, name: str) -> bool:
        if (host := self._by_name.get(name)) is None:
            return self._sites.admits_new_host(name)
        return host.site.rows < self._sites.links

    def place_host(self, host: HostLinkQueue) -> None:
        """Enter a host where it belongs, after it was freed, got a new best link, or both."""
        if host.busy:
            return
        free_at = host.free_at
        if free_at > self.now:
            if host.listed != free_at:
                host.listed = free_at
                heappush(self._resting, (free_at, host.number))
        elif (code := host.best_code(self._rows)) is not None:
            self._push_code(host.site, code)
            if len(self._ready) + self._blocked > 1024 + 4 * len(self.hosts):
                self._rebuild_ready()

    def take_best(self, now: float) -> int | None:
        """Claim the best rested host and take its best link out: the link's code."""
        self.now = now
        while self._resting and self._resting[0][0] <= now:
            self.place_host(self._pop_resting())
        best = self._best_ready()
        if best is None:
            return None
        host, code = best
        heappop(self._ready)
        heappop(host.hot)
        host.busy = True
        host.site.busy += 1
        self._unblock_site(host.site)
        return code

    def claim_host(self, host: HostLinkQueue, now: float) -> float:
        """Claim this host: 0 if that went well, else when to ask again.

        Its site is not asked for room: who claims may hold the site's last place already, and
        would wait for himself.
        """
        self.now = now
        if host.busy:
            return now + 1.0
        if host.free_at > now:
            return host.free_at
        host.busy = True
        host.site.busy += 1
        return 0.0

    def free_host(self, host: HostLinkQueue, now: float, rest: float) -> None:
        """Give a host back; it rests."""
        self.now = now
        if host.busy:
            host.busy = False
            host.site.busy -= 1
        host.rests = now + rest
        self.place_host(host)
        self._unblock_site(host.site)

    def wake_at(self) -> float | None:
        """When a host may next be taken, as far as rests and parking decide it.

        A host whose site will have no room then makes it too early, once; never too late.
        """
        if self._best_ready() is not None:
            return 0.0
        while self._resting:
            time, number = self._resting[0]
            host = self.hosts[number]
            current = host.listed == time == host.free_at and not host.busy
            if current and host.best_code(self._rows) is not None:
                return time
            self._pop_resting()
        return None

    def leading_rows(self, most: int) -> list[int]:
        """Rows at the head of the queues of the best rested hosts and of those next to wake."""
        share = most // 6
        best = smallest_items(self._ready, share)
        heads = {int(self._rows.host[code & ROW_MASK]) for code in best}
        heads.update(number for _, number in smallest_items(self._resting, share))
        each = most // max(len(heads), 1)
        return [code & ROW_MASK for n in heads for code in smallest_items(self.hosts[n].hot, each)]

    def _best_ready(self) -> tuple[HostLinkQueue, int] | None:
        """The best rested host with room and its best code, left at the head of ``ready``."""
        ready, most = self._ready, self._sites.busy
        while ready:
            code = ready[0]
            host = self.hosts[self._rows.host[code & ROW_MASK]]
            if host.busy:
                heappop(ready)
            elif host.free_at > self.now:
                heappop(ready)
                self.place_host(host)
            elif (top := host.best_code(self._rows)) is None:
                heappop(ready)
            elif top != code:
                heapreplace(ready, top)
            elif host.site.busy < most:
                return host, code
            else:
                self._push_code(host.site, heappop(ready))
            self._unblock_site(host.site)
        return None

    def _push_code(self, site: SiteUsage, code: int) -> None:
        if site.busy < self._sites.busy:
            heappush(self._ready, code)
        else:
            site.blocked = site.blocked or []
            heappush(site.blocked, code)
            self._blocked += 1

    def _unblock_site(self, site: SiteUsage) -> None:
        """An entry of this site may have left ``ready``, or it may have room again."""
        if site.blocked and site.busy < self._sites.busy:
            heappush(self._ready, heappop(site.blocked))
            self._blocked -= 1

    def _pop_resting(self) -> HostLinkQueue:
        time, number = heappop(self._resting)
        host = self.hosts[number]
        if host.listed == time:
            host.listed = 0.0
        return host

    def _rebuild_ready(self) -> None:
        """Keep one entry a host."""
        self._ready.clear()
        self._blocked = 0
        for host in self.hosts:
            host.site.blocked = None
        for host in self.hosts:
            if not host.busy and host.free_at <= self.now:
                top = host.best_code(self._rows)
                if top is not None:
                    self._push_code(host.site, top)


def smallest_items(heap: list[HeapItem], most: int) -> list[HeapItem]:
    """The smallest of a heap in order; all the others are not looked at."""
    found: list[HeapItem] = []
    ahead = [(heap[0], 0)] if heap else []
    while ahead and len(found) < most:
        item, at = heappop(ahead)
        found.append(item)
        for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
            heappush(ahead, (heap[child], child))
    return found
