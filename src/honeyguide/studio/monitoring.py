"""The Monitor screen: progress, harvest curve, hosts, failures, metrics."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import msgspec

from honeyguide.config.loading import load_settings
from honeyguide.crawl import live_status
from honeyguide.crawl.live_status import ActiveFetch, LiveFrontier
from honeyguide.crawl.status import CollectionStatus, collection_status
from honeyguide.errors import HoneyguideError, StoreError
from honeyguide.run_status import harvest_rate
from honeyguide.store.collection_files import lock_holder
from honeyguide.store.counters import CollectionCounts, HostRow
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store, open_existing_store
from honeyguide.studio import routes
from honeyguide.studio.routes import RawAnswer, RequestContext, Route, StreamAnswer, copy_fields
from honeyguide.watch.watcher import RUNNING_FACT

CURVE_POINTS = 400
_MAX_MARKS = 30
_RECENT_POINTS = 20
"""The recent rate is that between points so many apart."""
_FEW_VISITS = 50
"""Visits below which a recent rate says nothing."""


class HarvestCurve(msgspec.Struct, frozen=True):
    visits: list[int]
    harvest: list[float]
    """Relevant visits ÷ visits, from the beginning …"""
    recent: list[float | None]
    """… and of the last visits before each point."""


class GenerationMark(msgspec.Struct, frozen=True):
    """Where on the curve a generation took over."""

    generation: int
    visits: int
    harvest: float
    """Of the visits that it decided."""


def harvest_curve(store: Store) -> HarvestCurve:
    points = store.counter.harvest_curve(CURVE_POINTS)
    recent: list[float | None] = []
    for at, (visits, relevant) in enumerate(points):
        back = at
        while back > 0 and (at - back < _RECENT_POINTS or visits - points[back][0] < _FEW_VISITS):
            back -= 1
        then, before = points[back] if back > 0 else (0, 0)
        span = visits - then
        recent.append(round((relevant - before) / span, 4) if span >= _FEW_VISITS else None)
    whole = [round(harvest_rate(relevant, visits), 4) for visits, relevant in points]
    return HarvestCurve([visits for visits, _ in points], whole, recent)


def generation_marks(counts: CollectionCounts) -> list[GenerationMark]:
    """As if each had decided once: a generation that somebody went back to stands where it first
    was. Where there are many, some of them."""
    found: list[GenerationMark] = []
    visits = 0
    for number, counted in sorted(counts.generations.items()):
        harvest = round(harvest_rate(counted.relevant, counted.visits), 4)
        found.append(GenerationMark(number, visits, harvest))
        visits += counted.visits
    step = -(-len(found) // _MAX_MARKS) or 1
    return found[::step]


# -- A watch, and how often its slow counts are made --


_HOSTS_COUNTED = 2000
"""Hosts whose yield is known; the others were visited less."""
_TIMES_TOOK = 50.0
"""Counting takes no more than a fiftieth of the time …"""
_CHEAP_S = 0.03
"""… unless it takes no longer than this: then it is done whenever somebody looks."""


class WatchLive(msgspec.Struct, frozen=True):
    """A watch: one that runs, or what earlier ones did."""

    running: bool
    pages: int
    """That are watched."""
    visits: int
    changes: int
    last: float | None
    """When the last visit was."""


class WatchStatusCache:
    """Hosts and the watch list: counted by scans, so only as often as that is cheap."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self.at = 0.0
        """When they were counted."""
        self.hosts: list[HostRow] = []
        self._watch: WatchLive | None = None
        self._took = 0.0

    def refresh_counts(self, store: Store, now: float) -> None:
        wait = self._took * _TIMES_TOOK if self._took > _CHEAP_S else 0.0
        if 0 <= now - self.at < wait:
            return
        began = self._timer()
        self.hosts = store.counter.top_hosts(limit=_HOSTS_COUNTED)
        self._watch = _read_watch_live(store)
        self.at, self._took = now, self._timer() - began

    def watch_live(self, store: Store, pid: int | None) -> WatchLive | None:
        """None: nothing was ever watched here, and nobody is about to."""
        running = pid is not None and store.watch_facts.get(*RUNNING_FACT) == pid
        known = self._watch or (WatchLive(False, 0, 0, 0, None) if running else None)
        return known and msgspec.structs.replace(known, running=running)


def _read_watch_live(store: Store) -> WatchLive | None:
    walked, changes = store.watched.visit_totals(), len(store.changes)
    if not walked.pages and not changes:
        return None
    return WatchLive(False, walked.watched, walked.visits, changes, walked.last)


# --------------------------------------------------------------------------------------------------
# The Live screen: the state of a crawl, sent every two seconds to everybody who looks.
#
# What was found comes from the store's own counters, what goes on from the crawl's live file
# (``live_view.json``). It is put together once for all listeners, at most once a tick; what grows
# with the collection (the curve, the hosts) is read again only when it can look different.
# --------------------------------------------------------------------------------------------------


TICK_S = 2.0
_HEARTBEAT_S = 10.0
_STALE_S = 10.0
"""An older live file tells how it was, not how it is."""
_HOSTS_SHOWN = 60


class HostLive(msgspec.Struct, frozen=True):
    """A host as it stands: what came of it, and what waits for what."""

    host: str
    visits: int = 0
    relevant: int = 0
    failures: int = 0
    waiting: int | None = None
    """Links that wait for it; None: nobody knows."""
    state: str = ""
    until: float | None = None
    why: str = ""
    delay: float | None = None


class LiveView(msgspec.Struct, frozen=True):
    at: float
    running: bool
    """Somebody crawls it now …"""
    pid: int | None
    fresh: bool
    """… and tells what goes on; else ``frontier`` is how it was at ``seen``."""
    seen: float | None
    stopping: bool
    ended: str
    visits: int
    pages: int
    relevant: int
    harvest: float
    copies: int
    bytes: int
    labels: int
    known_hosts: int
    budget: int
    """Visits at which it stops: those of the run where one tells, else the topic's; 0: never."""
    waiting: int | None
    rate: float | None
    """Visits per second lately, while it runs."""
    generation: int | None
    first: float | None
    last: float | None
    last_failure: str
    curve: HarvestCurve
    generations: list[GenerationMark]
    failures: dict[str, int]
    languages: dict[str, int]
    hosts: list[HostLive]
    hosts_at: float
    """When they were counted: where that takes long, it is not done at every look."""
    frontier: LiveFrontier
    fetching: list[ActiveFetch]
    next_at: float | None = None
    watch: WatchLive | None = None


class LiveViewCache:
    """Puts a collection's state together, once a tick for all who ask."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._view: LiveView | None = None
        self._number = 0
        """Grows when something is different."""
        self._curve = HarvestCurve([], [], [])
        self._drawn = -1
        self._standing = WatchStatusCache()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    @property
    def is_gone(self) -> bool:
        """Somebody deleted the collection, or moved it away."""
        return not (self._folder / "topic.toml").exists()

    def newest_view(self) -> tuple[int, LiveView]:
        """The newest state, no older than a tick, and its number."""
        with self._lock:
            now = self._clock()
            old = view = self._view
            if view is None or not 0 <= now - view.at < TICK_S / 2:
                view = self._view = self._read_view(now)
                same = old and msgspec.structs.replace(old, at=view.at, hosts_at=view.hosts_at)
                self._number += view != same
            return self._number, view

    def _read_view(self, now: float) -> LiveView:
        seen = live_status.read_live_status(self._folder)
        pid = lock_holder(self._folder / "lock")
        running = pid is not None
        fresh = running and seen is not None and seen.pid == pid and now - seen.at < _STALE_S
        budget = load_settings(self._folder / "topic.toml").crawl.pages
        if fresh and seen is not None and seen.budget is not None:
            budget = seen.budget  # of this run only
        counts, waiting, generation = CollectionCounts(), None, None
        marks: list[GenerationMark] = []
        watch: WatchLive | None = None
        try:
            with open_existing_store(self._folder, "read") as store:
                counts = store.counter.read_counts()
                waiting = parse_decimal(store.get_meta("waiting") or "")
                generation = store.generations.live_number()
                marks = generation_marks(counts)
                self._refresh_counts(store, counts, now)
                watch = self._standing.watch_live(store, pid)
        except StoreError:
            if (self._folder / "collection.db").exists():
                raise
        frontier = seen.frontier if seen else LiveFrontier()
        now_seen = seen if fresh else None
        return copy_fields(
            LiveView,
            counts,
            at=now,
            running=running,
            pid=pid,
            fresh=fresh,
            seen=None if seen is None else seen.at,
            stopping=bool(now_seen and now_seen.stopping),
            ended="" if seen is None or running else seen.ended,
            harvest=counts.harvest_rate,
            known_hosts=counts.hosts,
            budget=budget,
            waiting=waiting,
            rate=now_seen.rate if now_seen else None,
            generation=generation,
            last_failure="" if seen is None else seen.last_failure,
            curve=self._curve,
            generations=marks,
            languages=counts.tongues,
            hosts=_join_hosts(self._standing.hosts, frontier),
            hosts_at=self._standing.at,
            frontier=frontier,
            fetching=now_seen.fetching if now_seen else [],
            next_at=now_seen.next_at if now_seen else None,
            watch=watch,
        )

    def _refresh_counts(self, store: Store, counts: CollectionCounts, now: float) -> None:
        """The curve when it grew by the width of a point, the rest as often as it is cheap."""
        if abs(counts.visits - self._drawn) >= max(1, counts.visits // 400):
            self._curve, self._drawn = harvest_curve(store), counts.visits
        self._standing.refresh_counts(store, now)


def _join_hosts(visited: list[HostRow], seen: LiveFrontier) -> list[HostLive]:
    """The hosts that most waits for, and those visited most."""
    known = {row.host: row for row in visited}
    found: dict[str, HostLive] = {}
    for host in seen.most[:_HOSTS_SHOWN]:
        row = known.get(host.host, HostRow(host.host, 0, 0, 0))
        found[host.host] = copy_fields(HostLive, host, **row._asdict())
    for row in visited[:_HOSTS_SHOWN]:
        found.setdefault(row.host, HostLive(*row))
    return list(found.values())


def live_view(context: RequestContext) -> LiveView:
    """Current state of the crawl."""
    return context.shared_for(LiveViewCache).newest_view()[1]


def live_events(context: RequestContext) -> StreamAnswer:
    """The same as server-sent events, while it changes.

    An event ``tick`` holds a :class:`LiveView`.
    """
    cache = context.shared_for(LiveViewCache)
    cache.newest_view()  # what cannot be told at all is told as an error, not as a silent stream
    return StreamAnswer(event_chunks(cache), headers={"Cache-Control": "no-store"})


async def event_chunks(
    cache: LiveViewCache, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncIterator[bytes]:
    sent, silent = 0, 0.0
    while not cache.closed:
        try:
            number, state = await asyncio.to_thread(cache.newest_view)
        except HoneyguideError as error:
            message = msgspec.json.encode({"error": str(error), "gone": cache.is_gone})
            yield b"event: trouble\ndata: " + message + b"\n\n"
            number = sent
        if number != sent:
            sent, silent = number, 0.0
            yield b"event: tick\ndata: " + msgspec.json.encode(state) + b"\n\n"
        elif silent >= _HEARTBEAT_S:
            silent = 0.0
            yield b"event: heartbeat\ndata: {}\n\n"
        silent += TICK_S
        await pause(TICK_S)


# --------------------------------------------------------------------------------------------------
# ``/metrics`` for Prometheus, in its text format (version 0.0.4).
# --------------------------------------------------------------------------------------------------


_MAX_COLLECTIONS = 50
"""Most collections in the metrics."""
_METRICS = {
    "visits_total": ("counter", "Visits made.", "visits"),
    "pages_total": ("counter", "Visits that returned a page.", "pages"),
    "relevant_total": ("counter", "Relevant pages found.", "relevant"),
    "failures_total": ("counter", "Visits that failed, by kind.", ""),
    "bytes_total": ("counter", "Bytes of pages received.", "bytes"),
    "labels_total": ("counter", "Labels given by people.", "labels"),
    "changes_total": ("counter", "Changes that a watch found.", "changes"),
    "watched_pages": ("gauge", "Pages that a watch revisits.", "watched"),
    "frontier_links": ("gauge", "Links that wait.", "waiting"),
    "generation": ("gauge", "The active generation.", "generation"),
    "last_visit_timestamp_seconds": ("gauge", "When the last visit was.", "last"),
    "running": ("gauge", "1 while it is crawled or watched.", ""),
}
"""Metric → its kind, what it is, and its field of a collection's status, if it is one."""
MetricSample = tuple[str, dict[str, str], float]


def prometheus_metrics(context: RequestContext) -> RawAnswer:
    """All collections' counts for Prometheus."""
    samples: dict[str, list[str]] = {name: [] for name in _METRICS}
    for folder in routes.find_collections(context.root)[:_MAX_COLLECTIONS]:
        found: list[MetricSample] = []
        try:
            running = context.runs.run_state(folder).state in ("running", "stopping", "elsewhere")
            found.append(("running", {}, float(running)))
            with open_existing_store(folder, "read") as store:
                found += _status_samples(
                    collection_status(store, load_settings(folder / "topic.toml"), 0)
                )
        except (HoneyguideError, OSError):
            pass  # not crawled yet, or damaged: only what was found before can be told
        for name, labels, value in found:
            samples[name].append(_sample_line(name, {"collection": folder.name, **labels}, value))
    lines: list[str] = []
    for name, (kind, about, _) in _METRICS.items():
        if samples[name]:
            lines += [f"# HELP honeyguide_{name} {about}", f"# TYPE honeyguide_{name} {kind}"]
            lines += samples[name]
    body = "".join(f"{line}\n" for line in lines)
    return RawAnswer(body.encode(), "text/plain; version=0.0.4; charset=utf-8")


def _status_samples(found: CollectionStatus) -> Iterator[MetricSample]:
    for name, (_, _, field) in _METRICS.items():
        if field and (value := getattr(found, field)) is not None:
            yield name, {}, value
    for kind, count in sorted(found.failures.items()):
        yield "failures_total", {"kind": kind}, count


def _sample_line(name: str, labels: dict[str, str], value: float) -> str:
    # JSON escapes what the format wants escaped: backslash, quote and line end.
    pairs = ",".join(
        f"{key}={json.dumps(text, ensure_ascii=False)}" for key, text in labels.items()
    )
    return f"honeyguide_{name}{{{pairs}}} {value:.16g}"


ROUTES = (
    Route("GET", "/api/c/{name}/live", live_view),
    Route("GET", "/api/c/{name}/events", live_events),
    Route("GET", "/metrics", prometheus_metrics),
)
