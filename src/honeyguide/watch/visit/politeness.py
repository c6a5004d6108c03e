"""May we ask, and how long does a host rest? As in the crawl: robots.txt, delays, back-off."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from honeyguide.frontier.hosts import HostDelayPolicy
from honeyguide.net.retry import blames_host, decide_retry
from honeyguide.net.robots import RobotsCache
from honeyguide.types import Response, Url
from honeyguide.url import site_origin


class RevisitPermit(NamedTuple):
    """``go``; ``ask`` for robots.txt first; ``forbidden``; ``unavailable``: robots.txt cannot be
    had, which forbids for a while; ``later``: not before ``until``."""

    answer: Literal["go", "ask", "forbidden", "unavailable", "later"]
    why: str = ""
    until: float = 0.0


@dataclass
class RevisitPoliteness:
    robots: RobotsCache
    politeness: HostDelayPolicy
    lab: bool = False
    began: float = 0.0
    """When this run began: the one before may have asked a host a moment earlier."""
    _streaks: Counter[str] = field(default_factory=Counter)

    def check_permit(self, url: Url, now: float) -> RevisitPermit:
        rules = self.robots.get_rules(site_origin(url), now)
        if rules is None:
            return RevisitPermit("ask")
        if rules.closed:
            return RevisitPermit("unavailable", "robots.txt cannot be had", rules.expires)
        if not rules.allows(url):
            return RevisitPermit("forbidden", "robots.txt forbids it")
        delay = rules.crawl_delay
        if delay is not None and self.politeness.is_too_slow(delay):
            why = f"robots.txt asks for {delay:.0f} s between requests"
            return RevisitPermit("unavailable", why, rules.expires)
        if delay is not None and now < self.began + delay:
            return RevisitPermit("later", "it rests since the last run", self.began + delay)
        return RevisitPermit("go")

    def delay_after_answer(self, host: str, response: Response, now: float) -> float:
        """Seconds the host rests after this answer."""
        extra = 0.0
        if blames_host(response.status):
            extra = self._backoff_delay(host, response.status, response.header("retry-after"), now)
        else:
            self._streaks.pop(host, None)
        return self.host_delay(response.url, host, response.elapsed, now) + extra

    def delay_after_failure(self, host: str, url: Url, kind: str, now: float) -> float:
        """Seconds the host rests after no answer."""
        return self.host_delay(url, host, 0.0, now) + self._backoff_delay(host, kind, "", now)

    def host_delay(self, url: Url, host: str, elapsed: float, now: float) -> float:
        """Seconds a host rests after an answer that took ``elapsed``."""
        rules = self.robots.get_rules(site_origin(url), now)
        delay = rules.crawl_delay if rules is not None else None
        return self.politeness.delay_after(host, delay, elapsed, lab=self.lab)

    def _backoff_delay(self, host: str, outcome: str | int, retry_after: str, now: float) -> float:
        if blames_host(outcome):
            self._streaks[host] += 1
        streak = self._streaks.get(host, 0)
        return decide_retry(
            outcome, tries=1, streak=streak, retry_after=retry_after, now=now
        ).host_delay
