"""A ring that is one of several: what a shard brings of its own.

Everything else in a ring is the same. A shard's frontier has a border, behind which other shards
have their hosts; what it learns comes from one learner for all; and how much it may do, and when it
is enough, is said for all of them together. ``cluster/`` has all three.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.learning.teach import Lesson
from honeyguide.protocols import Frontier, Strategy
from honeyguide.store.archive import Shelf
from honeyguide.store.store import Store
from honeyguide.types import Url, Visit


class Teaching(Protocol):
    """Where a ring's generations come from: its own lessons, or those of all shards."""

    learns: bool
    taught: int

    @property
    def warnings(self) -> tuple[str, ...]: ...

    def visited(self, visit: Visit) -> None: ...

    def listen(self) -> list[Url]: ...

    def said(self, urls: Iterable[Url]) -> dict[Url, float]: ...

    def fresh(self) -> dict[Url, float]: ...

    def chosen(self, present: int) -> tuple[Strategy, int] | None: ...

    def expect_no_more(self) -> None: ...

    def due(self) -> bool: ...

    async def learn(self, strategy: Strategy) -> Lesson: ...

    async def aclose(self) -> None: ...


class Limit(Protocol):
    """When it is enough: a ring's own reasons, or those of the whole crawl."""

    asked: bool

    def room(self, visits: int) -> bool: ...

    def reason(self, visits: int) -> str: ...

    def waits(self, why: str) -> bool: ...


class Border(Protocol):
    """Makes a frontier with a border of one without."""

    def __call__(self, own: LinkFrontier, store: Store) -> Frontier: ...


class Owns(Protocol):
    def __call__(self, url: Url) -> bool: ...


@dataclass(frozen=True, slots=True)
class Part:
    """One of several: what a ring is given instead of its own."""

    strategy: Strategy
    generation: int
    border: Border
    lessons: Teaching
    enough: Limit
    shelf: Shelf
    owns: Owns
    """Whether an address is this shard's."""
