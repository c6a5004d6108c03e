"""One run of a crawl: signals, garbage collection, observers, live status, report."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from honeyguide.config.settings import Settings
from honeyguide.crawl import status
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.live_status import LIVE_INTERVAL_S, LiveStatusWriter, RunningCrawl
from honeyguide.crawl.rescore import overrule_verdicts, settle_cut
from honeyguide.crawl.signals import relaxed_gc, stop_on_signals
from honeyguide.crawl.status import Report, missing_page_notes
from honeyguide.learning.relevance_cut import read_cut
from honeyguide.learning.unlearned import find_unlearned
from honeyguide.run_status import StatusObserver
from honeyguide.store.store import Store

if TYPE_CHECKING:
    from honeyguide.teacher.model_teacher import ModelTeacher

_OBSERVE_S = 0.25
"""Seconds between two calls of the observer."""


async def run_crawl(folder: Path, settings: Settings, observer: StatusObserver | None) -> Report:
    """Crawl until the loop stops; Ctrl-C asks it to."""
    began = time.time()
    async with open_crawl(folder, settings) as crawl:
        status.mark_run_start(crawl.store, crawl.tally.visits, began)
        async with _teaching_model(folder, settings, crawl) as teacher:
            with stop_on_signals(crawl.stop), relaxed_gc():
                report = await run_observed(folder, settings, crawl, crawl.run(), observer)
        report = complete_report(report, crawl.store, settings, began)
    if teacher is None or not (teacher.report.asked or teacher.report.trouble):
        return report
    return replace(report, warnings=(*report.warnings, str(teacher.report)))


@contextlib.asynccontextmanager
async def _teaching_model(
    folder: Path, settings: Settings, crawl: RunningCrawl
) -> AsyncIterator[ModelTeacher | None]:
    """The language model of ``[teacher]``, which judges pages meanwhile; None: there is none."""
    if not settings.teacher.url:
        yield None
        return
    from honeyguide.teacher.model_teacher import open_teacher, teach_while_crawling

    async with open_teacher(folder, settings) as teacher:
        task = asyncio.create_task(teach_while_crawling(teacher, lambda: crawl.progress().visits))
        try:
            yield teacher
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def run_observed(
    folder: Path,
    settings: Settings,
    crawl: RunningCrawl,
    run: Coroutine[Any, Any, Report],
    observer: StatusObserver | None,
) -> Report:
    """Await ``run``; meanwhile and at its end, write the live file and tell the observer."""
    writer, ended = LiveStatusWriter(folder, budget=settings.crawl.pages), "it ended with an error"
    watching = asyncio.create_task(_report_status(crawl, observer, writer))
    try:
        report = await run
        ended = report.reason
    finally:
        watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
        writer.write_status(crawl, ended)
    if observer is not None:
        observer(crawl.progress())
    return report


async def _report_status(
    crawl: RunningCrawl, observer: StatusObserver | None, writer: LiveStatusWriter
) -> None:
    """Call the observer often, and write the live file seldom."""
    for turn in cycle(range(round(LIVE_INTERVAL_S / _OBSERVE_S))):
        if turn == 0:
            writer.write_status(crawl)
        if observer is not None:
            observer(crawl.progress())
        await asyncio.sleep(_OBSERVE_S)


def complete_report(report: Report, store: Store, settings: Settings, began: float) -> Report:
    """The report, once people's labels are applied, and with the seeds and examples that brought
    no page, and the labels that nothing learned from."""
    if report.failed:
        return report
    settle_cut(store, settings)
    # Labels of the last moments, or of a strategy that does not learn, were not applied yet.
    progress = structs.replace(report.progress, relevant=overrule_verdicts(store, settings))
    missing = tuple(missing_page_notes(store, settings, began))
    unlearned = find_unlearned(store, settings)
    notes = report.warnings + missing + tuple(unlearned.describe_labels(store))
    progress = structs.replace(progress, unlearned=unlearned.waiting)
    return replace(report, progress=progress, kept=read_cut(store), warnings=notes)
