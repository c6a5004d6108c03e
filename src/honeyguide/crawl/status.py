"""How a collection stands: what its store counts, and what its settings allow."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime

from honeyguide.config import Settings
from honeyguide.crawl import stopping as exhausted
from honeyguide.crawl.languages import wanted_of
from honeyguide.crawl.missing_pages import lost
from honeyguide.crawl.progress import others
from honeyguide.errors import ConfigError
from honeyguide.learning.coverage import Estimate
from honeyguide.store.counts import Counts, HostRow
from honeyguide.store.lock import holder
from honeyguide.store.row_checks import decimal
from honeyguide.store.store import Store


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search engine was asked for a collection, and what it answered. These requests are no
    visits."""

    engine: str
    """The one that is set; '': none any more."""
    queries: int
    """Different ones."""
    asked: int
    """Requests, of which …"""
    failed: int
    """… were not answered."""
    results: int
    fresh: int
    """Results that were not known otherwise."""
    month: int
    """Requests of this calendar month …"""
    cost: float
    """… and what they cost."""
    trouble: str = ""
    """Why the newest request was not answered; '': it was."""


@dataclass(frozen=True, slots=True)
class Status(Counts):
    """The counts of a collection, and what goes on around them."""

    budget: int = 0
    """``crawl.pages``; 0: no limit."""
    waiting: int | None = None
    """Links in the frontier at the last commit; None: not known."""
    redirects: int = 0
    statuses: dict[int, int] | None = None
    """Refusals by HTTP status."""
    rate: float | None = None
    """Visits per second in the last run."""
    strategy: str = ""
    generation: int | None = None
    shards: int = 1
    """Processes that it is crawled in."""
    crawler_pid: int | None = None
    """The process that crawls it now."""
    estimate: Estimate | None = None
    """How much of the topic is found; None: not known."""
    watched: int = 0
    """Pages that a watch comes back to …"""
    changes: int = 0
    """… and changes that it found so far."""
    foreign: dict[str, int] = field(default_factory=dict)
    """Pages in languages that are not wanted, by language."""
    searched: Searched | None = None
    """None: no engine was ever asked."""
    lost: tuple[str, ...] = ()
    """The topic's own seeds and examples that brought no page, in sentences."""
    per_host: tuple[HostRow, ...] = ()
    """The hosts visited most."""


def status(store: Store, settings: Settings, hosts: int) -> Status:
    counts = store.counts()
    waiting = store.meta("waiting") or ""
    redirects, statuses = store.answers()
    links = decimal(waiting)
    pid = holder(store.folder / "lock")
    return Status(
        **{item.name: getattr(counts, item.name) for item in fields(Counts)},
        budget=settings.crawl.pages,
        waiting=links,
        redirects=redirects,
        statuses=statuses,
        rate=_rate(counts, store.meta("run")),
        strategy=settings.crawl.strategy,
        generation=store.live(),
        shards=store.shards,
        crawler_pid=pid,
        estimate=exhausted.told(store, links or 0, crawled=pid is not None),
        watched=store.watched.counts().get("watched", 0),
        changes=len(store.changes),
        foreign=others(counts.tongues, wanted_of(settings)),
        searched=_searched(store, settings, time.time()),
        lost=_lost(store, settings),
        per_host=tuple(store.hosts(limit=hosts)),
    )


def _lost(store: Store, settings: Settings) -> tuple[str, ...]:
    try:
        return tuple(lost(store, settings))
    except ConfigError:
        return ()  # the topic has no seeds (yet): told when it is crawled


def begin(store: Store, visits: int, now: float) -> None:
    """Note where a run begins, so that its rate can be told."""
    store.set_meta("run", json.dumps([now, visits]))


def _searched(store: Store, settings: Settings, now: float) -> Searched | None:
    last = store.searches.last()
    if last is None:
        return None
    month = datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0)
    sums, lately = store.searches.sums(), store.searches.sums(month.timestamp())
    return Searched(
        settings.search.engine,
        sums.queries,
        sums.asked,
        sums.failed,
        sums.results,
        sums.fresh,
        lately.asked,
        lately.price,
        f"{last.outcome}: {last.detail}".rstrip(": ") if last.outcome else "",
    )


def _rate(counts: Counts, run: str | None) -> float | None:
    if run is None or counts.last is None:
        return None
    try:
        began, visits = map(float, json.loads(run))
    except (ValueError, TypeError):
        return None  # not in our words
    if counts.visits <= visits or counts.last <= began:
        return None
    return float((counts.visits - visits) / (counts.last - began))
