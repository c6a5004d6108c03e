"""The ring: links out of the frontier, links back into it. docs/ring.md walks through it.

    seeds → frontier → fetch → read → judge → visit → store
               ↑                        ↓       ↓
               └──────── rank ←─────── links  teacher → examples → learn → next generation

It closes in two places only, and both are here: links in (:meth:`Ring._apply`, and what a search
engine found: :meth:`Ring._search`) and generation in (:meth:`Ring._swap`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from honeyguide.config import Settings
from honeyguide.crawl.batch import Batch
from honeyguide.crawl.generation_swap import Course
from honeyguide.crawl.languages import Languages
from honeyguide.crawl.limits import Breath
from honeyguide.crawl.politeness import Manners
from honeyguide.crawl.progress import Progress, Report, Tally, span
from honeyguide.crawl.ranking import Telling, rank, revise
from honeyguide.crawl.report import progress, report
from honeyguide.crawl.rescoring import Rejudge
from honeyguide.crawl.shard_hooks import Limit, Teaching
from honeyguide.crawl.stages import Outcome
from honeyguide.crawl.visit import Arrived, Step, Turn
from honeyguide.learning.coverage import Coverage
from honeyguide.protocols import Frontier, Rank, Strategy
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link
from honeyguide.url import domain, host

if TYPE_CHECKING:
    from honeyguide.crawl.search_session import Searches

_GROUP = 32
"""Finished visits that are committed together …"""
_LINGER_S = 0.2
"""… or after so long."""
_GRACE_S = 5.0
"""How long a stopping ring waits for answers that are under way."""
_NAP_S = 1.0
"""The ring looks up at least this often, to see whether it is enough."""
_ROW = 16
"""Visits of one task, one after the other: a task and a turn of the event loop less for each. Then
it ends, so that visits that need not wait for anything cannot keep the loop to themselves."""
_LISTEN_S = 1.0
"""How often people's labels are looked for."""
_IDLE_S = 5.0
"""A ring that has nothing to do for so long may ask a search engine."""


@dataclass
class Ring:
    """One shard's ring. Everything it uses is given; it makes nothing itself."""

    settings: Settings
    frontier: Frontier
    manners: Manners
    turn: Turn
    store: Store
    strategy: Strategy
    generation: int
    lessons: Teaching
    ledger: Telling | None
    languages: Languages | None
    breath: Breath
    enough: Limit
    coverage: Coverage
    clock: Callable[[], float]
    searches: Searches | None = None

    def __post_init__(self) -> None:
        self.tally = Tally.of(self.store.counts(), self.settings.topic.threshold)
        counted = self.tally, self.coverage, self.manners.quota, self.ledger
        self._rejudge = Rejudge(self.store, self.settings, *counted, self.languages)
        threshold = self.settings.topic.threshold
        self._batch = Batch(self.store, self.frontier, self.coverage, threshold, self.searches)
        self._tasks: dict[asyncio.Task[None], Candidate] = {}
        self._woken = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        given = self.store, self.settings, self.lessons, self.clock
        self._course = Course(*given, self._present, self._swap, self.broke)
        self._listened = 0.0
        self._reason = ""
        self._sleeps: float | None = None
        """Until when the loop sleeps, if nobody wakes it; None: it does not."""
        self._trouble: BaseException | None = None

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self.enough.asked = True
        self._woken.set()

    def wake(self, *, listen: bool = False) -> None:
        """Something came from outside: look up, and listen at once if somebody spoke."""
        if listen:
            self._listened = 0.0
        self._woken.set()

    def progress(self) -> Progress:
        return progress(self)

    @property
    def unjudged(self) -> int:
        """Visited pages that nobody could judge yet."""
        return self._rejudge.waiting

    def idle(self) -> str:
        """Why there is nothing to do, now or for long; '' if there is."""
        now = self.clock()
        return "" if self._tasks or self._batch else self._over(self._wake(now), now)

    def under_way(self) -> list[Candidate]:
        """What is being fetched or read now, the oldest first."""
        return [candidate for task, candidate in self._tasks.items() if not task.done()]

    async def run(self) -> Report:
        """Turn until something says stop; what was finished is committed, unless we broke."""
        began = self.clock()
        watcher = asyncio.create_task(self.breath.watch())
        reason = ""
        try:
            reason = await self._turn()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_GRACE_S)
            if self._rejudge.waiting:
                # What is known of the topic by now must do, or nothing would have been judged.
                self.lessons.expect_no_more()
                self._course.go_on()
            await self._course.wait(_GRACE_S)
        finally:
            await self._abandon(watcher)
            self._commit()
        if self._trouble is not None:
            raise self._trouble
        return report(self, reason, began, self._rejudge.warnings)

    async def _abandon(self, watcher: asyncio.Task[None]) -> None:
        """Cancel what did not arrive in time; it waits again, for the next run."""
        if self.searches is not None:
            await self.searches.aclose()
        out = dict(self._tasks)
        for task in (watcher, *out):
            task.cancel()
        await asyncio.gather(watcher, *out, self._course.aclose(), return_exceptions=True)
        now = self.clock()
        for task, candidate in out.items():
            if task.cancelled():
                rest = self.manners.rest(host(candidate.link.url), 0.0)
                self.frontier.defer(candidate, now, rest, now)

    async def _turn(self) -> str:
        """The loop: start what may start, then sleep until something happens."""
        while True:
            if self._trouble is not None:
                return "something broke"
            if reason := self._stops():
                return reason
            self._woken.clear()
            now = self.clock()
            if now - self._listened >= _LISTEN_S:
                self._listened = now
                self._listen()
            self._search(now)
            self._start(now)
            if not self._tasks and self._batch:
                self._commit()
                continue
            wake = self._wake(now)
            if not self._tasks and (why := self._over(wake, now)) and not self.enough.waits(why):
                return why
            pause = self._pause(now, wake)
            self._sleeps = now + pause
            try:
                async with asyncio.timeout(max(pause, 0.001)):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._sleeps = None

    def _stops(self) -> str:
        """Why nothing more may begin; said once, it stays said."""
        self._reason = self._reason or self.enough.reason(self.tally.visits)
        return self._reason

    def _wake(self, now: float) -> float | None:
        """When something may next be begun."""
        wake = self.frontier.wake_at()
        return wake if self.searches is None else self.searches.soonest(wake, now)

    def _pause(self, now: float, wake: float | None) -> float:
        """How long nothing can be begun, unless something ends."""
        full = self._busy() >= self.breath.limit or not self.enough.room(
            self.tally.visits + len(self._tasks)
        )
        return _NAP_S if wake is None or full else min(_NAP_S, wake - now)

    def _over(self, wake: float | None, now: float) -> str:
        """Why nothing is left to do, for now or for good; '' if there is."""
        if wake is None:
            why = f", and {self.searches.why}" if self.searches is not None else ""
            return f"no link is left to follow{why}"
        if wake == inf:
            return "every link that is left waits for a host that must not be asked"
        if wake - now > self.tally.patience(len(self.frontier), self.settings):
            return f"no host is ready for the next {span(wake - now)}"
        return ""

    def _search(self, now: float) -> None:
        """What a search engine found comes in like other links; and perhaps it is asked again."""
        if self.searches is not None:
            wake = self.frontier.wake_at()
            hungry = not self._busy() and (wake is None or wake - now > _IDLE_S)
            if task := self.searches.turn(now, self.frontier, self.rank(), hungry=hungry):
                task.add_done_callback(self._ended)

    def _start(self, now: float) -> None:
        """Visits leave the frontier while there is room for them."""
        while (candidate := self._next(now)) is not None:
            task = asyncio.create_task(self._visit(candidate))
            self._tasks[task] = candidate
            task.add_done_callback(self._left)

    def _next(self, now: float) -> Candidate | None:
        """What is to be visited next, if there is room for it.

        A visit takes its place until it is committed, so that a crash repeats no more of them
        than were allowed at once.
        """
        room = self._busy() < self.breath.limit
        if not (room and self.enough.room(self.tally.visits + len(self._tasks))):
            return None
        candidate = self.frontier.pop(now)
        if candidate is not None and self.ledger is not None:
            candidate = candidate._replace(link=self.ledger.told((candidate.link,))[0])
        return candidate

    def _busy(self) -> int:
        return len(self._tasks) + len(self._batch)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Of a question to a search engine, or of a visit that did not come to its end."""
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        self._woken.set()

    def _left(self, task: asyncio.Task[None]) -> None:
        if task in self._tasks:
            self._ended(task)

    async def _visit(self, first: Candidate) -> None:
        """One visit, and in the same task some of those that follow it."""
        candidate: Candidate | None = first
        row = 0
        while candidate is not None:
            row += 1
            step = await self.turn.fetch(candidate, self.generation)
            if isinstance(step, Arrived):
                step = self.turn.read(candidate, step, self.strategy, self.generation)
            self._apply(candidate, step)
            candidate = self._follow(goes_on=row < _ROW)

    def _follow(self, goes_on: bool) -> Candidate | None:
        """A visit is at its end, and others may begin in its place, the first of them in its
        task if that goes on. The loop is woken only where it has something to decide, or would
        sleep too long."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.pop(task, None)
        following = None
        if self._trouble is None and self.searches is None and self._sleeps is not None:
            now = self.clock()
            if not self._stops():
                if goes_on and (following := self._next(now)) is not None:
                    self._tasks[task] = following
                self._start(now)
                if self._tasks and now + self._pause(now, self._wake(now)) >= self._sleeps:
                    return following
        self._woken.set()
        return following

    def _apply(self, candidate: Candidate, step: Step) -> None:
        """Take a step in: links to the frontier, the visit to the store, all or nothing.

        No ``await`` stands between these lines, so a commit sees whole visits only.
        """
        now, name = self.clock(), host(candidate.link.url)
        if step.robots is not None:
            self._batch.robots.append(step.robots)
        if step.other is not None:
            self.frontier.release(step.other[0], now, step.other[1])
        if step.outcome is None:
            self.frontier.defer(candidate, now, step.rest, step.at)
        elif step.outcome.again is None:
            self.frontier.finish(candidate, now, step.rest)
        else:
            self.frontier.retry(candidate, now, step.rest, now + step.outcome.again)
        if step.parked:
            self.frontier.park(name, step.parked)
        if step.outcome is not None:
            self._keep(step, step.outcome, domain(name))

    def _keep(self, step: Step, outcome: Outcome, site: str) -> None:
        visit = outcome.visit
        relevant = self.tally.count(visit)
        self.coverage.visited(visit, relevant)
        self.manners.quota.count(site, int(visit.asked), int(relevant))
        self.frontier.push([*outcome.candidates, *step.ranked])
        if self.ledger is not None and visit.asked:
            self.ledger.followed(visit)
            sources = self.turn.sources
            revise(self.strategy, self.ledger, self.frontier, self.languages, sources)
        moved = self.languages is not None and self.languages.followed(visit)
        if self.searches is not None and self.searches.visited(visit):
            moved = True
        if moved:
            self._rerank()
        self._batch.visits.append(visit)
        self._rejudge.visited(visit)
        if len(self._batch) >= min(_GROUP, max(1, self.breath.limit // 2)):
            # While half of what may be under way is written, the other half goes on.
            self._commit()
        else:
            self.commit_soon()
        self.lessons.visited(visit)
        self._course.go_on()

    def broke(self, error: BaseException) -> None:
        """Something broke outside that the ring cannot go on with: nothing more is written."""
        self._trouble = self._trouble or error
        self._woken.set()

    def drop(self) -> None:
        """Break off what is under way, at once: it waits again."""
        for task, candidate in list(self._tasks.items()):
            if task.cancel():
                del self._tasks[task]
                task.add_done_callback(partial(self._dropped, candidate))

    def _dropped(self, candidate: Candidate, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            now, rest = self.clock(), self.manners.rest(host(candidate.link.url), 0.0)
            self.frontier.defer(candidate, now, rest, now)

    def commit_soon(self) -> None:
        """Write what is finished, together with what else is by then."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LINGER_S, self._commit)

    def _commit(self) -> None:
        """Write what is finished.

        After trouble of any kind nothing more is written: what is not committed then will be
        fetched again, which is better than a journal that disagrees with its frontier.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._trouble is not None:
            return
        try:
            written = self._batch.write()
            self._rejudge.heed(self.lessons.said(visit.link.url for visit in written))
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._trouble = error
        self._woken.set()

    # -- generation in -----------------------------------------------------------------------

    def _listen(self) -> None:
        """Other processes speak through the store: labels, and a generation chosen by hand."""
        wanted = self.lessons.listen()
        if self.searches is not None:
            self.searches.listen()
        if fresh := self.lessons.fresh():
            self._settle(partial(self._rejudge.heed, fresh))
        self.frontier.push(Candidate(Link(url, channel="seed"), 1.0, 1.0) for url in wanted)
        if chosen := self.lessons.chosen(self.generation):
            self._swap(*chosen)
        self._course.go_on()

    def _settle(self, correct: Callable[[], None]) -> None:
        """Correct what was counted; it must be in the journal."""
        self._commit()
        if self._trouble is None:
            correct()

    def _present(self) -> tuple[Strategy, int] | None:
        return (self.strategy, self.generation) if self._trouble is None else None

    def _swap(self, strategy: Strategy, number: int) -> None:
        """From now on it decides, also about what waits and what could not be judged before."""
        self.strategy, self.generation = strategy, number
        self._settle(partial(self._rejudge.anew, strategy, self.frontier, self.lessons.said))
        self._rerank()

    def _rerank(self) -> None:
        self.frontier.rerank(self.rank())

    def rank(self) -> Rank:
        """What links are worth, by all that is known now."""
        sources, languages = self.turn.sources, self.languages
        told = partial(rank, self.strategy, self.ledger, anew=True)
        return partial(told, languages=languages, sources=sources)
