"""The one learner of all shards: visits and labels in, generations out.

What the ring does for itself where it is alone. Shards are told of a new generation, of what people
said of their pages, and of pages that somebody wants visited; one that was reopened elsewhere is
told all of it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from honeyguide.cluster.messages import Said, Sow, Taught, ToShard
from honeyguide.cluster.partition import shard_of
from honeyguide.config import Settings
from honeyguide.crawl.generation_swap import Course
from honeyguide.crawl.rescoring import Rejudge
from honeyguide.crawl.training_feed import Lessons
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack
from honeyguide.store.store import Store
from honeyguide.types import Url, Verdict, Visit
from honeyguide.url import host

_GRACE_S = 30.0
"""How long the last lesson may take."""


@dataclass
class Learner:
    store: Store
    settings: Settings
    strategy: Strategy
    generation: int
    lessons: Lessons
    rejudge: Rejudge
    shards: int
    send: Callable[[int, ToShard], None]
    broke: Callable[[BaseException], None]
    clock: Callable[[], float]
    _sown: list[Url] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = self.store, self.settings, self.lessons, self.clock
        self._course = Course(*given, self._present, self._swap, self.broke)

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.lessons.warnings, *self.rejudge.warnings)

    def listen(self) -> None:
        """Labels, and a generation chosen by hand."""
        for url in self.lessons.listen():
            self._sown.append(url)
            self.send(self._shard(url), Sow([url]))
        if fresh := self.lessons.fresh():
            self.rejudge.heed(fresh)
            for n in {self._shard(url) for url in fresh}:
                self.send(n, Said(self._of(n, fresh)))
        if chosen := self.lessons.chosen(self.generation):
            self._swap(*chosen)
        self._course.go_on()

    def gathered(self, since: int) -> None:
        """The visits after that number are in the collection: learn from them."""
        if not self.lessons.learns:
            return
        urls = []
        for visit in self._visits(since):
            self.rejudge.visited(visit)
            self.lessons.visited(visit)
            urls.append(visit.link.url)
        self.rejudge.heed(self.lessons.said(urls))
        self._course.go_on()

    def taught(self) -> Taught:
        return Taught(self.generation, pack(self.settings.crawl.strategy, self.strategy))

    def again(self, shard: int) -> None:
        """All that a shard was told, for one that knows nothing of it."""
        self.send(shard, self.taught())
        if labels := self._of(shard, self.lessons.all_said()):
            self.send(shard, Said(labels))
        if sown := [url for url in self._sown if self._shard(url) == shard]:
            self.send(shard, Sow(sown))

    async def finish(self) -> None:
        """What is known of the topic by now must do, or nothing would have been judged."""
        if self.rejudge.waiting:
            self.lessons.expect_no_more()
            self._course.go_on()
        await self._course.wait(_GRACE_S)

    async def aclose(self) -> None:
        await self._course.aclose()

    def _present(self) -> tuple[Strategy, int]:
        return self.strategy, self.generation

    def _swap(self, strategy: Strategy, number: int) -> None:
        self.strategy, self.generation = strategy, number
        self.rejudge.anew(strategy, None, self.lessons.said)
        for shard in range(self.shards):
            self.send(shard, self.taught())

    def _visits(self, since: int) -> Iterator[Visit]:
        """Visits of the collection, as far as anybody learns from them."""
        for row in self.store.visits(since=since):
            verdict = None if row.verdict is None else Verdict(row.verdict, row.why)
            if verdict is not None and row.ungated is not None:
                verdict = verdict._replace(ungated=row.ungated)
            visit = row.followed(verdict)
            if row.failure is None and row.has_page:
                visit = visit._replace(page=self.lessons.page(row))
            yield visit

    def _shard(self, url: Url) -> int:
        return shard_of(host(url), self.shards)

    def _of(self, shard: int, labels: dict[Url, float]) -> dict[Url, float]:
        return {url: value for url, value in labels.items() if self._shard(url) == shard}
