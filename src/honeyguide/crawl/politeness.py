"""May we go there now? Robots.txt, the host's rest and the domain's quota in one answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from honeyguide.crawl.limits import DomainQuota, FailureStreaks
from honeyguide.frontier.hosts import HostDelayPolicy
from honeyguide.net.robots import RobotsCache, RobotsRules
from honeyguide.types import Url
from honeyguide.url import domain_of, host_of, site_origin

_QUOTA_RECHECK_S = 3600.0
"""A domain whose quota is spent is looked at again after an hour."""


class CrawlPermit(NamedTuple):
    """``go``; ``ask`` for robots.txt first; ``forbidden`` for good; ``unavailable``: robots.txt
    cannot be had, which forbids for a while; ``later``: the host is parked ``until``."""

    answer: Literal["go", "ask", "forbidden", "unavailable", "later"]
    rules: RobotsRules | None = None
    why: str = ""
    until: float = 0.0


@dataclass
class CrawlPoliteness:
    robots: RobotsCache
    politeness: HostDelayPolicy
    quota: DomainQuota
    streaks: FailureStreaks
    lab: bool = False
    began: float = 0.0
    """When this run began: what happened before it is known by its rules only."""

    def __post_init__(self) -> None:
        self._open: dict[str, str] = {}
        """Hosts that let us in, each with the origin that did so last."""

    def permit_visit(self, url: Url, now: float) -> CrawlPermit:
        # First of all, lest a domain with endless names have us read endless robots.txt files.
        name, place = host_of(url), site_origin(url)
        if self.quota.is_spent(domain_of(name)):
            return CrawlPermit("later", None, "the domain's quota is spent", now + _QUOTA_RECHECK_S)
        rules = self.robots.get_rules(place, now)
        if rules is None:
            return CrawlPermit("ask")
        if rules.closed:
            # Another port or scheme of the host may be in order: then only this link waits.
            if self._open.get(name, place) == place:
                self._open.pop(name, None)
                return CrawlPermit("unavailable", rules, "robots.txt cannot be had", rules.expires)
            return CrawlPermit("unavailable", rules, "robots.txt cannot be had")
        if not rules.allows(url):
            return CrawlPermit("forbidden", rules, "robots.txt forbids it")
        if rules.crawl_delay is not None:
            if slow := self.slowness_reason(rules):
                return CrawlPermit("unavailable", rules, slow, rules.expires)
            until = self.began + rules.crawl_delay
            if now < until:
                # The run before this one may have asked the host a moment ago.
                return CrawlPermit("later", rules, "it rests since the last run", until)
        self._open[name] = place
        return CrawlPermit("go", rules)

    def slowness_reason(self, rules: RobotsRules) -> str:
        """Why a host is left alone that asks for more patience than we have; '' if it does not."""
        if not self.politeness.is_too_slow(rules.crawl_delay):
            return ""
        return f"robots.txt asks for {rules.crawl_delay:.0f} s between requests"

    def delay_after(self, name: str, elapsed: float, rules: RobotsRules | None = None) -> float:
        """Seconds a host rests after an answer that took ``elapsed``."""
        delay = rules.crawl_delay if rules is not None else None
        return self.politeness.delay_after(name, delay, elapsed, lab=self.lab)
