"""Change detection in threads, as published: Meegahapola et al., MTCCDW, configurations 1 to 3.

Detecting a change takes three steps: crawl the page's present version (slow, network), bring the
old one from the version repository (fast, local), compare the two. The paper's configurations:

    1  one thread does all three, page after page
    2  N threads crawl → queue → M threads bring old versions → queue → K threads compare
    3  N threads crawl → queue → M threads bring and compare

Their pseudo-code takes the next link from the queue of documents, puts documents into a queue
that is not declared, takes a lock that it holds, never gives the consumers' lock back, and does
not end. Kept here is what it means: a crawl happens outside every lock, and one begins only while
the queue has room for it and for every other crawl under way
(:mod:`honeyguide.watch.visit.document_queue`).

We use :mod:`honeyguide.watch.visit.flow`, which does the same on one event loop; this is what it is
measured against.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from honeyguide.watch.visit.document_queue import DocumentQueue

CAPACITY = 500
"""Documents in a queue, as published."""

Link = TypeVar("Link")
Document = TypeVar("Document")
Old = TypeVar("Old")
Report = TypeVar("Report")


@dataclass(frozen=True, slots=True)
class Steps(Generic[Link, Document, Old, Report]):
    """What is done with a page. All but ``publish`` are called by several threads at once."""

    crawl: Callable[[Link], Document]
    old: Callable[[Document], Old]
    compare: Callable[[Old, Document], Report]
    publish: Callable[[Report], None]
    """One call at a time. If it fails everything ends, lest reports be lost silently."""


@dataclass(frozen=True, slots=True)
class Ran(Generic[Link]):
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


def one_thread(
    links: Iterable[Link],
    steps: Steps[Link, Document, Old, Report],
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Ran[Link]:
    """Configuration 1."""
    run = _Run(links, steps)
    run.stage(1, run.links, None, run.crawl, run.bring, run.compare)
    return run.ran(clock)


def three_stages(
    links: Iterable[Link],
    steps: Steps[Link, Document, Old, Report],
    *,
    crawlers: int = 78,
    bringers: int = 6,
    comparers: int = 6,
    capacity: int = CAPACITY,
    paper_rule: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Ran[Link]:
    """Configuration 2; the paper found these N, M and K best on its machine."""
    run = _Run(links, steps)
    new = run.queue(capacity, crawlers, paper_rule)
    both = run.queue(capacity, bringers, paper_rule)
    run.stage(crawlers, run.links, new, run.crawl)
    run.stage(bringers, new, both, run.bring)
    run.stage(comparers, both, None, run.compare)
    return run.ran(clock)


def two_stages(
    links: Iterable[Link],
    steps: Steps[Link, Document, Old, Report],
    *,
    producers: int = 78,
    consumers: int = 11,
    capacity: int = CAPACITY,
    paper_rule: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Ran[Link]:
    """Configuration 3; the paper found these N and M best on its machine."""
    run = _Run(links, steps)
    new = run.queue(capacity, producers, paper_rule)
    run.stage(producers, run.links, new, run.crawl)
    run.stage(consumers, new, None, run.bring, run.compare)
    return run.ran(clock)


@dataclass(slots=True)
class _Parcel(Generic[Link]):
    """A page on its way; it belongs to one thread at a time."""

    link: Link
    document: Any = None
    old: Any = None


class _Run(Generic[Link, Document, Old, Report]):
    """The threads of one run, and what has come of it so far."""

    def __init__(self, links: Iterable[Link], steps: Steps[Link, Document, Old, Report]) -> None:
        parcels = [_Parcel(link) for link in links]
        self.links: DocumentQueue[_Parcel[Link]] = DocumentQueue(max(1, len(parcels)), 1)
        for parcel in parcels:
            self.links.reserve()
            self.links.put(parcel)
        self.links.leave()
        self._pages = len(parcels)
        self._steps = steps
        self._queues: list[DocumentQueue[_Parcel[Link]]] = []
        self._threads: list[Thread] = []
        self._lock = Lock()
        self._published = 0
        self._failures: list[tuple[Link, Exception]] = []
        self._trouble: Exception | None = None

    def queue(
        self, capacity: int, producers: int, paper_rule: bool
    ) -> DocumentQueue[_Parcel[Link]]:
        self._queues.append(DocumentQueue(capacity, producers, paper_rule=paper_rule))
        return self._queues[-1]

    def stage(
        self,
        number: int,
        source: DocumentQueue[_Parcel[Link]],
        sink: DocumentQueue[_Parcel[Link]] | None,
        *steps: Callable[[_Parcel[Link]], None],
    ) -> None:
        """So many threads that take from the source, do the steps, and hand on to the sink."""
        if number < 1:
            raise ValueError("a stage needs a thread")
        self._threads += [
            Thread(target=self._work, args=(source, sink, steps), daemon=True)
            for _ in range(number)
        ]

    def ran(self, clock: Callable[[], float]) -> Ran[Link]:
        began = clock()
        try:
            for thread in self._threads:
                thread.start()
            for thread in self._threads:
                thread.join()
        except BaseException:  # Ctrl-C, or no more threads to be had: those that run must end
            self._stop()
            raise
        if self._trouble is not None:
            raise self._trouble
        fullest = max((queue.fullest for queue in self._queues), default=0)
        failures = tuple(self._failures)
        return Ran(self._pages, self._published, failures, clock() - began, fullest)

    def crawl(self, parcel: _Parcel[Link]) -> None:
        parcel.document = self._steps.crawl(parcel.link)

    def bring(self, parcel: _Parcel[Link]) -> None:
        parcel.old = self._steps.old(parcel.document)

    def compare(self, parcel: _Parcel[Link]) -> None:
        report = self._steps.compare(parcel.old, parcel.document)
        with self._lock:
            if self._trouble is not None:
                return
            try:
                self._steps.publish(report)
                self._published += 1
            except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
                self._trouble = error
                self._stop()

    def _work(
        self,
        source: DocumentQueue[_Parcel[Link]],
        sink: DocumentQueue[_Parcel[Link]] | None,
        steps: tuple[Callable[[_Parcel[Link]], None], ...],
    ) -> None:
        # The place is reserved before the parcel is taken, so that whatever is taken is done.
        while sink is None or sink.reserve():
            parcel = source.take()
            done = parcel is not None and self._done(parcel, steps)
            if sink is not None and done and parcel is not None:
                sink.put(parcel)
            elif sink is not None:
                sink.release()
            if parcel is None:
                break
        if sink is not None:
            sink.leave()

    def _done(
        self, parcel: _Parcel[Link], steps: tuple[Callable[[_Parcel[Link]], None], ...]
    ) -> bool:
        try:
            for step in steps:
                step(parcel)
        except Exception as error:  # noqa: BLE001 - a thread that dies would take pages along
            with self._lock:
                self._failures.append((parcel.link, error))
            return False
        return True

    def _stop(self) -> None:
        for queue in (self.links, *self._queues):
            queue.stop()
