"""The price of a visit, and what it makes of pages: when each is due."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from honeyguide.watch.when.budget import DAY, HOUR, Budget, steer
from honeyguide.watch.when.host_turns import Asked, Turn
from honeyguide.watch.when.rates import START, rate
from honeyguide.watch.when.rows import Rows
from honeyguide.watch.when.value import VALUES, Floats

UNKNOWN = rate(START)
"""Of a page of which nothing is known."""
_QUEUE = 0.1
"""Of those that wait, so many count as asked for too much: a queue should be short, but a short
one makes sure that nothing of the budget is lost."""


class Prices:
    """One price for all, at which pages ask for what the budget grants, and hosts' surcharges."""

    def __init__(self, budget: Budget, rows: Rows) -> None:
        self._budget = budget
        self._value = VALUES[budget.value]
        self._rows = rows
        self.price = 0.0
        """0: not found yet."""
        self._portion = 1.0
        """Pages that are to be due in a period, for every visit granted in it: some are visited
        twice in one, some fail, some have hosts that cannot take them."""
        self._queued = 0
        """How many were due already when this period began."""
        self._all = False
        """Whether all pages are to be due in this period."""

    def due(self, row: int) -> float:
        """When a visit to the page will be worth its price, within the limits for all."""
        rows, budget = self._rows, self._budget
        price = max(self.price, 1e-30) * float(rows.surcharge[rows.host[row]])
        days = self._value.wait(float(rows.rate[row]), float(rows.weight[row]), price)
        wait = min(max(days * DAY, budget.shortest_s), budget.longest_s)
        return max(float(rows.last[row]) + wait, float(rows.not_before[row]))

    def earliest(self, row: int) -> float:
        """When it may be visited, whatever that is worth."""
        rows = self._rows
        return max(float(rows.last[row]) + self._budget.shortest_s, float(rows.not_before[row]))

    def worth(self, row: int, now: float) -> float:
        """What a visit to the page is worth now."""
        return float(self._worths(np.array([row]), now)[0])

    def unseen(self, expected: float) -> float:
        """What a page is worth that nobody has seen, with this expected weight.

        As much as a known one of average habits that nobody has seen for some time: so both are
        counted in one currency, and that time is the knob between exploring and revisiting.
        """
        days = self._budget.unseen_days
        return float(self._value.worth(UNKNOWN.per_day, max(expected, 0.0), days))

    def charge(self, hosts: Iterable[Asked], seconds: float) -> float:
        """Correct the surcharges; how many visits are waiting that hosts could have taken.

        What a host could not have taken does not count: it must not make others dearer.
        """
        surcharge = self._rows.surcharge
        waiting = 0.0
        idle = surcharge > 1.0
        for one in hosts:
            room = max(seconds / max(one.rest, 1e-3), 1.0)
            waiting += min(one.waiting, max(room - one.done, 0.0))
            idle[one.host] = False
            now = float(surcharge[one.host])
            asked = one.done + _QUEUE * one.waiting + max(one.waiting - room, 0.0)
            if now > 1.0 or asked > room:
                surcharge[one.host] = max(1.0, steer(now, asked, room))
        surcharge[idle] = np.maximum(1.0, surcharge[idle] * math.exp(-0.3))
        return waiting

    def tune(self, now: float, made: int, waiting: float, granted: float) -> list[Turn]:
        """Find the price for the next period, and say what is due in it.

        ``made`` are the visits of the last one, where ``granted`` were allowed.
        """
        rows, budget = self._rows, self._budget
        until = now + budget.period_s
        free = rows.free()
        free = free[np.maximum(rows.not_before[free], rows.last[free] + budget.shortest_s) < until]
        if not len(free):
            return []
        if self.price:
            asked = made + max(waiting - self._queued, 0.0) + _QUEUE * waiting
            portion = min(max(steer(self._portion, granted, asked), 0.25), 4.0)
            # Where all pages were asked for, asking for more of them would be in vain.
            self._portion = min(portion, self._portion) if self._all else portion
        worth = self._worths(free, until)
        places = self._portion * budget.per_hour * budget.period_s / HOUR
        self._all = places >= len(free)
        first = _best(worth, places)
        self.price = max(float(worth[first].min()), 1e-30)
        turns = []
        for place, (due, row) in enumerate(sorted((self.due(r), r) for r in free[first].tolist())):
            # Pages of equal worth, as all are at first, must not all be due at the end.
            turn = now + budget.period_s * place / max(places, 1.0)
            turns.append(Turn(min(due, max(turn, self.earliest(row))), row))
        turns += [Turn(self.due(row), row) for row in self._left(free, first, until)]
        self._queued = sum(turn.due <= now for turn in turns)
        return turns

    def _worths(self, those: NDArray[np.intp], at: float) -> Floats:
        """What visits will be worth then, where surcharges are paid."""
        rows, unseen = self._rows, self._budget.unseen_days
        last = rows.last[those]
        days = np.where(np.isinf(last), unseen, np.maximum(at - last, 0.0) / DAY)
        worth = self._value.worth(rows.rate[those], rows.weight[those], days)
        return np.asarray(worth / rows.surcharge[rows.host[those]])

    def _left(self, free: NDArray[np.intp], first: NDArray[np.intp], until: float) -> list[int]:
        """Pages that are left alone for too long, though worth little: the oldest of them.

        No more than a quarter: with too small a budget, all pages would be among them, and what
        they are worth would not matter any more.
        """
        old = self._rows.last[free] <= until - self._budget.longest_s
        old[first] = False
        those = free[old]
        oldest = np.argsort(self._rows.last[those])[: 1 + len(first) // 4]
        return [int(row) for row in those[oldest]]


def _best(worth: Floats, places: float) -> NDArray[np.intp]:
    """Where the most valuable stand, so many."""
    count = min(max(round(places), 1), len(worth))
    return np.argpartition(worth, -count)[-count:]
