"""When a topic is exhausted: the rules of ``[stop]``, asked of what is known of its coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from honeyguide.config import StopSettings
from honeyguide.errors import ConfigError
from honeyguide.learning.coverage import Coverage, Estimate, between
from honeyguide.store.store import Store

_LOOK = 10
"""Visits between two looks."""
_KEY = "coverage"
_HOSTS = 1_000_000


@dataclass
class Exhausted:
    """Says why to stop, in words; '' to go on."""

    rules: StopSettings
    coverage: Coverage
    waiting: Callable[[], int]
    """How many links wait."""
    _looked: int = -_LOOK

    def reason(self) -> str:
        rules, visits = self.rules, self.coverage.visits
        if not (rules.precision or rules.coverage) or visits < max(rules.after, _LOOK):
            return ""
        if visits - self._looked < _LOOK:
            return ""
        self._looked = visits
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


def until(
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


def keep(store: Store, coverage: Coverage) -> None:
    """Keep it beside the visits, in their transaction."""
    store.set_meta(_KEY, coverage.record())


def recall(store: Store) -> Coverage:
    """As the last run left it; counted anew from the journal if other pages are relevant now."""
    hosts = {row.host: row.relevant for row in store.hosts(limit=_HOSTS)}
    kept = Coverage.restored(store.meta(_KEY) or "", hosts)
    if kept is not None and _fits(kept, store):
        return kept
    found = Coverage()
    for seen in store.finds():
        found.count(*seen)
    return found


def told(store: Store, waiting: int, *, crawled: bool) -> Estimate | None:
    """What the record of a collection says; None if there is none for the visits it holds.

    While it is being crawled, the record and the counts are those of two moments.
    """
    kept = Coverage.restored(store.meta(_KEY) or "", {})
    if kept is None or not (crawled or _fits(kept, store)):
        return None
    return beside(kept.estimate(waiting), store)


def beside(found: Estimate, store: Store) -> Estimate:
    """With what links and searches say together, if anybody searched."""
    channels = store.searches.channels()
    return found if channels is None else replace(found, channels=between(*channels))


def _fits(kept: Coverage, store: Store) -> bool:
    counts = store.counts()
    return (kept.visits, kept.relevant) == (counts.visits, counts.relevant)
