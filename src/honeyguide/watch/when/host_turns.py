"""Pages whose time has come wait here for their host: one at a time, and a rest after each."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple


class Turn(NamedTuple):
    """A page that is due; the one that has been due longest goes first."""

    due: float
    row: int


class Asked(NamedTuple):
    """What was asked of a host in a period."""

    host: int
    done: int
    waiting: int
    rest: float
    """Seconds it rests after each."""


class _Host:
    __slots__ = ("busy", "done", "listed", "rest", "rests_until", "waiting")

    def __init__(self, rest: float) -> None:
        self.waiting: list[Turn] = []
        self.rests_until = 0.0
        self.rest = rest
        self.busy = False
        self.listed = False
        """Whether it stands in one of the two heaps."""
        self.done = 0
        """Requests in this period."""


class Turns:
    """Whose turn it is. Hosts are numbers here."""

    def __init__(self, rest_s: float) -> None:
        self._rest = rest_s
        self._hosts: dict[int, _Host] = {}
        self._resting: list[tuple[float, int]] = []
        self._ready: list[tuple[float, int]] = []

    def offer(self, turn: Turn, host: int) -> None:
        """A page is due."""
        here = self._host(host)
        heappush(here.waiting, turn)
        self._list(host, here)

    def withdraw(self, row: int, host: int) -> None:
        """A page is not to be visited after all."""
        here = self._host(host)
        here.waiting = [turn for turn in here.waiting if turn.row != row]
        heapify(here.waiting)

    def next(self, now: float) -> Turn | None:
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

    def take(self, now: float) -> Turn | None:
        """The same, and its host is busy from now on."""
        if self.next(now) is None:
            return None
        _, host = heappop(self._ready)
        here = self._hosts[host]
        here.listed, here.busy = False, True
        return heappop(here.waiting)

    def done(self, host: int, now: float, rest: float | None, asked: bool = True) -> None:
        """The visit is over; its host rests, if it was asked at all."""
        here = self._host(host)
        here.busy = False
        if asked:
            here.done += 1
            if rest is not None:
                here.rest = rest
            here.rests_until = now + here.rest
        self._list(host, here)

    def wake_at(self) -> float | None:
        """When a page can be taken that cannot be taken yet; 0.0: one can be taken."""
        if self._ready:
            return 0.0
        return self._resting[0][0] if self._resting else None

    def rests_until(self, host: int) -> float:
        here = self._hosts.get(host)
        return here.rests_until if here is not None else 0.0

    def end_period(self) -> list[Asked]:
        """What was asked of hosts. Then nothing waits any more, and counting starts again."""
        found = []
        for host, here in self._hosts.items():
            if here.done or here.waiting:
                found.append(Asked(host, here.done, len(here.waiting), here.rest))
            here.done, here.waiting, here.listed = 0, [], False
        self._resting, self._ready = [], []
        return found

    def _host(self, host: int) -> _Host:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = _Host(self._rest)
        return found

    def _list(self, host: int, here: _Host) -> None:
        if here.waiting and not here.busy and not here.listed:
            here.listed = True
            heappush(self._resting, (here.rests_until, host))
