"""Asking a search engine for a person: one query now, or a trial of the engine.

A query is asked here only if no crawl runs on the collection; otherwise it is left in the store,
and the crawl asks it next. What comes is written into the store page by page, where the next crawl
takes it from: an interruption loses at most the page that was under way.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl.engine_client import hits_of
from honeyguide.crawl.engine_state import engine_at, problem_of, words
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.rescore_pages import judge_of
from honeyguide.errors import ConfigError, HoneyguideError, SearchError
from honeyguide.protocols import Strategy
from honeyguide.search_settings import leads_away
from honeyguide.seeds.engine import Engine, Found, Result
from honeyguide.seeds.engine_factory import fetcher_of
from honeyguide.seeds.query import Query
from honeyguide.store.lock import holder
from honeyguide.store.searches import Hit, Search
from honeyguide.store.store import Store
from honeyguide.types import Link, Url

_LONGEST = 400
"""Characters of a query."""
_MOST = 20
"""Queries at once."""
_SNIPPET = 300
_PARENT = 0.5
"""What a query is expected to yield of which nothing is known."""
PATIENCE_S = 120.0
"""Longest time for one page of results, trying again included."""
_TRIAL = "test"


class Row(NamedTuple):
    """A result, and what the strategy expects of it."""

    url: Url
    title: str
    snippet: str
    score: float
    known: bool
    """Whether it was visited before …"""
    verdict: float | None
    """… and what the page was found to be worth."""


class Answer(NamedTuple):
    """What came of one query."""

    query: str
    results: list[Row]
    unvisited: int
    """Results that were not visited before. Whether the crawl knows them otherwise, it says when
    it takes them."""
    error: SearchError | None = None
    said: str = ""
    """The error in words."""

    def facts(self) -> dict[str, Any]:
        """For machines."""
        return {
            "query": self.query,
            "unvisited": self.unvisited,
            "error": self.error.kind if self.error else "",
            "said": self.said,
            "results": [row._asdict() for row in self.results],
        }


class Ran(NamedTuple):
    left: list[str]
    """Queries that were left for the crawl that runs …"""
    asked: list[Answer]
    """… or what came of each."""


class _How(NamedTuple):
    """How a query is asked."""

    pages: int
    by: str
    patience: float


class Trial(NamedTuple):
    """Whether an engine can be asked."""

    ok: bool
    said: str
    kind: str = ""
    exit_code: int = 0

    def facts(self) -> dict[str, Any]:
        """For machines."""
        return {"ok": self.ok, "said": self.said, "kind": self.kind}


def run(
    folder: Path,
    settings: Settings,
    texts: Sequence[str],
    pages: int = 1,
    *,
    by: str = "user",
    patience: float = PATIENCE_S,
) -> Ran:
    """Ask these now, or leave them for the crawl that runs; a ConfigError if that cannot be, or
    CollectionCorrupt if the answers could not be kept."""
    queries = _queries(texts)
    if problem := problem_of(settings, folder):
        raise ConfigError(problem)
    if (folder / "collection.db").exists():
        with existing(folder, "read") as store:
            store.searches.check()
    if holder(folder / "lock") is not None:
        with existing(folder, "write") as store:
            for query in queries:
                store.searches.want(str(query), by, time.time())
        return Ran([str(query) for query in queries], [])
    return asyncio.run(_run(folder, settings, queries, _How(pages, by, patience)))


def trial(
    folder: Path, settings: Settings, text: str = "", *, patience: float = PATIENCE_S
) -> Trial:
    """One question, of which nothing is kept; '': something of the topic is asked for."""
    known = (text, *settings.search.queries, *settings.topic.keywords, _TRIAL)
    (query,) = _queries([next(filter(str.strip, known))])
    if problem := problem_of(settings, folder):
        return Trial(False, problem, "settings", ConfigError.exit_code)
    return asyncio.run(_tried(folder, settings, query, patience))


async def _run(folder: Path, settings: Settings, queries: Sequence[Query], how: _How) -> Ran:
    fetcher = fetcher_of(settings, folder)
    try:
        engine = engine_at(settings, folder, fetcher)
        strategy, _ = judge_of(folder, settings)
        asked: list[Answer] = []
        for query in queries:
            asked.append(await _ask(engine, query, how, _Shelf(folder, settings, strategy)))
            if asked[-1].error is not None and math.isinf(asked[-1].error.wait):
                break  # the others would be told the same
        return Ran([], asked)
    finally:
        await fetcher.aclose()


async def _ask(engine: Engine, query: Query, how: _How, shelf: _Shelf) -> Answer:
    rows: list[Row] = []
    error = None
    for page in range(1, how.pages + 1):
        search = Search(time.time(), engine.name, str(query), page, how.by, price=engine.price)
        try:
            search = replace(search, address=engine.address(query, page))
            found = await _found(engine, query, page, how.patience)
        except SearchError as failure:
            error = failure
            price = engine.price if error.kind in ("slow", "garbage") else 0.0
            failed = replace(search, outcome=error.kind, detail=error.detail, price=price)
            shelf.keep(failed, ())
            break
        rows += shelf.keep(replace(search, more=found.more), found.results)
        if not found.more or not found.results:
            break
    said = words(error.kind, error.detail) if error else ""
    return Answer(str(query), rows, sum(not row.known for row in rows), error, said)


async def _found(engine: Engine, query: Query, page: int, patience: float) -> Found:
    try:
        async with asyncio.timeout(patience):
            return await engine.search(query, page)
    except TimeoutError:
        raise SearchError("slow", f"no answer in {patience:.0f} seconds", 60.0) from None
    except HoneyguideError:
        raise
    except Exception as trouble:  # an engine may be anybody's code
        raise SearchError("garbage", f"its plug-in failed: {type(trouble).__name__}") from trouble


class _Shelf(NamedTuple):
    """Where results go, and who says what they are worth."""

    folder: Path
    settings: Settings
    strategy: Strategy

    def keep(self, search: Search, results: Sequence[Result]) -> list[Row]:
        """Into the store, at once; opened anew, so that a crawl may begin meanwhile."""
        new = not (self.folder / "collection.db").exists()
        hits = hits_of(results, self.settings.scope.strip_tracking)
        links = [_link(search, hit) for hit in hits]
        scores = self.strategy.rank(links) if links else []
        with Store.open(self.folder, "crawl" if new else "write", self.settings.store) as store:
            store.searches.add(search, hits)
            rows = []
            for hit, score in zip(hits, scores, strict=True):
                visits = store.visit(hit.url)
                verdict = visits[-1].verdict if visits else None
                rows.append(Row(*hit, score, bool(visits), verdict))
        return rows


def _link(search: Search, hit: Hit) -> Link:
    """A result as the crawl will see it."""
    return Link(
        hit.url,
        source=Url(search.address),
        anchor=hit.title,
        after=hit.snippet[:_SNIPPET],
        tag_path="search",
        channel="search",
        depth=1,
        parent=_PARENT,
    )


async def _tried(folder: Path, settings: Settings, query: Query, patience: float) -> Trial:
    fetcher = fetcher_of(settings, folder)
    began = time.perf_counter()
    try:
        engine = engine_at(settings, folder, fetcher)
        found = await _found(engine, query, 1, patience)
    except SearchError as error:
        told = words(error.kind, error.detail)
        return Trial(False, told, error.kind, error.exit_code)
    finally:
        await fetcher.aclose()
    number, took = len(found.results), time.perf_counter() - began
    results = f"{number} result{'' if number == 1 else 's'}"
    return Trial(True, f"{engine.name} answers: {results} for {str(query)!r} in {took:.1f} s")


def _queries(texts: Sequence[str]) -> list[Query]:
    if len(texts) > _MOST:
        raise ConfigError(f"at most {_MOST} queries at once")
    queries = [" ".join(text.split()) for text in texts]
    for text in queries:
        if not text or len(text) > _LONGEST or not text.isprintable():
            raise ConfigError(f"a query has 1 to {_LONGEST} characters: {text[:40]!r}")
        if leads_away(text):
            raise ConfigError(
                f"a word that begins with !! sends the question to another engine, and no results "
                f"come back; leave the !! out: {text[:40]!r}"
            )
    return [Query(text=text) for text in dict.fromkeys(queries)]
