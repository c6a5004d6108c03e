"""Pages that wait for their host: one lane each, under one heap of the times they may go on."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Generic, TypeVar

Item = TypeVar("Item")

_MAX_QUEUES = 10_000
"""With so many, those that are empty and rested are forgotten."""


@dataclass(slots=True)
class _HostQueue(Generic[Item]):
    site: str
    pages: deque[Item] = field(default_factory=deque)
    busy: int = 0
    ready_at: float = 0.0
    """Not before this time."""
    queued: bool = False
    """Stands in the heap, or waits for its site."""


class HostQueues(Generic[Item]):
    """Who may go now. Synchronous; told the time.

    ``per_host`` pages of a host at once, and ``per_site`` hosts of a site (registrable domain).
    """

    def __init__(self, site: Callable[[str], str], *, per_host: int = 1, per_site: int = 4) -> None:
        self._site = site
        self._per_host = per_host
        self._per_site = per_site
        self._lanes: dict[str, _HostQueue[Item]] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._turns = count()
        self._busy: Counter[str] = Counter()
        """Hosts of each site that are being asked."""
        self._held: dict[str, deque[str]] = {}
        """Hosts that wait until another host of their site is done."""
        self._waiting = 0

    def __len__(self) -> int:
        return self._waiting

    def add(self, host: str, page: Item, *, front: bool = False) -> None:
        lane = self._pages_of(host)
        (lane.pages.appendleft if front else lane.pages.append)(page)
        self._waiting += 1
        self._push_host(host, lane)

    def next_page(self, now: float) -> tuple[str, Item] | None:
        """A page whose host is free and rested; the host is busy until :meth:`release_host`."""
        while self._heap and self._heap[0][0] <= now:
            host = heappop(self._heap)[2]
            lane = self._lanes[host]
            lane.queued = False
            if not lane.pages or lane.busy >= self._per_host:
                continue
            if lane.ready_at > now:  # it was told to rest while it stood in the heap
                self._push_host(host, lane)
                continue
            if not lane.busy and self._busy[lane.site] >= self._per_site:
                lane.queued = True
                self._held.setdefault(lane.site, deque()).append(host)
                continue
            self._mark_busy(lane)
            self._waiting -= 1
            page = lane.pages.popleft()
            self._push_host(host, lane)
            return host, page
        return None

    def claim_host(self, host: str, now: float) -> float:
        """Claim a host without a page: 0 when claimed, else when to ask again."""
        lane = self._pages_of(host)
        if lane.busy or lane.ready_at > now:
            return max(lane.ready_at, now + 1.0)
        self._mark_busy(lane)
        return 0.0

    def release_host(self, host: str, now: float, rest: float) -> None:
        """A page of this host, or the claim, is finished with; the host rests."""
        lane = self._lanes[host]
        lane.busy -= 1
        lane.ready_at = max(lane.ready_at, now + rest)
        if not lane.busy:
            self._busy[lane.site] -= 1
            if not self._busy[lane.site]:
                del self._busy[lane.site]
            if held := self._held.get(lane.site):
                other = held.popleft()
                if not held:
                    del self._held[lane.site]
                self._lanes[other].queued = False
                self._push_host(other, self._lanes[other])
        self._push_host(host, lane)

    def empty_host(self, host: str) -> list[Item]:
        """Take out what waits for this host, which may not be asked for long."""
        lane = self._pages_of(host)
        pages = list(lane.pages)
        lane.pages.clear()
        self._waiting -= len(pages)
        return pages

    def clear(self) -> None:
        """Nobody wants what waits any more."""
        for lane in self._lanes.values():
            lane.pages.clear()
        self._waiting = 0

    def wake_at(self) -> float | None:
        """When next may have something; None: not before something is done or added."""
        return self._heap[0][0] if self._heap else None

    def _mark_busy(self, lane: _HostQueue[Item]) -> None:
        if not lane.busy:
            self._busy[lane.site] += 1
        lane.busy += 1

    def _push_host(self, host: str, lane: _HostQueue[Item]) -> None:
        if lane.pages and not lane.queued and lane.busy < self._per_host:
            lane.queued = True
            heappush(self._heap, (lane.ready_at, next(self._turns), host))

    def _pages_of(self, host: str) -> _HostQueue[Item]:
        lane = self._lanes.get(host)
        if lane is None:
            lane = self._lanes[host] = _HostQueue(self._site(host))
        return lane

    def forget_idle(self, now: float) -> None:
        """Let go of lanes that nobody needs, once there are many."""
        if len(self._lanes) > _MAX_QUEUES:
            self._lanes = {
                host: lane
                for host, lane in self._lanes.items()
                if lane.pages or lane.busy or lane.queued or lane.ready_at > now
            }
