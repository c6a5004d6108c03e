"""The watch list screen, and the forecast of the next visits."""

from __future__ import annotations

import logging
import time
from itertools import islice
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.api.user_urls import resolve_url
from honeyguide.config.loading import load_settings
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.watch_list import WatchedRow, WatchedState
from honeyguide.studio.routes import RequestContext, ResourceMissing, Route, copy_fields
from honeyguide.watch.build import VisitForecast
from honeyguide.watch.manual_edits import edit_watch_list
from honeyguide.watch.schedule.change_rate import estimate_rate

_log = logging.getLogger(__name__)

_STALE_S = 20.0
_TIMES_TOOK = 20.0
"""It is worked out anew when it is so old, and that takes no more than a twentieth of the time."""
_WAIT_S = 0.2


class ForecastCache:
    """Of one collection; shared by all requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._found: VisitForecast | None = None
        self._made_at = self._took = 0.0
        self._stale = False
        self._trouble: HoneyguideError | None = None
        self._done = Event()
        self._thread: Thread | None = None

    def latest_forecast(self) -> VisitForecast | None:
        """As it was worked out last; None: the first time takes a while. Raises what prevented it.

        What is old is given all the same, and made anew in the background.
        """
        with self._lock:
            age = time.monotonic() - self._made_at
            old = self._stale or age > max(_STALE_S, _TIMES_TOOK * self._took)
            if (self._found is None or old) and self._thread is None:
                self._done.clear()
                self._thread = Thread(target=self._make_forecast, name="upcoming", daemon=True)
                self._thread.start()
            wanted = self._found is None or self._stale
        if wanted:
            self._done.wait(_WAIT_S)
        with self._lock:
            if self._found is None and self._trouble is not None:
                raise self._trouble
            return self._found

    def mark_stale(self) -> None:
        """The list was changed by a person."""
        with self._lock:
            self._stale = True

    def _make_forecast(self) -> None:
        found, trouble = None, None
        began = time.monotonic()
        with self._lock:
            self._stale = False
        try:
            settings = load_settings(self._folder / "topic.toml")
            with open_existing_store(self._folder, "read") as store:
                found = VisitForecast(store, settings, time.time())
        except HoneyguideError as error:
            trouble = error
        except Exception:  # noqa: BLE001 - our own bug: a thread has nobody above it to tell
            _log.exception("the next visits could not be computed")
        with self._lock:
            self._found, self._trouble = found or self._found, trouble
            self._made_at = time.monotonic()
            self._took = self._made_at - began
            self._thread = None
        self._done.set()


# -- The watch list --


Address = Annotated[str, Meta(min_length=1, max_length=4_096)]


class WatchedQuery(msgspec.Struct, frozen=True):
    state: WatchedState | Literal["all"] = "watched"
    host: Annotated[str, Meta(max_length=300)] = ""
    after: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class WatchedItem(msgspec.Struct, frozen=True):
    id: int
    url: str
    state: str
    by: str
    weight: float
    visits: int
    changes: int
    failures: int
    every: float | None
    """Seconds from one change to the next, as far as is known."""
    visited: float | None
    changed: float | None
    next_at: float | None
    note: str


class WatchedItems(msgspec.Struct, frozen=True):
    rows: list[WatchedItem]
    next: int | None
    states: dict[str, int]


class NextVisitsQuery(msgspec.Struct, frozen=True):
    count: Annotated[int, Meta(ge=1, le=200)] = 30


class NextVisits(msgspec.Struct, frozen=True):
    at: float | None
    """When this was worked out; None: it is being worked out for the first time."""
    watched: int
    rows: list[WatchedItem]


class NextVisitQuery(msgspec.Struct, frozen=True):
    url: Address


class NextVisitReason(msgspec.Struct, frozen=True):
    url: str
    state: str
    next_at: float | None
    reason: str
    per_day: float | None
    low: float | None
    high: float | None
    ready: bool
    """False: it is still being worked out."""


class WatchedOrder(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    action: Literal["add", "remove", "pause", "resume", "weight", "weigh"]
    urls: Annotated[list[Address], Meta(min_length=1, max_length=500)]
    weight: Annotated[float, Meta(ge=0.001, le=1000)] | None = None


class WatchedOrderResult(msgspec.Struct, frozen=True):
    pages: int
    watched: int


def list_watched(context: RequestContext, query: WatchedQuery) -> WatchedItems:
    """The watch list."""
    state: WatchedState | None = None if query.state == "all" else query.state
    with context.read_store() as store:
        host = query.host.strip().lower() or None
        found = store.watched.iter_rows(state, host, query.after)
        rows = list(islice(found, query.limit + 1))
        states = {str(name): count for name, count in store.watched.count_by_state().items()}
    more = len(rows) > query.limit
    rows = rows[: query.limit]
    forecast = context.shared_for(ForecastCache).latest_forecast() if rows else None
    return WatchedItems(
        [_watched_item(row, forecast) for row in rows], rows[-1].id if more else None, states
    )


def _watched_item(
    row: WatchedRow, forecast: VisitForecast | None, next_at: float | None = None
) -> WatchedItem:
    if next_at is None and forecast is not None and row.state == "watched":
        why = forecast.explain_visit(row.url)
        next_at = why.next_at if why is not None else None
    every = 86_400.0 / estimate_rate(row.rate).per_day if row.rate else None
    return copy_fields(WatchedItem, row, every=every, next_at=next_at)


def next_visits(context: RequestContext, query: NextVisitsQuery) -> NextVisits:
    """The pages that are visited next."""
    forecast = context.shared_for(ForecastCache).latest_forecast()
    with context.read_store() as store:
        watched = store.watched.count_by_state().get("watched", 0)
        if forecast is None:
            return NextVisits(None, watched, [])
        found = [(store.watched.find_row(url), at) for url, at in forecast.next_visits(query.count)]
    rows = [
        _watched_item(row, None, at)
        for row, at in found
        if row is not None and row.state == "watched"
    ]
    return NextVisits(forecast.at, watched, rows)


def explain_next_visit(context: RequestContext, query: NextVisitQuery) -> NextVisitReason:
    """When a page is visited next, and why then."""
    with context.read_store() as store:
        url = resolve_url(store, query.url)
        row = store.watched.find_row(url)
    if row is None:
        raise ResourceMissing(f"{url} is not watched")
    forecast = context.shared_for(ForecastCache).latest_forecast()
    found = forecast.explain_visit(url) if forecast is not None else None
    if found is None:
        ready = forecast is not None or row.state != "watched"
        reason = row.state if row.state != "watched" else "it was added just now"
        return NextVisitReason(url, row.state, None, reason, None, None, None, ready)
    low, middle, high = found.rate.low, found.rate.per_day, found.rate.high
    return NextVisitReason(url, row.state, found.next_at, found.reason, middle, low, high, True)


def order_watched(context: RequestContext, body: WatchedOrder) -> WatchedOrderResult:
    """Add, pause, resume, remove, set the weight."""
    action = "weight" if body.action == "weigh" else body.action
    if action == "weight" and body.weight is None:
        raise ConfigError("say which weight; 1 is that of all other pages")
    if not context.has_store:
        # Nothing was crawled yet, which is no reason not to watch a page.
        Store.open(context.collection_folder, "crawl").close()
    with open_existing_store(context.collection_folder, "write") as store:
        urls = [resolve_url(store, url) for url in body.urls]
        weight = body.weight if action == "weight" else None
        done = edit_watch_list(store, action, urls, time.time(), weight)
        watched = store.watched.count_by_state().get("watched", 0)
    context.shared_for(ForecastCache).mark_stale()
    return WatchedOrderResult(done, watched)


_PATH = "/api/c/{name}/watched"
ROUTES: tuple[Route, ...] = (
    Route("GET", _PATH, list_watched),
    Route("POST", _PATH, order_watched),
    Route("GET", f"{_PATH}/next", next_visits),
    Route("GET", f"{_PATH}/why", explain_next_visit),
)
