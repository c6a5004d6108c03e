"""What shards share: one budget of visits and one learner, and the parts of a shard that the
coordinator controls.

A shard is allotted visits a little ahead of what it makes. One that cannot use its part is asked to
give it back before the crawl ends for want of budget. What a shard may have made counts from its
first visit ever, so that one that was started again goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from honeyguide.cluster import messages
from honeyguide.cluster.sharded_frontier import shard_of
from honeyguide.config.settings import Settings
from honeyguide.crawl.live_generation import GenerationUpdater
from honeyguide.crawl.rescore import VerdictCorrector
from honeyguide.learning.trainer import LearningResult
from honeyguide.learning.training_feed import TrainingFeed
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack_strategy
from honeyguide.store.store import Store
from honeyguide.types import Url, Verdict, Visit
from honeyguide.url import host_of

_GRANT_CHUNK = 256
"""Most visits that a shard is allotted ahead."""


class CrawlBudget:
    def __init__(self, visits: int | None, states: dict[int, messages.ShardState]) -> None:
        """``visits``: of this run, all shards together; None: no limit. ``states``: how shards
        stand at its beginning; they may have gone on without us, and then have something left."""
        self._total = visits
        self._before = sum(state.visits for state in states.values())
        self._granted = {n: max(state.visits, state.allotted) for n, state in states.items()}
        self._turn = max((state.turn for state in states.values()), default=0)
        self._recalled: dict[int, int] = {}
        """Shards that were asked to give something back, and in which turn."""

    @property
    def unassigned_visits(self) -> int:
        """Visits that no shard was given."""
        return (
            0 if self._total is None else self._total + self._before - sum(self._granted.values())
        )

    def forget_recall(self, shard: int) -> None:
        """It was reopened, and does not know what it was asked."""
        self._recalled.pop(shard, None)

    def record_state(self, state: messages.ShardState) -> None:
        """What a shard gave back, if this answers when it was asked to."""
        asked = self._recalled.get(state.shard)
        if asked is not None and state.turn >= asked:
            del self._recalled[state.shard]
            self._granted[state.shard] = min(self._granted[state.shard], state.allotted)

    def grants_due(self, states: dict[int, messages.ShardState]) -> dict[int, messages.VisitGrant]:
        """What to tell whom."""
        if self._total is None:
            return {
                n: messages.VisitGrant(-1) for n, state in states.items() if state.allotted >= 0
            }
        grants: dict[int, int] = {}
        for n, state in states.items():
            if n in self._recalled:
                continue
            if state.allotted < self._granted[n] and state.hungry:
                grants[n] = self._granted[n]  # it is on its way, or was lost with an earlier shard
            ahead = self._granted[n] - state.made
            if not state.idle and ahead < _GRANT_CHUNK // 2:
                share = max(
                    1, min(_GRANT_CHUNK - ahead, self.unassigned_visits // (2 * len(states)))
                )
                more = min(share, self.unassigned_visits)
                if more > 0 and (state.hungry or more >= _GRANT_CHUNK // 8):
                    self._granted[n] += more
                    grants[n] = self._granted[n]
        if self.unassigned_visits <= 0 and any(state.hungry for state in states.values()):
            for n, state in states.items():
                unused = self._granted[n] > state.made and not state.hungry
                if unused and n not in self._recalled and n not in grants:
                    self._recalled[n] = self._turn + 1
                    grants[n] = 0
        if grants:
            self._turn += 1
        return {n: messages.VisitGrant(visits, self._turn) for n, visits in grants.items()}


# -- The learner of all shards --
#
# What the ring does for itself where it is alone. Shards are told of a new generation, of what
# people said of their pages, and of pages that somebody wants visited; one that was reopened
# elsewhere is told all of it again.


_GRACE_S = 30.0
"""How long the last lesson may take."""


@dataclass
class CentralLearner:
    store: Store
    settings: Settings
    strategy: Strategy
    generation: int
    lessons: TrainingFeed
    rejudge: VerdictCorrector
    shards: int
    send: Callable[[int, messages.ToShard], None]
    on_failure: Callable[[BaseException], None]
    clock: Callable[[], float]
    _seeded: list[Url] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = self.store, self.settings, self.lessons, self.clock
        self._course = GenerationUpdater(
            *parts, self._current_generation, self._swap_generation, self.on_failure
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.lessons.warnings, *self.rejudge.warnings)

    def take_labels(self) -> None:
        """Labels, and a generation chosen by hand."""
        for url in self.lessons.poll_labels():
            self._seeded.append(url)
            self.send(self._shard_of_url(url), messages.SeedUpdate([url]))
        if fresh := self.lessons.take_new_labels():
            self.rejudge.apply_labels(fresh)
            for n in {self._shard_of_url(url) for url in fresh}:
                self.send(n, messages.LabelUpdate(self._labels_of_shard(n, fresh)))
        if chosen := self.lessons.chosen_generation(self.generation):
            self._swap_generation(*chosen)
        self._course.start_if_due()

    def learn_from_visits(self, since: int) -> None:
        """The visits after that number are in the collection: learn from them."""
        if not self.lessons.learns:
            return
        urls = []
        for visit in self._read_visits(since):
            self.rejudge.record_visit(visit)
            self.lessons.record_visit(visit)
            urls.append(visit.link.url)
        self.rejudge.apply_labels(self.lessons.labels_of(urls))
        self._course.start_if_due()

    def generation_update(self) -> messages.GenerationUpdate:
        return messages.GenerationUpdate(
            self.generation, pack_strategy(self.settings.crawl.strategy, self.strategy)
        )

    def resend_all(self, shard: int) -> None:
        """Send everything again to a shard that was restored elsewhere."""
        self.send(shard, self.generation_update())
        if labels := self._labels_of_shard(shard, self.lessons.all_labels()):
            self.send(shard, messages.LabelUpdate(labels))
        if sown := [url for url in self._seeded if self._shard_of_url(url) == shard]:
            self.send(shard, messages.SeedUpdate(sown))

    async def finish(self) -> None:
        """What is known of the topic by now must do, or nothing would have been judged."""
        if self.rejudge.unknown_count:
            self.lessons.stop_waiting()
            self._course.start_if_due()
        await self._course.wait(_GRACE_S)

    async def aclose(self) -> None:
        await self._course.aclose()

    def _current_generation(self) -> tuple[Strategy, int]:
        return self.strategy, self.generation

    def _swap_generation(self, strategy: Strategy, number: int) -> None:
        self.strategy, self.generation = strategy, number
        self.rejudge.judge_again(strategy, None, self.lessons.labels_of)
        for shard in range(self.shards):
            self.send(shard, self.generation_update())

    def _read_visits(self, since: int) -> Iterator[Visit]:
        """Visits of the collection, as far as anybody learns from them."""
        for row in self.store.visits.iter_visits(since=since):
            verdict = None if row.verdict is None else Verdict(row.verdict, row.verdict_reasons)
            if verdict is not None and row.ungated is not None:
                verdict = verdict._replace(ungated=row.ungated)
            visit = row.to_followed_visit(verdict)
            if row.failure is None and row.has_page:
                visit = visit._replace(page=self.lessons.page_to_learn(row))
            yield visit

    def _shard_of_url(self, url: Url) -> int:
        return shard_of(host_of(url), self.shards)

    def _labels_of_shard(self, shard: int, labels: dict[Url, float]) -> dict[Url, float]:
        return {url: value for url, value in labels.items() if self._shard_of_url(url) == shard}


# -- Parts of a shard that the coordinator controls --


class ShardLearner:
    """Generations come from the one learner of all shards; see ``crawl/shard_hooks.py``."""

    def __init__(self, learns: bool) -> None:
        self.learns = learns
        self.taught = 0
        self._generation: tuple[Strategy, int] | None = None
        self._labels: dict[Url, float] = {}
        self._fresh: set[Url] = set()
        self._wanted: list[Url] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def set_generation(self, strategy: Strategy, number: int) -> None:
        self._generation = strategy, number

    def add_labels(self, labels: dict[Url, float]) -> None:
        self._labels |= labels
        self._fresh |= labels.keys()

    def add_seeds(self, urls: Iterable[Url]) -> None:
        self._wanted += urls

    def record_visit(self, visit: Visit) -> None:
        """Nothing to do: the coordinator learns from visits when it collects them."""

    def poll_labels(self) -> list[Url]:
        wanted, self._wanted = self._wanted, []
        return wanted

    def labels_of(self, urls: Iterable[Url]) -> dict[Url, float]:
        return {url: self._labels[url] for url in urls if url in self._labels}

    def take_new_labels(self) -> dict[Url, float]:
        fresh, self._fresh = self._fresh, set()
        return self.labels_of(fresh)

    def chosen_generation(self, present: int) -> tuple[Strategy, int] | None:
        chosen = self._generation
        return chosen if chosen is not None and chosen[1] != present else None

    def stop_waiting(self) -> None:
        pass

    def is_due(self) -> bool:
        return False

    async def learn(self, strategy: Strategy) -> LearningResult:  # noqa: ARG002 - as the protocol has it
        raise AssertionError("a shard is taught, and teaches nobody")

    async def aclose(self) -> None:
        pass


class ShardAllowance:
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

    def set_allowance(self, visits: int, turn: int, used: int) -> None:
        """-1: as many as you like. What is used cannot be taken away."""
        self.turn = turn
        if visits >= 0 and self.allotted >= 0:
            visits = max(visits, min(used, self.allotted))
        self.allotted = visits
        self.wants = False

    def has_room(self, visits: int) -> bool:
        if not self._free():
            return False
        if self.allotted < 0 or visits < self.allotted:
            return True
        if not self.wants:
            self.wants = True
            self._hungry()
        return False

    def stop_reason(self, _visits: int) -> str:
        return self.why or ("you asked for it" if self.asked else "")

    def keeps_waiting(self, _why: str) -> bool:
        """Others may still have something for us."""
        return True
