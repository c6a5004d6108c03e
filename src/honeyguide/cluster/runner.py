"""Where shards run: what the coordinator needs to know of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from honeyguide.cluster.messages import ToCoordinator, ToShard
from honeyguide.cluster.shard import Plan


class Lost(Exception):
    """A shard is gone, and nobody brings it back."""

    def __init__(self, shard: int, why: str) -> None:
        super().__init__(f"shard {shard} {why}")
        self.shard = shard


Hear = Callable[[ToCoordinator | Lost], None]


class Runner(Protocol):
    """Starts shards, and carries what they and the coordinator say; among themselves as well."""

    grace_s: float
    """How long shards may take to stop …"""
    silence_s: float
    """… and to say nothing before they count as lost."""

    async def start(self, plans: Sequence[Plan], hear: Hear) -> None:
        """Start them all; ``hear`` is called with what they tell from now on."""

    def send(self, shard: int, message: ToShard) -> None: ...

    def pause(self) -> Awaitable[None]:
        """Wait until what was sent is on its way: nobody can be told faster than they listen."""

    async def aclose(self) -> None:
        """All of them leave; those that do not are ended."""
