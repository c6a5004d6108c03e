"""The coordinator of a crawl with shards: it collects visits, spends one budget, trains one
strategy and detects the end of the crawl.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from honeyguide import errors
from honeyguide.cluster import messages
from honeyguide.cluster.runner import ShardLost, ShardRunner
from honeyguide.cluster.sharded_frontier import shard_of
from honeyguide.config.settings import Settings
from honeyguide.crawl import status, stopping
from honeyguide.crawl.live_generation import GenerationUpdater
from honeyguide.crawl.rescore import VerdictCorrector, restore_host_trust
from honeyguide.crawl.status import CrawlTally, Report, ShardTraffic
from honeyguide.crawl.stopping import StopConditions
from honeyguide.errors import ClusterError, HoneyguideError
from honeyguide.languages.gate import LanguageGate
from honeyguide.learning.coverage import Coverage
from honeyguide.learning.training_feed import TrainingFeed
from honeyguide.net.politeness import DomainQuota
from honeyguide.protocols import Strategy
from honeyguide.run_status import RunStatus, sum_statuses
from honeyguide.store.generations import pack_strategy
from honeyguide.store.shards import ImportedVisits, VisitTransferBatch
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Url, Verdict, Visit
from honeyguide.url import host_of

_SYNC_VISITS = 512
"""Visits of a shard that wait before they are requested."""
_SYNC_S = 1.0
"""Seconds after which fewer visits are requested as well."""
_ANSWER_TIMEOUT_S = 60.0
"""An answer that does not come for so long was lost on the way."""
_BATCH_VISITS = 4_000
"""Most visits of one batch."""


@dataclass
class VisitSync:
    store: Store
    shards: int
    send: Callable[[int, messages.ToShard], None]
    clock: Callable[[], float]
    _requested: dict[int, float] = field(default_factory=dict)
    """Shards that were asked and did not answer yet, and since when."""
    _answered: dict[int, float] = field(default_factory=dict)
    """When their last answer came."""

    def __post_init__(self) -> None:
        self.until = {n: self.store.shard_sync.synced_until(n) for n in range(self.shards)}
        """The last visit of each shard that the collection has."""

    def request_visits(self, states: dict[int, messages.ShardState], *, hurry: bool) -> None:
        now = self.clock()
        for n, state in states.items():
            new = state.committed - self.until[n]
            due = hurry or new >= _SYNC_VISITS or now - self._answered.get(n, 0.0) >= _SYNC_S
            if new > 0 and due and now - self._requested.get(n, 0.0) >= _ANSWER_TIMEOUT_S:
                self._requested[n] = now
                self.send(n, messages.VisitSyncRequest(self.until[n], _BATCH_VISITS))

    def take_visits(self, bundle: messages.ShardVisits) -> ImportedVisits | None:
        """Into the collection; None if there is nothing new in it."""
        self.forget_request(bundle.shard)
        self._answered[bundle.shard] = self.clock()
        if not bundle.data:
            return None
        taken = self.store.shard_sync.import_visits(
            bundle.shard, VisitTransferBatch(bundle.first, bundle.last, bundle.data)
        )
        self.until[bundle.shard] = max(self.until[bundle.shard], bundle.last)
        self.send(bundle.shard, messages.VisitSyncAck(bundle.last))
        return taken

    def forget_request(self, shard: int) -> None:
        """What it was asked for is answered, or nobody is left to answer."""
        self._requested.pop(shard, None)

    def is_behind(self, state: messages.ShardState) -> bool:
        return self.until[state.shard] < state.committed


# -- Termination detection --
#
# The crawl is over when every shard is idle, each link batch is committed by its receiver, and in a
# second round no shard sent or received one in between. (After Mattern 1987, the four-counter
# method: an idle shard has no unacknowledged batch, so two of the four counters are zero.)


class TerminationDetector:
    def __init__(self, shards: int) -> None:
        self._shards = shards
        self.round = 0
        """Number of the current probe; shards report the last one they received."""
        self._before: tuple[tuple[int, int], ...] = ()

    def detect_end(self, states: dict[int, messages.ShardState]) -> bool:
        """Whether the crawl is over. If :attr:`round` changes, it must be sent to all shards."""
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


# -- One budget and one learner for all shards --
#
# A shard is allotted visits a little ahead of what it makes. One that cannot use its part is asked
# to give it back before the crawl ends for lack of budget. The visits that a shard may make count
# from its first visit ever, so a shard that was restarted continues where it was.


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
        recall_turn = self._recalled.get(state.shard)
        if recall_turn is not None and state.turn >= recall_turn:
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
# It sends new generations, labels and seeds to the shards; a shard that was reopened elsewhere
# gets all of them again.


@dataclass
class CentralLearner:
    store: Store
    settings: Settings
    strategy: Strategy
    generation: int
    training: TrainingFeed
    corrector: VerdictCorrector
    shards: int
    send: Callable[[int, messages.ToShard], None]
    on_failure: Callable[[BaseException], None]
    clock: Callable[[], float]
    finishing: bool = False
    """The shards are done, and only labels are learned from."""
    _seeded: list[Url] = field(default_factory=list)

    def __post_init__(self) -> None:
        parts = self.store, self.settings, self.training, self.clock
        self._updater = GenerationUpdater(
            *parts, self._current_generation, self._swap_generation, self.on_failure
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.training.warnings, *self.corrector.warnings)

    def take_labels(self) -> None:
        """Labels, and a generation chosen by hand."""
        for url in self.training.poll_labels():
            self._seeded.append(url)
            self.send(self._shard_of_url(url), messages.SeedUpdate([url]))
        if fresh := self.training.take_new_labels():
            self.corrector.apply_labels(fresh)
            for n in {self._shard_of_url(url) for url in fresh}:
                self.send(n, messages.LabelUpdate(self._labels_of_shard(n, fresh)))
        if chosen := self.training.chosen_generation(self.generation):
            self._swap_generation(*chosen)
        self._updater.start_if_due()

    def learn_from_visits(self, since: int) -> None:
        """The visits after that number are in the collection: learn from them."""
        if not self.training.learns:
            return
        urls = []
        for visit in self._read_visits(since):
            self.corrector.record_visit(visit)
            self.training.record_visit(visit)
            urls.append(visit.link.url)
        self.corrector.apply_labels(self.training.labels_of(urls))
        self._updater.start_if_due()

    def generation_update(self) -> messages.GenerationUpdate:
        return messages.GenerationUpdate(
            self.generation, pack_strategy(self.settings.crawl.strategy, self.strategy)
        )

    def resend_all(self, shard: int) -> None:
        """Send everything again to a shard that was restored elsewhere."""
        self.send(shard, self.generation_update())
        if labels := self._labels_of_shard(shard, self.training.all_labels()):
            self.send(shard, messages.LabelUpdate(labels))
        if sown := [url for url in self._seeded if self._shard_of_url(url) == shard]:
            self.send(shard, messages.SeedUpdate(sown))

    async def finish(self) -> None:
        """Learn from the labels that came last, too, and judge pages that nobody judged yet."""
        self.finishing = True
        self.take_labels()
        self.training.stop_waiting()
        if self.corrector.unknown_count:
            self._updater.start_if_due()
        await self._updater.finish_training()

    async def learn_first(self, is_cancelled: Callable[[], bool]) -> None:
        """Before the shards may visit anything: learn from the labels that wait."""
        self.take_labels()
        await self._updater.learn_first(is_cancelled)

    def drop_training(self) -> bool:
        """Drop the training run that is under way; whether there was one."""
        return self._updater.drop_training()

    @property
    def doing(self) -> str:
        """What the crawl waits for, in words."""
        return self._updater.doing

    async def aclose(self) -> None:
        await self._updater.aclose()

    def _current_generation(self) -> tuple[Strategy, int]:
        return self.strategy, self.generation

    def _swap_generation(self, strategy: Strategy, number: int) -> None:
        self.strategy, self.generation = strategy, number
        self.corrector.judge_again(strategy, None, self.training.labels_of)
        for shard in range(self.shards):
            self.send(shard, self.generation_update())

    def _read_visits(self, since: int) -> Iterator[Visit]:
        """Visits of the collection, with pages as far as learning needs them."""
        for row in self.store.visits.iter_visits(since=since):
            verdict = None if row.verdict is None else Verdict(row.verdict, row.verdict_reasons)
            if verdict is not None and row.ungated is not None:
                verdict = verdict._replace(ungated=row.ungated)
            visit = row.to_followed_visit(verdict)
            if row.failure is None and row.has_page:
                visit = visit._replace(page=self.training.page_to_learn(row))
            yield visit

    def _shard_of_url(self, url: Url) -> int:
        return shard_of(host_of(url), self.shards)

    def _labels_of_shard(self, shard: int, labels: dict[Url, float]) -> dict[Url, float]:
        return {url: value for url, value in labels.items() if self._shard_of_url(url) == shard}


# -- The coordinator --
#
# Shards crawl and store their visits. The coordinator copies the visits to the collection, where
# every other command finds them; it reads labels, trains generations, grants visits and decides
# when the crawl ends. It may die and be restarted: shards and collection store how far they are.


_POLL_S = 0.1
"""Seconds between two steps of the loop, at most."""
_LABELS_S = 1.0
"""Seconds between two queries for new labels."""
_NOTE_S = 1.0
"""Seconds between two writes of the number of waiting links and the coverage."""


@dataclass
class Coordinator:
    store: Store
    settings: Settings
    strategy: Strategy
    """At the beginning."""
    generation: int
    training: TrainingFeed
    coverage: Coverage
    stop_rule: StopConditions
    languages: LanguageGate | None
    runner: ShardRunner
    shards: int
    clock: Callable[[], float] = time.time
    states: dict[int, messages.ShardState] = field(default_factory=dict)
    checkpoints: dict[int, messages.CheckpointStatus] = field(default_factory=dict)
    """On a cluster: how shards stand with the vault."""

    def __post_init__(self) -> None:
        self._tally = CrawlTally.from_counts(
            self.store.counter.read_counts(), self.settings.topic.threshold
        )
        counted = self.store, self.settings, self._tally, self.coverage, DomainQuota(0), None
        corrector = VerdictCorrector(*counted, self.languages)
        self._learner = CentralLearner(
            self.store,
            self.settings,
            self.strategy,
            self.generation,
            self.training,
            corrector,
            self.shards,
            self._send_to,
            self._record_failure,
            self.clock,
        )
        self._trust, self._refreshes = restore_host_trust(self.store, self.settings), -1
        self._sync = VisitSync(self.store, self.shards, self._send_to, self.clock)
        self._inbox: deque[messages.ToCoordinator | ShardLost] = deque()
        self._woken = asyncio.Event()
        self._heard_at = dict.fromkeys(range(self.shards), time.monotonic())
        """When each shard last said how it stands."""
        self._budget: CrawlBudget | None = None
        self._settled: tuple[int, dict[int, messages.ShardState]] = 0, {}
        """When the budget was made: visits that were not gathered, and how shards stood."""
        self._ending = TerminationDetector(self.shards)
        self._ended: dict[int, messages.ShardEnded] = {}
        self._labels_at = self._noted_at = 0.0
        self._reason = ""
        """Why it is over."""
        self._reopened: dict[int, messages.ShardState | None] = {}
        """Shards that another machine took over, and how they stood before."""
        self._notes: list[str] = []
        self._error: BaseException | None = None

    # -- what others call --------------------------------------------------------------------

    def receive(self, message: messages.ToCoordinator | ShardLost) -> None:
        self._inbox.append(message)
        self._woken.set()

    def stop(self) -> bool:
        """Finish, then end; asked again, drop the last training run. Always True: every wish
        arrives here."""
        again, self.stop_rule.asked = self.stop_rule.asked, True
        if (again or self._learner.finishing) and not self._learner.drop_training() and again:
            raise KeyboardInterrupt
        self._woken.set()
        return True

    def progress(self) -> RunStatus:
        now = sum_statuses(
            self.states.values(), generation=self._learner.generation, stopping=self.stop_rule.asked
        )
        # What the shards do not count: what was done without them, or is not gathered yet.
        unsaved, states = (0, self.states) if self._budget is None else self._settled
        known, tally = sum_statuses(states.values()), self._tally
        doing = "" if self._budget else f"starting {self.shards} shards"
        if self._reason:
            doing = "finishing: collecting the visits of the shards"
        doing = self._learner.doing or doing
        return replace(
            now,
            visits=now.visits + tally.visits + unsaved - known.visits,
            pages=now.pages + tally.pages - known.pages,
            relevant=now.relevant + tally.relevant - known.relevant,
            failures=now.failures + tally.failures - known.failures,
            copies=now.copies + tally.copies - known.copies,
            doing=doing,
            unlearned=self._learner.training.waiting,
        )

    def under_way(self) -> list[Candidate]:
        """The newest address of each shard."""
        found = [state.now for state in self.states.values() if state.now is not None]
        return [Candidate(Link(url), 0.0) for url in found]

    # -- the loop ----------------------------------------------------------------------------

    async def run(self) -> Report:
        began = self.clock()
        reason = ""
        try:
            await self._learner.learn_first(lambda: self.stop_rule.asked)
            reason = await self._loop_until_over()
            await self._finish_shards(reason)
        finally:
            await self._learner.aclose()
        if self._error is not None:
            raise self._error
        return self._build_report(reason, began)

    async def _loop_until_over(self) -> str:
        while self._error is None:
            await self._process_inbox()
            now = self.clock()
            if self._budget is None and not self._start_budget() and not self.stop_rule.asked:
                continue
            if reason := self.stop_rule.stop_reason(self.progress().visits):
                return reason
            if now - self._labels_at >= _LABELS_S:
                self._labels_at = now
                self._learner.take_labels()
                self._settle_trust()
            self._send_grants()
            if reason := self._end_reason():
                return reason
        return "an error occurred"

    async def _process_inbox(self) -> None:
        """Wait for messages, process them, and request visits that are not collected yet."""
        await self.runner.wait_until_sent()
        with suppress(TimeoutError):
            async with asyncio.timeout(_POLL_S):
                await self._woken.wait()
        self._woken.clear()
        try:
            while self._inbox:
                self._handle_message(self._inbox.popleft())
            if self._trust is not None and (news := self._trust.take_news()) is not None:
                self._send_all(messages.SiteUpdate(news))
            hurry = bool(self._ended) or self._budget is None
            self._sync.request_visits(self.states, hurry=hurry)
            for n, at in self._heard_at.items():
                if n not in self._ended and time.monotonic() - at > self.runner.silence_s:
                    self._handle_message(
                        ShardLost(n, f"did not report for {self.runner.silence_s:.0f} s")
                    )
        except HoneyguideError as error:
            self._error = self._error or error

    def _handle_message(self, message: messages.ToCoordinator | ShardLost) -> None:
        match message:
            case messages.ShardState():
                self._heard_at[message.shard] = time.monotonic()
                self._note_repeated_visits(message)
                self.states[message.shard] = message
                if self._budget is not None:
                    self._budget.record_state(message)
            case messages.CheckpointStatus():
                before = self.checkpoints.get(message.shard)
                self.checkpoints[message.shard] = message
                if before is not None and before.epoch != message.epoch:
                    self._handle_new_owner(message, before)
            case messages.ShardVisits():
                self._store_visits(message)
            case messages.SiteUpdate():
                if self._trust is not None:
                    self._trust.take_in(message.news)
            case messages.ShardEnded():
                self._ended[message.shard] = message
                if message.trouble:
                    self._error = self._error or _error_of_shard(message)
            case ShardLost() if message.shard not in self._ended:
                lost = f"{message}. Nothing that was finished is lost: run the same command again"
                self._error = self._error or ClusterError(lost)
                self._ended[message.shard] = messages.ShardEnded(message.shard)

    def _handle_new_owner(
        self, now: messages.CheckpointStatus, before: messages.CheckpointStatus
    ) -> None:
        """Handle a shard that another machine restored from its last checkpoint."""
        shard = now.shard
        self._reopened[shard] = self.states.pop(shard, None)
        self._notes.append(
            f"shard {shard} was lost on {before.machine} and reopened on {now.machine}; what it "
            f"had not saved, at most {now.window:g} s and one save, is repeated"
        )
        if now.lost > before.lost:
            self._notes.append(
                f"the WARC records of {now.lost - before.lost} visits of shard {shard} were lost "
                f"with {before.machine}"
            )
        self._sync.forget_request(shard)
        self._ended.pop(shard, None)
        if self._budget is not None:
            self._budget.forget_recall(shard)
        self._learner.resend_all(shard)
        if self._trust is not None:
            self._trust.tell_again()
        self._send_to(shard, messages.TerminationProbe(self._ending.round))
        if self._reason:
            self._send_to(shard, messages.StopRequest(self._reason))

    def _note_repeated_visits(self, state: messages.ShardState) -> None:
        """The first word of a shard that was reopened: how much it does again."""
        before = self._reopened.pop(state.shard, None)
        if before is not None and before.visits > state.visits:
            again = before.visits - state.visits
            self._notes.append(f"shard {state.shard} repeats {again} visits")

    def _start_budget(self) -> bool:
        """Whether all shards reported, and their earlier visits are collected."""
        if len(self.states) < self.shards:
            return False
        if any(map(self._sync.is_behind, self.states.values())):
            return False
        counts = self.store.counter.read_counts()
        # Visits of a run that was killed have been gathered only now.
        self._tally.restart_from(counts)
        status.mark_run_start(self.store, counts.visits, self.clock())
        limit = self.settings.crawl.pages
        if limit and any(state.allotted < 0 for state in self.states.values()):
            # They went on while we were away, and had no limit before.
            self._send_all(messages.VisitGrant(0))
            return False
        unsaved = sum(state.unsaved for state in self.states.values())
        left = max(0, limit - counts.visits - unsaved) if limit else None
        self._budget = CrawlBudget(left, self.states)
        self._settled = unsaved, self.states.copy()
        for n, state in self.states.items():
            if state.generation != self._learner.generation:
                self._send_to(n, self._learner.generation_update())
        return True

    def _send_grants(self) -> None:
        if self._budget is not None:
            for shard, allot in self._budget.grants_due(self.states).items():
                self._send_to(shard, allot)

    def _end_reason(self) -> str:
        """Why nothing is left to do; '' if there is, or if that is not known yet."""
        before = self._ending.round
        if self._ending.detect_end(self.states):
            why = sorted({state.idle for state in self.states.values()})
            # What can still be done later says more than that one shard has nothing left.
            return next((text for text in why if not text.startswith("no link")), why[0])
        if self._ending.round != before:
            self._send_all(messages.TerminationProbe(self._ending.round))
        return ""

    async def _finish_shards(self, reason: str) -> None:
        """Stop all shards and collect their visits to the last."""
        self._reason = reason or "an error occurred"
        self._send_all(messages.StopRequest(self._reason))
        late = self.clock() + self.runner.grace_s
        while self.clock() < late and (len(self._ended) < self.shards or self._is_behind()):
            await self._process_inbox()
        if missing := sorted(set(range(self.shards)) - self._ended.keys()):
            self._error = self._error or ClusterError(
                f"not every shard has stopped in time: {missing}. Nothing that was saved is lost: "
                "run the same command again"
            )
        if self._error is not None:
            return
        await self._learner.finish()
        self._refreshes = -1
        self._settle_trust()
        self._save_waiting_count()

    def _is_behind(self) -> bool:
        return any(
            self._sync.is_behind(state)
            for n, state in self.states.items()
            if not (n in self._ended and self._ended[n].trouble)
        ) and not isinstance(self._error, ClusterError)

    # -- visits in ---------------------------------------------------------------------------

    def _store_visits(self, bundle: messages.ShardVisits) -> None:
        taken = self._sync.take_visits(bundle)
        if taken is not None:
            for seen in self.store.visits.iter_outcomes(since=taken.first - 1):
                self.coverage.add_outcome(*seen)
            if self.clock() - self._noted_at >= _NOTE_S:
                self._save_waiting_count()
            self._learner.learn_from_visits(taken.first - 1)

    def _settle_trust(self) -> None:
        """Labels and links between sites say whose pages count as relevant."""
        if (trust := self._trust) is None:
            return
        trust.add_labels(self.store.labels.effective_after(trust.last_label))
        hosts = trust.hosts_on_probation()
        if trust.refreshes != self._refreshes:
            self._refreshes = trust.refreshes
            self._learner.corrector.settle_probation(hosts, self.training.labels_of)

    def _save_waiting_count(self) -> None:
        """Store the number of waiting links and the coverage, for readers of a running crawl."""
        self._noted_at = self.clock()
        with self.store.transaction():
            waiting = sum(state.waiting for state in self.states.values())
            self.store.set_meta("waiting", str(waiting))
            stopping.save_coverage(self.store, self.coverage)
            if self._trust is not None and (state := self._trust.take_state()):
                self.store.set_meta("host_trust", state)

    # -- the rest ----------------------------------------------------------------------------

    def _record_failure(self, error: BaseException) -> None:
        self._error = self._error or error
        self._woken.set()

    def _send_to(self, shard: int, message: messages.ToShard) -> None:
        if shard not in self._ended or isinstance(
            message, messages.VisitSyncRequest | messages.VisitSyncAck
        ):
            self.runner.send(shard, message)

    def _send_all(self, message: messages.ToShard) -> None:
        for shard in range(self.shards):
            self._send_to(shard, message)

    def _build_report(self, reason: str, began: float) -> Report:
        now = self.progress()
        counts = CrawlTally.from_counts(self.store.counter.read_counts(), 0.0).run_status(
            self.settings
        )
        same = ("visits", "pages", "relevant", "failures", "foreign")
        progress = replace(now, busy=0, **{name: getattr(counts, name) for name in same})
        failures = [state.hopeless for state in self.states.values() if state.hopeless]
        shards = [text for ended in self._ended.values() for text in ended.warnings]
        warnings = dict.fromkeys(
            (
                *self.store.warc_archive.warnings,
                *self._learner.warnings,
                *shards,
                *self._notes,
            )
        )
        waiting = sum(state.waiting for state in self.states.values())
        return Report(
            progress,
            reason,
            self.clock() - began,
            now.next_at,
            "; ".join(failures) if not counts.pages else "",
            tuple(warnings),
            stopping.add_channel_estimate(self.coverage.estimate(waiting), self.store),
            ShardTraffic(
                sum(state.letters for state in self.states.values()),
                sum(state.letter_bytes for state in self.states.values()),
                sum(state.letter_links for state in self.states.values()),
            ),
        )


def _error_of_shard(ended: messages.ShardEnded) -> BaseException:
    """The exception of a shard, of the same class where it is one of ours."""
    kind = getattr(errors, ended.error, None)
    if isinstance(kind, type) and issubclass(kind, HoneyguideError):
        return kind(ended.message)
    return RuntimeError(f"shard {ended.shard} failed:\n{ended.trouble}")
