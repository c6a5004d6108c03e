"""When nothing is left to do anywhere: asked twice, because a letter may be under way.

Every shard stands still, and each letter that it wrote is committed where it belongs; asked again,
none of them wrote or heard one in between. (After Mattern 1987, the four-counter method: because a
shard only stands still when its letters were heard, two of the four counters are zero.)
"""

from __future__ import annotations

from honeyguide.cluster.messages import State


class Ending:
    def __init__(self, shards: int) -> None:
        self._shards = shards
        self.round = 0
        """The probe that is out; shards say which one they heard last."""
        self._before: tuple[tuple[int, int], ...] = ()

    def look(self, states: dict[int, State]) -> bool:
        """Whether it is over. A new :attr:`round` is to be told to all."""
        if len(states) < self._shards or not all(state.idle for state in states.values()):
            self._before = ()
            return False
        if any(state.round < self.round for state in states.values()):
            return False
        now = tuple((states[n].letters, states[n].heard) for n in sorted(states))
        if self._before == now:
            return True
        self._before = now
        # Shards may know a higher one, from a coordinator that is no more.
        self.round = max(self.round, *(state.round for state in states.values())) + 1
        return False
