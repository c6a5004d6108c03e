"""Rules by which crawlers come back to pages: what others do, and what we do."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from honeyguide.lab.revisit import Floats, Ints, Rule, Visits, World, walk
from honeyguide.types import Url
from honeyguide.watch.when.budget import DAY, Budget
from honeyguide.watch.when.priors import Priors
from honeyguide.watch.when.rates import GAMMA, LOG_RATES, learn, likelihood, rate, share
from honeyguide.watch.when.schedule import Schedule
from honeyguide.watch.when.value import AGE, FRESH, SQRT, Value


def _top(worth: Floats, count: int) -> Ints:
    """The most valuable, best first."""
    if count == 1:
        return np.array([np.argmax(worth)])
    best = np.argpartition(worth, -count)[-count:]
    return best[np.argsort(-worth[best])]


class Known:
    """Go where a visit is worth most, told the true rates at the beginning."""

    def __init__(self, world: World, worth: Callable[[Floats, Floats, Floats], Floats]) -> None:
        self._world, self._worth = world, worth

    def choose(self, since: Floats, count: int) -> Ints:
        return _top(self._worth(self._world.rates, self._world.weights, since), count)

    def saw(self, pages: Ints, since: Floats, changed: Floats) -> None:
        pass


class Learned:
    """Go where a visit is worth most by the rates learned so far.

    With ``siblings``, what is learned of all pages is what is believed of each at first.
    """

    _OFTEN = 400
    """Visits after which the common belief is worked out again."""

    def __init__(
        self, world: World, value: Value, gamma: float = GAMMA, siblings: bool = False
    ) -> None:
        self._weights, self._value, self._gamma = world.weights, value, gamma
        self._logs = np.zeros((len(world.rates), len(LOG_RATES)))
        self._rates = np.full(len(world.rates), np.exp(LOG_RATES.mean()))
        self._prior = np.zeros(len(LOG_RATES))
        self._until = self._OFTEN if siblings else math.inf

    def choose(self, since: Floats, count: int) -> Ints:
        return _top(self._value.worth(self._rates, self._weights, since), count)

    def saw(self, pages: Ints, since: Floats, changed: Floats) -> None:
        kept = self._gamma * self._logs[pages] + (1 - self._gamma) * self._prior
        logs = kept + likelihood(since[:, None], changed[:, None])
        self._logs[pages] = logs
        self._rates[pages] = np.exp(share(logs) @ LOG_RATES)
        self._until -= len(pages)
        if self._until <= 0:
            self._until = self._OFTEN
            self._prior = np.log(share(self._logs).mean(axis=0) + 1e-5)


class Intervals:
    """Every page has an interval, shortened after a change and lengthened otherwise.

    As the adaptive schedules of Nutch and StormCrawler do. What has been due longest goes first, or
    what will be due first.
    """

    def __init__(
        self,
        world: World,
        start: float,
        changed: Callable[[Floats], Floats],
        unchanged: Callable[[Floats], Floats],
        least: float,
        most: float,
    ) -> None:
        self._intervals = np.full(len(world.rates), start)
        self._changed, self._unchanged = changed, unchanged
        self._least, self._most = least, most

    def choose(self, since: Floats, count: int) -> Ints:
        return _top(since - self._intervals, count)

    def saw(self, pages: Ints, since: Floats, changed: Floats) -> None:  # noqa: ARG002
        old = self._intervals[pages]
        new = np.where(changed > 0, self._changed(old), self._unchanged(old))
        self._intervals[pages] = np.clip(new, self._least, self._most)


def practical(world: World, visits: float, gamma: float = GAMMA) -> Visits:
    """What a watch does: our schedule, with its heap, its price and its budget, in real time."""
    pages = [Url(f"http://site{i % 20}.example/pages/{i}") for i in range(len(world.rates))]
    number = {url: i for i, url in enumerate(pages)}
    end, now = world.days * DAY, 0.0
    budget = Budget(visits * len(pages) / 24, host_rest_s=0.0, shortest_s=60.0, longest_s=end)
    schedule, priors = Schedule(budget, now), Priors()
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
            prior = priors.of(url)
            seen = {"last": float(last[i]) * DAY, "now": now, "changed": float(changed)}
            new = learn(old or prior, prior, gamma=gamma, **seen)
            priors.learn(url, new, old)
            beliefs[url] = new
            schedule.visited(url, now, rate=rate(new))
            last[i] = days
            if changed:
                changes[i] = world.first_after(np.array([i]), np.array([days]))[0]
            went.append(i)
            at.append(days)
    return Visits(np.array(went, np.intp), np.array(at))


def _oldest(_rates: Floats, _weights: Floats, since: Floats) -> Floats:
    return since


def _fastest(rates: Floats, _weights: Floats, since: Floats) -> Floats:
    return rates * since


def _nutch(world: World, visits: float) -> Intervals:
    """AdaptiveFetchSchedule with the rates of its default settings, 0.4 and 0.2."""
    return Intervals(world, 1 / visits, lambda i: i * 0.8, lambda i: i * 1.4, 60 / DAY, 365.0)


def _stormcrawler(world: World, visits: float) -> Intervals:
    """AdaptiveScheduler, 0.5 and 0.5, between an hour and a fortnight."""
    least = 1 / 24
    start = 1 / visits
    return Intervals(world, start, lambda i: (i + least) / 2, lambda i: i * 1.5, least, 14.0)


def _walks(rule: Callable[[World, float], Rule]) -> Callable[[World, float], Visits]:
    return lambda world, visits: walk(world, rule(world, visits), visits)


RULES: dict[str, Callable[[World, float], Visits]] = {
    "uniform": _walks(lambda world, _: Known(world, _oldest)),
    "proportional": _walks(lambda world, _: Known(world, _fastest)),
    "nutch": _walks(_nutch),
    "stormcrawler": _walks(_stormcrawler),
    "fresh-known": _walks(lambda world, _: Known(world, FRESH.worth)),
    "age-known": _walks(lambda world, _: Known(world, AGE.worth)),
    "age": _walks(lambda world, _: Learned(world, AGE)),
    "age-siblings": _walks(lambda world, _: Learned(world, AGE, siblings=True)),
    "sqrt": _walks(lambda world, _: Learned(world, SQRT)),
    "watch": practical,
}
"""Name → what a crawler with that rule does, given so many visits a page and day."""
