"""One budget for all shards: handed out in small parts, so that it is used up exactly.

A shard is allotted visits a little ahead of what it makes. One that cannot use its part is asked to
give it back before the crawl ends for want of budget. What a shard may have made counts from its
first visit ever, so that one that was started again goes on where it was.
"""

from __future__ import annotations

from honeyguide.cluster.messages import Allot, State

_CHUNK = 256
"""Most visits that a shard is allotted ahead."""


class Budget:
    def __init__(self, visits: int | None, states: dict[int, State]) -> None:
        """``visits``: of this run, all shards together; None: no limit. ``states``: how shards
        stand at its beginning; they may have gone on without us, and then have something left."""
        self._total = visits
        self._before = sum(state.visits for state in states.values())
        self._given = {n: max(state.visits, state.allotted) for n, state in states.items()}
        self._turn = max((state.turn for state in states.values()), default=0)
        self._recalled: dict[int, int] = {}
        """Shards that were asked to give something back, and in which turn."""

    @property
    def left(self) -> int:
        """Visits that no shard was given."""
        return 0 if self._total is None else self._total + self._before - sum(self._given.values())

    def anew(self, shard: int) -> None:
        """It was reopened, and does not know what it was asked."""
        self._recalled.pop(shard, None)

    def heard(self, state: State) -> None:
        """What a shard gave back, if this answers when it was asked to."""
        asked = self._recalled.get(state.shard)
        if asked is not None and state.turn >= asked:
            del self._recalled[state.shard]
            self._given[state.shard] = min(self._given[state.shard], state.allotted)

    def wishes(self, states: dict[int, State]) -> dict[int, Allot]:
        """What to tell whom."""
        if self._total is None:
            return {n: Allot(-1) for n, state in states.items() if state.allotted >= 0}
        told: dict[int, int] = {}
        for n, state in states.items():
            if n in self._recalled:
                continue
            if state.allotted < self._given[n] and state.hungry:
                told[n] = self._given[n]  # it is on its way, or was lost with an earlier shard
            ahead = self._given[n] - state.made
            if not state.idle and ahead < _CHUNK // 2:
                share = max(1, min(_CHUNK - ahead, self.left // (2 * len(states))))
                more = min(share, self.left)
                if more > 0 and (state.hungry or more >= _CHUNK // 8):
                    self._given[n] += more
                    told[n] = self._given[n]
        if self.left <= 0 and any(state.hungry for state in states.values()):
            for n, state in states.items():
                unused = self._given[n] > state.made and not state.hungry
                if unused and n not in self._recalled and n not in told:
                    self._recalled[n] = self._turn + 1
                    told[n] = 0
        if told:
            self._turn += 1
        return {n: Allot(visits, self._turn) for n, visits in told.items()}
