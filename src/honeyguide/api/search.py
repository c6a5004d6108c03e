"""The search engine of a collection, from outside: suggest, run, list and allow queries."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide import __version__
from honeyguide.config.settings import Settings, has_bang_command
from honeyguide.crawl.rescore import current_judge
from honeyguide.crawl.signals import run_in_loop
from honeyguide.crawl.status import format_money
from honeyguide.errors import ConfigError, HoneyguideError, SearchError
from honeyguide.fetch.http import make_user_agent
from honeyguide.protocols import Strategy
from honeyguide.search import credentials
from honeyguide.search.engine import ResultPage, SearchEngine, SearchResult
from honeyguide.search.engines import configured_engine, make_engine_fetcher, make_quota
from honeyguide.search.http_client import TOO_LARGE_TEXT, MonthlyUsage
from honeyguide.search.query import Query, parse_query
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.search.query_planner import newest_taken_search, restore_query_bandit
from honeyguide.search.session import canonical_hits
from honeyguide.store.collection_files import lock_holder
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store, open_existing_store
from honeyguide.types import Request, Response, Url

ENGINE_UNSET = (
    "no search engine is set: write engine and url under [search] in topic.toml, such as\n"
    '  [search]\n  engine = "searxng"\n  url = "http://localhost:8080/search"'
)
_ERROR_WORDS = {
    "down": "the search engine does not answer",
    "slow": "the search engine took too long",
    "limited": "the search engine asks for fewer requests",
    "refused": "the search engine refuses",
    "garbage": "the search engine's answer is not a list of results",
    "spent": "this month's requests are used up",
}
_ERROR_FIXES = {
    "down": "is it running, and is search.url right?",
    "slow": "try again later, or use another one",
    "limited": "a lower search.per_minute avoids that",
    "refused": "is the key right, and does search.url lead to its API?",
    "garbage": "does search.url lead to its API, and may it answer in JSON?",
}


def engine_problem(settings: Settings, folder: Path) -> str:
    """Why no engine can be asked, without asking it; '': nothing is known against it."""
    if not settings.search.engine:
        return ENGINE_UNSET
    try:
        make_user_agent(settings.fetch.contact, __version__)
        configured_engine(settings, folder, _UnusedFetcher())
    except ConfigError as error:
        return str(error)
    return ""


def allow_engine(settings: Settings, folder: Path) -> Path | None:
    """Note that the user wants this engine asked for this collection, with its key and wherever it
    is: where; None if nobody need agree. Raises ConfigError."""
    if not settings.search.engine or settings.fetch.lab:
        return None
    return credentials.grant_consent(credentials.required_consent(settings.search, folder))


def month_usage(settings: Settings, folder: Path) -> MonthlyUsage | None:
    """What all collections with this key asked for this month; None: nobody counts."""
    try:
        spending = make_quota(settings.search, time.time, folder)
        return spending.current_usage() if spending is not None and not settings.fetch.lab else None
    except ConfigError:
        return None  # told when something is asked


def describe_engine_error(kind: str, detail: str) -> str:
    """What went wrong, and what helps. The detail never holds a key."""
    fix = _ERROR_FIXES.get(kind, "")
    what = _ERROR_WORDS.get(kind, "the search engine failed")
    if detail.startswith(TOO_LARGE_TEXT):
        what = "the search engine's answer cannot be used"
    said = f"{what}: {detail}".rstrip(": .")
    return f"{said}; {fix}" if fix else said


class _UnusedFetcher:
    """A fetcher for an engine that is only looked at."""

    async def fetch(self, request: Request) -> Response:  # noqa: ARG002 - nobody calls it
        raise AssertionError("an engine that is only looked at asks nothing")

    async def aclose(self) -> None: ...


# --------------------------------------------------------------------------------------------------
# What search engines were asked, what it brought and what it cost, told for people.
#
# Only reads, so it may be asked while a crawl runs.
# --------------------------------------------------------------------------------------------------


_MAX_QUERY_ROWS = 2_000
"""Newest different queries that are told."""


@dataclass(frozen=True, slots=True)
class QueryReport:
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
class SearchCosts:
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

    def to_text(self) -> str:
        of = f" of {self.limit}" if self.limit else ""
        cost = f", {format_money(self.cost)} at {self.price:g} for 1,000" if self.price else ""
        whose = " by all collections" if self.shared else ""
        lab = "; the lab has no budget" if self.lab else ""
        return f"requests to the engine this month{whose}: {self.requests}{of}{cost}{lab}"


@dataclass(frozen=True, slots=True)
class EngineTrouble:
    """The newest request failed."""

    kind: str
    words: str
    at: float


@dataclass(frozen=True, slots=True)
class SearchOverview:
    engine: str
    """Its name; '': none is set."""
    rows: list[QueryReport]
    """Newest first."""
    wanted: list[str]
    """People's queries that were not asked yet."""
    spent: SearchCosts
    problem: str
    """Why nothing can be asked, as far as that is known without asking; '': nothing is wrong."""
    trouble: EngineTrouble | None
    running: bool

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def search_overview(folder: Path, settings: Settings, now: float | None = None) -> SearchOverview:
    """How it stands with the queries of a collection; of one that was not crawled yet as well."""
    now = time.time() if now is None else now
    engine, problem = settings.search.engine, engine_problem(settings, folder)
    running = lock_holder(folder / "lock") is not None
    if not (folder / "collection.db").exists():
        spent = _month_costs(folder, settings, 0, 0.0, problem)
        return SearchOverview(
            engine, [], list(settings.search.queries), spent, problem, None, running
        )
    with open_existing_store(folder, "read") as store:
        searches = store.searches.list_searches()
        sums = store.searches.search_totals(month_start(now))
        rows = _query_reports(store, settings, searches)
        wanted = _unanswered_wishes(store, settings, searches)
    spent = _month_costs(folder, settings, sums.asked, sums.price, problem)
    return SearchOverview(engine, rows, wanted, spent, problem, _newest_trouble(searches), running)


def month_start(now: float) -> float:
    """When the calendar month began, in universal time."""
    day = datetime.fromtimestamp(now, UTC)
    return day.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()


def _newest_trouble(searches: list[SearchRow]) -> EngineTrouble | None:
    last = searches[-1] if searches else None
    if last is None or not last.outcome:
        return None
    return EngineTrouble(last.outcome, describe_engine_error(last.outcome, last.detail), last.at)


def _month_costs(
    folder: Path, settings: Settings, requests: int, cost: float, problem: str
) -> SearchCosts:
    known = None if problem else month_usage(settings, folder)
    if known is not None:
        requests, cost = known.requests, known.cost
    limits = settings.search
    if settings.fetch.lab:
        return SearchCosts(requests, 0, 0.0, 0.0, shared=False, lab=True)
    return SearchCosts(requests, limits.per_month, cost, limits.price, known is not None)


def group_by_query(searches: Iterable[SearchRow]) -> dict[str, list[SearchRow]]:
    """By query: the same words in another order are the same."""
    groups: dict[str, list[SearchRow]] = defaultdict(list)
    for search in searches:
        groups[parse_query(search.query).key].append(search)
    return dict(groups)


def _query_reports(
    store: Store, settings: Settings, searches: list[SearchRow]
) -> list[QueryReport]:
    groups = group_by_query(searches)
    pulls = QueryBandit(settings.crawl.random_seed, settings.search.most_queries)
    restore_query_bandit(store, pulls)
    stopped = {arm.query.key: arm.stopped for arm in pulls.arms()}
    done = newest_taken_search(store)
    newest = nlargest(_MAX_QUERY_ROWS, groups.items(), key=lambda item: item[1][-1].at)
    return [_query_report(store, group, done, stopped.get(key, "")) for key, group in newest]


def _query_report(store: Store, group: list[SearchRow], done: int, stopped: str) -> QueryReport:
    worth = store.searches.result_stats([search.id for search in group])
    came = [search for search in group if not search.outcome]
    pages = {search.page: search.results for search in came}  # the last time, if asked again
    failed = [search for search in group if search.outcome]
    people = [search.by for search in group if search.by != "composed"]
    worst = failed[-1] if failed else None
    return QueryReport(
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
        describe_engine_error(worst.outcome, worst.detail) if worst else "",
        group[-1].at,
    )


def _unanswered_wishes(
    store: Store, settings: Settings, searches: Iterable[SearchRow]
) -> list[str]:
    """People's queries that were not answered yet, in the order in which they will be asked."""
    asked = {parse_query(search.query).key for search in searches if not search.outcome}
    said = [
        *settings.search.queries,
        *(query for _, query, _ in store.searches.requested_queries()),
    ]
    keyed = {parse_query(text).key: text for text in said if not has_bang_command(text)}
    return [text for key, text in keyed.items() if key and key not in asked]


# --------------------------------------------------------------------------------------------------
# Asking a search engine for a person: one query now, or a trial of the engine.
#
# A query is asked here only if no crawl runs on the collection; otherwise it is left in the store,
# and the crawl asks it next. What comes is written into the store page by page, where the next
# crawl takes it from: an interruption loses at most the page that was under way.
# --------------------------------------------------------------------------------------------------


_MAX_QUERY_LENGTH = 400
"""Characters of a query."""
_MAX_QUERIES = 20
"""Queries at once."""
_UNKNOWN_YIELD = 0.5
"""What a query is expected to yield of which nothing is known."""
PAGE_TIMEOUT_S = 120.0
"""Longest time for one page of results, trying again included."""
_TRIAL_QUERY = "test"


class ScoredResult(NamedTuple):
    """A result, and what the strategy expects of it."""

    url: Url
    title: str
    snippet: str
    score: float
    known: bool
    """Whether it was visited before …"""
    verdict: float | None
    """… and what the page was found to be worth."""


class QueryAnswer(NamedTuple):
    """What came of one query."""

    query: str
    results: list[ScoredResult]
    unvisited: int
    """Results that were not visited before. Whether the crawl knows them otherwise, it says when
    it takes them."""
    error: SearchError | None = None
    said: str = ""
    """The error in words."""

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "query": self.query,
            "unvisited": self.unvisited,
            "error": self.error.kind if self.error else "",
            "said": self.said,
            "results": [row._asdict() for row in self.results],
        }


class ManualSearch(NamedTuple):
    left: list[str]
    """Queries that were left for the crawl that runs …"""
    asked: list[QueryAnswer]
    """… or what came of each."""


class _AskOptions(NamedTuple):
    """How a query is asked."""

    pages: int
    by: str
    patience: float


class EngineTrial(NamedTuple):
    """Whether an engine can be asked."""

    ok: bool
    said: str
    kind: str = ""
    exit_code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"ok": self.ok, "said": self.said, "kind": self.kind}


def run_queries(
    folder: Path,
    settings: Settings,
    texts: Sequence[str],
    pages: int = 1,
    *,
    by: str = "user",
    patience: float = PAGE_TIMEOUT_S,
) -> ManualSearch:
    """Ask these now, or leave them for the crawl that runs; a ConfigError if that cannot be, or
    CollectionCorrupt if the answers could not be kept."""
    queries = _parse_queries(texts)
    if problem := engine_problem(settings, folder):
        raise ConfigError(problem)
    if (folder / "collection.db").exists():
        with open_existing_store(folder, "read") as store:
            store.searches.check_capacity()
    if lock_holder(folder / "lock") is not None:
        with open_existing_store(folder, "write") as store:
            for query in queries:
                store.searches.request_query(str(query), by, time.time())
        return ManualSearch([str(query) for query in queries], [])
    return run_in_loop(_ask_all(folder, settings, queries, _AskOptions(pages, by, patience)))


def try_engine(
    folder: Path, settings: Settings, text: str = "", *, patience: float = PAGE_TIMEOUT_S
) -> EngineTrial:
    """One question, of which nothing is kept; '': something of the topic is asked for."""
    known = (text, *settings.search.queries, *settings.topic.keywords, _TRIAL_QUERY)
    (query,) = _parse_queries([next(filter(str.strip, known))])
    if problem := engine_problem(settings, folder):
        return EngineTrial(False, problem, "settings", ConfigError.exit_code)
    return run_in_loop(_try_query(folder, settings, query, patience))


async def _ask_all(
    folder: Path, settings: Settings, queries: Sequence[Query], how: _AskOptions
) -> ManualSearch:
    fetcher = make_engine_fetcher(settings, folder)
    try:
        engine = configured_engine(settings, folder, fetcher)
        strategy, _ = current_judge(folder, settings)
        asked: list[QueryAnswer] = []
        for query in queries:
            asked.append(
                await _ask_query(engine, query, how, _ResultStore(folder, settings, strategy))
            )
            if asked[-1].error is not None and math.isinf(asked[-1].error.wait):
                break  # the others would be told the same
        return ManualSearch([], asked)
    finally:
        await fetcher.aclose()


async def _ask_query(
    engine: SearchEngine, query: Query, how: _AskOptions, shelf: _ResultStore
) -> QueryAnswer:
    rows: list[ScoredResult] = []
    error = None
    for page in range(1, how.pages + 1):
        search = SearchRow(time.time(), engine.name, str(query), page, how.by, price=engine.price)
        try:
            search = replace(search, address=engine.address(query, page))
            found = await _request_results(engine, query, page, how.patience)
        except SearchError as failure:
            error = failure
            price = engine.price if error.kind in ("slow", "garbage") else 0.0
            failed = replace(search, outcome=error.kind, detail=error.detail, price=price)
            shelf.save_results(failed, ())
            break
        rows += shelf.save_results(replace(search, more=found.more), found.results)
        if not found.more or not found.results:
            break
    said = describe_engine_error(error.kind, error.detail) if error else ""
    return QueryAnswer(str(query), rows, sum(not row.known for row in rows), error, said)


async def _request_results(
    engine: SearchEngine, query: Query, page: int, patience: float
) -> ResultPage:
    try:
        async with asyncio.timeout(patience):
            return await engine.search(query, page)
    except TimeoutError:
        raise SearchError("slow", f"no answer in {patience:.0f} seconds", 60.0) from None
    except HoneyguideError:
        raise
    except Exception as trouble:  # an engine may be anybody's code
        raise SearchError("garbage", f"its plug-in failed: {type(trouble).__name__}") from trouble


class _ResultStore(NamedTuple):
    """Where results go, and who says what they are worth."""

    folder: Path
    settings: Settings
    strategy: Strategy

    def save_results(
        self, search: SearchRow, results: Sequence[SearchResult]
    ) -> list[ScoredResult]:
        """Into the store, at once; opened anew, so that a crawl may begin meanwhile."""
        new = not (self.folder / "collection.db").exists()
        hits = canonical_hits(results, self.settings.scope.strip_tracking)
        links = [hit.to_link(Url(search.address), _UNKNOWN_YIELD) for hit in hits]
        scores = self.strategy.rank(links) if links else []
        with Store.open(self.folder, "crawl" if new else "write", self.settings.store) as store:
            store.searches.add_search(search, hits)
            rows = []
            for hit, score in zip(hits, scores, strict=True):
                visits = store.visits.attempts_at(hit.url)
                verdict = visits[-1].verdict if visits else None
                rows.append(ScoredResult(*hit, score, bool(visits), verdict))
        return rows


async def _try_query(
    folder: Path, settings: Settings, query: Query, patience: float
) -> EngineTrial:
    fetcher = make_engine_fetcher(settings, folder)
    began = time.perf_counter()
    try:
        engine = configured_engine(settings, folder, fetcher)
        found = await _request_results(engine, query, 1, patience)
    except SearchError as error:
        text = describe_engine_error(error.kind, error.detail)
        return EngineTrial(False, text, error.kind, error.exit_code)
    finally:
        await fetcher.aclose()
    number, took = len(found.results), time.perf_counter() - began
    results = f"{number} result{'' if number == 1 else 's'}"
    return EngineTrial(True, f"{engine.name} answers: {results} for {str(query)!r} in {took:.1f} s")


def _parse_queries(texts: Sequence[str]) -> list[Query]:
    if len(texts) > _MAX_QUERIES:
        raise ConfigError(f"at most {_MAX_QUERIES} queries at once")
    queries = [" ".join(text.split()) for text in texts]
    for text in queries:
        if not text or len(text) > _MAX_QUERY_LENGTH or not text.isprintable():
            raise ConfigError(f"a query has 1 to {_MAX_QUERY_LENGTH} characters: {text[:40]!r}")
        if has_bang_command(text):
            raise ConfigError(
                f"a word that begins with !! sends the question to another engine, and no results "
                f"come back; leave the !! out: {text[:40]!r}"
            )
    return [Query(text=text) for text in dict.fromkeys(queries)]
