"""The coordinator of a crawl with shards: one budget, one learner, one journal, one end.

Shards do the work and keep what they did. The coordinator gathers their visits into the
collection, where every other command finds them; it hears labels, teaches generations, hands out
the budget, and says when it is enough. It may die and come back: shards and collection know how far
they are.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace

from honeyguide import errors
from honeyguide.cluster.budget import Budget
from honeyguide.cluster.learner import Learner
from honeyguide.cluster.messages import (
    Allot,
    Bundle,
    Ended,
    Gather,
    Gathered,
    Kept,
    Probe,
    State,
    Stop,
    ToCoordinator,
    ToShard,
)
from honeyguide.cluster.progress import summed
from honeyguide.cluster.runner import Lost, Runner
from honeyguide.cluster.termination import Ending
from honeyguide.cluster.visit_sync import Gathering
from honeyguide.config import Settings
from honeyguide.crawl import status
from honeyguide.crawl import stopping as exhausted
from honeyguide.crawl.languages import Languages, wanted_of
from honeyguide.crawl.limits import Enough, Quota
from honeyguide.crawl.progress import Exchanged, Progress, Report, Tally
from honeyguide.crawl.rescoring import Rejudge
from honeyguide.crawl.training_feed import Lessons
from honeyguide.errors import ClusterError, HoneyguideError
from honeyguide.learning.coverage import Coverage
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link

_LOOK_S = 0.1
"""It looks up at least this often."""
_LISTEN_S = 1.0
"""How often people's labels are looked for."""
_NOTE_S = 1.0
"""How often is written down what people see of a crawl that runs."""


@dataclass
class Coordinator:
    store: Store
    settings: Settings
    strategy: InitVar[Strategy]
    generation: InitVar[int]
    lessons: InitVar[Lessons]
    coverage: Coverage
    enough: Enough
    languages: InitVar[Languages | None]
    runner: Runner
    shards: int
    clock: Callable[[], float] = time.time
    states: dict[int, State] = field(default_factory=dict)
    kept: dict[int, Kept] = field(default_factory=dict)
    """On a cluster: how shards stand with the vault."""

    def __post_init__(
        self, strategy: Strategy, generation: int, lessons: Lessons, languages: Languages | None
    ) -> None:
        self._tally = Tally.of(self.store.counts(), self.settings.topic.threshold)
        counted = self.store, self.settings, self._tally, self.coverage, Quota(0), None
        rejudge = Rejudge(*counted, languages)
        self._learner = Learner(
            self.store,
            self.settings,
            strategy,
            generation,
            lessons,
            rejudge,
            self.shards,
            self._send,
            self._broke,
            self.clock,
        )
        self._gathering = Gathering(self.store, self.shards, self._send, self.clock)
        self._inbox: deque[ToCoordinator | Lost] = deque()
        self._woken = asyncio.Event()
        self._spoke = dict.fromkeys(range(self.shards), time.monotonic())
        """When each shard last said how it stands."""
        self._budget: Budget | None = None
        self._settled: tuple[int, dict[int, State]] = 0, {}
        """When the budget was made: visits that were not gathered, and how shards stood."""
        self._ending = Ending(self.shards)
        self._ended: dict[int, Ended] = {}
        self._listened = self._noted = 0.0
        self._reason = ""
        """Why it is over."""
        self._reopened: dict[int, State | None] = {}
        """Shards that another machine took over, and how they stood before."""
        self._told: list[str] = []
        self._trouble: BaseException | None = None

    # -- what others call --------------------------------------------------------------------

    def hear(self, message: ToCoordinator | Lost) -> None:
        self._inbox.append(message)
        self._woken.set()

    def stop(self) -> None:
        self.enough.asked = True
        self._woken.set()

    def progress(self) -> Progress:
        found = self.states.values()
        now = summed(found, self._offset(), self._learner.generation, self.enough.asked)
        if self._reason:
            return replace(now, doing="finishing: the shards' visits are gathered")
        return now if self._budget else replace(now, doing=f"starting {self.shards} shards")

    def under_way(self) -> list[Candidate]:
        """The newest address of each shard."""
        found = [state.now for state in self.states.values() if state.now is not None]
        return [Candidate(Link(url), 0.0) for url in found]

    # -- the loop ----------------------------------------------------------------------------

    async def run(self) -> Report:
        began = self.clock()
        reason = ""
        try:
            reason = await self._turn()
            await self._finish(reason)
        finally:
            await self._learner.aclose()
        if self._trouble is not None:
            raise self._trouble
        return self._report(reason, began)

    async def _turn(self) -> str:
        while self._trouble is None:
            await self._look()
            now = self.clock()
            if self._budget is None and not self._begin() and not self.enough.asked:
                continue
            if reason := self.enough.reason(self.progress().visits):
                return reason
            if now - self._listened >= _LISTEN_S:
                self._listened = now
                self._learner.listen()
            self._allot()
            if reason := self._over():
                return reason
        return "something broke"

    async def _look(self) -> None:
        """Wait for what comes, and take it in; ask for visits that wait to be gathered."""
        await self.runner.pause()
        try:
            async with asyncio.timeout(_LOOK_S):
                await self._woken.wait()
        except TimeoutError:
            pass
        self._woken.clear()
        try:
            while self._inbox:
                self._take(self._inbox.popleft())
            hurry = bool(self._ended) or self._budget is None
            self._gathering.ask(self.states, hurry=hurry)
            for n, at in self._spoke.items():
                if n not in self._ended and time.monotonic() - at > self.runner.silence_s:
                    self._take(Lost(n, f"said nothing for {self.runner.silence_s:.0f} s"))
        except HoneyguideError as error:
            self._trouble = self._trouble or error

    def _take(self, message: ToCoordinator | Lost) -> None:
        match message:
            case State():
                self._spoke[message.shard] = time.monotonic()
                self._compare(message)
                self.states[message.shard] = message
                if self._budget is not None:
                    self._budget.heard(message)
            case Kept():
                before = self.kept.get(message.shard)
                self.kept[message.shard] = message
                if before is not None and before.epoch != message.epoch:
                    self._anew(message, before)
            case Bundle():
                self._bundle(message)
            case Ended():
                self._ended[message.shard] = message
                if message.trouble:
                    self._trouble = self._trouble or _trouble(message)
            case Lost() if message.shard not in self._ended:
                lost = f"{message}. Nothing that was finished is lost: run the same command again"
                self._trouble = self._trouble or ClusterError(lost)
                self._ended[message.shard] = Ended(message.shard)

    def _anew(self, now: Kept, before: Kept) -> None:
        """A shard has another owner, which knows what was saved and was told nothing yet."""
        shard = now.shard
        self._reopened[shard] = self.states.pop(shard, None)
        self._told.append(
            f"shard {shard} was lost on {before.machine} and reopened on {now.machine}; what it "
            f"had not saved, of at most {now.window:g} s and one save, is done again"
        )
        if now.lost > before.lost:
            self._told.append(
                f"the WARC records of {now.lost - before.lost} visits of shard {shard} were lost "
                f"with {before.machine}"
            )
        self._gathering.forget(shard)
        self._ended.pop(shard, None)
        if self._budget is not None:
            self._budget.anew(shard)
        self._learner.again(shard)
        self._send(shard, Probe(self._ending.round))
        if self._reason:
            self._send(shard, Stop(self._reason))

    def _compare(self, state: State) -> None:
        """The first word of a shard that was reopened: how much it does again."""
        before = self._reopened.pop(state.shard, None)
        if before is not None and before.visits > state.visits:
            again = before.visits - state.visits
            self._told.append(f"shard {state.shard} makes {again} visits again")

    def _begin(self) -> bool:
        """Whether all shards are there, and what they did before is gathered."""
        if len(self.states) < self.shards:
            return False
        if any(map(self._gathering.behind, self.states.values())):
            return False
        status.begin(self.store, self.store.counts().visits, self.clock())
        limit = self.settings.crawl.pages
        if limit and any(state.allotted < 0 for state in self.states.values()):
            # They went on while we were away, and had no limit before.
            self._send_all(Allot(0))
            return False
        unsaved = sum(state.unsaved for state in self.states.values())
        left = max(0, limit - self.store.counts().visits - unsaved) if limit else None
        self._budget = Budget(left, self.states)
        self._settled = unsaved, self.states.copy()
        for n, state in self.states.items():
            if state.generation != self._learner.generation:
                self._send(n, self._learner.taught())
        return True

    def _offset(self) -> tuple[int, int, int, int]:
        """Visits, pages, relevant ones and failures that the shards do not know of."""
        told = self._tally
        known = self.states.values() if self._budget is None else self._settled[1].values()
        return (
            told.visits + self._settled[0] - sum(state.visits for state in known),
            told.pages - sum(state.pages for state in known),
            told.relevant - sum(state.relevant for state in known),
            told.failures - sum(state.failures for state in known),
        )

    def _allot(self) -> None:
        if self._budget is not None:
            for shard, allot in self._budget.wishes(self.states).items():
                self._send(shard, allot)

    def _over(self) -> str:
        """Why nothing is left to do; '' if there is, or if that is not known yet."""
        before = self._ending.round
        if self._ending.look(self.states):
            why = sorted({state.idle for state in self.states.values()})
            # What can still be done later says more than that one shard has nothing left.
            return next((text for text in why if not text.startswith("no link")), why[0])
        if self._ending.round != before:
            self._send_all(Probe(self._ending.round))
        return ""

    async def _finish(self, reason: str) -> None:
        """All shards stop; what they did is gathered to the last visit."""
        self._reason = reason or "something broke"
        self._send_all(Stop(self._reason))
        late = self.clock() + self.runner.grace_s
        while self.clock() < late and (len(self._ended) < self.shards or self._behind()):
            await self._look()
        if missing := sorted(set(range(self.shards)) - self._ended.keys()):
            self._trouble = self._trouble or ClusterError(
                f"not every shard has stopped in time: {missing}. Nothing that was saved is lost: "
                "run the same command again"
            )
        if self._trouble is not None:
            return
        await self._learner.finish()
        self._note()

    def _behind(self) -> bool:
        return any(
            self._gathering.behind(state)
            for n, state in self.states.items()
            if not (n in self._ended and self._ended[n].trouble)
        ) and not isinstance(self._trouble, ClusterError)

    # -- visits in ---------------------------------------------------------------------------

    def _bundle(self, bundle: Bundle) -> None:
        taken = self._gathering.take(bundle)
        if taken is not None:
            for seen in self.store.finds(since=taken.first - 1):
                self.coverage.count(*seen)
            if self.clock() - self._noted >= _NOTE_S:
                self._note()
            self._learner.gathered(taken.first - 1)

    def _note(self) -> None:
        """What people see of a crawl that runs."""
        self._noted = self.clock()
        with self.store.transaction():
            waiting = sum(state.waiting for state in self.states.values())
            self.store.set_meta("waiting", str(waiting))
            exhausted.keep(self.store, self.coverage)

    # -- the rest ----------------------------------------------------------------------------

    def _broke(self, error: BaseException) -> None:
        self._trouble = self._trouble or error
        self._woken.set()

    def _send(self, shard: int, message: ToShard) -> None:
        if shard not in self._ended or isinstance(message, Gather | Gathered):
            self.runner.send(shard, message)

    def _send_all(self, message: ToShard) -> None:
        for shard in range(self.shards):
            self._send(shard, message)

    def _report(self, reason: str, began: float) -> Report:
        counts = self.store.counts()
        now = self.progress()
        progress = replace(
            now,
            visits=counts.visits,
            pages=counts.pages,
            relevant=counts.relevant,
            failures=sum(counts.failures.values()),
            busy=0,
            foreign=Tally.of(counts, 0.0).foreign(wanted_of(self.settings)),
        )
        failures = [state.hopeless for state in self.states.values() if state.hopeless]
        shards = [text for ended in self._ended.values() for text in ended.warnings]
        warnings = dict.fromkeys(
            (
                *self.store.warnings,
                *self._learner.warnings,
                *shards,
                *self._told,
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
            exhausted.beside(self.coverage.estimate(waiting), self.store),
            Exchanged(
                sum(state.letters for state in self.states.values()),
                sum(state.letter_bytes for state in self.states.values()),
                sum(state.letter_links for state in self.states.values()),
            ),
        )


def _trouble(ended: Ended) -> BaseException:
    """What broke there, as it would have broken here."""
    kind = getattr(errors, ended.error, None)
    if isinstance(kind, type) and issubclass(kind, HoneyguideError):
        return kind(ended.message)
    return RuntimeError(f"shard {ended.shard} broke:\n{ended.trouble}")
