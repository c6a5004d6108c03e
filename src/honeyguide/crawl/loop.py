"""The crawl loop: candidates out of the frontier, visits and links in, commits, generations.

    seeds → frontier → fetch → read → judge → visit → store
               ↑                        ↓       ↓
               └──────── rank ←─────── links  teacher → examples → learn → next generation

The loop closes in this file only: links enter the frontier in :meth:`CrawlLoop._apply_step` and,
from a search engine, in :meth:`CrawlLoop._step_search`; a generation enters in
:meth:`CrawlLoop._swap_generation`. docs/architecture.md describes the way of one page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING

from honeyguide.config.settings import Settings
from honeyguide.crawl import stopping
from honeyguide.crawl.live_generation import OUTDATED_KEY, GenerationSource, GenerationUpdater
from honeyguide.crawl.process_page import CrawlOutcome
from honeyguide.crawl.rescore import VerdictCorrector
from honeyguide.crawl.status import CrawlTally, Report, format_span
from honeyguide.crawl.stopping import StopRule
from honeyguide.crawl.visit import ArrivedAnswer, VisitRunner, VisitStep
from honeyguide.languages.gate import LanguageGate
from honeyguide.learning.coverage import Coverage
from honeyguide.links.host_trust import HostTrust
from honeyguide.links.ranking import LinkKnowledge, rank_links, rerank_changed
from honeyguide.net.concurrency import FetchConcurrency
from honeyguide.net.politeness import PolitenessGate, RobotsEntry
from honeyguide.protocols import Frontier, RankFunction, Strategy
from honeyguide.run_status import RunStatus
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Visit
from honeyguide.url import domain_of, host_of

if TYPE_CHECKING:
    from honeyguide.search.session import SearchSession


@dataclass
class CommitBatch:
    store: Store
    frontier: Frontier
    coverage: Coverage
    search: SearchSession | None = None
    host_trust: HostTrust | None = None
    visits: list[Visit] = field(default_factory=list)
    robots: list[RobotsEntry] = field(default_factory=list)
    """robots.txt files that were fetched since the last commit."""

    def __len__(self) -> int:
        return len(self.visits)

    def write(self) -> list[Visit]:
        """Write finished visits, their links and robots.txt files in one transaction; returns the
        visits."""
        visits, self.visits = self.visits, []
        robots, self.robots = self.robots, []
        with self.store.transaction():
            self.store.append_visits(visits)
            self.frontier.flush()
            for entry in robots:
                self.store.robots.save_robots(*entry)
            self.store.set_meta("waiting", str(len(self.frontier)))
            stopping.save_coverage(self.store, self.coverage)
            if self.host_trust is not None and (state := self.host_trust.take_state()):
                self.store.set_meta("host_trust", state)
            if self.search is not None:
                self.search.save_taken()
        self.frontier.confirm_flush()
        if self.search is not None:
            self.search.confirm_saved()
        return visits


_COMMIT_VISITS = 32
"""Finished visits that are committed together …"""
_COMMIT_DELAY_S = 0.2
"""… or after so long."""
_JUDGED_AGAIN = 64
"""Stored pages that are judged again with a commit, if a new generation decides."""
_GRACE_S = 5.0
"""How long a stopping crawl waits for running visits."""
_MAX_SLEEP_S = 1.0
"""The loop checks at least this often whether to stop."""
_TASK_VISITS = 16
"""Visits of one task, one after the other, which saves a task and a turn of the event loop each.
Then the task ends, so that visits that never wait cannot block the event loop."""
_POLL_S = 1.0
"""Seconds between two queries for new labels."""
_TOLD_SHARE, _TOLD_PAGES = 0.1, 5
"""A count of relevant pages that the end of a run changes by more than both together is told."""
_SEARCH_IDLE_S = 5.0
"""A loop that has nothing to do for so long may ask a search engine."""


@dataclass
class CrawlLoop:
    """The main loop of a crawl, or of one shard. It gets all its parts and makes none itself."""

    settings: Settings
    frontier: Frontier
    politeness: PolitenessGate
    visit_runner: VisitRunner
    store: Store
    strategy: Strategy
    generation: int
    training: GenerationSource
    link_knowledge: LinkKnowledge | None
    language_gate: LanguageGate | None
    concurrency: FetchConcurrency
    stop_rule: StopRule
    coverage: Coverage
    clock: Callable[[], float]
    search: SearchSession | None = None
    host_trust: HostTrust | None = None

    def __post_init__(self) -> None:
        self.tally = CrawlTally.from_counts(self.store.counter.read_counts(), self.store.threshold)
        counted = self.tally, self.coverage, self.politeness.quota, self.link_knowledge
        self._corrector = VerdictCorrector(self.store, self.settings, *counted, self.language_gate)
        self._batch = CommitBatch(
            self.store, self.frontier, self.coverage, self.search, self.host_trust
        )
        self._tasks: dict[asyncio.Task[None], Candidate] = {}
        self._woken = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        parts = self.store, self.settings, self.training, self.clock
        self._updater = GenerationUpdater(
            *parts, self._current_generation, self._swap_generation, self.fail_with, self._commit
        )
        self._polled_at = 0.0
        self._finishing = self._hurried = False
        self._taught = self.training.taught
        self._refreshes = -1
        self._reason = ""
        self._sleeps_until: float | None = None
        """Until when the loop sleeps, if nobody wakes it; None: it does not."""
        self._error: BaseException | None = None

    def stop(self) -> bool:
        """Finish what is under way, then end. Asked again, or while only the last training run
        goes on: drop it. Whether it can be asked once more."""
        again, self.stop_rule.asked = self.stop_rule.asked, True
        if again or self._finishing:
            self._hurried = True
            self._updater.drop_training()
            self.drop_visits()
        self._woken.set()
        return not again

    def wake(self, *, listen: bool = False) -> None:
        """Something came from outside: check the state now, and read the store if ``listen``."""
        if listen:
            self._polled_at = 0.0
        self._woken.set()

    def progress(self) -> RunStatus:
        """The status now."""
        out, wake = self.under_way(), self.frontier.wake_at()
        engine = self.search.caller if self.search is not None else None
        waits = engine is not None and engine.why_unanswered and not engine.stopped
        return self.tally.run_status(
            self.settings,
            waiting=len(self.frontier),
            busy=len(out),
            sites=self.politeness.quota.domain_count(),
            generation=self.generation,
            now=out[-1].link.url if out else None,
            doing=self._updater.doing,
            unlearned=self.training.waiting,
            next_at=wake if wake is not None and self.clock() < wake < inf else None,
            stopping=self.stop_rule.asked,
            asked=engine.asked if engine is not None else 0,
            unanswered=engine.why_unanswered if engine is not None else "",
            ask_at=engine.ready_at if engine is not None and waits else None,
        )

    def _build_report(self, reason: str, began: float, counted: int) -> Report:
        """``counted``: relevant pages before they were judged again at the end."""
        now = self.progress()
        warnings = [*self.store.warc_archive.warnings, *self.training.warnings]
        warnings += self._corrector.warnings
        if abs(now.relevant - counted) > _TOLD_SHARE * counted + _TOLD_PAGES:
            warnings.append(
                f"{counted} pages counted as relevant while it ran; judged by all that was "
                f"learned, {now.relevant} are"
            )
        warnings += self.host_trust.held_notes if self.host_trust is not None else ()
        warnings += self.search.warnings if self.search is not None else ()
        return Report(
            now,
            reason,
            self.clock() - began,
            now.next_at,
            self.tally.failure_summary(),
            tuple(warnings),
            stopping.add_channel_estimate(self.coverage.estimate(len(self.frontier)), self.store),
        )

    @property
    def unjudged_count(self) -> int:
        """Visited pages that nobody could judge yet."""
        return self._corrector.unknown_count

    def idle_reason(self) -> str:
        """Why there is nothing to do, now or for long; '' if there is."""
        now = self.clock()
        return "" if self._tasks or self._batch else self._end_reason(self._next_wake(now), now)

    def under_way(self) -> list[Candidate]:
        """What is being fetched or read now, the oldest first."""
        return [candidate for task, candidate in self._tasks.items() if not task.done()]

    async def run(self) -> Report:
        """Run until a stop reason; finished visits are committed unless an error occurred."""
        began = self.clock()
        watcher = asyncio.create_task(self.concurrency.watch_load())
        reason = ""
        try:
            self._poll_store()
            await self._updater.learn_first(lambda: self.stop_rule.asked)
            reason = await self._run_until_stop()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_GRACE_S)
            await self._finish_training()
        finally:
            await self._cancel_rest(watcher)
            self._commit()
        counted = self.tally.relevant
        if self._error is None:
            await self._judge_rest()
            self._corrector.settle_cut(now=True)
        if self._error is not None:
            raise self._error
        return self._build_report(reason, began, counted)

    async def _finish_training(self) -> None:
        """Learn from the labels that came last, too."""
        self._finishing = True
        if self._error is None:
            self._poll_store()
            self.training.stop_waiting()
            if self._corrector.unknown_count:
                # What is known of the topic by now must do, or nothing would have been judged.
                self._updater.start_if_due()
            await self._updater.finish_training()

    async def _judge_rest(self) -> None:
        """Judge pages again that an older generation judged; Ctrl-C leaves that to an export."""
        self._hurried, pending = False, True
        self._updater.doing = "judging pages again by what was learned … (Ctrl-C to leave it)"
        while pending and not self._hurried:
            turns = iter((False, True))  # one batch, then a turn of the event loop
            labels_of = self.training.labels_of
            self._corrector.judge_rest(self.strategy, labels_of, partial(next, turns))
            pending = next(turns, None) is None
            await asyncio.sleep(0)
        self._updater.doing = ""
        self.store.set_meta(OUTDATED_KEY, "1" if pending else "")

    async def _cancel_rest(self, watcher: asyncio.Task[None]) -> None:
        """Cancel what did not arrive in time; it waits again, for the next run."""
        if self.search is not None:
            await self.search.aclose()
        out = dict(self._tasks)
        for task in (watcher, *out):
            task.cancel()
        await asyncio.gather(watcher, *out, self._updater.aclose(), return_exceptions=True)
        now = self.clock()
        for task, candidate in out.items():
            if task.cancelled():
                rest = self.politeness.delay_after(host_of(candidate.link.url), 0.0)
                self.frontier.defer(candidate, now, rest, now)

    async def _run_until_stop(self) -> str:
        """The loop: start what may start, then sleep until something happens."""
        while True:
            if self._error is not None:
                return "an error occurred"
            if reason := self._stop_reason():
                return reason
            self._woken.clear()
            now = self.clock()
            if now - self._polled_at >= _POLL_S:
                self._polled_at = now
                self._poll_store()
            self._step_search(now)
            self._start_visits(now)
            if not self._tasks and self._batch:
                self._commit()
                continue
            wake = self._next_wake(now)
            if (
                not self._tasks
                and (why := self._end_reason(wake, now))
                and not self.stop_rule.keeps_waiting(why)
            ):
                return why
            pause = self._pause_length(now, wake)
            self._sleeps_until = now + pause
            try:
                async with asyncio.timeout(max(pause, 0.001)):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._sleeps_until = None

    def _stop_reason(self) -> str:
        """Why no visit may start any more, or ''. The first reason is final."""
        self._reason = self._reason or self.stop_rule.stop_reason(self.tally.visits)
        return self._reason

    def _next_wake(self, now: float) -> float | None:
        """When something may next be begun."""
        wake = self.frontier.wake_at()
        return wake if self.search is None else self.search.earliest_wake(wake, now)

    def _pause_length(self, now: float, wake: float | None) -> float:
        """How long nothing can be begun, unless something ends."""
        if wake is None or not self._has_room():
            return _MAX_SLEEP_S
        return min(_MAX_SLEEP_S, wake - now)

    def _has_room(self) -> bool:
        """For one more visit.

        A visit takes its place until it is committed, so that a crash repeats no more of them
        than were allowed at once.
        """
        allowed = self.concurrency
        if len(self._tasks) >= allowed.limit or self._busy_count() >= allowed.most:
            return False
        return self.stop_rule.has_room(self.tally.visits + len(self._tasks))

    def _end_reason(self, wake: float | None, now: float) -> str:
        """Why nothing is left to do, for now or for good; '' if there is."""
        if wake is None:
            why = f", and {self.search.why_exhausted}" if self.search is not None else ""
            return f"no link is left to follow{why}"
        if wake == inf and self.host_trust is not None and self.host_trust.held_count:
            return "all remaining links are on sites that hardly any trusted site links to"
        if wake == inf:
            return "all remaining links are on hosts that must not be requested"
        if wake - now > self.tally.host_patience(len(self.frontier), self.settings):
            return f"no host is ready for the next {format_span(wake - now)}"
        return ""

    def _step_search(self, now: float) -> None:
        """What a search engine found comes in like other links; and perhaps it is asked again."""
        if self.search is not None:
            wake = self.frontier.wake_at()
            hungry = not self._busy_count() and (wake is None or wake - now > _SEARCH_IDLE_S)
            if task := self.search.take_and_ask(
                now, self.frontier, self.make_ranker(), hungry=hungry
            ):
                task.add_done_callback(self._on_task_ended)

    def _start_visits(self, now: float) -> None:
        """Visits leave the frontier while there is room for them."""
        while (candidate := self._next_candidate(now)) is not None:
            task = asyncio.create_task(self._run_visits(candidate))
            self._tasks[task] = candidate
            task.add_done_callback(self._on_visit_ended)

    def _next_candidate(self, now: float) -> Candidate | None:
        """What is to be visited next, if there is room for it."""
        if not self._has_room():
            return None
        candidate = self._pop_trusted(now)
        if candidate is not None and self.link_knowledge is not None:
            candidate = candidate._replace(
                link=self.link_knowledge.annotate_links((candidate.link,))[0]
            )
        return candidate

    def _pop_trusted(self, now: float) -> Candidate | None:
        """The best candidate that need not wait for trust in its site."""
        trust = self.host_trust
        if trust is not None:
            for host in trust.hosts_to_free():
                self.frontier.free_held(host)
        while (candidate := self.frontier.pop(now)) is not None:
            if trust is None or not trust.must_wait(candidate.link, candidate.score):
                break
            self.frontier.put_back(candidate, now)
        return candidate

    def _busy_count(self) -> int:
        return len(self._tasks) + len(self._batch)

    def _on_task_ended(self, task: asyncio.Task[None]) -> None:
        """Of a question to a search engine, or of a visit that did not come to its end."""
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._error = self._error or error
        self._woken.set()

    def _on_visit_ended(self, task: asyncio.Task[None]) -> None:
        if task in self._tasks:
            self._on_task_ended(task)

    async def _run_visits(self, first: Candidate) -> None:
        """One visit, and in the same task some of those that follow it."""
        candidate: Candidate | None = first
        row = 0
        while candidate is not None:
            row += 1
            step = await self.visit_runner.fetch(candidate, self.generation)
            self._adapt_concurrency(host_of(candidate.link.url), step)
            if isinstance(step, ArrivedAnswer):
                step = self.visit_runner.read_answer(
                    candidate, step, self.strategy, self.generation
                )
            self._apply_step(candidate, step)
            candidate = self._next_visit(goes_on=row < _TASK_VISITS)

    def _adapt_concurrency(self, host: str, step: VisitStep | ArrivedAnswer) -> None:
        if isinstance(step, ArrivedAnswer):
            under_way, elapsed = len(self._tasks), step.response.elapsed
            self.concurrency.record_answer(host, elapsed, under_way, self.clock())
        elif step.outcome is not None and (failure := step.outcome.visit.failure) is not None:
            self.concurrency.record_loss(host, failure.kind)

    def _next_visit(self, goes_on: bool) -> Candidate | None:
        """A visit is at its end, and others may begin in its place, the first of them in its
        task if that goes on. The loop is woken only where it has something to decide, or would
        sleep too long."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.pop(task, None)
        following = None
        if self._error is None and self.search is None and self._sleeps_until is not None:
            now = self.clock()
            if not self._stop_reason():
                if goes_on and (following := self._next_candidate(now)) is not None:
                    self._tasks[task] = following
                self._start_visits(now)
                if (
                    self._tasks
                    and now + self._pause_length(now, self._next_wake(now)) >= self._sleeps_until
                ):
                    return following
        self._woken.set()
        return following

    def _apply_step(self, candidate: Candidate, step: VisitStep) -> None:
        """Take a step in: links to the frontier, the visit to the store, all or nothing.

        No ``await`` stands between these lines, so a commit sees whole visits only.
        """
        now, name = self.clock(), host_of(candidate.link.url)
        if step.robots is not None:
            self._batch.robots.append(step.robots)
        if step.outcome is None:
            self.frontier.defer(candidate, now, step.delay_s, now)
        elif step.outcome.retry_after_s is None:
            self.frontier.finish(candidate, now, step.delay_s)
        else:
            self.frontier.retry(candidate, now, step.delay_s, now + step.outcome.retry_after_s)
        if step.parked_until:
            self.frontier.park_host(name, step.parked_until)
        if step.outcome is not None:
            self._record_outcome(step, step.outcome, domain_of(name))

    def _record_outcome(self, step: VisitStep, outcome: CrawlOutcome, site: str) -> None:
        visit, trust = outcome.visit, self.host_trust
        if trust is not None:
            visit = visit._replace(unproven=trust.is_on_probation(visit.link.url))
            trust.record_links(visit.link.url, outcome.links)
        relevant = self.tally.count_visit(visit)
        self.coverage.add_visit(visit, relevant)
        self.politeness.quota.count_visits(site, int(visit.was_requested), int(relevant))
        self.frontier.push([*outcome.candidates, *step.ranked])
        dead_links = self.visit_runner.dead_links
        lost = dead_links is not None and dead_links.record_visit(visit)
        if self.link_knowledge is not None and visit.was_requested:
            self.link_knowledge.record_visit(visit)
            factors = self.language_gate, self.visit_runner.source_bandit, dead_links
            rerank_changed(self.strategy, self.link_knowledge, self.frontier, *factors)
        if lost and dead_links is not None:
            self.frontier.lower_scores(dead_links.limit_scores)
        moved = self.language_gate is not None and self.language_gate.record_visit(visit)
        if self.search is not None and self.search.record_visit(visit):
            moved = True
        if moved:
            self._rerank_frontier()
        self._batch.visits.append(visit)
        self._corrector.record_visit(visit)
        if len(self._batch) >= min(_COMMIT_VISITS, max(1, self.concurrency.most // 2)):
            # While half of what may be under way is written, the other half goes on.
            self._commit()
        else:
            self.commit_soon()
        self.training.record_visit(visit)
        self._updater.start_if_due()

    def fail_with(self, error: BaseException) -> None:
        """End the run with an error from outside; nothing more is written."""
        self._error = self._error or error
        self._woken.set()

    def drop_visits(self) -> None:
        """Cancel running visits at once; their candidates wait again."""
        for task, candidate in list(self._tasks.items()):
            if task.cancel():
                del self._tasks[task]
                task.add_done_callback(partial(self._requeue_dropped, candidate))

    def _requeue_dropped(self, candidate: Candidate, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            now, rest = self.clock(), self.politeness.delay_after(host_of(candidate.link.url), 0.0)
            self.frontier.defer(candidate, now, rest, now)

    def commit_soon(self) -> None:
        """Write what is finished, together with what else is by then."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_COMMIT_DELAY_S, self._commit)

    def _commit(self) -> None:
        """Write what is finished.

        After trouble of any kind nothing more is written: what is not committed then will be
        fetched again, which is better than a journal that disagrees with its frontier.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._error is not None:
            return
        try:
            written = self._batch.write()
            labels_of = self.training.labels_of
            trust = self.host_trust
            if (refreshes := trust.refreshes if trust is not None else 0) != self._refreshes:
                self._refreshes = refreshes
                hosts = trust.hosts_on_probation() if trust is not None else set()
                self._corrector.settle_probation(hosts, labels_of)
            self._corrector.apply_labels(labels_of(visit.link.url for visit in written))
            if written:
                self._corrector.judge_some(self.strategy, _JUDGED_AGAIN, labels_of)
                self._corrector.settle_cut()
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._error = error
        self._woken.set()

    # -- generation in -----------------------------------------------------------------------

    def _poll_store(self) -> None:
        """Read what other processes stored: labels, and a generation chosen by hand."""
        wanted = self.training.poll_labels()
        if self.search is not None:
            self.search.poll_store()
        if fresh := self.training.take_new_labels():
            self._commit_then(partial(self._corrector.apply_labels, fresh))
        if self.host_trust is not None:
            newest = self.host_trust.last_label
            self.host_trust.add_labels(self.store.labels.effective_after(newest))
        self.frontier.push(Candidate(Link(url, channel="seed"), 1.0, 1.0) for url in wanted)
        if self._corrector.take_wish():
            self._commit_then(partial(self._corrector.settle_cut, now=True))
        if chosen := self.training.chosen_generation(self.generation):
            self._swap_generation(*chosen)
        self._updater.start_if_due()

    def _commit_then(self, correct: Callable[[], None]) -> None:
        """Correct what was counted; it must be in the journal."""
        self._commit()
        if self._error is None:
            correct()

    def _current_generation(self) -> tuple[Strategy, int] | None:
        return (self.strategy, self.generation) if self._error is None else None

    def _swap_generation(self, strategy: Strategy, number: int) -> None:
        """From now on this generation decides, also for waiting links and pages not judged yet."""
        self.strategy, self.generation = strategy, number
        self._corrector.expect_changes(labels=self.training.taught > self._taught)
        self._taught = self.training.taught
        self._commit_then(
            partial(self._corrector.judge_again, strategy, self.frontier, self.training.labels_of)
        )
        self._rerank_frontier()

    def _rerank_frontier(self) -> None:
        self.frontier.rerank_all(self.make_ranker())

    def make_ranker(self) -> RankFunction:
        """A function that scores links by everything that is known now."""
        sources, languages = self.visit_runner.source_bandit, self.language_gate
        rank = partial(rank_links, self.strategy, self.link_knowledge, anew=True)
        dead_links = self.visit_runner.dead_links
        return partial(rank, languages=languages, sources=sources, dead_links=dead_links)
