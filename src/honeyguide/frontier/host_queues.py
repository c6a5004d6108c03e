"""Queues of hosts: limits of sites, the links of each host, and which host is next.

A site is a registrable domain: its owner can create hosts without end, so links, hosts and parallel
requests are limited for the site as a whole.
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
    """What one site uses of its limits."""

    __slots__ = ("blocked", "busy", "hosts", "rows")

    def __init__(self) -> None:
        self.rows = 0
        """Links ever taken, whatever became of them."""
        self.hosts = 0
        self.busy = 0
        """Hosts with a request in progress."""
        self.blocked: list[int] | None = None
        """A heap of codes: the best links of hosts that wait until another is done. Few sites need
        one, and an empty list would cost as much memory as the rest."""


class SiteLimits:
    """All sites, and the limits of each; 0: no limit."""

    def __init__(self, links: int = 0, hosts: int = 0, busy: int = 0) -> None:
        self.limited = bool(links or hosts or busy)
        self.links = links or inf
        self.hosts = hosts or inf
        self.busy = busy or inf
        self._sites: dict[str, SiteUsage] = {}

    def add_host(self, host: str) -> SiteUsage:
        """The site of a new host."""
        name = domain_of(host) if self.limited else ""
        site = self._sites.get(name)
        if site is None:
            # Most sites have one host: the same name twice would be as large as the site.
            site = self._sites[host if name == host else name] = SiteUsage()
        site.hosts += 1
        return site

    def admits_new_host(self, host: str) -> bool:
        """Whether a new host may bring a link."""
        site = self._sites.get(domain_of(host))
        return site is None or (site.hosts < self.hosts and site.rows < self.links)


# --- The links of one host ---


MIN_HOT = 8
"""Least size of a hot part that spills. A hot link takes 60 bytes and a cold one 4, and most
hosts have few links: unneeded hot links are most of a small frontier."""
HOT_LIMIT = 2 * MIN_HOT
"""A hot part of this size does not spill."""


def hot_share(count: int) -> int:
    """How many of so many links should be hot, so that refilling costs little per link."""
    return max(MIN_HOT, 2 * isqrt(count))


class HostLinkQueue:
    """A host: its waiting links, strictly best first, and whether it may be asked.

    The best few are *hot*, a heap of codes; all others are *cold*, a plain array of rows that is
    sorted only when the hot part is empty. Every hot code is smaller than ``floor`` and no cold one
    is, so the best link is always hot.
    """

    __slots__ = (
        "busy", "cold", "floor", "held", "hot", "listed", "name", "number", "parked", "rests",
        "site", "stale",
    )  # fmt: skip

    def __init__(self, number: int, name: str, site: SiteUsage) -> None:
        self.number = number
        self.name = name
        self.site = site
        self.hot: list[int] = []
        self.cold: array[int] | None = None
        self.floor = LAST_CODE
        self.stale = 0
        """Rows in the cold part that left it since it was last cleaned."""
        self.busy = False
        self.held = False
        """It may not be asked until somebody says so."""
        self.rests = 0.0
        self.parked = 0.0
        self.listed = 0.0
        """The time under which the heap of resting hosts contains it; 0: it does not."""

    @property
    def free_at(self) -> float:
        return self.rests if self.rests > self.parked else self.parked

    def add_link(self, code: int, rows: FrontierRows) -> bool:
        """Enter a link that is in neither part. Returns whether it is the best now."""
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
        """Spill the worse half of a hot part that is too large."""
        if len(self.hot) > 2 * self._max_hot():
            self._spill_hot(rows)

    def add_cold(self, row: int) -> None:
        """Append a link to the cold part; the caller sets its state to COLD."""
        if self.cold is None:
            self.cold = array("I")
        self.cold.append(row)

    def move_link(self, code: int, rows: FrontierRows) -> bool:
        """Move a waiting link whose rank changed. Returns whether it is the best now."""
        row = code & ROW_MASK
        if rows.state[row] == COLD:
            if code >= self.floor:
                return False
            self.stale += 1
        # If it was hot, its former code stays behind and is dropped when it surfaces.
        return self.add_link(code, rows)

    def best_code(self, rows: FrontierRows) -> int | None:
        """The code of the best link; None if none waits."""
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
        """Load all waiting links when a frontier opens: sorted hot codes, then cold rows."""
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
        """Move the worse part of an overfull heap to the cold part."""
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
        """The cold part without rows that left it."""
        assert self.cold is not None
        held: NDArray[np.uint32] = np.frombuffer(self.cold, np.uint32)
        if self.stale:
            held = np.unique(held[rows.state[held] == COLD])
            self.stale = 0
        return held

    def _refill_hot(self, rows: FrontierRows) -> None:
        """Move the best of the cold part to the hot part."""
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


# --- All hosts ---


HeapItem = TypeVar("HeapItem", int, tuple[float, int])


class HostHeap:
    """Which host is next: the one with the best link among those that are rested.

    All heaps are lazy: an entry is checked when it surfaces, and dropped or corrected if it is
    outdated. For every rested host with links there is an entry that is at least as good as its
    best link: in ``ready``, or in ``blocked`` of its site while the site has as many busy hosts as
    it may. When it has room again, its best blocked entry becomes ready, and the next one when that
    is gone: so ``ready`` always has an entry of the site at least as good as all blocked ones.
    """

    def __init__(self, rows: FrontierRows, now: float, sites: SiteLimits) -> None:
        self._rows = rows
        self._sites = sites
        self._ready: list[int] = []
        self._blocked = 0
        """Blocked entries of all sites."""
        self._resting: list[tuple[float, int]] = []
        self._by_name: dict[str, HostLinkQueue] = {}
        self.hosts: list[HostLinkQueue] = []
        self.now = now
        """The last known time."""

    def get_host(self, name: str) -> HostLinkQueue:
        """The host with that name, created if it is new."""
        host = self._by_name.get(name)
        if host is None:
            host = HostLinkQueue(len(self.hosts), name, self._sites.add_host(name))
            self._by_name[name] = host
            self.hosts.append(host)
        return host

    def hosts_of_urls(self, urls: list[Url]) -> list[HostLinkQueue]:
        """The hosts of addresses; faster for known hosts without port or password."""
        known = self._by_name.get
        return [known(url.split("/", 3)[2]) or self.get_host(host_name(url)) for url in urls]

    def admit_links(self, links: list[Link]) -> list[HostLinkQueue | None]:
        """The host of each link, which is counted for its site; None without room.

        Seeds always find room.
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
        """Enter a host into its heap after it was freed, got a new best link, or both."""
        if host.busy or host.held:
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
        """Claim the best rested host and remove its best link: the code of the link."""
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
        """Claim this host: 0 if it was free, else when to ask again.

        The limit of its site does not count: the caller may hold the last place of the site already
        and would wait for itself.
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
        """Release a host; it rests."""
        self.now = now
        if host.busy:
            host.busy = False
            host.site.busy -= 1
        host.rests = now + rest
        self.place_host(host)
        self._unblock_site(host.site)

    def wake_at(self) -> float | None:
        """When a host may next be taken, by rests and parking.

        A host whose site has no room then makes it too early once, never too late.
        """
        if self._best_ready() is not None:
            return 0.0
        while self._resting:
            time, number = self._resting[0]
            host = self.hosts[number]
            current = host.listed == time == host.free_at and not (host.busy or host.held)
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
        """The best rested host with room and its best code, which is left at the head of
        ``ready``."""
        ready, most = self._ready, self._sites.busy
        while ready:
            code = ready[0]
            host = self.hosts[self._rows.host[code & ROW_MASK]]
            if host.busy or host.held:
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
        """Call when an entry of this site left ``ready``, or when it has room again."""
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
        """Keep one entry for each host."""
        self._ready.clear()
        self._blocked = 0
        for host in self.hosts:
            host.site.blocked = None
        for host in self.hosts:
            if not (host.busy or host.held) and host.free_at <= self.now:
                top = host.best_code(self._rows)
                if top is not None:
                    self._push_code(host.site, top)


def smallest_items(heap: list[HeapItem], most: int) -> list[HeapItem]:
    """The smallest items of a heap in order, without looking at the others."""
    found: list[HeapItem] = []
    ahead = [(heap[0], 0)] if heap else []
    while ahead and len(found) < most:
        item, at = heappop(ahead)
        found.append(item)
        for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
            heappush(ahead, (heap[child], child))
    return found
