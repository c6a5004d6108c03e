"""What search engines were asked, what it brought and what it cost, told for people.

Only reads, so it may be asked while a crawl runs.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any

from honeyguide.config import Settings
from honeyguide.crawl.engine_state import account, problem_of, words
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.progress import money
from honeyguide.crawl.queries import taken
from honeyguide.crawl.suggest import recall
from honeyguide.search_settings import leads_away
from honeyguide.seeds.query import parse
from honeyguide.seeds.query_bandit import Pulls
from honeyguide.store.lock import holder
from honeyguide.store.searches import Search
from honeyguide.store.store import Store

_ROWS = 2_000
"""Newest different queries that are told."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and what came of it."""

    query: str
    by: str
    """``composed``, ``user``, or a person's name."""
    pages: int
    """Pages of results that were asked for and came."""
    results: int
    fresh: int | None
    """Results that the crawl did not know before; None: it has not looked at them yet."""
    fetched: int
    """Results that were visited, whenever that was, and whoever led there …"""
    relevant: int
    """… of which were relevant."""
    mean: float | None
    """The mean verdict of those that were fetched; None: none was."""
    price: float
    stopped: str
    """Why it is asked no more; '': it may be."""
    failures: int
    trouble: str
    """What went wrong last, in words."""
    at: float
    """When it was last asked."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What this month's requests came to."""

    requests: int
    limit: int
    """0: none."""
    cost: float
    price: float
    """Of 1,000 requests; 0: free."""
    shared: bool
    """Whether those of all collections with the same key are counted; else of this one only."""
    lab: bool = False
    """They went to the lab's engine: neither a budget nor a price counts there."""

    def words(self) -> str:
        of = f" of {self.limit}" if self.limit else ""
        cost = f", {money(self.cost)} at {self.price:g} for 1,000" if self.price else ""
        whose = " by all collections" if self.shared else ""
        lab = "; no budget is kept in the lab" if self.lab else ""
        return f"requests to the engine this month{whose}: {self.requests}{of}{cost}{lab}"


@dataclass(frozen=True, slots=True)
class Trouble:
    """The newest request failed."""

    kind: str
    words: str
    at: float


@dataclass(frozen=True, slots=True)
class Overview:
    engine: str
    """Its name; '': none is set."""
    rows: list[Asked]
    """Newest first."""
    wanted: list[str]
    """People's queries that were not asked yet."""
    spent: Spent
    problem: str
    """Why nothing can be asked, as far as that is known without asking; '': nothing is wrong."""
    trouble: Trouble | None
    running: bool

    def facts(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def overview(folder: Path, settings: Settings, now: float | None = None) -> Overview:
    """How it stands with the queries of a collection; of one that was not crawled yet as well."""
    now = time.time() if now is None else now
    engine, problem = settings.search.engine, problem_of(settings, folder)
    running = holder(folder / "lock") is not None
    if not (folder / "collection.db").exists():
        spent = _spent(folder, settings, 0, 0.0, problem)
        return Overview(engine, [], list(settings.search.queries), spent, problem, None, running)
    with existing(folder, "read") as store:
        searches = store.searches.all()
        sums = store.searches.sums(month(now))
        rows = _rows(store, settings, searches)
        wanted = _wanted(store, settings, searches)
    spent = _spent(folder, settings, sums.asked, sums.price, problem)
    return Overview(engine, rows, wanted, spent, problem, _trouble(searches), running)


def month(now: float) -> float:
    """When the calendar month began, in universal time."""
    day = datetime.fromtimestamp(now, UTC)
    return day.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()


def _trouble(searches: list[Search]) -> Trouble | None:
    last = searches[-1] if searches else None
    if last is None or not last.outcome:
        return None
    return Trouble(last.outcome, words(last.outcome, last.detail), last.at)


def _spent(folder: Path, settings: Settings, requests: int, cost: float, problem: str) -> Spent:
    known = None if problem else account(settings, folder)
    if known is not None:
        requests, cost = known.requests, known.cost
    limits = settings.search
    if settings.fetch.lab:
        return Spent(requests, 0, 0.0, 0.0, shared=False, lab=True)
    return Spent(requests, limits.per_month, cost, limits.price, known is not None)


def alike(searches: Iterable[Search]) -> dict[str, list[Search]]:
    """By query: the same words in another order are the same."""
    groups: dict[str, list[Search]] = defaultdict(list)
    for search in searches:
        groups[parse(search.query).key].append(search)
    return dict(groups)


def _rows(store: Store, settings: Settings, searches: list[Search]) -> list[Asked]:
    groups = alike(searches)
    pulls = Pulls(settings.crawl.seed, settings.search.most_queries)
    recall(store, pulls)
    stopped = {arm.query.key: arm.stopped for arm in pulls.arms()}
    done = taken(store)
    newest = nlargest(_ROWS, groups.items(), key=lambda item: item[1][-1].at)
    return [_row(store, group, done, stopped.get(key, "")) for key, group in newest]


def _row(store: Store, group: list[Search], done: int, stopped: str) -> Asked:
    worth = store.searches.worth([search.id for search in group])
    came = [search for search in group if not search.outcome]
    pages = {search.page: search.results for search in came}  # the last time, if asked again
    failed = [search for search in group if search.outcome]
    people = [search.by for search in group if search.by != "composed"]
    worst = failed[-1] if failed else None
    return Asked(
        group[0].query,
        people[0] if people else "composed",
        len(pages),
        sum(pages.values()),
        sum(search.fresh for search in came) if any(s.id <= done for s in came) else None,
        worth.fetched,
        worth.relevant,
        worth.mean if worth.fetched else None,
        sum(search.price for search in group),
        stopped,
        len(failed),
        words(worst.outcome, worst.detail) if worst else "",
        group[-1].at,
    )


def _wanted(store: Store, settings: Settings, searches: Iterable[Search]) -> list[str]:
    """People's queries that were not answered yet, in the order in which they will be asked."""
    asked = {parse(search.query).key for search in searches if not search.outcome}
    said = [*settings.search.queries, *(query for _, query, _ in store.searches.wanted())]
    keyed = {parse(text).key: text for text in said if not leads_away(text)}
    return [text for key, text in keyed.items() if key and key not in asked]
