"""A web of pages that change, to compare rules by which crawlers come back.

Pages change as Poisson processes with rates from a lognormal distribution and count with weights
from a Pareto distribution. Every rule has the same budget, a visit in every slot of equal length,
and none is left unused, so only the choice differs. The second half of the time is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_BATCH = 8
"""Slots chosen for at once, from a thousand pages: quicker, and no figure changes by a per cent."""
_MOST = 24.0
"""Changes a day of the fastest pages."""


@dataclass(frozen=True, slots=True)
class World:
    """Pages and every moment at which one of them changes."""

    rates: Floats
    """Changes a day, at first."""
    weights: Floats
    days: float
    changes: Floats
    """Page × span + moment, in order; infinity at the end."""

    @property
    def span(self) -> float:
        return self.days + 1.0

    def first_after(self, pages: Ints, moments: Floats) -> Floats:
        """When these pages next change; infinite: not any more."""
        found = self.changes[
            np.searchsorted(self.changes, pages * self.span + moments, side="right")
        ]
        found = found - pages * self.span
        return np.where(found < self.span, found, np.inf)


def make(
    pages: int = 1000, days: float = 200.0, seed: int = 1, drift: float | None = None
) -> World:
    """A web. With ``drift``, all pages exchange their rates on that day."""
    dice = np.random.default_rng(seed)
    rates = np.minimum(0.1 * np.exp(1.8 * dice.standard_normal(pages)), _MOST)
    weights = 1.0 + dice.pareto(1.5, pages)
    turn = days if drift is None else min(max(drift, 0.0), days)
    found = []
    for start, end, now in ((0.0, turn, rates), (turn, days, dice.permutation(rates))):
        counts = dice.poisson(now * (end - start))
        owners = np.repeat(np.arange(pages), counts)
        found.append(owners * (days + 1.0) + start + (end - start) * dice.random(len(owners)))
    return World(rates, weights, days, np.append(np.sort(np.concatenate(found)), np.inf))


class Rule(Protocol):
    """Says where to go next, and hears what was there."""

    def choose(self, since: Floats, count: int) -> Ints:
        """The pages to visit, so many; ``since``: days since the last visit of each."""
        ...

    def saw(self, pages: Ints, since: Floats, changed: Floats) -> None:
        """What the visits found: 1.0 changed, 0.0 not."""
        ...


class Visits(NamedTuple):
    """What a crawler did."""

    pages: Ints
    at: Floats


def walk(world: World, rule: Rule, visits: float, batch: int = _BATCH) -> Visits:
    """Let a rule spend ``visits`` a day and page."""
    pages = len(world.rates)
    slots = int(world.days * pages * visits)
    times = (np.arange(slots) + 1) / (pages * visits)
    batch = max(1, min(batch, pages // 100))
    last = np.zeros(pages)
    went = np.zeros(slots, np.intp)
    for start in range(0, slots, batch):
        now = times[start : start + batch]
        chosen = rule.choose(now[0] - last, len(now))
        since = now - last[chosen]
        changed = world.first_after(chosen, last[chosen]) <= now
        rule.saw(chosen, since, changed.astype(float))
        last[chosen] = now
        went[start : start + batch] = chosen
    return Visits(went, times)


class Figures(NamedTuple):
    """How well a rule did. Days, and shares."""

    fresh: float
    """Of the time, copies were up to date."""
    fresh_weighted: float
    age: float
    """Mean of the time since a copy became out of date, 0 while it is not …"""
    age_weighted: float
    """… by weight: what we want small."""
    delay: float
    """From a change to the visit that found it."""
    delay_95: float
    caught: float
    """Versions that were ever seen."""
    starved: float
    """Pages that changed and were not visited at all."""
    visits: float
    """A page and day."""


def measure(world: World, visits: Visits) -> Figures:
    """The second half of what a crawler did."""
    pages, half = len(world.rates), world.days / 2
    everyone = np.arange(pages)
    # Intervals between visits; all pages were seen when time began, and the last ones are open.
    owners = np.concatenate([everyone, visits.pages])
    starts = np.concatenate([np.zeros(pages), visits.at])
    order = np.lexsort((starts, owners))
    owners, starts = owners[order], starts[order]
    closed = np.append(owners[1:] == owners[:-1], False)
    ends = np.where(closed, np.append(starts[1:], 0.0), world.days)
    stale = np.minimum(world.first_after(owners, starts), ends)
    begin = np.maximum(stale, half)
    counted = ends > half
    out = np.where(counted, ends - np.minimum(begin, ends), 0.0)
    younger = np.minimum(begin, ends) - stale
    aged = np.where(counted, ((ends - stale) ** 2 - younger**2) / 2, 0.0)
    weights = world.weights[owners]
    whole, heavy = pages * (world.days - half), world.weights.sum() * (world.days - half)
    found = closed & (stale < ends) & counted
    delays = (ends - stale)[found]
    moments = world.changes[:-1] - (changed := world.changes[:-1] // world.span) * world.span
    late = moments > half
    asked = np.unique(changed[late].astype(int))
    went = np.unique(visits.pages[visits.at > half])
    return Figures(
        fresh=float(1 - out.sum() / whole),
        fresh_weighted=float(1 - (weights * out).sum() / heavy),
        age=float(aged.sum() / whole),
        age_weighted=float((weights * aged).sum() / heavy),
        delay=float(delays.mean()) if len(delays) else 0.0,
        delay_95=float(np.quantile(delays, 0.95)) if len(delays) else 0.0,
        caught=float(found.sum() / max(late.sum(), 1)),
        starved=float(np.mean(~np.isin(asked, went))) if len(asked) else 0.0,
        visits=float(np.sum(visits.at > half) / whole),
    )
