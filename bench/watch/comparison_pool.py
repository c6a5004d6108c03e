"""Revisits of which large bodies are compared in a pool, as many at once as the load needs.

The paper's configurations fix N and M; the bench varies both. A watch as it ships compares in place.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from math import ceil
from typing import Any

from honeyguide.net.politeness import PolitenessGate
from honeyguide.protocols import Fetcher
from honeyguide.types import Response
from honeyguide.watch.revisit_flow import DuePage, Found, Old, RevisitFlow, RevisitOutcome

_SERVICE_GAIN = 0.2
"""Weight of the latest comparison in the mean time of one."""


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


class PooledRevisitFlow(RevisitFlow[Old, Found]):
    """``old`` is called in the event loop, ``compare`` in ``pool`` for bodies above the limit."""

    def __init__(
        self,
        fetcher: Fetcher,
        politeness: PolitenessGate,
        old: Callable[[DuePage], Old],
        compare: Callable[[Old, DuePage, Response], Found],
        pool: Executor,
        comparers: CompareConcurrency,
        in_place: InPlaceLimit,
        **more: Any,
    ) -> None:
        super().__init__(fetcher, politeness, old, compare, **more)
        self._pool = pool
        self._comparers = comparers
        self._in_place = in_place
        self._futures: set[asyncio.Future[Found]] = set()
        self._bodies: deque[tuple[RevisitOutcome[Any], Response, float]] = deque()
        """Bodies that wait to be compared, and since when."""

    def _take_changed(self, outcome: RevisitOutcome[Any], response: Response) -> None:
        size = len(response.body)
        if size <= self._in_place.limit:
            began = time.perf_counter()
            super()._take_changed(outcome, response)
            self._in_place.record_comparison(size, time.perf_counter() - began)
            return
        now = self.clock()
        self._bodies.append((outcome, response, now))
        self._comparers.record_arrival(now)
        self._submit_bodies()

    def _is_busy(self) -> bool:
        return bool(self._futures or self._bodies) or super()._is_busy()

    async def _abandon_visits(self, pump: asyncio.Task[None]) -> None:
        self._bodies.clear()
        for future in self._futures:
            future.cancel()
        await asyncio.gather(*self._futures, return_exceptions=True)
        await super()._abandon_visits(pump)

    def _submit_bodies(self) -> None:
        """Have bodies compared in the pool, M at a time."""
        loop = asyncio.get_running_loop()
        while self._bodies and len(self._futures) < self._comparers.count:
            outcome, response, came = self._bodies.popleft()
            began = self.clock()
            self._comparers.record_start(began - came, began)
            page = outcome.page
            try:
                old = self.old(page)
                future = loop.run_in_executor(self._pool, self.compare, old, page, response)
            except Exception as error:  # noqa: BLE001 - a bug of ours, or the pool is gone
                self._finish_comparison(outcome, error)
                continue
            self._futures.add(future)
            future.add_done_callback(partial(self._take_result, outcome, began))

    def _take_result(
        self, outcome: RevisitOutcome[Any], began: float, future: asyncio.Future[Found]
    ) -> None:
        self._futures.discard(future)
        if future.cancelled():
            return
        self._comparers.record_comparison(self.clock() - began)
        error = future.exception()
        self._finish_comparison(outcome, error, None if error is not None else future.result())
        self._submit_bodies()
