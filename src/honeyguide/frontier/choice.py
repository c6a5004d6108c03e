"""Which host goes next: the one whose best link is best, among those that are rested.

Both heaps are lazy. An entry is checked when it surfaces, and what no longer holds is dropped
or corrected there. For every rested host with links, ``ready`` has an entry that is at least as
good as the host's best link.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace, nsmallest

from honeyguide.frontier.queue import Host
from honeyguide.frontier.rows import ROW, Rows
from honeyguide.types import Url
from honeyguide.url import host as host_name


class Choice:
    def __init__(self, rows: Rows, now: float) -> None:
        self._rows = rows
        self._ready: list[int] = []
        self._resting: list[tuple[float, int]] = []
        self._by_name: dict[str, Host] = {}
        self.hosts: list[Host] = []
        self.now = now
        """The last time we were told."""

    def host(self, name: str) -> Host:
        """The host of that name, made known if it is new."""
        host = self._by_name.get(name)
        if host is None:
            host = Host(len(self.hosts), name)
            self._by_name[name] = host
            self.hosts.append(host)
        return host

    def hosts_of(self, urls: list[Url]) -> list[Host]:
        """The hosts of addresses; the short way for those known, without port or password."""
        known = self._by_name.get
        return [known(url.split("/", 3)[2]) or self.host(host_name(url)) for url in urls]

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
            heappush(self._ready, code)
            if len(self._ready) > 1024 + 4 * len(self.hosts):
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
        return code

    def claim(self, host: Host, now: float) -> float:
        """Claim this host: 0 if that went well, else when to ask again."""
        self.now = now
        if host.busy:
            return now + 1.0
        if host.free_at > now:
            return host.free_at
        host.busy = True
        return 0.0

    def free(self, host: Host, now: float, rest: float) -> None:
        """Give a host back; it rests."""
        self.now = now
        host.busy = False
        host.rests = now + rest
        self.place(host)

    def wake_at(self) -> float | None:
        """When a host may next be taken, as far as rests and parking decide it."""
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
        """Rows at the head of the queues of rested hosts, the best hosts first."""
        heads = {int(self._rows.host[code & ROW]) for code in nsmallest(most // 8, self._ready)}
        each = most // max(len(heads), 1)
        return [code & ROW for n in heads for code in nsmallest(each, self.hosts[n].hot)]

    def _best(self) -> tuple[Host, int] | None:
        """The best rested host and its best code, left at the head of ``ready``."""
        ready = self._ready
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
            else:
                return host, code
        return None

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
        rested = (h for h in self.hosts if not h.busy and h.free_at <= self.now)
        self._ready = [top for host in rested if (top := host.top(self._rows)) is not None]
        heapify(self._ready)
