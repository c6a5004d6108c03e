"""The watch of a collection: run it, edit its list of pages, and read what changed."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, get_args

from honeyguide.api.check_values import check_choice, check_count
from honeyguide.api.long_calls import ProgressOption, show_progress
from honeyguide.api.tables import ResultTable, to_datetime
from honeyguide.api.user_urls import resolve_url
from honeyguide.change import ChangeKind
from honeyguide.config.settings import Settings, WatchConfiguration
from honeyguide.crawl.from_settings import build_scope_filter
from honeyguide.crawl.rescore import current_judge
from honeyguide.crawl.signals import relaxed_gc, run_in_loop, stop_on_signals
from honeyguide.errors import ConfigError
from honeyguide.learning import topics
from honeyguide.store.change_feed import ChangeRow, OutboxStatus
from honeyguide.store.database import OpenMode
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.watch_list import WatchedRow
from honeyguide.types import Link
from honeyguide.watch import manual_edits
from honeyguide.watch.manual_edits import ListAction, WatchMasks
from honeyguide.watch.schedule.change_rate import estimate_rate

if TYPE_CHECKING:
    from honeyguide.watch.list_formats import SkippedEntry
    from honeyguide.watch.schedule.schedule import VisitExplanation
    from honeyguide.watch.watcher import Watcher, WatchProgress

_OBSERVE_S = 0.25
_SPAN_PATTERN = re.compile(r"(\d+(?:\.\d+)?)\s*(min|h|d|w)").fullmatch
_SECONDS = {"min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_CHANGE_COLUMNS = (
    "id", "url", "at", "since", "kinds", "significance", "edits", "links_added", "links_removed",
    "detail", "seen",
)  # fmt: skip
_HIDDEN_FIELDS = ("masks", "edited", "id")


async def run_watch(
    folder: Path,
    settings: Settings,
    observer: Callable[[WatchProgress], None],
    *,
    once: bool = False,
    hours: float = 0.0,
) -> WatchProgress:
    """Watch until it is stopped, for so many hours, or ``once`` round all pages."""
    from honeyguide.watch.build import open_watch  # it loads HTTP and TLS

    scope = build_scope_filter(settings)
    strategy, generation = current_judge(folder, settings)
    async with open_watch(
        folder,
        settings,
        strategy,
        generation,
        lambda store: topics.load_effective_labels(store, settings),
        lambda url: scope.find_refusal(Link(url)) is None,
    ) as watch:
        observing = asyncio.create_task(_report_progress(watch, observer))
        try:
            with relaxed_gc(), stop_on_signals(watch.stop):
                return await watch.run(once=once, hours=hours)
        finally:
            observing.cancel()
            with suppress(asyncio.CancelledError):
                await observing


def watch_with_progress(
    folder: Path,
    settings: Settings,
    progress: ProgressOption,
    *,
    once: bool,
    hours: float,
    configuration: WatchConfiguration | None = None,
    threads: Sequence[int] = (),
) -> WatchProgress:
    """The same, shown as ``progress`` says; it waits for pages where there is none to watch yet.

    ``configuration`` and ``threads`` replace the settings of these names.
    """
    if configuration is not None or threads:
        settings = _with_configuration(settings, configuration, threads)
    with show_progress(progress, folder.resolve().name, describe_watch) as show:
        return run_in_loop(run_watch(folder, settings, show, once=once, hours=hours))


def _with_configuration(
    settings: Settings, configuration: WatchConfiguration | None, threads: Sequence[int]
) -> Settings:
    chosen = configuration or settings.watch.configuration
    check_choice("configuration", chosen, WatchConfiguration)
    for number in threads:
        check_count("threads", number, "whole numbers of threads", 1)
    if chosen == settings.watch.configuration:
        threads = threads or settings.watch.threads
    watch = replace(settings.watch, configuration=chosen, threads=tuple(threads))
    return replace(settings, watch=watch)


async def _report_progress(watch: Watcher, observer: Callable[[WatchProgress], None]) -> None:
    while True:
        observer(watch.progress)
        await asyncio.sleep(_OBSERVE_S)


def describe_watch(progress: WatchProgress) -> tuple[str, float | None]:
    """How a watch stands, for a line of progress."""
    parts = [
        f"{progress.watched} watched",
        f"{progress.visits} visits",
        f"{progress.changes} changes",
        f"{progress.failures} failed",
    ]
    if progress.configuration != "adaptive":
        parts.append(f"{progress.effective_ms:.1f} ms a page")
    if progress.discovered:
        parts.append(f"{progress.discovered} new")
    if progress.next_at:
        parts.append(f"next {time.strftime('%H:%M:%S', time.localtime(progress.next_at))}")
    return " · ".join(filter(None, (*parts, progress.trouble))), None


def describe_configuration(progress: WatchProgress) -> str:
    """How pages were fetched and compared, and what one took."""
    if progress.configuration == "adaptive":
        how = f"At most {progress.fetchers} fetches at once"
    else:
        loaders = f", {progress.loaders} for old versions" if progress.loaders else ""
        how = (
            f"Configuration {progress.configuration}: {progress.fetchers} threads to fetch"
            f"{loaders}, {progress.comparers} to compare, longest queue {progress.longest_queue}"
        )
    return f"{how}; {progress.effective_ms:.1f} ms a page."


# --------------------------------------------------------------------------------------------------
# The watch list.
# --------------------------------------------------------------------------------------------------


class ListImport(NamedTuple):
    """What a file brought into the watch list."""

    format_name: str
    """What the file was taken for."""
    pages: int
    """Pages in the file …"""
    added: int
    """… of which so many were not in the list before."""
    skipped: tuple[SkippedEntry, ...]
    """Entries that could not be carried over, with the reason."""


class PlannedVisit(NamedTuple):
    """A page of the list, and when it is visited next."""

    page: WatchedRow
    visit: VisitExplanation | None
    """None: it is not visited, being paused or removed."""


class WatchList(ResultTable[WatchedRow]):
    """The pages that a watch comes back to; a watch that runs takes up every edit.

    Example::

        birds.watch_list.add("https://example.org/finches")
        birds.watch_list.to_pandas()
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(
            f"{folder.resolve().name}: watched pages",
            self._iter_rows,
            lambda: map(watched_record, self._iter_rows()),
            (name for name in WatchedRow._fields if name not in _HIDDEN_FIELDS),
            ("state", "visits", "failures", "changes", "url"),
        )
        self._folder, self._settings = folder, settings

    def _iter_rows(self) -> Iterator[WatchedRow]:
        with self._open("read") as store:
            yield from store.watched.iter_rows(None)

    def _open(self, mode: OpenMode) -> Store:
        if not (self._folder / "collection.db").exists():
            # Nothing was crawled yet, which is no reason not to watch a page.
            Store.open(self._folder, "crawl").close()
        return Store.open(self._folder, mode)

    def count_watched(self) -> int:
        """Pages that are visited: neither paused nor removed."""
        with self._open("read") as store:
            return store.watched.count_by_state().get("watched", 0)

    def edit(self, action: ListAction, urls: Iterable[str], weight: float | None = None) -> int:
        """One action for several pages; of how many something is different now."""
        with self._open("write") as store:
            found = [resolve_url(store, url) for url in urls]
            return manual_edits.edit_watch_list(store, action, found, time.time(), weight)

    def add(self, *urls: str) -> int:
        """Watch these pages; how many were not watched before."""
        return self.edit("add", urls)

    def remove(self, *urls: str) -> int:
        """Watch them no longer; a crawl does not enter them again."""
        return self.edit("remove", urls)

    def pause(self, *urls: str) -> int:
        return self.edit("pause", urls)

    def resume(self, *urls: str) -> int:
        return self.edit("resume", urls)

    def set_weight(self, weight: float, *urls: str) -> int:
        """How much these pages matter, 0.001 to 1000; 1 is that of all others."""
        return self.edit("weight", urls, weight)

    def import_file(self, path: str | Path) -> ListImport:
        """Add the pages of a file: addresses, CSV, changedetection.io, urlwatch or webchanges."""
        from honeyguide.watch.list_import import load_watch_list

        found = load_watch_list(Path(path))
        if not found.pages:
            first = f": {found.skipped[0].where}: {found.skipped[0].why}" if found.skipped else ""
            raise ConfigError(f"{path} holds no address to watch{first}")
        paused = [page.url for page in found.pages if page.paused]
        with self._open("write") as store:
            active = [page.url for page in found.pages if not page.paused]
            added = store.watched.add_pages(active, "import", time.time())
            store.watched.add_pages(paused, "import", time.time())
            for url in paused:
                store.watched.edit_page(url, state="paused")
        return ListImport(found.format_name, len(found.pages), added, found.skipped)

    def explain(self, *urls: str) -> list[PlannedVisit]:
        """When these pages are visited next, and why then."""
        from honeyguide.watch.build import VisitForecast

        planned = []
        with self._open("read") as store:
            forecast = VisitForecast(store, self._settings, time.time())
            for url in (resolve_url(store, url) for url in urls):
                page, visit = store.watched.find_row(url), forecast.explain_visit(url)
                if page is None or (visit is None and page.state == "watched"):
                    raise ConfigError(f"{url} is not watched")
                planned.append(PlannedVisit(page, visit))
        return planned

    def masks(self, url: str) -> WatchMasks:
        """The places of a page whose changes are not reported."""
        return self._edit_masks("read", url, manual_edits.list_masks)

    def mask(self, url: str, *places: str) -> WatchMasks:
        """Report no change of these places any more; see :meth:`masks` for their names."""
        return self._edit_masks("write", url, manual_edits.mask_places, places)

    def unmask(self, url: str, *places: str) -> WatchMasks:
        """Report changes of these places again."""
        return self._edit_masks("write", url, manual_edits.unmask_places, places)

    def _edit_masks(
        self, mode: OpenMode, url: str, edit: Callable[..., WatchMasks], *places: Sequence[str]
    ) -> WatchMasks:
        with self._open(mode) as store:
            return edit(store, resolve_url(store, url), *places)

    def channels(self) -> Sequence[OutboxStatus]:
        """Who is told of changes, and how many messages were sent."""
        with self._open("read") as store:
            return store.outbox.channel_status()


def watched_record(row: WatchedRow) -> dict[str, Any]:
    """A page of the list as plain values; ``rate``: changes a day, as far as is known."""
    facts = row._asdict() | {"digest": row.digest.hex()}
    facts["rate"] = estimate_rate(row.rate).per_day if row.rate else None
    return {name: value for name, value in facts.items() if name not in _HIDDEN_FIELDS}


# --------------------------------------------------------------------------------------------------
# What changed.
# --------------------------------------------------------------------------------------------------


def list_changes(
    folder: Path,
    since: str | float | datetime | None,
    kinds: Iterable[str],
    least: float,
    host: str,
    words: Sequence[str],
    limit: int | None,
) -> ResultTable[ChangeRow]:
    """The changes that pass every filter, newest first."""
    wanted = cast("tuple[ChangeKind, ...]", tuple(kinds))
    for kind in wanted:
        if kind not in get_args(ChangeKind):
            raise ConfigError(f"--kind {kind!r} is none of {', '.join(get_args(ChangeKind))}")
    at = _parse_since(since)

    def read_rows() -> Iterator[ChangeRow]:
        with open_existing_store(folder, "read") as store:
            yield from store.changes.iter_newest(
                since=at,
                kinds=wanted,
                significance=least,
                host=host or None,
                words=words,
                limit=limit,
            )

    return ResultTable(
        f"{folder.resolve().name}: changes of watched pages",
        read_rows,
        lambda: map(_change_record, read_rows()),
        _CHANGE_COLUMNS,
        ("at", "kinds", "significance", "url"),
    )


def _change_record(row: ChangeRow) -> dict[str, Any]:
    found = row.change
    values = (
        row.id, str(found.url), to_datetime(found.at), to_datetime(found.since),
        ", ".join(found.kinds), found.significance, len(found.edits), len(found.links_added),
        len(found.links_removed), found.detail, to_datetime(row.seen),
    )  # fmt: skip
    return dict(zip(_CHANGE_COLUMNS, values, strict=True))


def _parse_since(since: str | float | datetime | None) -> float | None:
    """A moment, or a span such as ``2d`` before now, as a time."""
    if isinstance(since, datetime):
        return since.timestamp()
    if not isinstance(since, str):
        return since
    found = _SPAN_PATTERN(since.strip())
    if found is None:
        raise ConfigError(f"--since {since!r} is not a time span; write 30min, 12h, 2d or 3w")
    return time.time() - float(found[1]) * _SECONDS[found[2]]
