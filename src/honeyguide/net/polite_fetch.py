"""Requests outside a crawl or a watch: robots.txt first, one at a time per host."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from honeyguide.config.settings import PolitenessSettings
from honeyguide.errors import FetchError, Forbidden, TooManyRedirects
from honeyguide.net.politeness import NO_RULES, HostDelayPolicy, PolitenessGate, decide_retry
from honeyguide.net.robots import RobotsCache, RobotsRules
from honeyguide.protocols import Fetcher
from honeyguide.types import Request, Response, Url
from honeyguide.url import authority_of, canonical_url, host_of, site_origin

_MAX_CRAWL_DELAY_S = 30.0
"""Somebody waits for the answer: a site that asks for a longer Crawl-delay is left alone."""
_MAX_WAIT_S = 1.5 * _MAX_CRAWL_DELAY_S
"""So long a Crawl-delay is at most, with chance: a host that rests longer is not waited for."""
_MAX_REDIRECTS = 5
_REDIRECT_STATUSES = (301, 302, 303, 307, 308)
_ERROR_CAUSES = {
    "dns": "the host cannot be found",
    "connect": "the host does not answer",
    "tls": "no secure connection can be made",
    "timeout": "it takes too long to answer",
    "protocol": "the answer is not HTTP",
    "too_large": "it is too large for a page",
    "wrong_type": "this is not a page",
}
_MAX_HOSTS = 1_000
"""Hosts whose last request is remembered."""


class RequestPacer:
    """Waits until a host may be asked again; remembers when it was asked and how long it rests."""

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._rests: dict[str, tuple[float, float]] = {}

    def remaining_rest(self, host: str) -> float:
        """Seconds until it may be asked again."""
        since, delay = self._rests.get(host, (0.0, 0.0))
        # At most the delay itself: somebody may have set the clock back.
        return max(0.0, min(since + delay - self._clock(), delay))

    async def wait_turn(self, host: str) -> None:
        if wait := self.remaining_rest(host):
            await self._sleep(wait)

    def delay_host(self, host: str, delay_s: float) -> None:
        """The host was asked now, and rests so many seconds, or longer if it rests already."""
        now = self._clock()
        since, delay = self._rests.pop(host, (now, 0.0))
        if since <= now:
            delay_s = max(delay_s, since + delay - now)
        self._rests[host] = now, delay_s
        if len(self._rests) > _MAX_HOSTS:
            del self._rests[next(iter(self._rests))]


class _HostResting(FetchError):
    """Nothing was asked for: its host rests longer than anybody waits."""


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
    """Fetches single addresses, redirects followed, as politely as a crawl.

    ``lab``: its hosts are not those of the web, and need no delay. What one fetcher learned of
    hosts, another can go on with: ``robots`` and ``pacer``.
    """

    fetcher: Fetcher
    clock: Callable[[], float] = time.time
    lab: bool = False
    robots: RobotsCache = field(default_factory=RobotsCache)
    pacer: RequestPacer = field(default_factory=RequestPacer)
    locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """One request to a host at a time, also where several addresses are fetched at once."""

    def __post_init__(self) -> None:
        settings = PolitenessSettings(
            response_factor=0.0, loopback_delay_s=0.0 if self.lab else 1.0
        )
        delays = HostDelayPolicy(settings, 0, _MAX_CRAWL_DELAY_S)
        self._gate = PolitenessGate(self.robots, delays, lab=self.lab)
        self._failed: dict[str, FetchError] = {}
        """Why a site's robots.txt could not be had."""

    def for_origin(self, url: Url, inside: Fetcher) -> PoliteFetcher:
        """One who may ask the host and port of this address, and no other, through ``inside``.

        Wherever they redirect to, pages and robots.txt alike, is asked for as usual.
        """
        fenced = _SplitFetcher(authority_of(url), inside, self.fetcher)
        # What robots.txt says holds for those who could ask for it; hosts rest from both.
        return replace(self, fetcher=fenced, robots=RobotsCache())

    async def fetch_url(self, url: Url) -> Response:
        """The answer where redirects end. Raises FetchError, which says why there is none."""
        for _ in range(_MAX_REDIRECTS + 1):
            answer = await self._fetch_paced(Request(url), await self._ask_robots(url))
            target = answer.header("location") if answer.status in _REDIRECT_STATUSES else ""
            if not target:
                break
            moved = canonical_url(target, url)
            if moved is None:
                raise FetchError(url, "a redirect has no valid target")
            url = moved
        else:
            raise TooManyRedirects(url, f"more than {_MAX_REDIRECTS} redirects")
        if not 200 <= answer.status < 300:
            raise FetchError(url, f"the site answers {answer.status}")
        return answer

    async def _ask_robots(self, url: Url) -> RobotsRules:
        """The rules that let us ask for this address; raises FetchError if they do not."""
        origin = site_origin(url)
        while (permit := self._gate.check_permit(url, self.clock())).answer == "ask":
            self._failed.pop(origin, None)
            request = self._gate.robots_request(origin, self.clock())
            try:
                await self._fetch_paced(request, NO_RULES, origin)
            except _HostResting:
                raise  # which says nothing of its rules
            except FetchError as error:
                self._failed[origin] = error
                self.robots.learn_outcome(origin, error, self.clock())
        if permit.rules.closed and (failure := self._failed.get(origin)) is not None:
            raise type(failure)(url, failure.detail)
        if permit.answer != "go":
            raise Forbidden(url, permit.why)
        return permit.rules

    async def _fetch_paced(
        self, request: Request, rules: RobotsRules, robots_of: str = ""
    ) -> Response:
        """The answer, once the host is rested. ``robots_of``: the origin whose robots.txt this is;
        the host rests as that asks for."""
        name = host_of(request.url)
        async with self.locks[name]:
            if (rest := self.pacer.remaining_rest(name)) > _MAX_WAIT_S:
                until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.clock() + rest))
                raise _HostResting(request.url, f"the site is busy and is left alone until {until}")
            await self.pacer.wait_turn(name)
            pause = 0.0
            try:
                answer = await self.fetcher.fetch(request)
                pause = self._pause_after(name, answer)
                if robots_of:
                    rules = self._learn_robots(robots_of, name, answer)
                return answer
            except FetchError as error:
                if cause := _ERROR_CAUSES.get(error.kind):
                    detail = f"{cause}: {error.detail}" if error.detail else cause
                    raise type(error)(error.url, detail) from error
                raise
            finally:
                self.pacer.delay_host(name, max(pause, self._gate.delay_after(name, 0.0, rules)))

    def _pause_after(self, name: str, answer: Response) -> float:
        """Seconds that a host in trouble is left alone, as in a crawl."""
        streak = self._gate.streaks.record_status(name, answer.status)
        told = answer.header("retry-after")
        return decide_retry(
            answer.status, tries=1, streak=streak, retry_after=told, now=self.clock()
        ).host_delay

    def _learn_robots(self, origin: str, name: str, answer: Response) -> RobotsRules:
        """The rules by which the host rests that was asked for them."""
        rules = self.robots.learn_outcome(origin, answer, self.clock())
        if rules is None or host_of(Url(origin)) != name or self._gate.slowness_reason(rules):
            return NO_RULES  # too long a Crawl-delay is not waited for: the next permit says so
        return rules
