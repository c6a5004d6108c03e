"""The Live screen: how a crawl goes, told every two seconds to everybody who looks.

What was found comes from the store's own counters, what goes on from the crawl's glimpse
(``live.json``). It is put together once for all listeners, at most once a tick; what grows with the
collection (the curve, the hosts) is read again only when it can look different.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec

from honeyguide.config import load
from honeyguide.crawl import live_status as glimpse
from honeyguide.crawl.live_status import Fetching, FrontierNow
from honeyguide.crawl.open_store import existing
from honeyguide.errors import HoneyguideError, StoreError
from honeyguide.store.counts import Counts, HostRow
from honeyguide.store.lock import holder
from honeyguide.store.row_checks import decimal
from honeyguide.store.store import Store
from honeyguide.studio.curve import Curve, GenerationMark, curve_of, generations_of
from honeyguide.studio.routes import Here, Route, Stream
from honeyguide.studio.watch_status import Standing, WatchLive

TICK_S = 2.0
_HEARTBEAT_S = 10.0
_STALE_S = 10.0
"""A glimpse that is older tells how it was, not how it is."""
_SHOWN = 60


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


class Live(msgspec.Struct, frozen=True):
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
    curve: Curve
    generations: list[GenerationMark]
    failures: dict[str, int]
    languages: dict[str, int]
    hosts: list[HostLive]
    hosts_at: float
    """When they were counted: where that takes long, it is not done at every look."""
    frontier: FrontierNow
    fetching: list[Fetching]
    next_at: float | None = None
    watch: WatchLive | None = None


class Pulse:
    """Puts a collection's state together, once a tick for all who ask."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._told: Live | None = None
        self._number = 0
        """Grows when something is different."""
        self._curve = Curve([], [], [])
        self._drawn = -1
        self._standing = Standing()
        self.closed = False

    def close(self) -> None:
        self.closed = True

    @property
    def gone(self) -> bool:
        """Somebody deleted the collection, or moved it away."""
        return not (self._folder / "topic.toml").exists()

    def now(self) -> tuple[int, Live]:
        """The newest state, no older than a tick, and its number."""
        with self._lock:
            now = self._clock()
            if self._told is None or not 0 <= now - self._told.at < TICK_S / 2:
                told = self._state(now)
                was = self._told
                if was is None or told != msgspec.structs.replace(
                    was, at=told.at, hosts_at=told.hosts_at
                ):
                    self._number += 1
                self._told = told
            return self._number, self._told

    def _state(self, now: float) -> Live:
        seen = glimpse.read(self._folder)
        pid = holder(self._folder / "lock")
        running = pid is not None
        fresh = running and seen is not None and seen.pid == pid and now - seen.at < _STALE_S
        budget = load(self._folder / "topic.toml").crawl.pages
        if fresh and seen is not None and seen.pages is not None:
            budget = seen.pages  # of this run only
        counts, waiting, generation = Counts(), None, None
        marks: list[GenerationMark] = []
        watch: WatchLive | None = None
        try:
            with existing(self._folder, "read") as store:
                counts = store.counts()
                waiting, generation = decimal(store.meta("waiting") or ""), store.live()
                marks = generations_of(counts)
                self._refresh(store, counts, now)
                watch = self._standing.watch(store, pid)
        except StoreError:
            if (self._folder / "collection.db").exists():
                raise
        return Live(
            at=now,
            running=running,
            pid=pid,
            fresh=fresh,
            seen=None if seen is None else seen.at,
            stopping=bool(fresh and seen and seen.stopping),
            ended="" if seen is None or running else seen.ended,
            visits=counts.visits,
            pages=counts.pages,
            relevant=counts.relevant,
            harvest=counts.harvest,
            copies=counts.copies,
            bytes=counts.bytes,
            labels=counts.labels,
            known_hosts=counts.hosts,
            budget=budget,
            waiting=waiting,
            rate=seen.rate if fresh and seen else None,
            generation=generation,
            first=counts.first,
            last=counts.last,
            last_failure="" if seen is None else seen.last_failure,
            curve=self._curve,
            generations=marks,
            failures=counts.failures,
            languages=counts.tongues,
            hosts=_joined(self._standing.hosts, seen.frontier if seen else FrontierNow()),
            hosts_at=self._standing.at,
            frontier=seen.frontier if seen else FrontierNow(),
            fetching=seen.fetching if fresh and seen else [],
            next_at=seen.next_at if fresh and seen else None,
            watch=watch,
        )

    def _refresh(self, store: Store, counts: Counts, now: float) -> None:
        """The curve when it grew by the width of a point, the rest as often as it is cheap."""
        if abs(counts.visits - self._drawn) >= max(1, counts.visits // 400):
            self._curve, self._drawn = curve_of(store), counts.visits
        self._standing.refresh(store, now)


def _joined(visited: list[HostRow], seen: FrontierNow) -> list[HostLive]:
    """The hosts that most waits for, and those visited most."""
    known = {row.host: row for row in visited}
    found: dict[str, HostLive] = {}
    for host in seen.most[:_SHOWN]:
        row = known.get(host.host, HostRow(host.host, 0, 0, 0))
        found[host.host] = HostLive(
            *row, host.waiting, host.state, host.until, host.why, host.delay
        )
    for row in visited[:_SHOWN]:
        found.setdefault(row.host, HostLive(*row))
    return list(found.values())


def live(here: Here) -> Live:
    return here.kept(Pulse).now()[1]


def events(here: Here) -> Stream:
    """Server-sent events: ``tick`` with a :class:`Live` whenever something changed."""
    pulse = here.kept(Pulse)
    pulse.now()  # what cannot be told at all is told as an error, not as a silent stream
    return Stream(ticks(pulse), headers={"Cache-Control": "no-store"})


async def ticks(
    pulse: Pulse, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> AsyncIterator[bytes]:
    told, silent = 0, 0.0
    while not pulse.closed:
        try:
            number, state = await asyncio.to_thread(pulse.now)
        except HoneyguideError as error:
            message = msgspec.json.encode({"error": str(error), "gone": pulse.gone})
            yield b"event: trouble\ndata: " + message + b"\n\n"
            number = told
        if number != told:
            told, silent = number, 0.0
            yield b"event: tick\ndata: " + msgspec.json.encode(state) + b"\n\n"
        elif silent >= _HEARTBEAT_S:
            silent = 0.0
            yield b"event: heartbeat\ndata: {}\n\n"
        silent += TICK_S
        await pause(TICK_S)


ROUTES = (
    Route("GET", "/api/c/{name}/live", live, returns=Live, summary="How the crawl stands now"),
    Route("GET", "/api/c/{name}/events", events, returns=Stream,
          summary="The same as server-sent events, while it changes"),
)  # fmt: skip
