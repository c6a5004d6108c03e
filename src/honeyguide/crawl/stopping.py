"""When a crawl ends: budgets, the disk, the user, and the rules of ``[stop]`` about coverage."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from honeyguide.config.settings import StopSettings
from honeyguide.errors import ConfigError
from honeyguide.learning.coverage import Coverage, CoverageEstimate, estimate_channels
from honeyguide.store.store import Store

_CHECK_EVERY = 10
"""Visits between two checks."""
_COVERAGE_KEY = "coverage"
_MAX_HOSTS = 1_000_000


class StopRule(Protocol):
    """When a crawl loop stops: for its own reasons, or for those of the whole crawl."""

    asked: bool

    def has_room(self, visits: int) -> bool: ...

    def stop_reason(self, visits: int) -> str: ...

    def keeps_waiting(self, why: str) -> bool: ...


class StopConditions:
    """The reasons to stop that the user chose: pages, hours, the topic, a full disk, or Ctrl-C."""

    def __init__(
        self,
        *,
        pages: int,
        hours: float,
        free_mb: Callable[[], float],
        min_free_mb: float,
        clock: Callable[[], float] = time.monotonic,
        exhausted: Callable[[], str] = str,
    ) -> None:
        """``exhausted`` says why nothing more is to be found, or ''."""
        self._pages = pages
        self._clock = clock
        self._until = clock() + hours * 3600 if hours else float("inf")
        self._free_mb = free_mb
        self._min_free_mb = min_free_mb
        self._exhausted = exhausted
        self._checked_at = float("-inf")
        self.asked = False
        """Set by a signal handler: finish what is under way."""

    def keeps_waiting(self, _why: str) -> bool:
        """Whether to wait although nothing is left to do; a crawl without shards does not."""
        return False

    def has_room(self, visits: int) -> bool:
        """May another visit start, when so many were made or are under way?"""
        return not self._pages or visits < self._pages

    def stop_reason(self, visits: int) -> str:
        """Why to stop now, in words; '' to go on."""
        if self.asked:
            return "you asked for it"
        if self._pages and visits >= self._pages:
            noun = "visit" if self._pages == 1 else "visits"
            return f"the budget of {self._pages} {noun} is used up (crawl.pages)"
        now = self._clock()
        if now >= self._until:
            return "the time is up (crawl.hours)"
        if reason := self._exhausted():
            return reason
        if now - self._checked_at > 5:
            self._checked_at = now
            free = self._free_mb()
            if free < self._min_free_mb:
                return (
                    f"the disk has only {free:.0f} MB left (store.min_free_mb = "
                    f"{self._min_free_mb:.0f}); make room and run crawl again"
                )
        return ""


@dataclass
class ExhaustionRule:
    """Says why to stop, in words; '' to go on."""

    rules: StopSettings
    coverage: Coverage
    waiting: Callable[[], int]
    """How many links wait."""
    _checked_at: int = -_CHECK_EVERY

    def stop_reason(self) -> str:
        rules, visits = self.rules, self.coverage.visits
        if not (rules.precision or rules.coverage) or visits < max(rules.min_visits, _CHECK_EVERY):
            return ""
        if visits - self._checked_at < _CHECK_EVERY:
            return ""
        self._checked_at = visits
        found = self.coverage.estimate(self.waiting())
        if rules.coverage and found.covered >= rules.coverage:
            return (
                f"about {found.covered:.0%} of the {found.total:.0f} relevant pages in reach are "
                f"found (stop.coverage = {rules.coverage:g})"
            )
        if rules.precision and found.recent < rules.precision:
            return (
                f"only {found.recent:.1%} of the last {min(visits, 200)} visits were relevant "
                f"(stop.precision = {rules.precision:g})"
            )
        return ""


def override_stop_rules(
    rules: StopSettings, *, coverage: float | None = None, precision: float | None = None
) -> StopSettings:
    """The topic's rules, but for what is asked for this time; a ConfigError if it is no share."""
    for name, share in (("coverage", coverage), ("precision", precision)):
        if share is not None and not 0 <= share <= 1:
            raise ConfigError(f"{name} is a share, from 0 to 1; 0: it never stops ({share:g})")
    return replace(
        rules,
        coverage=rules.coverage if coverage is None else coverage,
        precision=rules.precision if precision is None else precision,
    )


def save_coverage(store: Store, coverage: Coverage) -> None:
    """Store it in the transaction of the visits."""
    store.set_meta(_COVERAGE_KEY, coverage.to_record())


def restore_coverage(store: Store) -> Coverage:
    """As the last run left it; counted again from the journal if other pages are relevant now."""
    hosts = {row.host: row.relevant for row in store.counter.top_hosts(limit=_MAX_HOSTS)}
    coverage = Coverage.from_record(store.get_meta(_COVERAGE_KEY) or "", hosts)
    if coverage is not None and _matches_counts(coverage, store):
        return coverage
    found = Coverage()
    for seen in store.visits.iter_outcomes():
        found.add_outcome(*seen)
    return found


def coverage_estimate(store: Store, waiting: int, *, crawled: bool) -> CoverageEstimate | None:
    """What the record of a collection says; None if there is none for the visits it holds.

    While it is being crawled, the record and the counts are those of two moments.
    """
    coverage = Coverage.from_record(store.get_meta(_COVERAGE_KEY) or "", {})
    if coverage is None or not (crawled or _matches_counts(coverage, store)):
        return None
    return add_channel_estimate(coverage.estimate(waiting), store)


def add_channel_estimate(found: CoverageEstimate, store: Store) -> CoverageEstimate:
    """With what links and searches say together, if anybody searched."""
    channels = store.searches.relevant_by_channel()
    return found if channels is None else replace(found, channels=estimate_channels(*channels))


def _matches_counts(coverage: Coverage, store: Store) -> bool:
    counts = store.counter.read_counts()
    return (coverage.visits, coverage.relevant) == (counts.visits, counts.relevant)
