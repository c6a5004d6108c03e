"""Pages that are due wait here for their host: one request at a time, with a delay after each."""

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
        state = self._host_state(host)
        heappush(state.waiting, turn)
        self._list_host(host, state)

    def withdraw(self, row: int, host: int) -> None:
        """A page is not to be visited after all."""
        state = self._host_state(host)
        state.waiting = [turn for turn in state.waiting if turn.row != row]
        heapify(state.waiting)

    def peek_turn(self, now: float) -> HostTurn | None:
        """The page whose turn it is; it stays where it is."""
        while self._resting and self._resting[0][0] <= now:
            _, host = heappop(self._resting)
            state = self._hosts[host]
            if state.waiting:
                heappush(self._ready, (state.waiting[0].due, host))
            else:
                state.listed = False
        while self._ready:
            state = self._hosts[self._ready[0][1]]
            if state.waiting:
                return state.waiting[0]
            heappop(self._ready)
            state.listed = False
        return None

    def take(self, now: float) -> HostTurn | None:
        """The same, and its host is busy from now on."""
        if self.peek_turn(now) is None:
            return None
        _, host = heappop(self._ready)
        state = self._hosts[host]
        state.listed, state.busy = False, True
        return heappop(state.waiting)

    def finish_turn(self, host: int, now: float, rest: float | None, asked: bool = True) -> None:
        """The visit is over; its host rests, if it was asked at all."""
        state = self._host_state(host)
        state.busy = False
        if asked:
            state.done += 1
            if rest is not None:
                state.rest = rest
            state.rests_until = now + state.rest
        self._list_host(host, state)

    def wake_at(self) -> float | None:
        """When a page can be taken that cannot be taken yet; 0.0: one can be taken."""
        if self._ready:
            return 0.0
        return self._resting[0][0] if self._resting else None

    def rests_until(self, host: int) -> float:
        state = self._hosts.get(host)
        return state.rests_until if state is not None else 0.0

    def end_period(self) -> list[HostDemand]:
        """What was asked of hosts. Then nothing waits any more, and counting starts again."""
        found = []
        for host, state in self._hosts.items():
            if state.done or state.waiting:
                found.append(HostDemand(host, state.done, len(state.waiting), state.rest))
            state.done, state.waiting, state.listed = 0, [], False
        self._resting, self._ready = [], []
        return found

    def _host_state(self, host: int) -> _HostState:
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = _HostState(self._rest)
        return found

    def _list_host(self, host: int, state: _HostState) -> None:
        if state.waiting and not state.busy and not state.listed:
            state.listed = True
            heappush(self._resting, (state.rests_until, host))
