"""Which host goes next: the one whose best link is best, among those that are rested.

All heaps are lazy. An entry is checked when it surfaces, and what no longer holds is dropped or
corrected there. For every rested host with links there is an entry that is at least as good as
the host's best link: in ``ready``, or in its site's ``blocked`` while the site has as many hosts
busy as it may. When it has room again, its best blocked entry becomes ready, and the next one
when that is gone: so ``ready`` always has an entry of the site at least as good as all blocked.
"""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace
from typing import TypeVar

from honeyguide.frontier.domain_limits import Site, Sites
from honeyguide.frontier.queue import Host
from honeyguide.frontier.rows import ROW, Rows
from honeyguide.types import Link, Url
from honeyguide.url import host as host_name

T = TypeVar("T", int, tuple[float, int])


class Choice:
    def __init__(self, rows: Rows, now: float, sites: Sites) -> None:
        self._rows = rows
        self._sites = sites
        self._ready: list[int] = []
        self._blocked = 0
        """Entries of all sites together."""
        self._resting: list[tuple[float, int]] = []
        self._by_name: dict[str, Host] = {}
        self.hosts: list[Host] = []
        self.now = now
        """The last time we were told."""

    def host(self, name: str) -> Host:
        """The host of that name, made known if it is new."""
        host = self._by_name.get(name)
        if host is None:
            host = Host(len(self.hosts), name, self._sites.join(name))
            self._by_name[name] = host
            self.hosts.append(host)
        return host

    def hosts_of(self, urls: list[Url]) -> list[Host]:
        """The hosts of addresses; the short way for those known, without port or password."""
        known = self._by_name.get
        return [known(url.split("/", 3)[2]) or self.host(host_name(url)) for url in urls]

    def admit(self, links: list[Link]) -> list[Host | None]:
        """The host of each link, which counts for its site now; None if that has no room for it.

        A seed is somebody's wish and always finds room.
        """
        found: list[Host | None] = []
        known, most = self._by_name.get, self._sites.links
        for link in links:
            host = known(link.url.split("/", 3)[2])
            if host is None:
                host = self._newcomer(link)
            elif host.site.rows >= most and link.channel != "seed":
                host = None
            if host is not None:
                host.site.rows += 1
            found.append(host)
        return found

    def _newcomer(self, link: Link) -> Host | None:
        name = host_name(link.url)
        return self.host(name) if self._has_room(name) or link.channel == "seed" else None

    def room(self, url: Url) -> bool:
        """Whether the site of this address may have one more link."""
        return self._has_room(host_name(url))

    def _has_room(self, name: str) -> bool:
        host = self._by_name.get(name)
        return self._sites.opens(name) if host is None else host.site.rows < self._sites.links

    def place(self, host: Host) -> None:
        """Enter a host where it belongs, after it was freed, got a new best link, or both."""
        if host.busy:
            return
        free_at = host.free_at
        if free_at > self.now:
            if host.listed != free_at:
                host.listed = free_at
                heappush(self._resting, (free_at, host.number))
        elif (code := host.top(self._rows)) is not None:
            self._enter(host.site, code)
            if len(self._ready) + self._blocked > 1024 + 4 * len(self.hosts):
                self._tidy()

    def take(self, now: float) -> int | None:
        """Claim the best rested host and take its best link out: the link's code."""
        self._wake(now)
        best = self._best()
        if best is None:
            return None
        host, code = best
        heappop(self._ready)
        heappop(host.hot)
        host.busy = True
        host.site.busy += 1
        self._lend(host.site)
        return code

    def claim(self, host: Host, now: float) -> float:
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

    def free(self, host: Host, now: float, rest: float) -> None:
        """Give a host back; it rests."""
        self.now = now
        if host.busy:
            host.busy = False
            host.site.busy -= 1
        host.rests = now + rest
        self.place(host)
        self._lend(host.site)

    def wake_at(self) -> float | None:
        """When a host may next be taken, as far as rests and parking decide it.

        A host whose site will have no room then makes it too early, once; never too late.
        """
        if self._best() is not None:
            return 0.0
        while self._resting:
            time, number = self._resting[0]
            host = self.hosts[number]
            current = host.listed == time == host.free_at and not host.busy
            if current and host.top(self._rows) is not None:
                return time
            self._unlist()
        return None

    def leading(self, most: int) -> list[int]:
        """Rows at the head of the queues of the best rested hosts and of those next to wake."""
        some = most // 6
        heads = {int(self._rows.host[code & ROW]) for code in first(self._ready, some)}
        heads.update(number for _, number in first(self._resting, some))
        each = most // max(len(heads), 1)
        return [code & ROW for n in heads for code in first(self.hosts[n].hot, each)]

    def _best(self) -> tuple[Host, int] | None:
        """The best rested host with room and its best code, left at the head of ``ready``."""
        ready, most = self._ready, self._sites.busy
        while ready:
            code = ready[0]
            host = self.hosts[self._rows.host[code & ROW]]
            if host.busy:
                heappop(ready)
            elif host.free_at > self.now:
                heappop(ready)
                self.place(host)
            elif (top := host.top(self._rows)) is None:
                heappop(ready)
            elif top != code:
                heapreplace(ready, top)
            elif host.site.busy < most:
                return host, code
            else:
                self._enter(host.site, heappop(ready))
            self._lend(host.site)
        return None

    def _enter(self, site: Site, code: int) -> None:
        if site.busy < self._sites.busy:
            heappush(self._ready, code)
        else:
            site.blocked = site.blocked or []
            heappush(site.blocked, code)
            self._blocked += 1

    def _lend(self, site: Site) -> None:
        """An entry of this site may have left ``ready``, or it may have room again."""
        if site.blocked and site.busy < self._sites.busy:
            heappush(self._ready, heappop(site.blocked))
            self._blocked -= 1

    def _wake(self, now: float) -> None:
        """Hosts whose rest is over become ready."""
        self.now = now
        while self._resting and self._resting[0][0] <= now:
            self.place(self._unlist())

    def _unlist(self) -> Host:
        time, number = heappop(self._resting)
        host = self.hosts[number]
        if host.listed == time:
            host.listed = 0.0
        return host

    def _tidy(self) -> None:
        """Keep one entry a host."""
        self._ready.clear()
        self._blocked = 0
        for host in self.hosts:
            host.site.blocked = None
        for host in self.hosts:
            if not host.busy and host.free_at <= self.now:
                top = host.top(self._rows)
                if top is not None:
                    self._enter(host.site, top)


def first(heap: list[T], most: int) -> list[T]:
    """The smallest of a heap in order; all the others are not looked at."""
    found: list[T] = []
    ahead = [(heap[0], 0)] if heap else []
    while ahead and len(found) < most:
        item, at = heappop(ahead)
        found.append(item)
        for child in range(2 * at + 1, min(2 * at + 3, len(heap))):
            heappush(ahead, (heap[child], child))
    return found
