"""A made search engine, and crawls that ask it, in simulated time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import Report
from honeyguide.errors import SearchError
from honeyguide.lab.simulate import run_simulated
from honeyguide.search.engine import ResultPage, SearchResult
from honeyguide.search.query import Query
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Url
from tests.unit.crawling import FakeWeb

BEES = "<title>Bees</title><p>Honey bee, honey bee, honey bee. "
STEAM = "<title>Steam</title><p>Locomotives and boilers. "

Say = Callable[[int, str, int], ResultPage | Exception]
"""(how often it was asked, query, page) → what it answers."""


@dataclass
class MadeEngine:
    """Answers what ``say`` says; a list of addresses is told ten at a time, whatever the query."""

    say: Say | Sequence[str] = ()
    name: str = "made"
    negatives: bool = True
    price: float = 0.0
    latency: float = 0.5
    asked: list[tuple[str, int]] = field(default_factory=list)

    def address(self, query: Query, page: int) -> Url:
        words = str(query).replace('"', "").replace(" ", "+")
        return Url(f"https://made.example/search?q={words}&p={page}")

    async def search(self, query: Query, page: int) -> ResultPage:
        self.asked.append((str(query), page))
        await asyncio.sleep(self.latency)
        if callable(self.say):
            found = self.say(len(self.asked), str(query), page)
        else:
            some = self.say[10 * (page - 1) : 10 * page]
            found = results(some, more=len(self.say) > 10 * page)
        if isinstance(found, Exception):
            raise found
        return found


def results(urls: Sequence[str], *, more: bool = True) -> ResultPage:
    listed = (
        SearchResult(Url(url), f"Honey bee {n}", "All about the bee") for n, url in enumerate(urls)
    )
    return ResultPage(tuple(listed), more)


def scattered(count: int, text: str = BEES) -> FakeWeb:
    """Pages on hosts of their own, without links."""
    return FakeWeb({f"http://h{n}.test/": f"{text} number {n}" for n in range(count)})


def crawl(
    folder: Path,
    web: FakeWeb,
    engine: MadeEngine | None,
    *,
    meanwhile: Callable[[CrawlLoop], Any] | None = None,
    **tables: dict[str, Any],
) -> Report:
    topic = {"keywords": ["honey", "bee"]} | tables.pop("topic", {})
    search = {"engine": "searxng" if engine else "", "url": "http://x.test/search"}
    search |= tables.pop("search", {})  # type: ignore[arg-type]
    fetch = {"contact": "tester@example.org"}
    crawls = {"strategy": "keyword"} | tables.pop("crawl", {})
    store = {"warc": False} | tables.pop("store", {})
    settings = parse_settings(
        {"topic": topic, "fetch": fetch, "store": store, "search": search, "crawl": crawls} | tables
    )

    async def main() -> Report:
        async with open_crawl(folder, settings, fetcher=web, clock=web.now, engine=engine) as ring:
            if meanwhile is not None:
                meanwhile(ring)
            return await ring.run()

    report = run_simulated(main())
    web.start += 100_000.0  # a later run happens later
    return report


def asked(folder: Path) -> list[SearchRow]:
    with Store.open(folder, "read") as store:
        return store.searches.list_searches()


def failing(kind: Any, wait: float = 0.0) -> Say:
    return lambda *_: SearchError(kind, "it said so", wait)
