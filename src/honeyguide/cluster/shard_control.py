"""What a shard's ring is told by the coordinator instead of deciding it itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from honeyguide.learning.teach import Lesson
from honeyguide.protocols import Strategy
from honeyguide.types import Url, Visit


class Pupil:
    """Generations come from the one learner of all shards; see ``crawl/shard_hooks.py``."""

    def __init__(self, learns: bool) -> None:
        self.learns = learns
        self.taught = 0
        self._generation: tuple[Strategy, int] | None = None
        self._said: dict[Url, float] = {}
        self._fresh: set[Url] = set()
        self._wanted: list[Url] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def tell(self, strategy: Strategy, number: int) -> None:
        self._generation = strategy, number

    def hear(self, labels: dict[Url, float]) -> None:
        self._said |= labels
        self._fresh |= labels.keys()

    def want(self, urls: Iterable[Url]) -> None:
        self._wanted += urls

    def visited(self, visit: Visit) -> None:
        """The coordinator hears of it when it is gathered."""

    def listen(self) -> list[Url]:
        wanted, self._wanted = self._wanted, []
        return wanted

    def said(self, urls: Iterable[Url]) -> dict[Url, float]:
        return {url: self._said[url] for url in urls if url in self._said}

    def fresh(self) -> dict[Url, float]:
        fresh, self._fresh = self._fresh, set()
        return self.said(fresh)

    def chosen(self, present: int) -> tuple[Strategy, int] | None:
        told = self._generation
        return told if told is not None and told[1] != present else None

    def expect_no_more(self) -> None:
        pass

    def due(self) -> bool:
        return False

    async def learn(self, strategy: Strategy) -> Lesson:  # noqa: ARG002 - as the protocol has it
        raise AssertionError("a shard is taught, and teaches nobody")

    async def aclose(self) -> None:
        pass


class Allotment:
    """How many visits this shard may make, and when the whole crawl is over."""

    def __init__(self, hungry: Callable[[], None], free: Callable[[], bool] = lambda: True) -> None:
        """``hungry`` is called when more could be done than is allowed; ``free`` is asked before
        anything is: on a cluster, a shard may have another owner by now."""
        self.asked = False
        self.why = ""
        """Why the crawl is over; '': it is not."""
        self.wants = False
        self.allotted = self.turn = 0
        self._hungry = hungry
        self._free = free

    def allot(self, visits: int, turn: int, used: int) -> None:
        """-1: as many as you like. What is used cannot be taken away."""
        self.turn = turn
        if visits >= 0 and self.allotted >= 0:
            visits = max(visits, min(used, self.allotted))
        self.allotted = visits
        self.wants = False

    def room(self, visits: int) -> bool:
        if not self._free():
            return False
        if self.allotted < 0 or visits < self.allotted:
            return True
        if not self.wants:
            self.wants = True
            self._hungry()
        return False

    def reason(self, _visits: int) -> str:
        return self.why or ("you asked for it" if self.asked else "")

    def waits(self, _why: str) -> bool:
        """Others may still have something for us."""
        return True
