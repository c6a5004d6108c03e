"""The ring: links out of the frontier, links back into it. docs/ring.md walks through it.

    seeds → frontier → fetch → read → judge → visit → store
               ↑                        ↓       ↓
               └──────── rank ←─────── links  teacher → examples → learn → next generation

It closes in two places only, and both are here: links in (:meth:`Ring._apply`) and
generation in (:meth:`Ring._learned`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from honeyguide.config import Settings
from honeyguide.crawl.limits import Breath, Enough
from honeyguide.crawl.manners import Manners, Permit
from honeyguide.crawl.progress import Progress, Report, Tally
from honeyguide.crawl.stages import Outcome, Stages, is_sitemap
from honeyguide.errors import FetchError
from honeyguide.fetch.rules import Rules
from honeyguide.learning.trainer import Trainer
from honeyguide.protocols import Fetcher, Frontier, Strategy, Teacher
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Request, Response, Visit
from honeyguide.url import domain, host, origin

_log = logging.getLogger(__name__)

_GROUP = 32
"""Finished visits that are committed together …"""
_LINGER_S = 0.2
"""… or after so long."""
_GRACE_S = 5.0
"""How long a stopping ring waits for answers that are under way."""
_NAP_S = 1.0
"""The ring looks up at least this often, to see whether it is enough."""
_SOON_S = 5.0
_ROBOTS_BYTES = 512 * 1024


@dataclass
class Ring:
    """One shard's ring. Everything it uses is given; it makes nothing itself."""

    settings: Settings
    frontier: Frontier
    fetcher: Fetcher
    manners: Manners
    stages: Stages
    store: Store
    strategy: Strategy
    generation: int
    teacher: Teacher
    trainer: Trainer
    breath: Breath
    enough: Enough
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self.tally = Tally.of(self.store.counts(), self.settings.topic.threshold)
        self._tasks: dict[asyncio.Task[None], Candidate] = {}
        self._pending: list[Visit] = []
        self._learned_robots: list[tuple[str, float, int, str]] = []
        """What robots.txt files said since the last commit."""
        self._mapped: set[str] = set()
        """Origins whose sitemaps were pushed."""
        self._woken = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._learning: asyncio.Task[Strategy] | None = None
        self._trouble: BaseException | None = None

    def stop(self) -> None:
        """Finish what is under way, then end."""
        self.enough.asked = True
        self._woken.set()

    def progress(self) -> Progress:
        newest = next(reversed(self._tasks.values()), None)
        wake, tally = self.frontier.wake_at(), self.tally
        return Progress(
            tally.visits,
            tally.pages,
            tally.relevant,
            tally.failures,
            waiting=len(self.frontier),
            busy=len(self._tasks),
            sites=self.manners.quota.domains(),
            generation=self.generation,
            now=newest.link.url if newest else None,
            next_at=wake if wake is not None and wake > self.clock() else None,
            stopping=self.enough.asked,
            last_failure=tally.last_failure(),
        )

    async def run(self) -> Report:
        """Turn until something says stop; what was finished is committed, whatever happens."""
        began = self.clock()
        watcher = asyncio.create_task(self.breath.watch())
        reason = ""
        try:
            reason = await self._turn()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=_GRACE_S)
        finally:
            watcher.cancel()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(watcher, *self._tasks, return_exceptions=True)
            self._commit()
        if self._trouble is not None:
            raise self._trouble
        return Report(
            self.progress(),
            reason,
            self.clock() - began,
            self.progress().next_at,
            self.tally.trouble(),
            tuple(self.store.warnings),
        )

    async def _turn(self) -> str:
        """The loop: start what may start, then sleep until something happens."""
        while True:
            if self._trouble is not None:
                return "something broke"
            if reason := self.enough.reason(self.tally.visits):
                return reason
            self._woken.clear()
            now = self.clock()
            self._start(now)
            if not self._tasks and self._pending:
                self._commit()
                continue
            wake = self.frontier.wake_at()
            if not self._tasks:
                if wake is None:
                    return "no link is left to follow"
                if wake == inf:
                    return "every link that is left waits for a host that must not be asked"
                if wake - now > self._patience():
                    return f"no host is ready for the next {(wake - now) / 60:.0f} minutes"
            full = self._busy() >= self.breath.limit
            pause = _NAP_S if wake is None or full else min(_NAP_S, wake - now)
            try:
                async with asyncio.timeout(max(pause, 0.001)):
                    await self._woken.wait()
            except TimeoutError:
                pass

    def _start(self, now: float) -> None:
        """Visits leave the frontier while there is room for them.

        A visit takes its place until it is committed, so that a crash repeats no more of them
        than were allowed at once.
        """
        while self._busy() < self.breath.limit:
            if not self.enough.room(self.tally.visits + len(self._tasks)):
                return
            candidate = self.frontier.pop(now)
            if candidate is None:
                return
            task = asyncio.create_task(self._visit(candidate))
            self._tasks[task] = candidate
            task.add_done_callback(self._ended)

    def _busy(self) -> int:
        return len(self._tasks) + len(self._pending)

    def _patience(self) -> float:
        """A crawl whose seeds are all out of reach says so soon."""
        hopeless = self.tally.hopeless(len(self.frontier))
        return _SOON_S if hopeless else self.settings.crawl.patience_s

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        self._woken.set()

    # -- one visit ---------------------------------------------------------------------------

    async def _visit(self, candidate: Candidate) -> None:
        link = candidate.link
        permit = self.manners.permit(link.url, self.clock())
        if permit.answer == "ask":
            await self._ask(candidate)
        elif permit.answer == "go" and permit.rules is not None:
            try:
                request = Request(link.url, any_type=is_sitemap(link))
                response = await self.fetcher.fetch(request)
            except FetchError as error:
                self._failed(candidate, error, permit.rules)
            else:
                self._answered(candidate, response, permit.rules)
        else:
            self._hold(candidate, permit)

    def _answered(self, candidate: Candidate, response: Response, rules: Rules) -> None:
        """Read, judge and rank; then take it all in."""
        name, now = host(candidate.link.url), self.clock()
        streak = self.manners.streaks.after(name, response.status)
        try:
            outcome = self.stages.answer(
                candidate, response, self.strategy, now, streak, self.generation
            )
            ranked = self._ranked(outcome.links)
        except Exception as error:  # noqa: BLE001
            # Our own bug, met on one page: it must not end the crawl, now and on every resume.
            _log.exception("%s could not be taken in", candidate.link.url)
            detail = f"our own fault: {type(error).__name__}: {error}"
            outcome = self.stages.refuse(candidate, now, "bug", detail, self.generation)
            ranked = []
        rest = self.manners.rest(name, response.elapsed, rules) + outcome.rest
        self._apply(candidate, outcome, ranked, rules, rest)

    def _failed(self, candidate: Candidate, error: FetchError, rules: Rules) -> None:
        name = host(candidate.link.url)
        streak = self.manners.streaks.fail(name)
        outcome = self.stages.fail(candidate, error, self.clock(), streak, self.generation)
        rest = self.manners.rest(name, 0.0, rules) + outcome.rest
        self._apply(candidate, outcome, [], rules, rest)

    def _hold(self, candidate: Candidate, permit: Permit) -> None:
        """Not now, or never: nothing was asked of the host, so it need not rest."""
        now, rules = self.clock(), permit.rules or Rules()
        if permit.answer == "later":
            self.frontier.defer(candidate, now, 0.0, now)
        elif permit.answer == "unavailable":
            outcome = self.stages.unavailable(candidate, permit.why, now, self.generation)
            self._apply(candidate, outcome, [], rules, 0.0)
        else:
            outcome = self.stages.refuse(candidate, now, "robots", permit.why, self.generation)
            self._apply(candidate, outcome, [], rules, 0.0)
        if permit.until:
            self.frontier.park(host(candidate.link.url), permit.until)

    async def _ask(self, candidate: Candidate) -> None:
        """This turn of the host goes to its robots.txt; the candidate waits for the next."""
        place, name = origin(candidate.link.url), host(candidate.link.url)
        robots = self.manners.robots
        target = robots.request_url(place, self.clock())
        other = host(target)
        if other != name and (at := self.frontier.take(other, self.clock())):
            # robots.txt moved to another host, which is busy or rests: wait for that one.
            self.frontier.defer(candidate, self.clock(), 0.0, at)
            return
        self.manners.quota.count(domain(name))
        try:
            answer = await self.fetcher.fetch(
                Request(target, limit=_ROBOTS_BYTES, truncate=True, any_type=True)
            )
        except FetchError as error:
            # Who cannot be asked for robots.txt cannot be visited: the candidate failed.
            self._failed(candidate, error, Rules())
            if other != name:
                self.frontier.release(other, self.clock(), self.manners.rest(other, 0.0))
            return
        now = self.clock()
        rules = robots.learn(place, answer, now)
        if rules is not None:
            if entry := robots.dump(place):
                self._learned_robots.append(entry)
            if self.manners.politeness.too_slow(rules.crawl_delay):
                self.frontier.park(name, rules.expires)
        if other != name:
            self.frontier.release(other, now, self.manners.rest(other, answer.elapsed))
            self.frontier.defer(candidate, now, 0.0, now)
        else:
            rest = self.manners.rest(name, answer.elapsed, rules)
            self.frontier.defer(candidate, now, rest, now)

    # -- links in ----------------------------------------------------------------------------

    def _ranked(self, links: tuple[Link, ...]) -> list[Candidate]:
        """Rank only what would still be visited: most links on a page are old acquaintances."""
        wanted = self.frontier.wanted([link.url for link in links])
        fresh = [link for link, wants in zip(links, wanted, strict=True) if wants]
        scores = self.strategy.rank(fresh)
        return list(map(Candidate, fresh, scores, scores))

    def _apply(
        self,
        candidate: Candidate,
        outcome: Outcome,
        ranked: list[Candidate],
        rules: Rules,
        rest: float,
    ) -> None:
        """Take an outcome in: links to the frontier, the visit to the store, all or nothing.

        No ``await`` stands between these lines, so a commit sees whole visits only.
        """
        visit, now = outcome.visit, self.clock()
        if outcome.again is None:
            self.frontier.finish(candidate, now, rest)
        else:
            self.frontier.retry(candidate, now, rest, now + outcome.again)
        relevant = self.tally.count(visit)
        self.manners.quota.count(domain(host(candidate.link.url)), int(visit.asked), int(relevant))
        self.frontier.push([*outcome.candidates, *ranked, *self._sitemaps(visit, rules, relevant)])
        self._pending.append(visit)
        if len(self._pending) >= _GROUP:
            self._commit()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LINGER_S, self._commit)
        self._teach(visit)

    def _sitemaps(self, visit: Visit, rules: Rules, relevant: bool) -> list[Candidate]:
        """A site that gave a relevant page (or any, if so set) is asked for its sitemaps."""
        when, place = self.settings.scope.sitemaps, origin(visit.link.url)
        if not rules.sitemaps or when == "never" or (when == "relevant" and not relevant):
            return []
        if visit.verdict is None or place in self._mapped:
            return []
        self._mapped.add(place)
        score = 0.9 * visit.verdict.score
        links = self.stages.sitemaps(rules.sitemaps, visit.link, visit.verdict.score)
        return [Candidate(link, score, score) for link in links]

    def _commit(self) -> None:
        """One transaction: finished visits, their links, and what robots.txt files said.

        After trouble of any kind nothing more is written: what is not committed then will be
        fetched again, which is better than a journal that disagrees with its frontier.
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._trouble is not None:
            return
        visits, self._pending = self._pending, []
        learned, self._learned_robots = self._learned_robots, []
        try:
            with self.store.transaction():
                self.store.append(visits, self.settings.topic.threshold)
                self.frontier.flush()
                for entry in learned:
                    self.store.save_robots(*entry)
                self.store.set_meta("waiting", str(len(self.frontier)))
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._trouble = error
        self._woken.set()

    # -- generation in -----------------------------------------------------------------------

    def _teach(self, visit: Visit) -> None:
        if not self.strategy.habits.learns or visit.page is None:
            return
        self.trainer.seen()
        if example := self.teacher.teach(visit):
            self.trainer.offer(example)
        if self._learning is None and self.trainer.due():
            self._learning = asyncio.create_task(self.trainer.learn(self.strategy))
            self._learning.add_done_callback(self._learned)

    def _learned(self, task: asyncio.Task[Strategy]) -> None:
        """A new generation is swapped in whole, and what waits is ranked anew."""
        self._learning = None
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        elif task.result() is not self.strategy:
            self.strategy, self.generation = task.result(), self.generation + 1
            with self.store.transaction():
                self.store.save_generation(
                    self.generation,
                    self.settings.crawl.strategy,
                    self.strategy,
                    "learned",
                    self.clock(),
                )
            self.frontier.rerank(self.strategy.rank)
