"""The third step: changed bodies are compared, small ones at once, large ones elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import replace
from functools import partial
from logging import getLogger
from typing import Any, Generic, TypeVar

from honeyguide.errors import HoneyguideError
from honeyguide.types import Failure, Response
from honeyguide.watch.visit.concurrency import Comparers, InPlace
from honeyguide.watch.visit.due import Due, Outcome

_log = getLogger(__name__)

_BUGS = 10
"""So many pages in a row that our own code fails on end the run."""

Old = TypeVar("Old")
Found = TypeVar("Found")


class Comparing(Generic[Old, Found]):
    """Takes outcomes that changed, and hands them to ``done`` with what was found."""

    def __init__(
        self,
        old: Callable[[Due], Old],
        compare: Callable[[Old, Due, Response], Found],
        done: Callable[[Outcome[Found]], None],
        *,
        comparers: Comparers,
        in_place: InPlace,
        pool: Executor | None,
        clock: Callable[[], float],
    ) -> None:
        self.comparers = comparers
        self.trouble: BaseException | None = None
        """What ends the run: not the page's fault, or too many pages'."""
        self.under_way: set[asyncio.Future[Found]] = set()
        self.waiting: deque[tuple[Outcome[Any], Response, float]] = deque()
        self._old = old
        self._compare = compare
        self._done = done
        self._in_place = in_place
        self._pool = pool
        self._clock = clock
        self._bugs = 0

    def take(self, outcome: Outcome[Any], response: Response) -> None:
        size = len(response.body)
        if self._pool is not None and size > self._in_place.limit:
            now = self._clock()
            self.waiting.append((outcome, response, now))
            self.comparers.arrived(now)
            self._hand_over(self._pool)
            return
        began = time.perf_counter()
        try:
            found = self._compare(self._old(outcome.page), outcome.page, response)
        except Exception as error:  # noqa: BLE001 - our own bug, met on one page
            self._compared(outcome, error)
            return
        self._in_place.compared(size, time.perf_counter() - began)
        self._compared(outcome, None, found)

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
            self.comparers.began(began - came, began)
            page = outcome.page
            try:
                old = self._old(page)
                future = loop.run_in_executor(pool, self._compare, old, page, response)
            except Exception as error:  # noqa: BLE001 - our own bug, or the pool is gone
                self._compared(outcome, error)
                continue
            self.under_way.add(future)
            future.add_done_callback(partial(self._handed_back, pool, outcome, began))

    def _handed_back(
        self, pool: Executor, outcome: Outcome[Any], began: float, future: asyncio.Future[Found]
    ) -> None:
        self.under_way.discard(future)
        if future.cancelled():
            return
        self.comparers.compared(self._clock() - began)
        error = future.exception()
        self._compared(outcome, error, None if error is not None else future.result())
        self._hand_over(pool)

    def _compared(
        self, outcome: Outcome[Any], error: BaseException | None, found: Found | None = None
    ) -> None:
        """A page on which our code fails does not end the run; page after page does."""
        if error is None:
            self._bugs = 0
            self._done(replace(outcome, found=found))
            return
        self._bugs += 1
        if self._bugs >= _BUGS or isinstance(error, HoneyguideError | BrokenExecutor):
            self.trouble = self.trouble or error
        _log.error("%s could not be compared", outcome.page.url, exc_info=error)
        failure = Failure("bug", f"our own fault: {type(error).__name__}: {error}")
        self._done(replace(outcome, state="failed", failure=failure))
