"""Changed bodies are compared: small ones at once, large ones elsewhere, as many as are needed."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import replace
from functools import partial
from logging import getLogger
from math import ceil
from typing import Any, Generic, TypeVar

from honeyguide.errors import HoneyguideError
from honeyguide.types import Failure, Response
from honeyguide.watch.visit.revisit import DuePage, RevisitOutcome

_log = getLogger(__name__)

_SERVICE_GAIN = 0.2
"""How fast the usual time of a comparison follows."""
_MAX_BUGS = 10
"""So many pages in a row that our own code fails on end the run."""

Old = TypeVar("Old")
Found = TypeVar("Found")


class CompareConcurrency:
    """M, so that changed bodies wait less than a quarter of a second.

    Enough for the load, ⌈arrivals a second · seconds each ÷ 0.7⌉; one more whenever the oldest
    twentieth has waited too long for three seconds; fewer after half a minute without need.
    """

    LATE_S = 0.25
    LATELY_S = 1.0
    PATIENCE_S = 3.0
    QUIET_S = 30.0
    BUSY = 0.7

    def __init__(self, most: int) -> None:
        self.count = 1
        self._most = max(1, most)
        self._arrivals: deque[float] = deque(maxlen=1_000)
        self._ages: deque[tuple[float, float]] = deque(maxlen=1_000)
        self._service = 0.0
        self._late: float | None = None
        self._quiet: float | None = None

    def record_arrival(self, now: float) -> None:
        """A body came in."""
        self._arrivals.append(now)
        self._adapt_count(now)

    def record_start(self, age: float, now: float) -> None:
        """One is being compared that had waited so long."""
        self._ages.append((now, age))
        self._adapt_count(now)

    def record_comparison(self, seconds: float) -> None:
        """A comparison took so long."""
        known = self._service or seconds
        self._service = known + _SERVICE_GAIN * (seconds - known)

    def wanted_count(self, now: float) -> int:
        """What the load asks for."""
        while self._arrivals and now - self._arrivals[0] > self.PATIENCE_S:
            self._arrivals.popleft()
        if not self._arrivals:
            return 1
        span = max(now - self._arrivals[0], self.LATE_S)
        load = (len(self._arrivals) - 1) / span * self._service
        return min(self._most, max(1, ceil(load / self.BUSY)))

    def _adapt_count(self, now: float) -> None:
        wanted = self.wanted_count(now)
        late = self._waiting_age(now) > self.LATE_S
        self._late = (now if self._late is None else self._late) if late else None
        if self._late is not None and now - self._late >= self.PATIENCE_S:
            wanted = max(wanted, min(self._most, self.count + 1))
            self._late = now
        if wanted >= self.count or late:
            self.count = max(self.count, wanted)
            self._quiet = None
            return
        self._quiet = now if self._quiet is None else self._quiet
        if now - self._quiet >= self.QUIET_S:
            self.count, self._quiet = wanted, None

    def _waiting_age(self, now: float) -> float:
        """The age that nineteen of twenty stayed under, lately."""
        while self._ages and now - self._ages[0][0] > self.LATELY_S:
            self._ages.popleft()
        if not self._ages:
            return 0.0
        ages = sorted(age for _, age in self._ages)
        return ages[min(len(ages) - 1, int(0.95 * len(ages)))]


class InPlaceLimit:
    """Up to what size a body is compared at once, in the event loop, rather than elsewhere.

    Handing a body over costs more than comparing a small one. But who compares keeps everybody
    waiting, so the size falls when a comparison took too long, and recovers step by step.
    """

    LONG_S = 0.05
    LEAST = 4_096

    def __init__(self, most: int = 65_536) -> None:
        self.limit = self._most = most

    def record_comparison(self, size: int, seconds: float) -> None:
        if seconds > self.LONG_S:
            self.limit = min(self.limit, max(self.LEAST, size // 2))
        elif seconds < self.LONG_S / 10 and self.limit < self._most:
            self.limit = min(self._most, self.limit + self.limit // 16 + 1)


class ComparisonStage(Generic[Old, Found]):
    """Takes outcomes that changed, and hands them to ``done`` with what was found."""

    def __init__(
        self,
        old: Callable[[DuePage], Old],
        compare: Callable[[Old, DuePage, Response], Found],
        done: Callable[[RevisitOutcome[Found]], None],
        *,
        comparers: CompareConcurrency,
        in_place: InPlaceLimit,
        pool: Executor | None,
        clock: Callable[[], float],
    ) -> None:
        self.comparers = comparers
        self.trouble: BaseException | None = None
        """What ends the run: not the page's fault, or too many pages'."""
        self.under_way: set[asyncio.Future[Found]] = set()
        self.waiting: deque[tuple[RevisitOutcome[Any], Response, float]] = deque()
        self._old = old
        self._compare = compare
        self._done = done
        self._in_place = in_place
        self._pool = pool
        self._clock = clock
        self._bugs = 0

    def take_changed(self, outcome: RevisitOutcome[Any], response: Response) -> None:
        size = len(response.body)
        if self._pool is not None and size > self._in_place.limit:
            now = self._clock()
            self.waiting.append((outcome, response, now))
            self.comparers.record_arrival(now)
            self._hand_over(self._pool)
            return
        began = time.perf_counter()
        try:
            found = self._compare(self._old(outcome.page), outcome.page, response)
        except Exception as error:  # noqa: BLE001 - our own bug, met on one page
            self._finish_comparison(outcome, error)
            return
        self._in_place.record_comparison(size, time.perf_counter() - began)
        self._finish_comparison(outcome, None, found)

    async def abandon(self) -> None:
        """Nobody wants to know any more."""
        self.waiting.clear()
        for future in self.under_way:
            future.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)

    def _hand_over(self, pool: Executor) -> None:
        """Have large bodies compared elsewhere, M at a time."""
        loop = asyncio.get_running_loop()
        while self.waiting and len(self.under_way) < self.comparers.count:
            outcome, response, came = self.waiting.popleft()
            began = self._clock()
            self.comparers.record_start(began - came, began)
            page = outcome.page
            try:
                old = self._old(page)
                future = loop.run_in_executor(pool, self._compare, old, page, response)
            except Exception as error:  # noqa: BLE001 - our own bug, or the pool is gone
                self._finish_comparison(outcome, error)
                continue
            self.under_way.add(future)
            future.add_done_callback(partial(self._handed_back, pool, outcome, began))

    def _handed_back(
        self,
        pool: Executor,
        outcome: RevisitOutcome[Any],
        began: float,
        future: asyncio.Future[Found],
    ) -> None:
        self.under_way.discard(future)
        if future.cancelled():
            return
        self.comparers.record_comparison(self._clock() - began)
        error = future.exception()
        self._finish_comparison(outcome, error, None if error is not None else future.result())
        self._hand_over(pool)

    def _finish_comparison(
        self,
        outcome: RevisitOutcome[Any],
        error: BaseException | None,
        found: Found | None = None,
    ) -> None:
        """A page on which our code fails does not end the run; page after page does."""
        if error is None:
            self._bugs = 0
            self._done(replace(outcome, found=found))
            return
        self._bugs += 1
        if self._bugs >= _MAX_BUGS or isinstance(error, HoneyguideError | BrokenExecutor):
            self.trouble = self.trouble or error
        _log.error("%s could not be compared", outcome.page.url, exc_info=error)
        failure = Failure("bug", f"internal error: {type(error).__name__}: {error}")
        self._done(replace(outcome, state="failed", failure=failure))
