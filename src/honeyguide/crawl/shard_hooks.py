"""What a shard gives a crawl loop instead of its own parts: frontier, training, stop rule.

Everything else in a ring is the same. A shard's frontier has a border, behind which other shards
have their hosts; what it learns comes from one learner for all; and how much it may do, and when it
is enough, is said for all of them together. ``cluster/`` has all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.learning.trainer import LearningResult
from honeyguide.protocols import Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder
from honeyguide.types import Url, Visit


class GenerationSource(Protocol):
    """Where a ring's generations come from: its own lessons, or those of all shards."""

    learns: bool
    taught: int

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def record_visit(self, visit: Visit) -> None: ...

    def poll_labels(self) -> list[Url]: ...

    def labels_of(self, urls: Iterable[Url]) -> dict[Url, float]: ...

    def take_new_labels(self) -> dict[Url, float]: ...

    def chosen_generation(self, present: int) -> tuple[Strategy, int] | None: ...

    def stop_waiting(self) -> None: ...

    def is_due(self) -> bool: ...

    async def learn(self, strategy: Strategy) -> LearningResult: ...

    async def aclose(self) -> None: ...


class StopRule(Protocol):
    """When it is enough: a ring's own reasons, or those of the whole crawl."""

    asked: bool

    def has_room(self, visits: int) -> bool: ...

    def stop_reason(self, visits: int) -> str: ...

    def keeps_waiting(self, why: str) -> bool: ...


class FrontierWrapper(Protocol):
    """Makes a frontier with a border of one without."""

    def __call__(self, own: LinkFrontier, store: Store) -> Frontier: ...


class OwnsUrl(Protocol):
    def __call__(self, url: Url) -> bool: ...


@dataclass(frozen=True, slots=True)
class ShardHooks:
    """One of several: what a ring is given instead of its own."""

    strategy: Strategy
    generation: int
    wrap_frontier: FrontierWrapper
    training: GenerationSource
    stop_rule: StopRule
    shelf: WarcFolder
    owns_url: OwnsUrl
    """Whether an address is this shard's."""
