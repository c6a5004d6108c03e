"""Revisits on one event loop: pages in, outcomes out, as fast as hosts and machine allow.

    due pages → queue of each host → request → 304, or the same digest → outcome
    → changed: compare → outcome

The design of Meegahapola et al. (``watch/configurations.py``) without a thread for each fetch: nine
of ten bodies have not changed, which their digest says at once, so that only the rest is compared,
where it arrives. Outcomes are bounded by bytes, not by their number, and the reservation rule holds
for bytes. N adapts (:class:`FetchConcurrency`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from logging import getLogger
from random import Random
from typing import Any, Generic, Literal, NamedTuple, TypeVar, cast

from honeyguide.errors import FetchError, FetchTimeout, HoneyguideError
from honeyguide.net.concurrency import FetchConcurrency
from honeyguide.net.host_queue import HostQueues
from honeyguide.net.politeness import (
    NO_RULES,
    Permit,
    PolitenessGate,
    RobotsEntry,
    RobotsFetcher,
    decide_retry,
)
from honeyguide.net.robots import RobotsRules
from honeyguide.protocols import Fetcher
from honeyguide.store.versions import body_digest
from honeyguide.types import Failure, FailureKind, Request, Response, Url
from honeyguide.url import domain_of, host_of

_log = getLogger(__name__)

_MAX_AHEAD = 20_000
"""Pages taken in at once: enough that many hosts stand beside each other."""
_MAX_READY = 1_000
"""Outcomes that may wait to be taken."""
_EXPECTED_BYTES = 32_768
"""Bytes reserved for a body of which nobody knows the size."""
_MAX_BUGS = 10
"""Pages in a row on which our own code fails, after which the run ends."""

Old = TypeVar("Old")
Found = TypeVar("Found")

OutcomeState = Literal["unchanged", "changed", "aside", "failed", "later"]
"""``aside``: an answer that is no page (gone, moved, refused, trouble); ``later``: not asked, since
its host must not be asked before :attr:`RevisitOutcome.retry_at`."""


class DuePage(NamedTuple):
    """A page to revisit, with what is known of its last version."""

    url: Url
    key: int = 0
    """Whatever the caller knows it by."""
    etag: str = ""
    modified: str = ""
    """Validators, as its server sent them."""
    digest: bytes = b""
    """Of its last body, by :func:`body_digest`; empty: there is none."""
    size: int = 0
    """Bytes of its last body."""


@dataclass(frozen=True, slots=True)
class RevisitOutcome(Generic[Found]):
    page: DuePage
    state: OutcomeState
    at: float
    """When the request went out; for one that was not asked, now."""
    status: int = 0
    elapsed: float = 0.0
    etag: str = ""
    modified: str = ""
    """Validators for the next time; also learned from a page that did not change."""
    digest: bytes = b""
    response: Response | None = None
    """As it came; None if nothing did."""
    found: Found | None = None
    """What the comparison said of a changed body."""
    failure: Failure | None = None
    retry_at: float = 0.0
    validator_lied: bool = False
    """The body changed under an unchanged validator: do not send this page's any more."""

    @property
    def size(self) -> int:
        """Bytes that its response holds."""
        if self.response is None:
            return 0
        body, payload = self.response.body, self.response.payload
        return len(body) + (0 if payload is body else len(payload))


AUDIT_SHARE = 1 / 50
"""Of the requests with validators, so many go out without, to see whether they tell the truth."""


class RevisitStep(NamedTuple):
    """What a turn came to."""

    outcome: RevisitOutcome[Any] | None = None
    """None: the page goes back, its turn went to robots.txt. What changed is not compared yet."""
    rest: float = 0.0
    """Seconds its host rests."""


def classify_response(
    page: DuePage, response: Response, audited: bool = False, conditional: bool = True
) -> RevisitOutcome[Any]:
    """The first rungs of the ladder: not modified, the same bytes, or something to compare."""
    etag, modified = response.header("etag"), response.header("last-modified")
    status, at, elapsed = response.status, response.started, response.elapsed
    if status == 304 and page.digest and conditional:
        # A 304 need not repeat its validators; those that brought it still hold.
        etag, modified = etag or page.etag, modified or page.modified
        known = page.digest
        return RevisitOutcome(
            page, "unchanged", at, status, elapsed, etag, modified, known, response
        )
    if not 200 <= status < 300:
        return RevisitOutcome(page, "aside", at, status, elapsed, response=response)
    key = body_digest(response.body)
    if key == page.digest:
        return RevisitOutcome(page, "unchanged", at, status, elapsed, etag, modified, key, response)
    same = etag == page.etag if etag or page.etag else modified == page.modified
    return RevisitOutcome(
        page, "changed", at, status, elapsed, etag, modified, key, response,
        validator_lied=audited and same,
    )  # fmt: skip


# -- The flow --


class FlowFigures(NamedTuple):
    """What a configuration is made of, and how it went."""

    fetchers: int
    """N: threads that crawl; ``adaptive``: most fetches under way at once."""
    loaders: int
    """M of configuration 2: threads that only bring old versions."""
    comparers: int
    """Threads that compare (configuration 2: K; 3: M, which bring old versions as well)."""
    longest_queue: int
    """Most pages that waited between two steps."""


@dataclass
class RevisitFlow(Generic[Old, Found]):
    """One shard's revisits. The paper's second and third step are ``old(page)`` and
    ``compare(old, page, response)``; both are called in the event loop.
    """

    fetcher: Fetcher
    politeness: PolitenessGate
    old: Callable[[DuePage], Old]
    compare: Callable[[Old, DuePage, Response], Found]
    _: KW_ONLY
    fetchers: FetchConcurrency = field(default_factory=FetchConcurrency)
    per_host: int = 1
    per_site: int = 4
    held_mb: float = 64.0
    patience_s: float = 60.0
    """The pages of a host that must not be asked for longer come out as ``later``."""
    deadline_s: float = 120.0
    """For one request; the fetcher's own limits are shorter."""
    audit: float = AUDIT_SHARE
    on_robots: Callable[[RobotsEntry], None] | None = None
    """Gets each robots.txt that was read."""
    clock: Callable[[], float] = time.time
    random: Random = field(default_factory=Random)

    def __post_init__(self) -> None:
        self._most_held = max(1, int(self.held_mb * 1_000_000))
        self.host_queues: HostQueues[DuePage] = HostQueues(
            domain_of, per_host=self.per_host, per_site=self.per_site
        )
        self._robots = RobotsFetcher(
            self.politeness, self.host_queues, self._fetch_in_time, self.clock
        )
        self.under_way: set[asyncio.Task[None]] = set()
        self._ready: deque[RevisitOutcome[Found]] = deque()
        self._woken = asyncio.Event()
        self._drained = asyncio.Event()
        self.held_bytes = 0
        """Of bodies that came and were not taken yet, and expected of those under way."""
        self.most_under_way = self.most_ready = 0
        """Fetches at once, and outcomes that waited to be taken."""
        self._open = False
        """More pages may come in."""
        self._stopped = False
        self._trouble: BaseException | None = None
        """What ends the run."""
        self._bugs = 0
        """Pages in a row that our own code failed on."""

    @property
    def figures(self) -> FlowFigures:
        """How it went so far."""
        return FlowFigures(self.most_under_way, 0, 1, self.most_ready)

    def stop(self) -> None:
        """Begin nothing new; what is under way comes to its end."""
        self._open, self._stopped = False, True
        self.host_queues.clear()
        self._drained.set()
        self._woken.set()

    async def run(
        self, pages: AsyncIterable[DuePage]
    ) -> AsyncGenerator[RevisitOutcome[Found], None]:
        """Every page comes out once, as it is done. Close the iterator to give the rest up.

        One run at a time; hosts go on resting from one to the next.
        """
        self._open, self._stopped = True, False
        self._trouble = None
        pump = asyncio.create_task(self._pump_pages(pages))
        try:
            while True:
                self._woken.clear()
                self._start_visits()
                self.most_ready = max(self.most_ready, len(self._ready))
                while self._ready:
                    outcome = self._ready.popleft()
                    self.held_bytes -= outcome.size
                    yield outcome
                    self._start_visits()
                if self._trouble is not None:
                    raise self._trouble
                if not self._open and not self._is_busy():
                    return
                await self._sleep_until_woken()
        finally:
            await self._abandon_visits(pump)

    # -- pages in ----------------------------------------------------------------------------

    async def _pump_pages(self, pages: AsyncIterable[DuePage]) -> None:
        """Take pages in as they come; their source waits while too many are here."""
        try:
            async for page in pages:
                if self._stopped:
                    return
                self.host_queues.add(host_of(page.url), page)
                self._woken.set()
                if len(self.host_queues) >= _MAX_AHEAD:
                    self._drained.clear()
                    await self._drained.wait()
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._trouble = error
        finally:
            self._open = False
            self._woken.set()

    # -- fetch -------------------------------------------------------------------------------

    def _start_visits(self) -> None:
        now = self.clock()
        while self._has_room() and (taken := self._next_taken(now)) is not None:
            task = asyncio.create_task(self._visit_page(*taken))
            self.under_way.add(task)
            task.add_done_callback(self._finish_task)
        self.most_under_way = max(self.most_under_way, len(self.under_way))
        self._tidy_queues(now)

    def _next_taken(self, now: float) -> tuple[str, DuePage] | None:
        """A page whose host may be asked now, with the bytes reserved that it may bring."""
        if (taken := self.host_queues.next_page(now)) is not None:
            self.held_bytes += taken[1].size or _EXPECTED_BYTES
        return taken

    def _tidy_queues(self, now: float) -> None:
        if len(self.host_queues) < _MAX_AHEAD:
            self._drained.set()
        self.host_queues.forget_idle(now)

    def _has_room(self) -> bool:
        """For one more fetch, and for what those under way will bring."""
        if len(self.under_way) >= self.fetchers.limit or len(self._ready) >= _MAX_READY:
            return False
        return self.held_bytes < self._most_held

    async def _visit_page(self, name: str, page: DuePage) -> None:
        outcome = await self._fetch_page(name, page)
        if outcome is None:
            return
        if outcome.state == "changed" and outcome.response is not None:
            self._take_changed(outcome, outcome.response)
        else:
            self._ready.append(outcome)

    async def _fetch_page(self, name: str, page: DuePage) -> RevisitOutcome[Any] | None:
        """Ask its host for a page; None: the page went back, since its robots.txt had the turn."""
        rest = 0.0
        try:
            outcome, rest = await self._request_page(name, page)
        finally:
            now = self.clock()
            self.held_bytes -= page.size or _EXPECTED_BYTES
            self.host_queues.release_host(name, now, rest)
        if outcome is not None:
            if outcome.status:
                under_way = len(self.under_way)
                self.fetchers.record_answer(name, outcome.elapsed, under_way, self.clock())
            self.held_bytes += outcome.size
        elif not self._stopped:
            self.host_queues.add(name, page, front=True)
        if rest > self.patience_s:
            why = Failure("status", "its host must not be requested for a long time", final=False)
            for other in self.host_queues.empty_host(name):
                self._ready.append(
                    RevisitOutcome(other, "later", now, failure=why, retry_at=now + rest)
                )
        return outcome

    def _take_changed(self, outcome: RevisitOutcome[Any], response: Response) -> None:
        try:
            found = self.compare(self.old(outcome.page), outcome.page, response)
        except Exception as error:  # noqa: BLE001 - a bug of ours on one page
            self._finish_comparison(outcome, error)
        else:
            self._finish_comparison(outcome, None, found)

    def _finish_comparison(
        self,
        outcome: RevisitOutcome[Any],
        error: BaseException | None,
        found: Found | None = None,
    ) -> None:
        """A page on which our code fails does not end the run; page after page does."""
        self._woken.set()
        if error is None:
            self._bugs = 0
            self._ready.append(replace(outcome, found=found))
            return
        self._bugs += 1
        if self._bugs >= _MAX_BUGS or isinstance(error, HoneyguideError):
            self._trouble = self._trouble or error
        _log.error("%s could not be compared", outcome.page.url, exc_info=error)
        failure = Failure("bug", f"internal error: {type(error).__name__}: {error}")
        self._ready.append(replace(outcome, state="failed", failure=failure))

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        self.under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        self._woken.set()

    # -- one request -------------------------------------------------------------------------

    async def _request_page(self, name: str, page: DuePage) -> RevisitStep:
        permit = self.politeness.check_permit(page.url, self.clock())
        if permit.answer == "ask":
            return await self._fetch_robots(name, page)
        if permit.answer != "go":
            return self._held_step(page, permit)
        conditional = bool(page.digest and (page.etag or page.modified))
        audited = conditional and self.random.random() < self.audit
        if conditional and not audited:
            request = Request(page.url, etag=page.etag, modified=page.modified)
        else:
            request = Request(page.url)
        try:
            response = await self._fetch_in_time(request)
        except FetchError as error:
            return self._failed_step(name, page, error, permit.rules)
        streak = self.politeness.streaks.record_status(name, response.status)
        rest = self._delay_after(name, response.status, streak, permit.rules, response)
        return RevisitStep(
            classify_response(page, response, audited, conditional and not audited), rest
        )

    async def _fetch_in_time(self, request: Request) -> Response:
        """Whatever the fetcher does, a page that never comes must not hold its host up."""
        try:
            async with asyncio.timeout(self.deadline_s):
                return await self.fetcher.fetch(request)
        except TimeoutError:
            detail = f"no result in {self.deadline_s:g} s"
            raise FetchTimeout(request.url, detail) from None

    def _failed_step(
        self, name: str, page: DuePage, error: FetchError, rules: RobotsRules
    ) -> RevisitStep:
        self.fetchers.record_loss(name, error.kind)
        failure = Failure(cast("FailureKind", error.kind), error.detail, final=False)
        streak = self.politeness.streaks.record_failure(name, error.kind)
        rest = self._delay_after(name, error.kind, streak, rules)
        return RevisitStep(RevisitOutcome(page, "failed", self.clock(), failure=failure), rest)

    def _delay_after(
        self,
        name: str,
        outcome: str | int,
        streak: int,
        rules: RobotsRules,
        answer: Response | None = None,
    ) -> float:
        """Seconds the host rests, with what it earned by failing."""
        elapsed, asked = (answer.elapsed, answer.header("retry-after")) if answer else (0.0, "")
        plan = decide_retry(outcome, tries=1, streak=streak, retry_after=asked, now=self.clock())
        return self.politeness.delay_after(name, elapsed, rules) + plan.host_delay

    def _held_step(self, page: DuePage, permit: Permit) -> RevisitStep:
        """Not now, or never: nothing was asked of the host, so it need not rest."""
        now = self.clock()
        if permit.answer == "forbidden":
            return RevisitStep(
                RevisitOutcome(page, "failed", now, failure=Failure("robots", permit.why))
            )
        until = permit.rules.expires if permit.answer == "unavailable" else permit.until
        if until - now <= self.patience_s:
            return RevisitStep(rest=max(0.0, until - now))
        failure = Failure("robots", permit.why, final=False)
        return RevisitStep(RevisitOutcome(page, "later", now, failure=failure, retry_at=until))

    async def _fetch_robots(self, name: str, page: DuePage) -> RevisitStep:
        """This turn of the host goes to its robots.txt; the page waits for the next."""
        step = await self._robots.fetch_robots(page.url)
        if step.failure is not None:
            return self._failed_step(name, page, step.failure, NO_RULES)
        if step.entry is not None and self.on_robots is not None:
            self.on_robots(step.entry)
        return RevisitStep(rest=step.delay_s)

    # -- waiting and ending ------------------------------------------------------------------

    def _is_busy(self) -> bool:
        return bool(self.under_way or self._ready or self.host_queues)

    async def _sleep_until_woken(self) -> None:
        """Until something is done, or a host is rested."""
        now, wake = self.clock(), None
        if len(self.under_way) >= self.fetchers.limit:
            wake = self.fetchers.grows_at(now)
        if self._has_room():
            wake = self.host_queues.wake_at()
        pause = None if wake is None else max(0.001, wake - now)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await self._woken.wait()

    async def _abandon_visits(self, pump: asyncio.Task[None]) -> None:
        """Nobody takes any more; whatever is under way is given up."""
        self.stop()
        tasks = [*self.under_way, pump]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.host_queues.clear()
        self._ready.clear()
        self.held_bytes = 0
