"""Revisits on one event loop: pages in, outcomes out, as fast as hosts and machine allow.

    due pages → queue of each host → request → 304, or the same digest → outcome
    → changed: compare here, or elsewhere if large → outcome

The design of Meegahapola et al. (``bench/watch/mtccdw.py``) without a thread for each fetch: nine
of ten bodies have not changed, which their digest says at once, so that only the rest waits to be
compared. The queue of those is bounded by bytes, not by their number, and the reservation rule
holds for bytes. N (:class:`FetchConcurrency`) and M (:class:`CompareConcurrency`) adapt.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from concurrent.futures import Executor
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from honeyguide.net.concurrency import FetchConcurrency
from honeyguide.net.host_queue import HostQueues
from honeyguide.net.politeness import PolitenessGate, RobotsEntry
from honeyguide.protocols import Fetcher
from honeyguide.types import Failure, Response
from honeyguide.url import domain_of, host_of
from honeyguide.watch.visit.comparison import CompareConcurrency, ComparisonStage, InPlaceLimit
from honeyguide.watch.visit.revisit import AUDIT_SHARE, DuePage, Revisit, RevisitOutcome

_MAX_AHEAD = 20_000
"""Pages taken in at once: enough that many hosts stand beside each other."""
_MAX_READY = 1_000
"""Outcomes that may wait to be taken."""
_EXPECTED_BYTES = 32_768
"""Bytes reserved for a body of which nobody knows the size."""

Old = TypeVar("Old")
Found = TypeVar("Found")


class FlowStatus(NamedTuple):
    """How it goes, for those who look on."""

    fetching: int
    fetchers: int
    """N."""
    comparing: int
    comparers: int
    """M, for bodies that are not compared in place."""
    waiting: int
    """Pages that wait for their host."""
    bodies: int
    """Bodies that wait to be compared."""
    held: int
    """Bytes of bodies that came and were not taken yet, and expected of those under way."""


class RevisitFlow(Generic[Old, Found]):
    """One shard's revisits; ``old`` and ``compare`` are the paper's second and third step.

    ``old(page)`` is called in the event loop. ``compare(old, page, response)`` must depend on
    nothing else: it is called in the loop for small bodies and in ``pool``, where there is one,
    for large ones (in a pool of processes everything must be picklable).
    """

    def __init__(
        self,
        fetcher: Fetcher,
        courtesy: PolitenessGate,
        old: Callable[[DuePage], Old],
        compare: Callable[[Old, DuePage, Response], Found],
        *,
        fetchers: FetchConcurrency | None = None,
        comparers: CompareConcurrency | None = None,
        in_place: InPlaceLimit | None = None,
        pool: Executor | None = None,
        per_host: int = 1,
        per_site: int = 4,
        held_mb: float = 64.0,
        patience_s: float = 60.0,
        deadline_s: float = 120.0,
        audit: float = AUDIT_SHARE,
        heard: Callable[[RobotsEntry], None] | None = None,
        clock: Callable[[], float] = time.time,
        random: Random | None = None,
    ) -> None:
        """``heard`` is told what a robots.txt said, to be kept. The pages of a host that must not
        be asked for longer than ``patience_s`` come out as ``later``."""
        self._fetchers = fetchers or FetchConcurrency()
        self._most_held = max(1, int(held_mb * 1_000_000))
        self._patience = patience_s
        self._clock = clock
        self._lanes: HostQueues[DuePage] = HostQueues(
            domain_of, per_host=per_host, per_site=per_site
        )
        self._comparing = ComparisonStage(
            old, compare, self._add_ready, comparers=comparers or CompareConcurrency(1),
            in_place=in_place or InPlaceLimit(), pool=pool, clock=clock,
        )  # fmt: skip
        self._revisit = Revisit(
            fetcher, courtesy, self._lanes, clock, random or Random(), heard, audit, patience_s,
            deadline_s, self._fetchers.record_loss,
        )  # fmt: skip
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: deque[RevisitOutcome[Found]] = deque()
        self._woken = asyncio.Event()
        self._drained = asyncio.Event()
        self._held = 0
        self._open = False
        """More pages may come in."""
        self._stopped = False
        self._trouble: BaseException | None = None

    def stop(self) -> None:
        """Begin nothing new; what is under way comes to its end."""
        self._open, self._stopped = False, True
        self._lanes.clear()
        self._drained.set()
        self._woken.set()

    def current_status(self) -> FlowStatus:
        compared = self._comparing
        return FlowStatus(
            len(self._tasks), self._fetchers.limit, len(compared.under_way),
            compared.comparers.count, len(self._lanes), len(compared.waiting), self._held,
        )  # fmt: skip

    async def run(
        self, pages: Iterable[DuePage] | AsyncIterable[DuePage]
    ) -> AsyncGenerator[RevisitOutcome[Found], None]:
        """Every page comes out once, as it is done. Close the iterator to give the rest up.

        One run at a time; hosts go on resting from one to the next.
        """
        self._open, self._stopped = True, False
        self._trouble = self._comparing.trouble = None
        feed = iter(pages) if isinstance(pages, Iterable) else iter(())
        pump = None if isinstance(pages, Iterable) else asyncio.create_task(self._pump_pages(pages))
        try:
            while True:
                self._woken.clear()
                if pump is None:
                    self._fill_queues(feed)
                self._start_visits()
                while self._ready:
                    outcome = self._ready.popleft()
                    self._held -= outcome.size
                    yield outcome
                    self._start_visits()
                self._raise_trouble()
                if not self._open and not self._is_busy():
                    return
                await self._sleep_until_woken()
        finally:
            await self._abandon_visits(pump)

    # -- pages in ----------------------------------------------------------------------------

    def _fill_queues(self, feed: Iterator[DuePage]) -> None:
        while self._open and len(self._lanes) < _MAX_AHEAD:
            page = next(feed, None)
            if page is None:
                self._open = False
            else:
                self._lanes.add(host_of(page.url), page)

    async def _pump_pages(self, pages: AsyncIterable[DuePage]) -> None:
        """Take pages in as they come; their source waits while too many are here."""
        try:
            async for page in pages:
                if self._stopped:
                    return
                self._lanes.add(host_of(page.url), page)
                self._woken.set()
                if len(self._lanes) >= _MAX_AHEAD:
                    self._drained.clear()
                    await self._drained.wait()
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._trouble = error
        finally:
            self._open = False
            self._woken.set()

    # -- fetch -------------------------------------------------------------------------------

    def _start_visits(self) -> None:
        now = self._clock()
        while self._has_room() and (taken := self._lanes.next_page(now)) is not None:
            self._held += taken[1].size or _EXPECTED_BYTES
            task = asyncio.create_task(self._visit_page(*taken))
            self._tasks.add(task)
            task.add_done_callback(self._finish_task)
        if len(self._lanes) < _MAX_AHEAD:
            self._drained.set()
        self._lanes.forget_idle(now)

    def _has_room(self) -> bool:
        """For one more fetch, and for what those under way will bring."""
        if len(self._tasks) >= self._fetchers.limit or len(self._ready) >= _MAX_READY:
            return False
        return self._held < self._most_held

    async def _visit_page(self, name: str, page: DuePage) -> None:
        rest = 0.0
        try:
            outcome, rest = await self._revisit.visit_page(name, page)
        finally:
            now = self._clock()
            self._held -= page.size or _EXPECTED_BYTES
            self._lanes.release_host(name, now, rest)
        if outcome is not None:
            self._take_outcome(name, outcome)
        elif not self._stopped:
            self._lanes.add(name, page, front=True)
        if rest > self._patience:
            why = Failure("status", "its host must not be requested for a long time", final=False)
            for other in self._lanes.empty_host(name):
                self._ready.append(
                    RevisitOutcome(other, "later", now, failure=why, retry_at=now + rest)
                )

    def _take_outcome(self, name: str, outcome: RevisitOutcome[Any]) -> None:
        """Most are done with here; what changed is compared first."""
        if outcome.status:
            self._fetchers.record_answer(name, outcome.elapsed, len(self._tasks), self._clock())
        self._held += outcome.size
        if outcome.state == "changed" and outcome.response is not None:
            self._comparing.take_changed(outcome, outcome.response)
        else:
            self._ready.append(outcome)

    def _add_ready(self, outcome: RevisitOutcome[Found]) -> None:
        self._ready.append(outcome)
        self._woken.set()

    def _finish_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        self._woken.set()

    # -- waiting and ending ------------------------------------------------------------------

    def _is_busy(self) -> bool:
        compared = self._comparing
        return bool(
            self._tasks or compared.under_way or compared.waiting or self._ready or self._lanes
        )

    def _raise_trouble(self) -> None:
        if trouble := self._trouble or self._comparing.trouble:
            raise trouble

    async def _sleep_until_woken(self) -> None:
        """Until something is done, or a host is rested."""
        now, wake = self._clock(), None
        if len(self._tasks) >= self._fetchers.limit:
            wake = self._fetchers.grows_at(now)
        if self._has_room():
            wake = self._lanes.wake_at()
        pause = None if wake is None else max(0.001, wake - now)
        try:
            async with asyncio.timeout(pause):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _abandon_visits(self, pump: asyncio.Task[None] | None) -> None:
        """Nobody takes any more; whatever is under way is given up."""
        self.stop()
        under_way = [*self._tasks, pump] if pump is not None else [*self._tasks]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        await self._comparing.abandon()
        self._lanes.clear()
        self._ready.clear()
        self._held = 0
