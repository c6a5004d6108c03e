"""Revisits on one event loop: pages in, outcomes out, as fast as hosts and machine allow.

    due pages → lanes (a host's turn) → ask → 304, or the same digest → outcome
                                            → changed: compare here, or elsewhere if large → outcome

The design of Meegahapola et al. (:mod:`honeyguide.watch.visit.mtccdw`) without a thread for each
fetch: nine of ten bodies have not changed, which their digest tells at once, so that only the rest
waits to be compared; its queue is bounded by bytes, not by their number, and the reservation
rule holds for bytes. N and M adapt (:mod:`honeyguide.watch.visit.concurrency`).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator
from concurrent.futures import Executor
from random import Random
from typing import Any, Generic, NamedTuple, TypeVar

from honeyguide.protocols import Fetcher
from honeyguide.types import Failure, Response
from honeyguide.url import domain, host
from honeyguide.watch.visit.comparing import Comparing
from honeyguide.watch.visit.concurrency import Comparers, Fetchers, InPlace
from honeyguide.watch.visit.due import Due, Outcome
from honeyguide.watch.visit.host_queues import Lanes
from honeyguide.watch.visit.politeness import Courtesy
from honeyguide.watch.visit.revisit import AUDIT, Revisit, RobotsEntry

__all__ = ["Due", "Flow", "Outcome", "Pulse"]

_AHEAD = 20_000
"""Pages taken in at once: enough that many hosts stand beside each other."""
_READY = 1_000
"""Outcomes that may wait to be taken."""
_EXPECTED = 32_768
"""Bytes reserved for a body of which nobody knows the size."""

Old = TypeVar("Old")
Found = TypeVar("Found")


class Pulse(NamedTuple):
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


class Flow(Generic[Old, Found]):
    """One shard's revisits; ``old`` and ``compare`` are the paper's second and third step.

    ``old(page)`` is called in the event loop. ``compare(old, page, response)`` must depend on
    nothing else: it is called in the loop for small bodies and in ``pool``, where there is one,
    for large ones (in a pool of processes everything must be picklable).
    """

    def __init__(
        self,
        fetcher: Fetcher,
        courtesy: Courtesy,
        old: Callable[[Due], Old],
        compare: Callable[[Old, Due, Response], Found],
        *,
        fetchers: Fetchers | None = None,
        comparers: Comparers | None = None,
        in_place: InPlace | None = None,
        pool: Executor | None = None,
        per_host: int = 1,
        per_site: int = 4,
        held_mb: float = 64.0,
        patience_s: float = 60.0,
        deadline_s: float = 120.0,
        audit: float = AUDIT,
        heard: Callable[[RobotsEntry], None] | None = None,
        clock: Callable[[], float] = time.time,
        random: Random | None = None,
    ) -> None:
        """``heard`` is told what a robots.txt said, to be kept. The pages of a host that must not
        be asked for longer than ``patience_s`` come out as ``later``."""
        self._fetchers = fetchers or Fetchers()
        self._most_held = max(1, int(held_mb * 1_000_000))
        self._patience = patience_s
        self._clock = clock
        self._lanes = Lanes(domain, per_host=per_host, per_site=per_site)
        self._comparing = Comparing(
            old, compare, self._finished, comparers=comparers or Comparers(1),
            in_place=in_place or InPlace(), pool=pool, clock=clock,
        )  # fmt: skip
        self._revisit = Revisit(
            fetcher, courtesy, self._lanes, clock, random or Random(), heard, audit, patience_s,
            deadline_s, self._lost,
        )  # fmt: skip
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready: deque[Outcome[Found]] = deque()
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

    def pulse(self) -> Pulse:
        compared = self._comparing
        return Pulse(
            len(self._tasks), self._fetchers.limit, len(compared.under_way),
            compared.comparers.count, len(self._lanes), len(compared.waiting), self._held,
        )  # fmt: skip

    async def run(
        self, pages: Iterable[Due] | AsyncIterable[Due]
    ) -> AsyncGenerator[Outcome[Found], None]:
        """Every page comes out once, as it is done. Close the iterator to give the rest up.

        One run at a time; hosts go on resting from one to the next.
        """
        self._open, self._stopped = True, False
        self._trouble = self._comparing.trouble = None
        feed = iter(pages) if isinstance(pages, Iterable) else iter(())
        pump = None if isinstance(pages, Iterable) else asyncio.create_task(self._pump(pages))
        try:
            while True:
                self._woken.clear()
                if pump is None:
                    self._fill(feed)
                self._start()
                while self._ready:
                    outcome = self._ready.popleft()
                    self._held -= outcome.size
                    yield outcome
                    self._start()
                self._check()
                if not self._open and not self._busy():
                    return
                await self._sleep()
        finally:
            await self._abandon(pump)

    # -- pages in ----------------------------------------------------------------------------

    def _fill(self, feed: Iterator[Due]) -> None:
        while self._open and len(self._lanes) < _AHEAD:
            page = next(feed, None)
            if page is None:
                self._open = False
            else:
                self._lanes.add(host(page.url), page)

    async def _pump(self, pages: AsyncIterable[Due]) -> None:
        """Take pages in as they come; their source waits while too many are here."""
        try:
            async for page in pages:
                if self._stopped:
                    return
                self._lanes.add(host(page.url), page)
                self._woken.set()
                if len(self._lanes) >= _AHEAD:
                    self._drained.clear()
                    await self._drained.wait()
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._trouble = error
        finally:
            self._open = False
            self._woken.set()

    # -- fetch -------------------------------------------------------------------------------

    def _start(self) -> None:
        now = self._clock()
        while self._room() and (taken := self._lanes.next(now)) is not None:
            self._held += taken[1].size or _EXPECTED
            task = asyncio.create_task(self._visit(*taken))
            self._tasks.add(task)
            task.add_done_callback(self._ended)
        if len(self._lanes) < _AHEAD:
            self._drained.set()
        self._lanes.forget(now)

    def _room(self) -> bool:
        """For one more fetch, and for what those under way will bring."""
        if len(self._tasks) >= self._fetchers.limit or len(self._ready) >= _READY:
            return False
        return self._held < self._most_held

    async def _visit(self, name: str, page: Due) -> None:
        rest = 0.0
        try:
            outcome, rest = await self._revisit.visit(name, page)
        finally:
            now = self._clock()
            self._held -= page.size or _EXPECTED
            self._lanes.done(name, now, rest)
        if outcome is not None:
            self._take(name, outcome)
        elif not self._stopped:
            self._lanes.add(name, page, front=True)
        if rest > self._patience:
            why = Failure("status", "its host must not be asked for long", final=False)
            for other in self._lanes.empty(name):
                self._ready.append(Outcome(other, "later", now, failure=why, again=now + rest))

    def _take(self, name: str, outcome: Outcome[Any]) -> None:
        """Most are done with here; what changed is compared first."""
        if outcome.status:
            self._fetchers.answered(name, outcome.elapsed, len(self._tasks), self._clock())
        self._held += outcome.size
        if outcome.state == "changed" and outcome.response is not None:
            self._comparing.take(outcome, outcome.response)
        else:
            self._ready.append(outcome)

    def _finished(self, outcome: Outcome[Found]) -> None:
        self._ready.append(outcome)
        self._woken.set()

    def _lost(self, name: str, kind: str) -> None:
        if kind == "timeout":
            self._fetchers.lost(name)
        elif kind == "fetch":  # no socket to be had
            self._fetchers.halve()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._trouble = self._trouble or error
        self._woken.set()

    # -- waiting and ending ------------------------------------------------------------------

    def _busy(self) -> bool:
        compared = self._comparing
        return bool(
            self._tasks or compared.under_way or compared.waiting or self._ready or self._lanes
        )

    def _check(self) -> None:
        if trouble := self._trouble or self._comparing.trouble:
            raise trouble

    async def _sleep(self) -> None:
        """Until something is done, or a host is rested."""
        now, wake = self._clock(), None
        if len(self._tasks) >= self._fetchers.limit:
            wake = self._fetchers.grows_at(now)
        if self._room():
            wake = self._lanes.wake_at()
        pause = None if wake is None else max(0.001, wake - now)
        try:
            async with asyncio.timeout(pause):
                await self._woken.wait()
        except TimeoutError:
            pass

    async def _abandon(self, pump: asyncio.Task[None] | None) -> None:
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
