"""What a process that runs for long asks of its system: signals, and less tidying."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from honeyguide.config.settings import Settings
from honeyguide.crawl import status
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.live_status import LIVE_INTERVAL_S, LiveStatusWriter
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.rescore import overrule_verdicts
from honeyguide.crawl.status import ProgressObserver, Report, missing_page_notes

_GC_THRESHOLD = 20_000
"""Objects after which Python looks for garbage; its own default is 700."""


@contextlib.contextmanager
def relaxed_gc() -> Iterator[None]:
    """Python's search for unreachable rings of objects, put off: a page makes thousands of objects
    and no such ring, and the search goes over all that was loaded before the crawl as well."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[], None]) -> Iterator[None]:
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


# --------------------------------------------------------------------------------------------------
# One run of a collection's crawl: signals, an observer, and what was lost.
# --------------------------------------------------------------------------------------------------


_OBSERVE_S = 0.25
"""How often an observer is told."""


async def run_crawl(folder: Path, settings: Settings, observer: ProgressObserver | None) -> Report:
    """Crawl until the ring stops; Ctrl-C asks it to."""
    began = time.time()
    async with open_crawl(folder, settings) as ring:
        status.mark_run_start(ring.store, ring.tally.visits, began)
        with stop_on_signals(ring.stop), relaxed_gc():
            teller, ended = LiveStatusWriter(folder, pages=settings.crawl.pages), "it broke off"
            watching = asyncio.create_task(_report_progress(ring, observer, teller))
            try:
                report = await ring.run()
                ended = report.reason
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
                teller.write_status(ring, ended)
        if report.failed:
            return report
        # Labels that came in the last moments, or that a strategy which learns nothing never heard.
        overrule_verdicts(ring.store, settings)
        missing = tuple(missing_page_notes(ring.store, settings, began))
        return replace(report, warnings=report.warnings + missing)


async def _report_progress(
    ring: CrawlLoop, observer: ProgressObserver | None, teller: LiveStatusWriter
) -> None:
    """Somebody here looks often, those outside seldom."""
    for turn in cycle(range(round(LIVE_INTERVAL_S / _OBSERVE_S))):
        if turn == 0:
            teller.write_status(ring)
        if observer is not None:
            observer(ring.progress())
        await asyncio.sleep(_OBSERVE_S)
