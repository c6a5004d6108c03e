"""The watch list: which pages, when each is visited next and why then, and what people say."""

from __future__ import annotations

import time
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from honeyguide.crawl.open_store import existing
from honeyguide.crawl.user_urls import known
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.store.watched_rows import State, WatchedRow
from honeyguide.studio.routes import Here, Missing, Route
from honeyguide.studio.watch_forecast import Upcoming
from honeyguide.watch.forecast import Foretold
from honeyguide.watch.list_edits import speak
from honeyguide.watch.when.rates import rate

Address = Annotated[str, Meta(min_length=1, max_length=4_096)]


class Listing(msgspec.Struct, frozen=True):
    state: State | Literal["all"] = "watched"
    host: Annotated[str, Meta(max_length=300)] = ""
    after: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Watched(msgspec.Struct, frozen=True):
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


class List(msgspec.Struct, frozen=True):
    rows: list[Watched]
    next: int | None
    states: dict[str, int]


class Soon(msgspec.Struct, frozen=True):
    count: Annotated[int, Meta(ge=1, le=200)] = 30


class Next(msgspec.Struct, frozen=True):
    at: float | None
    """When this was worked out; None: it is being worked out for the first time."""
    watched: int
    rows: list[Watched]


class Page(msgspec.Struct, frozen=True):
    url: Address


class Why(msgspec.Struct, frozen=True):
    url: str
    state: str
    next_at: float | None
    reason: str
    per_day: float | None
    low: float | None
    high: float | None
    ready: bool
    """False: it is still being worked out."""


class Word(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    action: Literal["add", "remove", "pause", "resume", "weigh"]
    urls: Annotated[list[Address], Meta(min_length=1, max_length=500)]
    weight: Annotated[float, Meta(ge=0.001, le=1000)] | None = None


class Done(msgspec.Struct, frozen=True):
    pages: int
    watched: int


def listing(here: Here, query: Listing) -> List:
    state: State | None = None if query.state == "all" else query.state
    with here.store() as store:
        host = query.host.strip().lower() or None
        rows = store.watched.some(state, host, query.after, query.limit + 1)
        states = {str(name): count for name, count in store.watched.counts().items()}
    more = len(rows) > query.limit
    rows = rows[: query.limit]
    foretold = here.kept(Upcoming).seen() if rows else None
    return List([_row(row, foretold) for row in rows], rows[-1].id if more else None, states)


def _row(row: WatchedRow, foretold: Foretold | None, next_at: float | None = None) -> Watched:
    if next_at is None and foretold is not None and row.state == "watched":
        why = foretold.why(row.url)
        next_at = why.next_at if why is not None else None
    return Watched(
        row.id,
        row.url,
        row.state,
        row.by,
        row.weight,
        row.visits,
        row.changes,
        row.failures,
        86_400.0 / rate(row.rate).per_day if row.rate else None,
        row.visited,
        row.changed,
        next_at,
        row.note,
    )


def soonest(here: Here, query: Soon) -> Next:
    foretold = here.kept(Upcoming).seen()
    with here.store() as store:
        watched = store.watched.counts().get("watched", 0)
        if foretold is None:
            return Next(None, watched, [])
        found = [(store.watched.find(url), at) for url, at in foretold.soonest(query.count)]
    rows = [_row(row, None, at) for row, at in found if row is not None and row.state == "watched"]
    return Next(foretold.at, watched, rows)


def why(here: Here, query: Page) -> Why:
    with here.store() as store:
        url = known(store, query.url)
        row = store.watched.find(url)
    if row is None:
        raise Missing(f"{url} is not watched")
    foretold = here.kept(Upcoming).seen()
    found = foretold.why(url) if foretold is not None else None
    if found is None:
        ready = foretold is not None or row.state != "watched"
        said = row.state if row.state != "watched" else "it was added just now"
        return Why(url, row.state, None, said, None, None, None, ready)
    low, middle, high = found.rate.low, found.rate.per_day, found.rate.high
    return Why(url, row.state, found.next_at, found.reason, middle, low, high, True)


def say(here: Here, body: Word) -> Done:
    if body.action == "weigh" and body.weight is None:
        raise ConfigError("say which weight; 1 is that of all other pages")
    if not (here.place / "collection.db").exists():
        # Nothing was crawled yet, which is no reason not to watch a page.
        Store.open(here.place, "crawl").close()
    with existing(here.place, "write") as store:
        urls = [known(store, url) for url in body.urls]
        weight = body.weight if body.action == "weigh" else None
        done = speak(store, body.action, urls, time.time(), weight)
        watched = store.watched.counts().get("watched", 0)
    here.kept(Upcoming).spoil()
    return Done(done, watched)


_HERE = "/api/c/{name}/watched"
ROUTES: tuple[Route, ...] = (
    Route("GET", _HERE, listing, query=Listing, returns=List, summary="The watch list"),
    Route("POST", _HERE, say, body=Word, returns=Done, summary="Add, pause, resume, weigh, remove"),
    Route(
        "GET", f"{_HERE}/next", soonest, query=Soon, returns=Next,
        summary="The pages that are visited next",
    ),
    Route(
        "GET", f"{_HERE}/why", why, query=Page, returns=Why,
        summary="When a page is visited next, and why then",
    ),
)  # fmt: skip
