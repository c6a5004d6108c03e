"""A ring on a web made of a dictionary, in simulated time: for what needs no network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import Report
from honeyguide.errors import FetchError
from honeyguide.lab.simulate import run_simulated
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Request, Response

Answer = tuple[int, Mapping[str, str], str] | str | FetchError
"""Status, headers and body; a mere body; or what is raised."""


@dataclass
class FakeWeb:
    """Answers by address; anything else is 404. A function is told how often it was asked."""

    answers: dict[str, Answer | Callable[[int], Answer]]
    latency: float = 0.01
    start: float = 1_700_000_000.0
    asked: list[tuple[float, str]] = field(default_factory=list)
    """When, in seconds from the start, and what."""

    async def fetch(self, request: Request) -> Response:
        began = self.now()
        self.asked.append((round(began - self.start, 3), request.url))
        await asyncio.sleep(self.latency)
        answer = self.answers.get(request.url, (404, {}, ""))
        if callable(answer):
            answer = answer(sum(url == request.url for _, url in self.asked))
        if isinstance(answer, FetchError):
            raise answer
        status, headers, body = (200, {}, answer) if isinstance(answer, str) else answer
        pairs = (("Content-Type", "text/html; charset=utf-8"), *headers.items())
        data = body.encode()
        head = f"HTTP/1.1 {status} X\r\n\r\n".encode()
        return Response(
            request.url, status, pairs, data, data, b"GET / HTTP/1.1\r\n\r\n", head, "192.0.2.1",
            began, self.latency,
        )  # fmt: skip

    async def aclose(self) -> None:
        pass

    def now(self) -> float:
        return self.start + asyncio.get_running_loop().time()

    def paths(self) -> list[str]:
        """What was asked for, robots.txt aside."""
        return [url for _, url in self.asked if not url.endswith("/robots.txt")]


def crawl(
    folder: Path,
    web: FakeWeb,
    seeds: list[str],
    *,
    meanwhile: Callable[[CrawlLoop], Any] | None = None,
    **tables: dict[str, Any],
) -> Report:
    """Crawl until it ends; ``meanwhile`` sees the ring before it runs."""
    topic = {"seeds": seeds, "keywords": ["honey", "bee"]} | tables.pop("topic", {})
    fetch = {"contact": "tester@example.org"} | tables.pop("fetch", {})
    store = {"warc": False} | tables.pop("store", {})
    settings = parse_settings({"topic": topic, "fetch": fetch, "store": store, **tables})

    async def main() -> Report:
        async with open_crawl(folder, settings, fetcher=web, clock=web.now) as ring:
            if meanwhile is not None:
                meanwhile(ring)
            return await ring.run()

    report = run_simulated(main())
    web.start += 100_000.0  # a later run happens later
    return report


def rows(folder: Path) -> dict[str, VisitRow]:
    with Store.open(folder, "read") as store:
        return {row.url: row for row in store.visits.iter_visits()}
