"""Shards' visits on their way into the collection: asked for now and then, taken once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from honeyguide.cluster.messages import Bundle, Gather, Gathered, State, ToShard
from honeyguide.store.store import Store
from honeyguide.store.visit_transfer import Parcel, Taken

_ENOUGH = 512
"""So many visits are gathered at once …"""
_OFTEN_S = 1.0
"""… or after so long."""
_LOST_S = 60.0
"""An answer that does not come for so long was lost on the way."""
_MOST = 4_000
"""Visits of one parcel."""


@dataclass
class Gathering:
    store: Store
    shards: int
    send: Callable[[int, ToShard], None]
    clock: Callable[[], float]
    _asked: dict[int, float] = field(default_factory=dict)
    """Shards that were asked and did not answer yet, and since when."""
    _came: dict[int, float] = field(default_factory=dict)
    """When their last answer came."""

    def __post_init__(self) -> None:
        self.until = {n: self.store.gathered(n) for n in range(self.shards)}
        """The last visit of each shard that the collection has."""

    def ask(self, states: dict[int, State], *, hurry: bool) -> None:
        now = self.clock()
        for n, state in states.items():
            new = state.committed - self.until[n]
            due = hurry or new >= _ENOUGH or now - self._came.get(n, 0.0) >= _OFTEN_S
            if new > 0 and due and now - self._asked.get(n, 0.0) >= _LOST_S:
                self._asked[n] = now
                self.send(n, Gather(self.until[n], _MOST))

    def take(self, bundle: Bundle) -> Taken | None:
        """Into the collection; None if there is nothing new in it."""
        self.forget(bundle.shard)
        self._came[bundle.shard] = self.clock()
        if not bundle.data:
            return None
        taken = self.store.take(bundle.shard, Parcel(bundle.first, bundle.last, bundle.data))
        self.until[bundle.shard] = max(self.until[bundle.shard], bundle.last)
        self.send(bundle.shard, Gathered(bundle.last))
        return taken

    def forget(self, shard: int) -> None:
        """What it was asked for is answered, or nobody is left to answer."""
        self._asked.pop(shard, None)

    def behind(self, state: State) -> bool:
        return self.until[state.shard] < state.committed
