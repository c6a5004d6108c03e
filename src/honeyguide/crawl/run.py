"""One run of a collection's crawl: signals, an observer, and what was lost."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.crawl import status
from honeyguide.crawl.build import opened
from honeyguide.crawl.live_status import EVERY_S, Teller
from honeyguide.crawl.missing_pages import lost
from honeyguide.crawl.progress import Observer, Report
from honeyguide.crawl.rescoring import overrule
from honeyguide.crawl.ring import Ring
from honeyguide.crawl.signals import seldom_tidied, stoppable

_LOOK_S = 0.25
"""How often an observer is told."""


async def run(folder: Path, settings: Settings, observer: Observer | None) -> Report:
    """Crawl until the ring stops; Ctrl-C asks it to."""
    began = time.time()
    async with opened(folder, settings) as ring:
        status.begin(ring.store, ring.tally.visits, began)
        with stoppable(ring.stop), seldom_tidied():
            teller, ended = Teller(folder, pages=settings.crawl.pages), "it broke off"
            watching = asyncio.create_task(_observe(ring, observer, teller))
            try:
                report = await ring.run()
                ended = report.reason
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
                teller.tell(ring, ended)
        if report.failed:
            return report
        # Labels that came in the last moments, or that a strategy which learns nothing never heard.
        overrule(ring.store, settings)
        missing = tuple(lost(ring.store, settings, began))
        return replace(report, warnings=report.warnings + missing)


async def _observe(ring: Ring, observer: Observer | None, teller: Teller) -> None:
    """Somebody here looks often, those outside seldom."""
    for turn in cycle(range(round(EVERY_S / _LOOK_S))):
        if turn == 0:
            teller.tell(ring)
        if observer is not None:
            observer(ring.progress())
        await asyncio.sleep(_LOOK_S)
