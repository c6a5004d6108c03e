"""A web of pages that change, to compare rules by which crawlers come back.

Pages change as Poisson processes with rates from a lognormal distribution and count with weights
from a Pareto distribution. Every rule has the same budget, a visit in every slot of equal length,
and none is left unused, so only the choice differs. The second half of the time is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError
from honeyguide.lab.metrics import BootstrapEstimate, bootstrap_mean
from honeyguide.types import Url
from honeyguide.watch.schedule.change_rate import (
    GAMMA,
    LOG_RATES,
    RatePriors,
    estimate_rate,
    look_likelihood,
    softmax_rows,
    update_belief,
)
from honeyguide.watch.schedule.prices import AGE, DAY, FRESH, SQRT, VisitValue, WatchBudget
from honeyguide.watch.schedule.schedule import Schedule

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

_SLOTS_AT_ONCE = 8
"""Slots chosen for at once, from a thousand pages: quicker, and no figure changes by a per cent."""
_MAX_RATE = 24.0
"""Changes a day of the fastest pages."""


@dataclass(frozen=True, slots=True)
class ChangingWeb:
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


def make_changing_web(
    pages: int = 1000, days: float = 200.0, seed: int = 1, drift: float | None = None
) -> ChangingWeb:
    """A web. With ``drift``, all pages exchange their rates on that day."""
    dice = np.random.default_rng(seed)
    rates = np.minimum(0.1 * np.exp(1.8 * dice.standard_normal(pages)), _MAX_RATE)
    weights = 1.0 + dice.pareto(1.5, pages)
    turn = days if drift is None else min(max(drift, 0.0), days)
    found = []
    for start, end, now in ((0.0, turn, rates), (turn, days, dice.permutation(rates))):
        counts = dice.poisson(now * (end - start))
        owners = np.repeat(np.arange(pages), counts)
        found.append(owners * (days + 1.0) + start + (end - start) * dice.random(len(owners)))
    return ChangingWeb(rates, weights, days, np.append(np.sort(np.concatenate(found)), np.inf))


class RevisitRule(Protocol):
    """Says where to go next, and hears what was there."""

    def choose_pages(self, since: Floats, count: int) -> Ints:
        """The pages to visit, so many; ``since``: days since the last visit of each."""
        ...

    def record_visits(self, pages: Ints, since: Floats, changed: Floats) -> None:
        """What the visits found: 1.0 changed, 0.0 not."""
        ...


class SimulatedVisits(NamedTuple):
    """What a crawler did."""

    pages: Ints
    at: Floats


def simulate_visits(
    world: ChangingWeb, rule: RevisitRule, visits: float, batch: int = _SLOTS_AT_ONCE
) -> SimulatedVisits:
    """Let a rule spend ``visits`` a day and page."""
    pages = len(world.rates)
    slots = int(world.days * pages * visits)
    times = (np.arange(slots) + 1) / (pages * visits)
    batch = max(1, min(batch, pages // 100))
    last = np.zeros(pages)
    went = np.zeros(slots, np.intp)
    for start in range(0, slots, batch):
        now = times[start : start + batch]
        chosen = rule.choose_pages(now[0] - last, len(now))
        since = now - last[chosen]
        changed = world.first_after(chosen, last[chosen]) <= now
        rule.record_visits(chosen, since, changed.astype(float))
        last[chosen] = now
        went[start : start + batch] = chosen
    return SimulatedVisits(went, times)


class RevisitMetrics(NamedTuple):
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


def measure_visits(world: ChangingWeb, visits: SimulatedVisits) -> RevisitMetrics:
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
    return RevisitMetrics(
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


# --------------------------------------------------------------------------------------------------
# Rules by which crawlers come back to pages: what others do, and what we do.
# --------------------------------------------------------------------------------------------------


def _best_pages(worth: Floats, count: int) -> Ints:
    """The most valuable, best first."""
    if count == 1:
        return np.array([np.argmax(worth)])
    best = np.argpartition(worth, -count)[-count:]
    return best[np.argsort(-worth[best])]


class KnownRates:
    """Go where a visit is worth most, told the true rates at the beginning."""

    def __init__(
        self, world: ChangingWeb, worth: Callable[[Floats, Floats, Floats], Floats]
    ) -> None:
        self._world, self._worth = world, worth

    def choose_pages(self, since: Floats, count: int) -> Ints:
        return _best_pages(self._worth(self._world.rates, self._world.weights, since), count)

    def record_visits(self, pages: Ints, since: Floats, changed: Floats) -> None:
        pass


class LearnedRates:
    """Go where a visit is worth most by the rates learned so far.

    With ``siblings``, what is learned of all pages is what is believed of each at first.
    """

    _PRIOR_STEP = 400
    """Visits after which the common belief is worked out again."""

    def __init__(
        self, world: ChangingWeb, value: VisitValue, gamma: float = GAMMA, siblings: bool = False
    ) -> None:
        self._weights, self._value, self._gamma = world.weights, value, gamma
        self._logs = np.zeros((len(world.rates), len(LOG_RATES)))
        self._rates = np.full(len(world.rates), np.exp(LOG_RATES.mean()))
        self._prior = np.zeros(len(LOG_RATES))
        self._until = self._PRIOR_STEP if siblings else math.inf

    def choose_pages(self, since: Floats, count: int) -> Ints:
        return _best_pages(self._value.worth(self._rates, self._weights, since), count)

    def record_visits(self, pages: Ints, since: Floats, changed: Floats) -> None:
        kept = self._gamma * self._logs[pages] + (1 - self._gamma) * self._prior
        logs = kept + look_likelihood(since[:, None], changed[:, None])
        self._logs[pages] = logs
        self._rates[pages] = np.exp(softmax_rows(logs) @ LOG_RATES)
        self._until -= len(pages)
        if self._until <= 0:
            self._until = self._PRIOR_STEP
            self._prior = np.log(softmax_rows(self._logs).mean(axis=0) + 1e-5)


class AdaptiveIntervals:
    """Every page has an interval, shortened after a change and lengthened otherwise.

    As the adaptive schedules of Nutch and StormCrawler do. What has been due longest goes first, or
    what will be due first.
    """

    def __init__(
        self,
        world: ChangingWeb,
        start: float,
        changed: Callable[[Floats], Floats],
        unchanged: Callable[[Floats], Floats],
        least: float,
        most: float,
    ) -> None:
        self._intervals = np.full(len(world.rates), start)
        self._changed, self._unchanged = changed, unchanged
        self._least, self._most = least, most

    def choose_pages(self, since: Floats, count: int) -> Ints:
        return _best_pages(since - self._intervals, count)

    def record_visits(self, pages: Ints, since: Floats, changed: Floats) -> None:
        old = self._intervals[pages]
        new = np.where(changed > 0, self._changed(old), self._unchanged(old))
        self._intervals[pages] = np.clip(new, self._least, self._most)


def simulate_watch(world: ChangingWeb, visits: float, gamma: float = GAMMA) -> SimulatedVisits:
    """What a watch does: our schedule, with its heap, its price and its budget, in real time."""
    pages = [Url(f"http://site{i % 20}.example/pages/{i}") for i in range(len(world.rates))]
    number = {url: i for i, url in enumerate(pages)}
    end, now = world.days * DAY, 0.0
    budget = WatchBudget(visits * len(pages) / 24, shortest_s=60.0, longest_s=end)
    schedule, priors = Schedule(budget, now), RatePriors()
    beliefs: dict[Url, bytes] = {}
    for i, page in enumerate(pages):
        schedule.add(page, f"site{i % 20}.example", weight=float(world.weights[i]), last=0.0)
    last = np.zeros(len(pages))
    # When each page changes next, after its last visit: looked up once and not at every visit.
    changes = world.first_after(np.arange(len(pages)), last)
    went: list[int] = []
    at: list[float] = []
    while (woken := schedule.wake_at(now)) is not None and woken < end:
        now = woken
        while (url := schedule.due(now)) is not None:
            i, days = number[url], now / DAY
            changed = changes[i] <= days
            old = beliefs.get(url, b"")
            prior = priors.prior_for(url)
            seen = {"last": float(last[i]) * DAY, "now": now, "changed": float(changed)}
            new = update_belief(old or prior, prior, gamma=gamma, **seen)
            priors.learn(url, new, old)
            beliefs[url] = new
            schedule.visited(url, now, rate=estimate_rate(new))
            last[i] = days
            if changed:
                changes[i] = world.first_after(np.array([i]), np.array([days]))[0]
            went.append(i)
            at.append(days)
    return SimulatedVisits(np.array(went, np.intp), np.array(at))


def _oldest_first(_rates: Floats, _weights: Floats, since: Floats) -> Floats:
    return since


def _fastest_first(rates: Floats, _weights: Floats, since: Floats) -> Floats:
    return rates * since


def _nutch_rule(world: ChangingWeb, visits: float) -> AdaptiveIntervals:
    """AdaptiveFetchSchedule with the rates of its default settings, 0.4 and 0.2."""
    return AdaptiveIntervals(
        world, 1 / visits, lambda i: i * 0.8, lambda i: i * 1.4, 60 / DAY, 365.0
    )


def _stormcrawler_rule(world: ChangingWeb, visits: float) -> AdaptiveIntervals:
    """AdaptiveScheduler, 0.5 and 0.5, between an hour and a fortnight."""
    least = 1 / 24
    start = 1 / visits
    return AdaptiveIntervals(
        world, start, lambda i: (i + least) / 2, lambda i: i * 1.5, least, 14.0
    )


def _simulate_rule(
    rule: Callable[[ChangingWeb, float], RevisitRule],
) -> Callable[[ChangingWeb, float], SimulatedVisits]:
    return lambda world, visits: simulate_visits(world, rule(world, visits), visits)


REVISIT_RULES: dict[str, Callable[[ChangingWeb, float], SimulatedVisits]] = {
    "uniform": _simulate_rule(lambda world, _: KnownRates(world, _oldest_first)),
    "proportional": _simulate_rule(lambda world, _: KnownRates(world, _fastest_first)),
    "nutch": _simulate_rule(_nutch_rule),
    "stormcrawler": _simulate_rule(_stormcrawler_rule),
    "fresh-known": _simulate_rule(lambda world, _: KnownRates(world, FRESH.worth)),
    "age-known": _simulate_rule(lambda world, _: KnownRates(world, AGE.worth)),
    "age": _simulate_rule(lambda world, _: LearnedRates(world, AGE)),
    "age-siblings": _simulate_rule(lambda world, _: LearnedRates(world, AGE, siblings=True)),
    "sqrt": _simulate_rule(lambda world, _: LearnedRates(world, SQRT)),
    "watch": simulate_watch,
}
"""Name → what a crawler with that rule does, given so many visits a page and day."""


# --------------------------------------------------------------------------------------------------
# Compare rules by which crawlers come back, on several webs.
# --------------------------------------------------------------------------------------------------


BASELINE_RULE = "uniform"
"""What every monitor does today, and what the others are compared with."""


@dataclass(frozen=True, slots=True)
class RevisitStudy:
    """What is compared, and on what."""

    rules: tuple[str, ...] = tuple(REVISIT_RULES)
    visits: float = 0.3
    """A page and day."""
    seeds: int = 5
    pages: int = 1000
    days: float = 200.0
    drift: float | None = None
    """On that day, all pages exchange their rates."""

    def __post_init__(self) -> None:
        for rule in self.rules:
            if rule not in REVISIT_RULES:
                raise ConfigError(
                    f"there is no rule {rule!r}; there are {', '.join(REVISIT_RULES)}"
                )
        slots = self.pages * self.days * self.visits
        if self.pages < 1 or self.seeds < 1 or not 1 <= slots <= 1e8:
            raise ConfigError("a study needs pages, days and visits, and not a hundred million")
        if self.drift is not None and not 0 < self.drift < self.days:
            raise ConfigError(f"--drift is a day before the last, {self.days:.0f}")

    @property
    def steps(self) -> int:
        return self.seeds * len(self._all_rules())

    def _all_rules(self) -> tuple[str, ...]:
        return self.rules if BASELINE_RULE in self.rules else (BASELINE_RULE, *self.rules)

    def run(self, done: Callable[[int, str], None] = lambda _step, _rule: None) -> RevisitResults:
        """Let every rule work on every web; ``done`` hears how far it is."""
        found: dict[str, list[RevisitMetrics]] = {rule: [] for rule in self._all_rules()}
        step = 0
        for seed in range(1, self.seeds + 1):
            world = make_changing_web(self.pages, self.days, seed, self.drift)
            for rule, figures in found.items():
                done(step, rule)
                figures.append(measure_visits(world, REVISIT_RULES[rule](world, self.visits)))
                step += 1
        return RevisitResults(found)


@dataclass(frozen=True, slots=True)
class RevisitResults:
    """By rule, the figures of every web."""

    figures: dict[str, list[RevisitMetrics]] = field(default_factory=dict)

    def mean_of(self, rule: str, what: str) -> BootstrapEstimate:
        return bootstrap_mean([[getattr(f, what)] for f in self.figures[rule]])

    def age_gain(self, rule: str) -> BootstrapEstimate:
        """How much lower the weighted age is than with the uniform rule, as a share of it."""
        pairs: Sequence[tuple[RevisitMetrics, RevisitMetrics]] = list(
            zip(self.figures[rule], self.figures[BASELINE_RULE], strict=True)
        )
        return bootstrap_mean(
            [[1 - ours.age_weighted / theirs.age_weighted] for ours, theirs in pairs]
        )

    def to_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            rule: {
                **{what: self.mean_of(rule, what)._asdict() for what in RevisitMetrics._fields},
                "gain": self.age_gain(rule)._asdict(),
                "seeds": [f._asdict() for f in figures],
            }
            for rule, figures in self.figures.items()
        }


# --------------------------------------------------------------------------------------------------
# Published results to hold ours against: Cho and Garcia-Molina (2003).
# --------------------------------------------------------------------------------------------------


def cho_garcia_molina(looks: int, changes: int, days: float) -> float:
    """Changes a day, from so many looks at equal intervals.

    Cho and Garcia-Molina (2003), the estimator with corrected bias: -ln((n-x+.5)/(n+.5))/Δ.
    Meegahapola et al. detect changes to learn how often pages change, and name no estimator; this
    is the one that fits their rounds of equal length.
    """
    if looks <= 0 or not days > 0:
        return 0.0
    unchanged = looks - min(max(changes, 0), looks)
    return -math.log((unchanged + 0.5) / (looks + 0.5)) / days


def balance_price(value: VisitValue, rates: Floats, weights: Floats, visits: float) -> float:
    """The price at which these pages need so many visits a day in all.

    >>> rates = [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> price = balance_price(FRESH, np.array(rates), np.ones(5), 5)
    >>> " ".join(f"{1 / FRESH.wait(rate, 1.0, price):.2f}" for rate in rates)
    '1.15 1.36 1.35 1.14 0.00'
    """
    pages = list(zip(rates.tolist(), weights.tolist(), strict=True))
    low, high = math.log(1e-18), math.log(1e18)
    for _ in range(80):
        middle = (low + high) / 2
        asked = sum(1 / value.wait(*page, math.exp(middle)) for page in pages)
        low, high = (middle, high) if asked > visits else (low, middle)
    return math.exp((low + high) / 2)
