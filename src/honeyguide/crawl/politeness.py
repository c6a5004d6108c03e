"""May we go there now? Robots.txt, the host's rest and the domain's quota in one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from honeyguide.crawl.limits import Quota, Streaks
from honeyguide.fetch.robots import Robots
from honeyguide.fetch.robots_rules import Rules
from honeyguide.frontier.hosts import Politeness
from honeyguide.types import Url
from honeyguide.url import domain, host, origin

_RECHECK_S = 3600.0
"""A domain whose quota is spent is looked at again after an hour."""


class Permit(NamedTuple):
    """``go``; ``ask`` for robots.txt first; ``forbidden`` for good; ``unavailable``: robots.txt
    cannot be had, which forbids for a while; ``later``: the host is parked ``until``."""

    answer: Literal["go", "ask", "forbidden", "unavailable", "later"]
    rules: Rules | None = None
    why: str = ""
    until: float = 0.0


@dataclass
class Manners:
    robots: Robots
    politeness: Politeness
    quota: Quota
    streaks: Streaks
    lab: bool = False
    began: float = 0.0
    """When this run began: what happened before it is known by its rules only."""

    def __post_init__(self) -> None:
        self._open: dict[str, str] = {}
        """Hosts that let us in, each with the origin that did so last."""

    def permit(self, url: Url, now: float) -> Permit:
        # First of all, lest a domain with endless names have us read endless robots.txt files.
        name, place = host(url), origin(url)
        if self.quota.spent(domain(name)):
            return Permit("later", None, "the domain's quota is spent", now + _RECHECK_S)
        rules = self.robots.rules(place, now)
        if rules is None:
            return Permit("ask")
        if rules.closed:
            # Another port or scheme of the host may be in order: then only this link waits.
            if self._open.get(name, place) == place:
                self._open.pop(name, None)
                return Permit("unavailable", rules, "robots.txt cannot be had", rules.expires)
            return Permit("unavailable", rules, "robots.txt cannot be had")
        if not rules.allows(url):
            return Permit("forbidden", rules, "robots.txt forbids it")
        if rules.crawl_delay is not None:
            if slow := self.slow(rules):
                return Permit("unavailable", rules, slow, rules.expires)
            until = self.began + rules.crawl_delay
            if now < until:
                # The run before this one may have asked the host a moment ago.
                return Permit("later", rules, "it rests since the last run", until)
        self._open[name] = place
        return Permit("go", rules)

    def slow(self, rules: Rules) -> str:
        """Why a host is left alone that asks for more patience than we have; '' if it does not."""
        if not self.politeness.too_slow(rules.crawl_delay):
            return ""
        return f"robots.txt asks for {rules.crawl_delay:.0f} s between requests"

    def rest(self, name: str, elapsed: float, rules: Rules | None = None) -> float:
        """Seconds a host rests after an answer that took ``elapsed``."""
        delay = rules.crawl_delay if rules is not None else None
        return self.politeness.rest(name, delay, elapsed, lab=self.lab)
