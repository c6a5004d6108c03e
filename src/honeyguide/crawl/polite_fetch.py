"""A few pages from the web, one after the other, as politely as a crawl would ask for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from honeyguide.errors import FetchError, Forbidden, ParseError, TooManyRedirects
from honeyguide.net.robots import RobotsCache, RobotsRules
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Fetcher
from honeyguide.types import Link, Page, Request, Response, Url
from honeyguide.url import authority_of, canonical_url, host_of, site_origin

_HOST_DELAY_S = 1.0
"""Least time between two requests to a host, as in a crawl."""
_MAX_DELAY_S = 30.0
"""A site that asks for more patience is left alone."""
_MAX_REDIRECTS = 5
_ROBOTS_BYTES = 512 * 1024
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_ERROR_CAUSES = {
    "dns": "the host cannot be found",
    "connect": "nobody answers there",
    "tls": "the connection cannot be made safe",
    "timeout": "it takes too long to answer",
    "protocol": "what comes is not HTTP",
    "too_large": "it is too large for a page",
    "wrong_type": "this is not a page",
}


@dataclass(frozen=True)
class _SplitFetcher:
    """Asks one place through its own fetcher, and all others through the usual one."""

    place: str
    inside: Fetcher
    outside: Fetcher

    async def fetch(self, request: Request) -> Response:
        known = authority_of(request.url) == self.place
        return await (self.inside if known else self.outside).fetch(request)

    async def aclose(self) -> None:
        """Who made the two closes them."""


@dataclass
class PoliteFetcher:
    """Asks for pages: robots.txt first, and never hurries a host."""

    fetcher: Fetcher
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    robots: RobotsCache = field(default_factory=RobotsCache)
    delay_s: float = _HOST_DELAY_S
    _rested: dict[str, float] = field(default_factory=dict)
    """When each host may be asked again."""
    _failed: dict[str, FetchError] = field(default_factory=dict)
    """Why a site's robots.txt could not be had."""

    def for_origin(self, url: Url, inside: Fetcher) -> PoliteFetcher:
        """One who may ask the host and port of this address, and no other, through ``inside``.

        Wherever they redirect to, pages and robots.txt alike, is asked for as usual.
        """
        fenced = _SplitFetcher(authority_of(url), inside, self.fetcher)
        # What robots.txt says holds for those who could ask for it; hosts rest from both.
        return replace(self, fetcher=fenced, robots=RobotsCache(), _failed={})

    async def fetch_page(self, url: Url) -> Page:
        """The page at this address, redirects followed. Raises FetchError, which says why."""
        for _ in range(_MAX_REDIRECTS + 1):
            rules = await self._robots_rules(url)
            if not rules.allows(url):
                raise Forbidden(url, "robots.txt forbids it")
            answer = await self._fetch_paced(Request(url), rules)
            target = answer.header("location") if answer.status in _REDIRECT_STATUSES else ""
            if not target:
                break
            moved = canonical_url(target, url)
            if moved is None:
                raise FetchError(url, "a redirect leads nowhere")
            url = moved
        else:
            raise TooManyRedirects(url, f"more than {_MAX_REDIRECTS} redirects")
        if not 200 <= answer.status < 300:
            raise FetchError(url, f"the site answers {answer.status}")
        try:
            return parse_page(answer, Link(url))
        except ParseError as error:
            raise FetchError(url, f"{_ERROR_CAUSES['wrong_type']}: it holds no text") from error

    async def _robots_rules(self, url: Url) -> RobotsRules:
        place = site_origin(url)
        while (rules := self.robots.get_rules(place, self.clock())) is None:
            target = self.robots.request_url(place, self.clock())
            request = Request(target, limit=_ROBOTS_BYTES, truncate=True, any_type=True)
            self._failed.pop(place, None)
            try:
                outcome: Response | FetchError = await self._fetch_paced(request, RobotsRules())
            except FetchError as error:
                outcome = self._failed[place] = error
            self.robots.learn_outcome(place, outcome, self.clock())
        if rules.closed and (failure := self._failed.get(place)) is not None:
            raise type(failure)(url, failure.detail)
        if rules.closed:
            raise Forbidden(url, "robots.txt cannot be had, so nothing may be asked for")
        if (rules.crawl_delay or 0.0) > _MAX_DELAY_S:
            raise Forbidden(url, f"robots.txt asks for {rules.crawl_delay:.0f} s between requests")
        return rules

    async def _fetch_paced(self, request: Request, rules: RobotsRules) -> Response:
        name = host_of(request.url)
        if (wait := self._rested.get(name, 0.0) - self.clock()) > 0:
            await self.sleep(wait)
        try:
            return await self.fetcher.fetch(request)
        except FetchError as error:
            if cause := _ERROR_CAUSES.get(error.kind):
                detail = f"{cause}: {error.detail}" if error.detail else cause
                raise type(error)(error.url, detail) from error
            raise
        finally:
            self._rested[name] = self.clock() + max(self.delay_s, rules.crawl_delay or 0.0)
