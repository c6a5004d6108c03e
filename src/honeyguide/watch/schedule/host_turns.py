"""Pages whose time has come wait here for their host: one at a time, and a rest after each."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple


class HostTurn(NamedTuple):
    """A page that is due; the one that has been due longest goes first."""

    due: float
    row: int


class HostDemand(NamedTuple):
    """What was asked of a host in a period."""

    host: int
    done: int
    waiting: int
    rest: float
    """Seconds it rests after each."""


class _HostState:
    __slots__ = ("busy", "done", "listed", "rest", "rests_until", "waiting")

    def __init__(self, rest: float) -> None:
        self.waiting: list[HostTurn] = []
        self.rests_until = 0.0
        self.rest = rest
        self.busy = False
        self.listed = False
        """Whether it stands in one of the two heaps."""
        self.done = 0
        """Requests in this period."""


class HostTurns:
    """Whose turn it is. Hosts are numbers here."""

    def __init__(self, rest_s: float) -> None:
        self._rest = rest_s
        self._hosts: dict[int, _HostState] = {}
        self._resting: list[tuple[float, int]] = []
        self._ready: list[tuple[float, int]] = []

    def offer(self, turn: HostTurn, host: int) -> None:
        """A page is due."""
        here = self._host_state(host)
        heappush(here.waiting, turn)
        self._list_host(host, here)

    def withdraw(self, row: int, host: int) -> None:
        """A page is not to be visited after all."""
        here = self._host_state(host)
        here.waiting = [turn for turn in here.waiting if turn.row != row]
        heapify(here.waiting)

    def peek_turn(self, now: float) -> HostTurn | None:
        """The page whose turn it is; it stays where it is."""
        while self._resting and self._resting[0][0] <= now:
            _, host = heappop(self._resting)
            here = self._hosts[host]
            if here.waiting:
                heappush(self._ready, (here.waiting[0].due, host))
            else:
                here.listed = False
        while self._ready:
            here = self._hosts[self._ready[0][1]]
            if here.waiting:
                return here.waiting[0]
            heappop(self._ready)
            here.listed = False
        return None

    def take(self, now: float) -> HostTurn | None:
        """The same, and its host is busy from now on."""
        if self.peek_turn(now) is None:
            return None
        _, host = heappop(self._ready)
        here = self._hosts[host]
        here.listed, here.busy = False, True
        return heappop(here.waiting)

    def finish_turn(self, host: int, now: float, rest: float | None, asked: bool = True) -> None:
        """The visit is over; its host rests, if it was asked at all."""
        here = self._host_state(host)
        here.busy = False
        if asked:
            here.done += 1
            if rest is not None:
                here.rest = rest
            here.rests_until = now + here.rest
        self._list_host(host, here)

    def wake_at(self) -> float | None:
        """When a page can be taken that cannot be taken yet; 0.0: one can be taken."""
        if self._ready:
            return 0.0
        return self._resting[0][0] if self._resting else None

    def rests_until(self, host: int) -> float:
        here = self._hosts.get(host)
        return here.rests_until if here is not None else 0.0

    def end_period(self) -> list[HostDemand]:
        """What was asked of hosts. Then nothing waits any more, and counting starts again."""
        found = []
        for host, here in self._hosts.items():
            if here.done or here.waiting:
                found.append(HostDemand(host, here.done, len(here.waiting), here.rest))
            here.done, here.waiting, here.listed = 0, [], False
        self._resting, self._ready = [], []
        return found

    def _host_state(self, host: int) -> _HostState:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = _HostState(self._rest)
        return found

    def _list_host(self, host: int, here: _HostState) -> None:
        if here.waiting and not here.busy and not here.listed:
            here.listed = True
            heappush(self._resting, (here.rests_until, host))
