"""The queue of fetched documents between the threads of Meegahapola et al., corrected."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition, Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class DocumentQueue(Generic[T]):
    """A bounded queue between threads: one mutex, two conditions.

    A producer reserves its place before it begins. The exact rule counts documents and reserved
    places; the paper's (``paper_rule``) sets one place aside for every producer, busy or not, so
    that a producer begins only while fewer than capacity − producers + 1 documents wait.
    """

    def __init__(self, capacity: int, producers: int, *, paper_rule: bool = False) -> None:
        if capacity < 1 or (paper_rule and capacity < producers):
            raise ValueError(f"{capacity} places are not enough for {producers} producers")
        self.fullest = 0
        self._documents: deque[T] = deque()
        self._capacity = capacity
        self._producers = producers
        self._usable = capacity - producers + 1 if paper_rule else 0
        self._reserved = 0
        self._stopped = False
        mutex = Lock()
        self._can_produce = Condition(mutex)
        self._can_consume = Condition(mutex)

    def reserve_place(self) -> bool:
        """Wait for a place; False: nobody wants more."""
        with self._can_produce:
            while not self._stopped and self._is_full():
                self._can_produce.wait()
            self._reserved += not self._stopped
            return not self._stopped

    def put(self, document: T) -> None:
        """Fill the reserved place."""
        with self._can_consume:
            self._reserved -= 1
            self._documents.append(document)
            self.fullest = max(self.fullest, len(self._documents))
            self._can_consume.notify()

    def release_place(self) -> None:
        """Give the reserved place back: no document came."""
        with self._can_produce:
            self._reserved -= 1
            self._can_produce.notify()

    def remove_producer(self) -> None:
        """A producer is done; after the last one, consumers find the end."""
        with self._can_consume:
            self._producers -= 1
            if not self._producers:
                self._can_consume.notify_all()

    def take(self) -> T | None:
        """The next document; None: there will be none."""
        with self._can_consume:
            while not self._documents and self._producers and not self._stopped:
                self._can_consume.wait()
            if self._stopped or not self._documents:
                return None
            document = self._documents.popleft()
            # By the paper's rule one document less may be room for everybody.
            self._can_produce.notify(self._producers if self._usable else 1)
            return document

    def stop(self) -> None:
        """Let everybody go; what waits is left."""
        with self._can_produce:
            self._stopped = True
            self._can_produce.notify_all()
            self._can_consume.notify_all()

    def _is_full(self) -> bool:
        if self._usable:
            return len(self._documents) >= self._usable
        return len(self._documents) + self._reserved >= self._capacity


# --------------------------------------------------------------------------------------------------
# Change detection in threads, as published: Meegahapola et al., MTCCDW, configurations 1 to 3.
#
# Detecting a change takes three steps: crawl the page's present version (slow, network), bring the
# old one from the version repository (fast, local), compare the two. The paper's configurations:
#
#     1  one thread does all three, page after page
#     2  N threads crawl → queue → M threads bring old versions → queue → K threads compare
#     3  N threads crawl → queue → M threads bring and compare
#
# Their pseudo-code takes the next link from the queue of documents, puts documents into a queue
# that is not declared, takes a lock that it holds, never gives the consumers' lock back, and does
# not end. Kept here is what it means: a crawl happens outside every lock, and one begins only while
# the queue has room for it and for every other crawl under way
# (``bench/watch/mtccdw.py``).
#
# We use :mod:`honeyguide.watch.revisit_flow`, which does the same on one event loop; this is what it
# is measured against.
# --------------------------------------------------------------------------------------------------


CAPACITY = 500
"""Documents in a queue, as published."""

Link = TypeVar("Link")
Document = TypeVar("Document")
Old = TypeVar("Old")
Report = TypeVar("Report")


@dataclass(frozen=True, slots=True)
class ThreadedSteps(Generic[Link, Document, Old, Report]):
    """What is done with a page. All but ``publish`` are called by several threads at once."""

    crawl: Callable[[Link], Document]
    load_old: Callable[[Document], Old]
    compare: Callable[[Old, Document], Report]
    publish: Callable[[Report], None]
    """One call at a time. If it fails everything ends, lest reports be lost silently."""


@dataclass(frozen=True, slots=True)
class ThreadRunResult(Generic[Link]):
    """What came of a run: every link was published or failed, once."""

    pages: int
    published: int
    failures: tuple[tuple[Link, Exception], ...]
    seconds: float
    fullest: int
    """Most documents that waited in one queue."""

    @property
    def effective_ms(self) -> float:
        """Effective time per page: (end − start) ÷ pages, the paper's equation 1."""
        return 1000 * self.seconds / self.pages if self.pages else 0.0


def run_one_thread(
    links: Iterable[Link],
    steps: ThreadedSteps[Link, Document, Old, Report],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> ThreadRunResult[Link]:
    """Configuration 1."""
    run = _ThreadRun(links, steps)
    run.add_stage(1, run.links, None, run.crawl_page, run.load_old, run.compare_page)
    return run.run_threads(clock)


def run_three_stages(
    links: Iterable[Link],
    steps: ThreadedSteps[Link, Document, Old, Report],
    *,
    crawlers: int = 78,
    bringers: int = 6,
    comparers: int = 6,
    capacity: int = CAPACITY,
    paper_rule: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> ThreadRunResult[Link]:
    """Configuration 2; the paper found these N, M and K best on its machine."""
    run = _ThreadRun(links, steps)
    new = run.add_queue(capacity, crawlers, paper_rule)
    both = run.add_queue(capacity, bringers, paper_rule)
    run.add_stage(crawlers, run.links, new, run.crawl_page)
    run.add_stage(bringers, new, both, run.load_old)
    run.add_stage(comparers, both, None, run.compare_page)
    return run.run_threads(clock)


def run_two_stages(
    links: Iterable[Link],
    steps: ThreadedSteps[Link, Document, Old, Report],
    *,
    producers: int = 78,
    consumers: int = 11,
    capacity: int = CAPACITY,
    paper_rule: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> ThreadRunResult[Link]:
    """Configuration 3; the paper found these N and M best on its machine."""
    run = _ThreadRun(links, steps)
    new = run.add_queue(capacity, producers, paper_rule)
    run.add_stage(producers, run.links, new, run.crawl_page)
    run.add_stage(consumers, new, None, run.load_old, run.compare_page)
    return run.run_threads(clock)


@dataclass(slots=True)
class _PageInHand(Generic[Link]):
    """A page on its way; it belongs to one thread at a time."""

    link: Link
    document: Any = None
    old: Any = None


class _ThreadRun(Generic[Link, Document, Old, Report]):
    """The threads of one run, and what has come of it so far."""

    def __init__(
        self, links: Iterable[Link], steps: ThreadedSteps[Link, Document, Old, Report]
    ) -> None:
        parcels = [_PageInHand(link) for link in links]
        self.links: DocumentQueue[_PageInHand[Link]] = DocumentQueue(max(1, len(parcels)), 1)
        for parcel in parcels:
            self.links.reserve_place()
            self.links.put(parcel)
        self.links.remove_producer()
        self._pages = len(parcels)
        self._steps = steps
        self._queues: list[DocumentQueue[_PageInHand[Link]]] = []
        self._threads: list[Thread] = []
        self._lock = Lock()
        self._published = 0
        self._failures: list[tuple[Link, Exception]] = []
        self._trouble: Exception | None = None

    def add_queue(
        self, capacity: int, producers: int, paper_rule: bool
    ) -> DocumentQueue[_PageInHand[Link]]:
        self._queues.append(DocumentQueue(capacity, producers, paper_rule=paper_rule))
        return self._queues[-1]

    def add_stage(
        self,
        number: int,
        source: DocumentQueue[_PageInHand[Link]],
        sink: DocumentQueue[_PageInHand[Link]] | None,
        *steps: Callable[[_PageInHand[Link]], None],
    ) -> None:
        """So many threads that take from the source, do the steps, and hand on to the sink."""
        if number < 1:
            raise ValueError("a stage needs a thread")
        self._threads += [
            Thread(target=self._work_loop, args=(source, sink, steps), daemon=True)
            for _ in range(number)
        ]

    def run_threads(self, clock: Callable[[], float]) -> ThreadRunResult[Link]:
        began = clock()
        try:
            for thread in self._threads:
                thread.start()
            for thread in self._threads:
                thread.join()
        except BaseException:  # Ctrl-C, or no more threads to be had: those that run must end
            self._stop_queues()
            raise
        if self._trouble is not None:
            raise self._trouble
        fullest = max((queue.fullest for queue in self._queues), default=0)
        failures = tuple(self._failures)
        return ThreadRunResult(self._pages, self._published, failures, clock() - began, fullest)

    def crawl_page(self, parcel: _PageInHand[Link]) -> None:
        parcel.document = self._steps.crawl(parcel.link)

    def load_old(self, parcel: _PageInHand[Link]) -> None:
        parcel.old = self._steps.load_old(parcel.document)

    def compare_page(self, parcel: _PageInHand[Link]) -> None:
        report = self._steps.compare(parcel.old, parcel.document)
        with self._lock:
            if self._trouble is not None:
                return
            try:
                self._steps.publish(report)
                self._published += 1
            except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
                self._trouble = error
                self._stop_queues()

    def _work_loop(
        self,
        source: DocumentQueue[_PageInHand[Link]],
        sink: DocumentQueue[_PageInHand[Link]] | None,
        steps: tuple[Callable[[_PageInHand[Link]], None], ...],
    ) -> None:
        # The place is reserved before the parcel is taken, so that whatever is taken is done.
        while sink is None or sink.reserve_place():
            parcel = source.take()
            done = parcel is not None and self._do_steps(parcel, steps)
            if sink is not None and done and parcel is not None:
                sink.put(parcel)
            elif sink is not None:
                sink.release_place()
            if parcel is None:
                break
        if sink is not None:
            sink.remove_producer()

    def _do_steps(
        self, parcel: _PageInHand[Link], steps: tuple[Callable[[_PageInHand[Link]], None], ...]
    ) -> bool:
        try:
            for step in steps:
                step(parcel)
        except Exception as error:  # noqa: BLE001 - a thread that dies would take pages along
            with self._lock:
                self._failures.append((parcel.link, error))
            return False
        return True

    def _stop_queues(self) -> None:
        for queue in (self.links, *self._queues):
            queue.stop()
