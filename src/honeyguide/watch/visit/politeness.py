"""May we ask, and how long does a host rest? As in the crawl: robots.txt, delays, back-off."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from honeyguide.fetch.retry import blames, decide
from honeyguide.fetch.robots import Robots
from honeyguide.frontier.hosts import Politeness
from honeyguide.types import Response, Url
from honeyguide.url import origin


class Permit(NamedTuple):
    """``go``; ``ask`` for robots.txt first; ``forbidden``; ``unavailable``: robots.txt cannot be
    had, which forbids for a while; ``later``: not before ``until``."""

    answer: Literal["go", "ask", "forbidden", "unavailable", "later"]
    why: str = ""
    until: float = 0.0


@dataclass
class Courtesy:
    robots: Robots
    politeness: Politeness
    lab: bool = False
    began: float = 0.0
    """When this run began: the one before may have asked a host a moment earlier."""
    _streaks: Counter[str] = field(default_factory=Counter)

    def permit(self, url: Url, now: float) -> Permit:
        rules = self.robots.rules(origin(url), now)
        if rules is None:
            return Permit("ask")
        if rules.closed:
            return Permit("unavailable", "robots.txt cannot be had", rules.expires)
        if not rules.allows(url):
            return Permit("forbidden", "robots.txt forbids it")
        delay = rules.crawl_delay
        if delay is not None and self.politeness.too_slow(delay):
            why = f"robots.txt asks for {delay:.0f} s between requests"
            return Permit("unavailable", why, rules.expires)
        if delay is not None and now < self.began + delay:
            return Permit("later", "it rests since the last run", self.began + delay)
        return Permit("go")

    def answered(self, host: str, response: Response, now: float) -> float:
        """Seconds the host rests after this answer."""
        extra = 0.0
        if blames(response.status):
            extra = self._trouble(host, response.status, response.header("retry-after"), now)
        else:
            self._streaks.pop(host, None)
        return self.rest(response.url, host, response.elapsed, now) + extra

    def failed(self, host: str, url: Url, kind: str, now: float) -> float:
        """Seconds the host rests after no answer."""
        return self.rest(url, host, 0.0, now) + self._trouble(host, kind, "", now)

    def rest(self, url: Url, host: str, elapsed: float, now: float) -> float:
        """Seconds a host rests after an answer that took ``elapsed``."""
        rules = self.robots.rules(origin(url), now)
        delay = rules.crawl_delay if rules is not None else None
        return self.politeness.rest(host, delay, elapsed, lab=self.lab)

    def _trouble(self, host: str, outcome: str | int, retry_after: str, now: float) -> float:
        if blames(outcome):
            self._streaks[host] += 1
        streak = self._streaks.get(host, 0)
        return decide(outcome, tries=1, streak=streak, retry_after=retry_after, now=now).rest
