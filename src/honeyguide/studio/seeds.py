"""Testing seeds: each is asked for once, as politely as a crawl would, and told what came."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Annotated

from msgspec import Meta, Struct

from honeyguide import __version__
from honeyguide.config import FetchSettings
from honeyguide.crawl.polite_fetch import Visitor
from honeyguide.crawl.settings_hints import lab_address
from honeyguide.crawl.user_urls import starting
from honeyguide.errors import ConfigError, FetchError, ParseError
from honeyguide.fetch.http import CurlFetcher, user_agent
from honeyguide.fetch.robots import Robots
from honeyguide.protocols import Fetcher
from honeyguide.studio.routes import Here, Route
from honeyguide.types import Request, Response, Url
from honeyguide.url import host

_PATIENCE_S = 24.0
"""For all seeds of one request; a browser waits a little longer."""
_REST_S = 1.0

Address = Annotated[str, Meta(max_length=2_000)]


class Seeds(Struct, forbid_unknown_fields=True):
    seeds: Annotated[list[Address], Meta(min_length=1, max_length=10)]
    contact: Annotated[str, Meta(max_length=200)]
    lab: Annotated[str, Meta(max_length=100)] = ""


class Tried(Struct):
    """What came of a seed."""

    seed: str
    ok: bool
    said: str
    """In words: the page's title, or why there is no page."""
    url: str = ""
    """Where it was in the end."""
    words: int = 0
    links: int = 0
    language: str = ""
    seconds: float = 0.0


class Seedsman:
    """Remembers robots.txt and who was asked when, so that testing again hurries nobody."""

    def __init__(self, _: Path) -> None:
        self._robots = Robots()
        self._rested: dict[str, float] = {}
        self._lock = Lock()

    def test(self, seeds: Sequence[str], contact: str, lab: str) -> list[Tried]:
        settings = FetchSettings(
            contact=contact, lab=lab, connect_s=8.0, read_s=10.0, total_s=15.0, cookies=False
        )
        agent = user_agent(contact, __version__)
        if not self._lock.acquire(timeout=_PATIENCE_S / 2):
            raise ConfigError("other seeds are being tested; try again in a moment")
        try:
            return asyncio.run(self._test(seeds, settings, agent))
        finally:
            self._lock.release()

    async def _test(self, seeds: Sequence[str], settings: FetchSettings, agent: str) -> list[Tried]:
        fetcher = CurlFetcher(settings, user_agent=agent, archives=False)
        try:
            if settings.lab:  # its hosts are not those of the web, and need no rest
                visitor = Visitor(_Patient(fetcher, {}, 0.0), rest_s=0.0)
            else:
                visitor = Visitor(_Patient(fetcher, self._rested, _REST_S), robots=self._robots)
            return await tried(visitor, seeds, lab=bool(settings.lab))
        finally:
            await fetcher.aclose()
            while len(self._rested) > 1_000:
                self._rested.pop(next(iter(self._rested)))


class _Patient:
    """One request to a host at a time, and a rest after each: seeds of several hosts are tested at
    once, and may lead to the same one."""

    def __init__(
        self,
        fetcher: Fetcher,
        rested: dict[str, float],
        rest: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._fetcher = fetcher
        self._rested = rested
        """When each host may be asked again."""
        self._rest = rest
        self._clock = clock
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def fetch(self, request: Request) -> Response:
        name = host(request.url)
        async with self._locks[name]:
            await asyncio.sleep(max(0.0, self._rested.get(name, 0.0) - self._clock()))
            try:
                return await self._fetcher.fetch(request)
            finally:
                self._rested[name] = self._clock() + self._rest

    async def aclose(self) -> None:
        """Whoever made the fetcher closes it."""


async def tried(visitor: Visitor, seeds: Sequence[str], *, lab: bool = False) -> list[Tried]:
    """All at once, but those of one host one by one, so that its robots.txt is asked for once."""
    hosts: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
    return list(await asyncio.gather(*(_tried(visitor, seed, hosts, lab) for seed in seeds)))


async def _tried(visitor: Visitor, seed: str, hosts: dict[str, asyncio.Lock], lab: bool) -> Tried:
    began = time.perf_counter()
    try:
        url = address(seed, lab=lab)
        async with asyncio.timeout(_PATIENCE_S), hosts[host(url)]:
            page = await visitor.page(url)
    except TimeoutError:
        return Tried(seed, False, f"no answer within {_PATIENCE_S:.0f} seconds")
    except FetchError as error:
        return Tried(seed, False, error.detail or str(error))
    except (ParseError, ConfigError) as error:
        return Tried(seed, False, str(error))
    said = page.title.strip() or "a page without a title"
    return Tried(
        seed,
        True,
        said[:300],
        page.url,
        len(page.text.split()),
        len(page.links),
        page.language,
        round(time.perf_counter() - began, 2),
    )


def address(text: str, *, lab: bool = False) -> Url:
    """A seed as somebody typed it into the browser: an address, and never a file."""
    text = text.strip()
    return starting(text if "://" in text else f"{'http' if lab else 'https'}://{text}", lab=lab)


def test(here: Here, body: Seeds) -> list[Tried]:
    """Ask for each seed once, politely and with regard to robots.txt, and say what came."""
    lab = lab_address(body.lab) if body.lab.strip() else ""
    return here.shared.get(here.root, Seedsman).test(body.seeds, body.contact, lab)


ROUTES = (Route("POST", "/api/seeds", test, body=Seeds, returns=list[Tried]),)
