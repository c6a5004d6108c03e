"""The Queries screen: what search engines were asked, suggestions, and queries of a person."""

from __future__ import annotations

import math
import time
from pathlib import Path
from threading import Lock
from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.api import search
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError
from honeyguide.search.query_planner import QuerySuggestions, suggest_queries
from honeyguide.store.store import open_existing_store
from honeyguide.studio.routes import RequestContext, Route, copy_fields
from honeyguide.url import canonical_url, host_of

_TITLE_CHARS = 200
_MAX_SUGGESTIONS = 20
"""Suggestions that are worked out at once."""
_PATIENCE_S = 25.0
"""The browser waits half a minute."""
_EXAMPLE_TOML = """\
[search]
engine = "searxng"
url = "http://localhost:8080/search"
"""


class EngineInfo(msgspec.Struct, frozen=True):
    name: str
    """'': none is set."""
    address: str
    """Its host, if it is known."""
    mode: str
    compose: bool
    problem: str
    """Why it cannot be asked, as far as that is known without asking."""


class QueriesView(msgspec.Struct, frozen=True):
    engine: EngineInfo
    spent: search.SearchCosts
    running: bool
    rows: list[search.QueryReport]
    wanted: list[str]
    """People's queries that were not asked yet."""
    trouble: search.EngineTrouble | None
    example: str = _EXAMPLE_TOML
    """What to write into topic.toml where no engine is set."""


class SuggestionsQuery(msgspec.Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, le=_MAX_SUGGESTIONS)] = 10


class SuggestionPage(msgspec.Struct, frozen=True):
    url: str
    title: str


class SuggestionItem(msgspec.Struct, frozen=True):
    query: str
    expected: float | None
    """The mean verdict expected of its results; None: not known yet."""
    why: str
    pages: list[SuggestionPage]
    """Those that it was made from."""


class SuggestionItems(msgspec.Struct, frozen=True):
    rows: list[SuggestionItem]
    why: str


class NewQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    query: Annotated[str, Meta(min_length=1, max_length=400)]


class EngineTrialQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    query: Annotated[str, Meta(max_length=400)] = ""
    """What to ask for; '': something of the topic."""


class SearchResultItem(msgspec.Struct, frozen=True):
    url: str
    title: str
    snippet: str
    score: float
    """What the strategy expects of it."""
    known: bool
    verdict: float | None


class AskedQueryResult(msgspec.Struct, frozen=True):
    left: bool
    """It was left for the crawl that runs."""
    said: str
    failed: str
    """What went wrong, in words."""
    results: list[SearchResultItem]


class EngineTrialResult(msgspec.Struct, frozen=True):
    ok: bool
    said: str


class QueriesCache:
    """What takes long is worked out once for all who look: what was asked, as often as a tenth of
    the time allows; suggestions, when there is more to make them from. One query is asked at a
    time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._seen: tuple[float, Settings, search.SearchOverview] | None = None
        """Until when, by which settings, and what."""
        self._known: tuple[object, SuggestionItems] | None = None
        self.asking = Lock()

    def get_overview(self, settings: Settings) -> search.SearchOverview:
        with self._lock:
            began = time.monotonic()
            if self._seen is None or began >= self._seen[0] or self._seen[1] != settings:
                found = search.search_overview(self._folder, settings)
                now = time.monotonic()
                self._seen = (now + 9 * (now - began), settings, found)
            return self._seen[2]

    def forget_overview(self) -> None:
        """Something was asked: whoever looks next wants to see it."""
        with self._lock:
            self._seen = None

    def get_suggestions(self, settings: Settings) -> SuggestionItems:
        with self._lock:
            stamp = self._suggestion_stamp(settings)
            if self._known is None or self._known[0] != stamp:
                found = suggest_queries(self._folder, settings, _MAX_SUGGESTIONS)
                self._known = (stamp, self._suggestion_items(found))
            return self._known[1]

    def _suggestion_stamp(self, settings: Settings) -> object:
        chosen = (settings.topic, settings.topics, settings.search)
        if not (self._folder / "collection.db").exists():
            return chosen
        with open_existing_store(self._folder, "read") as store:
            counts, last = store.counter.read_counts(), store.searches.newest_search()
        # A tenth more good pages: as often as the crawl itself thinks anew.
        grown = int(math.log(1 + counts.relevant, 1.1))
        return (chosen, grown, counts.labels, last.id if last else 0)

    def _suggestion_items(self, found: QuerySuggestions) -> SuggestionItems:
        titles: dict[str, str] = {}
        if (self._folder / "collection.db").exists():
            with open_existing_store(self._folder, "read") as store:
                for url in {page for one in found.suggestions for page in one.pages}:
                    if visits := store.visits.attempts_at(url):
                        titles[url] = visits[-1].title[:_TITLE_CHARS]
        rows = []
        for one in found.suggestions:
            pages = [SuggestionPage(url, titles.get(url, "")) for url in one.pages]
            rows.append(SuggestionItem(str(one.query), one.expected, one.why, pages))
        return SuggestionItems(rows, found.to_text())


def queries_view(context: RequestContext) -> QueriesView:
    """What search engines were asked, what it brought and what it cost."""
    settings = context.open_collection().settings
    found = context.shared_for(QueriesCache).get_overview(settings)
    chosen = settings.search
    problem = found.problem if found.engine else ""
    host = _engine_host(chosen.url)
    engine = EngineInfo(found.engine, host, chosen.mode, chosen.compose, problem)
    return copy_fields(QueriesView, found, engine=engine, example=_EXAMPLE_TOML)


def _engine_host(address: str) -> str:
    """As the user wrote it: perhaps without a slash, perhaps no address at all."""
    url = canonical_url(address)
    return "" if url is None else host_of(url)


def list_suggestions(context: RequestContext, query: SuggestionsQuery) -> SuggestionItems:
    """Queries worth asking next, and the pages that they were made from."""
    known = context.shared_for(QueriesCache).get_suggestions(context.open_collection().settings)
    return msgspec.structs.replace(known, rows=known.rows[: query.number])


def ask_query(context: RequestContext, body: NewQuery) -> AskedQueryResult:
    """Ask a query now, or leave it for the crawl that runs."""
    settings, thinking = context.open_collection().settings, context.shared_for(QueriesCache)
    if not thinking.asking.acquire(timeout=_PATIENCE_S / 10):
        raise ConfigError("another query is being asked; try again in a moment")
    try:
        by = context.person or "user"
        done = search.run_queries(
            context.collection_folder, settings, [body.query], by=by, patience=_PATIENCE_S
        )
    finally:
        thinking.asking.release()
        thinking.forget_overview()
    if done.left:
        return AskedQueryResult(
            True, f"The crawl that is running will ask this next: {done.left[0]}", "", []
        )
    (came,) = done.asked
    results = "1 result" if len(came.results) == 1 else f"{len(came.results)} results"
    message = f"{results}, {came.unvisited} not visited yet. The next crawl fetches those."
    return AskedQueryResult(
        False, message, came.said, [SearchResultItem(*row) for row in came.results]
    )


def try_engine(context: RequestContext, body: EngineTrialQuery) -> EngineTrialResult:
    """One question, to see that the engine, its address and its key work."""
    settings = context.open_collection().settings
    found = search.try_engine(context.collection_folder, settings, body.query, patience=_PATIENCE_S)
    return EngineTrialResult(found.ok, found.said)


_PATH = "/api/c/{name}/queries"
ROUTES: tuple[Route, ...] = (
    Route("GET", _PATH, queries_view),
    Route("POST", _PATH, ask_query),
    Route("GET", f"{_PATH}/suggestions", list_suggestions),
    Route("POST", f"{_PATH}/test", try_engine),
)
