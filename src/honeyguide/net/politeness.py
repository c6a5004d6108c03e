"""May a host be asked now, and how long does it rest? For every request that fetches a page.

One gate answers for robots.txt, delays and quotas; requests for a robots.txt are made here too.
It also says what follows a failure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from random import Random
from typing import Final, Literal, NamedTuple, Protocol

from honeyguide.config.settings import PolitenessSettings
from honeyguide.errors import FetchError
from honeyguide.fetch.ip_policy import is_loopback_host
from honeyguide.net.robots import RobotsCache, RobotsRules
from honeyguide.types import Request, Response, Url
from honeyguide.url import domain_of, host_of, site_origin

MAX_CRAWL_DELAY_S = 60.0
"""The longest Crawl-delay, in seconds, that we wait for; a host that asks for more is left."""
_QUOTA_RECHECK_S = 3600.0
"""A domain whose quota is spent is looked at again after an hour."""
_ROBOTS_BYTES = 512 * 1024
_OTHER_HOST_WAIT_S = 60.0
"""A robots.txt on another host that was not free for so many seconds cannot be had."""
_MAX_WAITING = 50_000
"""Most origins of which it is remembered that they wait for another host."""

NO_RULES = RobotsRules()

RobotsEntry = tuple[str, float, int, str]
"""Origin, time, status and text of a robots.txt, as the store keeps them."""


class HostDelayPolicy:
    """How long a host rests between two requests. Chance may lengthen a delay, never shorten it."""

    def __init__(
        self, settings: PolitenessSettings, seed: int, max_crawl_delay_s: float = MAX_CRAWL_DELAY_S
    ) -> None:
        self._settings = settings
        self._random = Random(seed)
        self._max_crawl_delay = max_crawl_delay_s

    def delay_after(
        self, host: str, crawl_delay: float | None, elapsed: float, lab: bool = False
    ) -> float:
        """Seconds until the next request to this host, after one that took ``elapsed``."""
        asked = crawl_delay if crawl_delay is not None and crawl_delay > 0 else 0.0
        if self.is_too_slow(asked):
            return asked
        ours = lab or is_loopback_host(host)
        delay = self._settings.loopback_delay_s if ours else self._settings.delay_s
        if ours and delay == 0:
            return asked
        # Comparisons with a time that is not a number are false: the cap then holds.
        tired = self._settings.response_factor * elapsed
        if not tired <= self._settings.max_delay_s:
            tired = self._settings.max_delay_s
        rest = max(delay, asked, tired)
        return rest * (1.0 + 0.5 * self._random.random())

    def is_too_slow(self, crawl_delay: float | None) -> bool:
        """Whether a host asks for so long a delay that it should be parked instead."""
        return crawl_delay is not None and crawl_delay > self._max_crawl_delay


class DomainQuota:
    """How many visits a registrable domain gets: a base, and more for every relevant page.

    An endless calendar gives no relevant page and ends at the base; a rich archive never ends.
    A base of 0 is no limit.
    """

    def __init__(self, base: int = 0, bonus: int = 20) -> None:
        self._base = base
        self._bonus = bonus
        self._visits: Counter[str] = Counter()
        self._relevant: Counter[str] = Counter()

    def count_visits(self, domain: str, visits: int = 1, relevant: int = 0) -> None:
        if visits:
            self._visits[domain] += visits
        if relevant:
            self._relevant[domain] += relevant

    def domain_count(self) -> int:
        """How many domains were visited."""
        return len(self._visits)

    def is_spent(self, domain: str) -> bool:
        if not self._base:
            return False
        return self._visits[domain] >= self._base + self._bonus * self._relevant[domain]


class FailureStreaks:
    """Consecutive failures per host, forgotten with the first success."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()

    def record_failure(self, host: str, kind: str | int) -> int:
        """The streak after such a failure; one that is not the host's fault does not count."""
        if blames_host(kind):
            self._count[host] += 1
        return self._count.get(host, 0)

    def record_status(self, host: str, status: int) -> int:
        """The streak after an answer: trouble counts, anything else ends it."""
        if blames_host(status):
            return self.record_failure(host, status)
        self._count.pop(host, None)
        return 0


class Permit(NamedTuple):
    """Whether an address may be requested now.

    ``go``; ``ask`` for robots.txt first; ``forbidden`` for good; ``unavailable``: robots.txt cannot
    be had or asks for too long a delay, which forbids until the rules expire; ``later``.
    """

    answer: Literal["go", "ask", "forbidden", "unavailable", "later"]
    rules: RobotsRules = NO_RULES
    why: str = ""
    until: float = 0.0
    """The whole host is left alone until then; 0: only this address waits."""


@dataclass
class PolitenessGate:
    """What is known of hosts: their robots.txt, their failures, and how often they were visited."""

    robots: RobotsCache
    delays: HostDelayPolicy
    quota: DomainQuota = field(default_factory=DomainQuota)
    streaks: FailureStreaks = field(default_factory=FailureStreaks)
    lab: bool = False
    began: float = 0.0
    """When this run began: what happened before it is known by its rules only."""

    def __post_init__(self) -> None:
        self._open: dict[str, str] = {}
        """Hosts that let us in, each with the origin that did so last."""

    def check_permit(self, url: Url, now: float) -> Permit:
        # First of all, lest a domain with endless names have us read endless robots.txt files.
        name, place = host_of(url), site_origin(url)
        if self.quota.is_spent(domain_of(name)):
            return Permit(
                "later", why="the domain's quota is used up", until=now + _QUOTA_RECHECK_S
            )
        rules = self.robots.get_rules(place, now)
        if rules is None:
            return Permit("ask")
        if rules.closed:
            # Another port or scheme of the host may be in order: then only this link waits.
            until = 0.0
            if self._open.get(name, place) == place:
                self._open.pop(name, None)
                until = rules.expires
            return Permit("unavailable", rules, "robots.txt could not be fetched", until)
        if not rules.allows(url):
            return Permit("forbidden", rules, "robots.txt forbids it")
        if rules.crawl_delay is not None:
            if slow := self.slowness_reason(rules):
                return Permit("unavailable", rules, slow, rules.expires)
            until = self.began + rules.crawl_delay
            if now < until:
                # The run before this one may have asked the host a moment ago.
                return Permit("later", rules, "its delay from the last run is not over", until)
        self._open[name] = place
        return Permit("go", rules)

    def slowness_reason(self, rules: RobotsRules) -> str:
        """Why a host is left alone that asks for too long a delay; '' if it does not."""
        if not self.delays.is_too_slow(rules.crawl_delay):
            return ""
        return f"robots.txt asks for {rules.crawl_delay:.0f} s between requests"

    def delay_after(self, name: str, elapsed: float, rules: RobotsRules = NO_RULES) -> float:
        """Seconds a host rests after an answer that took ``elapsed``."""
        return self.delays.delay_after(name, rules.crawl_delay, elapsed, lab=self.lab)

    def robots_request(self, origin: str, now: float) -> Request:
        """What to ask for next to learn the rules of this origin."""
        target = self.robots.request_url(origin, now)
        return Request(target, limit=_ROBOTS_BYTES, truncate=True, any_type=True)


class HostClaims(Protocol):
    """Who knows which hosts are busy or rest: the frontier, or :class:`HostQueues`."""

    def claim_host(self, host: str, now: float) -> float:
        """Claim a host: 0 when claimed, else when to ask again."""

    def release_host(self, host: str, now: float, rest: float) -> None: ...


class RobotsStep(NamedTuple):
    """What one turn of a host for its robots.txt came to; whoever waits for it asks again."""

    delay_s: float = 0.0
    """Seconds the host rests."""
    entry: RobotsEntry | None = None
    """What was learned, to be kept."""
    failure: FetchError | None = None
    """There was no answer: a host that cannot be asked for it cannot be visited."""


@dataclass
class RobotsFetcher:
    """Gives a host's turn to its robots.txt, wherever redirects lead."""

    gate: PolitenessGate
    hosts: HostClaims
    """Asked for another host when robots.txt moved there."""
    fetch: Callable[[Request], Awaitable[Response]]
    clock: Callable[[], float]
    _waiting: dict[str, float] = field(default_factory=dict)
    """Origins whose robots.txt lies on another host that is not free, and since when."""
    _asked: set[str] = field(default_factory=set)
    """Origins whose robots.txt is on its way."""

    async def fetch_robots(self, url: Url) -> RobotsStep:
        """One request for the robots.txt of this address, whose host is the caller's now."""
        origin, name, now = site_origin(url), host_of(url), self.clock()
        if origin in self._asked:
            return RobotsStep(1.0)
        request = self.gate.robots_request(origin, now)
        other = host_of(request.url)
        if other != name and (at := self.hosts.claim_host(other, now)):
            return self._wait_for_host(origin, request.url, at)
        self._waiting.pop(origin, None)
        self._asked.add(origin)
        # An endless number of names is an endless number of robots.txt: they use up the quota.
        self.gate.quota.count_visits(domain_of(name))
        elapsed = 0.0
        try:
            answer = await self.fetch(request)
            elapsed = answer.elapsed
        except FetchError as error:
            return RobotsStep(failure=error)
        finally:
            self._asked.discard(origin)
            if other != name:
                delay = self.gate.delay_after(other, elapsed)
                self.hosts.release_host(other, self.clock(), delay)
        rules = self.gate.robots.learn_outcome(origin, answer, self.clock())
        entry = None if rules is None else self.gate.robots.dump_entry(origin)
        if rules is None or self.gate.slowness_reason(rules):
            rules = NO_RULES  # too long a Crawl-delay is not waited for: the next permit says so
        delay = self.gate.delay_after(name, elapsed, rules) if other == name else 0.0
        return RobotsStep(delay, entry)

    def _wait_for_host(self, origin: str, target: Url, at: float) -> RobotsStep:
        """Robots.txt moved to another host, which is busy or rests: it is waited for.

        Two sites whose robots.txt point at each other would wait for ever.
        """
        now = self.clock()
        if len(self._waiting) >= _MAX_WAITING:
            self._waiting.clear()
        if now - self._waiting.setdefault(origin, now) <= _OTHER_HOST_WAIT_S:
            return RobotsStep(at - now)
        del self._waiting[origin]
        error = FetchError(target, f"{host_of(target)} has no permission for this process")
        self.gate.robots.learn_outcome(origin, error, now)
        return RobotsStep(entry=self.gate.robots.dump_entry(origin))


# -- Retries --
#
# What follows a failure: one table from error kind or status to host delay and retries.
#
# ==============  ======  =============  ==================  ==========================
# outcome         tries   URL again      host rests          blames the host
# ==============  ======  =============  ==================  ==========================
# 429, 503        5       with the host  Retry-After, or     yes
#                                        60 s, doubling
# 408, 425, 500,  3       60 s, 300 s    –                   yes
# 502, 504, 52x
# dns, connect,   3       with the host  60 s, doubling      yes
# timeout
# protocol        2       300 s          –                   yes
# fetch           2       300 s          –                   –
# tls             1       –              –                   yes
# the rest        1       –              –                   –
# ==============  ======  =============  ==================  ==========================
#
# After ten failures in a row that blame the host, it rests a day.


MAX_WAIT_S: Final = 86_400.0
MAX_STREAK: Final = 10
"""So many failures in a row, and the host rests a day."""


class RetryDecision(NamedTuple):
    host_delay: float
    """Seconds the host rests beyond its politeness."""
    retry_in: float | None
    """Seconds until the URL may be tried again; None: never."""


@dataclass(frozen=True, slots=True)
class RetryRule:
    tries: int = 1
    wait: float = 0.0
    """Seconds before the second try."""
    growth: float = 1.0
    """Each further wait is so many times longer."""
    delays_host: bool = False
    """The host rests as long as the URL waits."""
    by_streak: bool = False
    """The wait grows with the host's streak rather than with this URL's tries."""
    blame: bool = False
    """The host failed, not this URL alone: it counts towards the host's streak."""
    obeys_retry_after: bool = False
    """Retry-After, where given, replaces the wait."""


_BUSY_RULE = RetryRule(
    5, 60, 2, delays_host=True, by_streak=True, blame=True, obeys_retry_after=True
)
_SICK_RULE = RetryRule(3, 60, 5, blame=True)
_AWAY_RULE = RetryRule(3, 60, 2, delays_host=True, by_streak=True, blame=True)

RETRY_RULES: Final[dict[str | int, RetryRule]] = {
    429: _BUSY_RULE,
    503: _BUSY_RULE,
    **dict.fromkeys((408, 425, 500, 502, 504, *range(520, 530)), _SICK_RULE),
    **dict.fromkeys(("dns", "connect", "timeout"), _AWAY_RULE),
    "protocol": RetryRule(2, 300, blame=True),
    "fetch": RetryRule(2, 300),
    "tls": RetryRule(blame=True),
}
NO_RETRY: Final = RetryRule()
"""Everything else: other statuses, too_large, wrong_type, forbidden, robots, scope, trap, …"""


def decide_retry(
    outcome: str | int, *, tries: int, streak: int, retry_after: str = "", now: float
) -> RetryDecision:
    """What follows from a failed attempt.

    ``tries`` counts the attempts at this URL, this one included; ``streak`` the failures of
    its host in a row, this one included.
    """
    row = RETRY_RULES.get(outcome, NO_RETRY)
    steps = max(0, (streak if row.by_streak else tries) - 1)
    # The exponent is bounded, because a streak is not, and floats overflow.
    wait = min(MAX_WAIT_S, row.wait * row.growth ** min(steps, 20))
    if row.obeys_retry_after and (asked := parse_retry_after(retry_after, now)) is not None:
        wait = asked
    rest = wait if row.delays_host else 0.0
    if row.blame and streak >= MAX_STREAK:
        rest = wait = MAX_WAIT_S
    return RetryDecision(rest, wait if tries < row.tries else None)


def blames_host(outcome: str | int) -> bool:
    """Whether such an outcome counts towards the host's streak of failures."""
    return RETRY_RULES.get(outcome, NO_RETRY).blame


def parse_retry_after(retry_after: str, now: float) -> float | None:
    """A Retry-After header in seconds, at most a day; None if it says nothing sensible."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        # Only the length matters of a number beyond a day, and int() of a huge one is slow.
        return MAX_WAIT_S if len(text) > 9 else min(MAX_WAIT_S, float(text))
    try:
        at = parsedate_to_datetime(text[:64])
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return min(MAX_WAIT_S, max(0.0, at.timestamp() - now))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
