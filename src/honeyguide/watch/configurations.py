"""The configurations of a watch: three with threads, from the paper, and one that adapts.

Meegahapola et al. (MTCCDW) split change detection into three steps: crawl the page's present
version (slow, network), bring the old one from the version repository (local), compare the two.

    1         one thread does all three, page after page
    2         N threads crawl → queue → M threads bring old versions → queue → K threads compare
    3         N threads crawl → queue → M threads bring and compare
    adaptive  one event loop does all three for as many pages at once as the network bears

Their pseudo-code takes the next link from the queue of documents, puts documents into a queue that
is not declared, takes a lock that it holds, never gives the consumers' lock back, and does not end.
Kept here is what it means: threads, bounded queues, a crawl outside every lock, and one that begins
only while the queue has room for it and for every other crawl that may be under way.

Threads ask the event loop of :class:`RevisitFlow` for whatever more than one of them needs: the
next page that politeness allows, the request itself, the store. So robots.txt, delays, the address
guard, retries and the ladder of cheap answers (304, the same digest) are one code in all
configurations; only who waits for whom differs.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import aclosing
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar

from honeyguide.config.settings import WatchSettings
from honeyguide.errors import ConfigError
from honeyguide.net.concurrency import FetchConcurrency
from honeyguide.watch.revisit_flow import (
    DuePage,
    FlowFigures,
    Found,
    Old,
    RevisitFlow,
    RevisitOutcome,
)

T = TypeVar("T")

PUBLISHED_THREADS = {"1": (1,), "2": (78, 6, 6), "3": (78, 11)}
"""N, M and K of each configuration that the paper found best on its machine."""
_THREAD_NAMES = {"2": "three numbers, N, M and K", "3": "two numbers, N and M"}
_MOST_THREADS = 1_000


def choose_threads(settings: WatchSettings) -> tuple[int, ...]:
    """The threads of a configuration, as set or as published; () for ``adaptive``."""
    which, published = settings.configuration, PUBLISHED_THREADS.get(settings.configuration, ())
    threads = settings.threads or published
    if settings.threads and (which == "1" or len(threads) != len(published)):
        raise ConfigError(
            f"watch.threads = {list(threads)} does not fit configuration {which}, which takes "
            f"{_THREAD_NAMES.get(which, 'none')}; change watch.threads (--threads)"
        )
    if any(not 1 <= number <= _MOST_THREADS for number in threads):
        raise ConfigError(f"watch.threads must be 1 to {_MOST_THREADS} each, not {list(threads)}")
    if threads and max(threads) > settings.queue:
        raise ConfigError(
            f"watch.queue = {settings.queue} is too short for {max(threads)} threads: each needs a "
            "place; make watch.queue longer or watch.threads fewer"
        )
    return threads


class DocumentQueue(Generic[T]):
    """A bounded queue between threads, with the paper's rule of admission.

    A producer begins only while fewer than capacity − producers + 1 documents wait: one place is
    set aside for each producer that may be under way, so the queue cannot overflow.
    """

    def __init__(self, capacity: int, producers: int) -> None:
        self.longest = 0
        self._waiting: deque[T] = deque()
        self._admitting = capacity - producers + 1
        self._stopped = False
        mutex = Lock()
        self._can_produce, self._can_consume = Condition(mutex), Condition(mutex)

    def wait_for_room(self) -> bool:
        """Wait until one more may begin; False: nobody wants more."""
        with self._can_produce:
            while not self._stopped and len(self._waiting) >= self._admitting:
                self._can_produce.wait()
            return not self._stopped

    def put_item(self, item: T) -> None:
        with self._can_consume:
            self._waiting.append(item)
            self.longest = max(self.longest, len(self._waiting))
            self._can_consume.notify()

    def take_item(self) -> T | None:
        """The next one; None: there will be none."""
        with self._can_consume:
            while not self._waiting and not self._stopped:
                self._can_consume.wait()
            if self._stopped:
                return None
            item = self._waiting.popleft()
            if len(self._waiting) < self._admitting:
                self._can_produce.notify_all()  # room for one is room for everybody
            return item

    def stop(self) -> None:
        """Let everybody go; what waits is left."""
        with self._can_produce:
            self._stopped = True
            self._can_produce.notify_all()
            self._can_consume.notify_all()


@dataclass(slots=True)
class _PageInHand(Generic[Old, Found]):
    """A page on its way; it belongs to one thread at a time."""

    host: str
    page: DuePage
    outcome: RevisitOutcome[Found] | None = None
    old: Old | None = None
    found: Found | None = None


Hand = _PageInHand[Old, Found]
Step = Callable[[Hand[Old, Found]], None]


class ThreadedRevisitFlow(RevisitFlow[Old, Found]):
    """Configurations 1 to 3: ``threads`` has one number, three, or two. One run at a time."""

    def __init__(self, *given: Any, threads: tuple[int, ...], capacity: int, **more: Any) -> None:
        super().__init__(*given, fetchers=FetchConcurrency(threads[0], steady=True), **more)
        self._numbers, self._capacity = threads, capacity
        self._queues: list[DocumentQueue[Hand[Old, Found]]] = []
        self._idle: deque[asyncio.Future[Hand[Old, Found] | None]] = deque()
        """Threads that wait for a page."""
        self._asked: set[Future[Any]] = set()
        """What threads wait for."""
        self._in_hand = 0
        self._ended = False

    @property
    def figures(self) -> FlowFigures:
        n, *more = self._numbers
        loaders, comparers = more if len(more) == 2 else (0, *more) if more else (0, n)
        longest = max((queue.longest for queue in self._queues), default=0)
        return FlowFigures(n, loaders, comparers, longest)

    async def run(
        self, pages: AsyncIterable[DuePage]
    ) -> AsyncGenerator[RevisitOutcome[Found], None]:
        self._loop, self._ended = asyncio.get_running_loop(), False
        self._threads = self._make_threads()
        for thread in self._threads:
            thread.start()
        async with aclosing(super().run(pages)) as outcomes:
            async for outcome in outcomes:
                yield outcome

    def _make_threads(self) -> list[Thread]:
        """The stages of the configuration, and queues between them."""
        self._queues = [DocumentQueue(self._capacity, n) for n in self._numbers[:-1]]
        fetch, load, compare = self._request_document, self._load_old, self._compare_page
        stages: dict[int, list[list[Step[Old, Found]]]] = {
            1: [[fetch, load, compare]],
            2: [[fetch], [load, compare]],
            3: [[fetch], [load], [compare]],
        }
        steps = stages[len(self._numbers)]
        sources = [self._take_page, *(queue.take_item for queue in self._queues)]
        sinks = [*self._queues, None]
        return [
            Thread(target=self._run_stage, args=stage, name="honeyguide-watch", daemon=True)
            for number, *stage in zip(self._numbers, sources, steps, sinks, strict=True)
            for _ in range(number)
        ]

    # -- in threads --------------------------------------------------------------------------

    def _run_stage(
        self,
        take: Callable[[], Hand[Old, Found] | None],
        steps: list[Step[Old, Found]],
        sink: DocumentQueue[Hand[Old, Found]] | None,
    ) -> None:
        """One thread: take a page, do the steps, hand it on."""
        try:
            while (sink is None or sink.wait_for_room()) and (hand := take()) is not None:
                error = None
                try:
                    for step in steps:
                        step(hand)
                except Exception as trouble:  # noqa: BLE001 - a thread that dies takes pages along
                    error = trouble
                if sink is None or error is not None or hand.outcome is None:
                    self._loop.call_soon_threadsafe(self._finish_page, hand, error)
                else:
                    sink.put_item(hand)
        except (CancelledError, asyncio.CancelledError, RuntimeError):
            if not self._ended:
                raise

    def _take_page(self) -> Hand[Old, Found] | None:
        return self._ask_loop(self._next_page())

    def _request_document(self, hand: Hand[Old, Found]) -> None:
        hand.outcome = self._ask_loop(self._fetch_for_thread(hand))

    def _load_old(self, hand: Hand[Old, Found]) -> None:
        if hand.outcome is not None and hand.outcome.state == "changed":
            hand.old = self._ask_loop(self._read_old(hand.page))

    def _compare_page(self, hand: Hand[Old, Found]) -> None:
        outcome = hand.outcome
        if outcome is not None and outcome.state == "changed" and outcome.response is not None:
            hand.found = self.compare(hand.old, hand.page, outcome.response)  # type: ignore[arg-type]

    def _ask_loop(self, wanted: Coroutine[Any, Any, T]) -> T:
        """Have the event loop do something, and wait for it."""
        try:
            asked = asyncio.run_coroutine_threadsafe(wanted, self._loop)
        except RuntimeError:  # the loop has ended
            wanted.close()
            raise
        self._asked.add(asked)
        try:
            return asked.result()
        finally:
            self._asked.discard(asked)

    # -- in the event loop -------------------------------------------------------------------

    async def _next_page(self) -> Hand[Old, Found] | None:
        """The next page that may be asked for; None: there will be none."""
        if self._ended:
            return None
        waiting: asyncio.Future[Hand[Old, Found] | None] = self._loop.create_future()
        self._idle.append(waiting)
        self._woken.set()
        return await waiting

    async def _fetch_for_thread(self, hand: Hand[Old, Found]) -> RevisitOutcome[Found] | None:
        if self._ended:
            raise CancelledError
        return await self._fetch_page(hand.host, hand.page)

    async def _read_old(self, page: DuePage) -> Old:
        return self.old(page)

    def _start_visits(self) -> None:
        """Give pages to threads, instead of fetching them here."""
        now = self.clock()
        while self._has_room() and (taken := self._next_taken(now)) is not None:
            self._in_hand += 1
            self._idle.popleft().set_result(_PageInHand(*taken))
        self._tidy_queues(now)

    def _has_room(self) -> bool:
        while self._idle and self._idle[0].done():
            self._idle.popleft()
        return bool(self._idle) and super()._has_room()

    def _is_busy(self) -> bool:
        return bool(self._in_hand) or super()._is_busy()

    def _finish_page(self, hand: Hand[Old, Found], error: Exception | None) -> None:
        """A page came back from its last thread, or from one that failed on it."""
        if self._ended:
            return
        self._in_hand -= 1
        self._woken.set()
        if hand.outcome is None:  # robots.txt had its turn, or the request ran into a bug
            self._trouble = self._trouble or error
        elif hand.outcome.state == "changed" or error is not None:
            self._finish_comparison(hand.outcome, error, hand.found)
        else:
            self._ready.append(hand.outcome)

    async def _abandon_visits(self, pump: asyncio.Task[None]) -> None:
        self._ended = True
        for queue in self._queues:
            queue.stop()
        for waiting in self._idle:
            if not waiting.done():
                waiting.set_result(None)
        for asked in list(self._asked):
            asked.cancel()
        await super()._abandon_visits(pump)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._idle.clear()
        self._in_hand = 0
