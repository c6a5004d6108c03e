"""Drive the fetcher over the site: many requests at once, every outcome kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from honeyguide.config.settings import FetchSettings
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.types import Request, Response, Url

HASTY = FetchSettings(connect_s=1.0, read_s=1.0, total_s=2.0, private_addresses=True)
"""So short that a test can wait for the end of it."""


class Outcome(NamedTuple):
    result: Response | BaseException
    seconds: float

    @property
    def response(self) -> Response:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result


def fetcher(settings: FetchSettings = HASTY, *, proxy: str = "") -> CurlFetcher:
    agent = make_user_agent("crawl@example.org", "0.1")
    return CurlFetcher(replace(settings, proxy=proxy), user_agent=agent)


async def attempt(fetch: CurlFetcher, request: Request) -> Outcome:
    begun = time.monotonic()
    try:
        result: Response | BaseException = await fetch.fetch(request)
    except Exception as error:  # noqa: BLE001 the test says which were right
        result = error.with_traceback(None)  # which would keep the body that was refused
    return Outcome(result, time.monotonic() - begun)


def fetch_all(
    requests: Iterable[Request | str],
    settings: FetchSettings = HASTY,
    *,
    proxy: str = "",
    at_once: int = 12,
) -> list[Outcome]:
    """Every request's outcome, in their order, with one fetcher for all."""

    async def work() -> list[Outcome]:
        gate = asyncio.Semaphore(at_once)
        fetch = fetcher(settings, proxy=proxy)

        async def one(request: Request | str) -> Outcome:
            async with gate:
                asked = Request(Url(request)) if isinstance(request, str) else request
                return await attempt(fetch, asked)

        try:
            return await asyncio.gather(*map(one, requests))
        finally:
            await fetch.aclose()

    return asyncio.run(work())


def fetch_one(
    request: Request | str, settings: FetchSettings = HASTY, *, proxy: str = ""
) -> Outcome:
    return fetch_all([request], settings, proxy=proxy)[0]
