"""One run of a collection's crawl: signals, an observer, and which seeds were lost."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.crawl import status
from honeyguide.crawl.build import opened, seeds_of
from honeyguide.crawl.progress import Progress, Report
from honeyguide.crawl.rejudge import overrule
from honeyguide.crawl.ring import Ring
from honeyguide.store.store import Store
from honeyguide.types import Url

Observer = Callable[[Progress], None]

_ALLOCATED = 20_000
"""Objects after which Python looks for garbage; its own default is 700."""
_NAMED = 3
"""Failed seeds that a report names one by one."""


async def run(folder: Path, settings: Settings, observer: Observer | None) -> Report:
    """Crawl until the ring stops; Ctrl-C asks it to."""
    began = time.time()
    async with opened(folder, settings) as ring:
        status.begin(ring.store, ring.tally.visits, began)
        with stoppable(ring.stop), seldom_tidied():
            watching = asyncio.create_task(_observe(ring, observer)) if observer else None
            try:
                report = await ring.run()
            finally:
                if watching is not None:
                    watching.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await watching
        if report.failed:
            return report
        # Labels that came in the last moments, or that a strategy which learns nothing never heard.
        overrule(ring.store, settings)
        lost = tuple(_lost(ring.store, seeds_of(settings), began))
        return replace(report, warnings=report.warnings + lost)


def _lost(store: Store, seeds: Iterable[Url], since: float) -> Iterator[str]:
    """Which seeds were tried in this run and brought no page, and why."""
    more = 0
    for count, row in enumerate(
        rows[-1]
        for seed in seeds
        if (rows := store.visit(seed)) and rows[-1].failure and rows[-1].at >= since
    ):
        if count < _NAMED:
            yield f"the seed {row.url} brought no page: {row.failure}: {row.detail}"
        else:
            more += 1
    if more:
        yield f"so did {more} more of the seeds"


async def _observe(ring: Ring, observer: Observer) -> None:
    while True:
        observer(ring.progress())
        await asyncio.sleep(0.25)


@contextlib.contextmanager
def seldom_tidied() -> Iterator[None]:
    """Python's search for unreachable rings of objects, put off: a page makes thousands of objects
    and no such ring, and the search goes over all that was loaded before the crawl as well."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_ALLOCATED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C asks what runs to finish; a second one is the ordinary KeyboardInterrupt."""
    loop = asyncio.get_running_loop()
    caught = (signal.SIGINT, signal.SIGTERM)

    def ask() -> None:
        stop()
        for number in caught:
            loop.remove_signal_handler(number)

    try:
        for number in caught:
            loop.add_signal_handler(number, ask)
    except (ValueError, RuntimeError):
        # Not in the main thread, as inside a notebook's worker: its owner handles signals.
        yield
        return
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
