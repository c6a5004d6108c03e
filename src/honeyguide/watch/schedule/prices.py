"""The value of a visit, the budget of requests, the price that a visit must be worth, and the turns
of hosts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.types import Url
from honeyguide.watch.schedule.change_rate import DAY, START_BELIEF, Floats, estimate_rate

Numbers = Floats | float
ValueName = Literal["age", "fresh", "sqrt"]

HOUR = 3_600.0


# -- The value of a visit --
#
# A page changes as a Poisson process at a rate D a day, counts with a weight µ, and was last seen τ
# days ago; x = Dτ. Where every page is visited at equal intervals and no visit could be moved to
# another page with profit, all pages are visited at the same value V, the price of a visit (λ):
#
#     fresh    V = µ/D · g(x)              the most copies that are up to date
#     age      V = µ/D² · (x²/2 - g(x))    the least mean age of copies: changes are told soonest
#     sqrt     V = µ/D · x²/2              every hour of every missed change counts: f ~ √(µD)
#
# with g(x) = 1 - e⁻ˣ(1 + x). The first is the optimum of Cho and Garcia-Molina (2003); it is
# bounded by µ/D, so it never again visits what changes too fast, and is not for those who wait for
# news. The other two grow without bounds: no page starves. Days everywhere.


_SMALL = 0.03
"""Below it, x²/2 - g(x) would drown in rounding: a series stands in."""
_STEPS = 40
"""Newton's method ends after five or so; a bound, because no input may hang us."""
_CLOSE = 1e-12


class VisitValue(NamedTuple):
    """A value of visits. ``worth`` takes arrays, ``wait`` numbers."""

    name: ValueName
    worth: Callable[[Numbers, Numbers, Numbers], Floats]
    """(rate, weight, days since the last visit) → V."""
    wait: Callable[[float, float, float], float]
    """(rate, weight, price) → days until V reaches the price; infinite if it never does."""


def _g(x: Floats) -> Floats:
    return np.asarray(-np.expm1(-x) - x * np.exp(-x))


def _h(x: Floats) -> Floats:
    """x²/2 - g(x), which is x³/3 at first and x²/2 - 1 in the end."""
    series = x * x * x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144)))
    return np.where(x < _SMALL, series, x * x / 2 - _g(x))


def _h_one(x: float) -> float:
    if x < _SMALL:
        return x * x * x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144)))
    return x * x / 2 + math.expm1(-x) + x * math.exp(-x)


def _h_inverse_one(y: float) -> float:
    y = max(y, 1e-300)
    x = math.cbrt(3 * y) + math.sqrt(2 * y)
    for _ in range(_STEPS):
        step = (_h_one(x) - y) / (-x * math.expm1(-x))
        x -= step
        if abs(step) <= _CLOSE * x:
            break
    return x


def _g_inverse(y: Floats) -> Floats:
    """Newton on x - ln(1 + x) = -ln(1 - y), which is convex as well; infinite from y = 1."""
    reached = y < 1
    level = -np.log1p(-np.where(reached, np.maximum(y, 1e-300), 0.5))
    x = np.sqrt(2 * level) + level * (2 / 3)
    for _ in range(_STEPS):
        # Too small for ln(1 + x) to tell it from x: there the first guess is right.
        step = np.where(x < 1e-5, 0.0, (x - np.log1p(x) - level) * (1 + x) / x)
        x = x - step
        if np.all(np.abs(step) <= _CLOSE * x):
            break
    return np.where(reached, x, np.inf)


FRESH = VisitValue(
    "fresh",
    lambda rate, weight, days: np.asarray(weight / rate * _g(np.asarray(rate * days))),
    lambda rate, weight, price: float(_g_inverse(np.asarray(price * rate / weight))) / rate,
)
AGE = VisitValue(
    "age",
    lambda rate, weight, days: np.asarray(weight / (rate * rate) * _h(np.asarray(rate * days))),
    lambda rate, weight, price: _h_inverse_one(price * rate * rate / weight) / rate,
)
SQRT = VisitValue(
    "sqrt",
    lambda rate, weight, days: np.asarray(weight * rate * days * days / 2),
    lambda rate, weight, price: math.sqrt(2 * price / (weight * rate)),
)
VALUES: dict[ValueName, VisitValue] = {"age": AGE, "fresh": FRESH, "sqrt": SQRT}


# -- The budget --


_SAVED, _SAVED_S = 10.0, 10.0
"""Requests that may be saved: so many, or those of so many seconds."""
_FEW_VISITS = 100.0
"""Visits after which the price is looked at again: fewer would make it follow chance."""


@dataclass(frozen=True, slots=True)
class WatchBudget:
    """What a watch may spend, and on what."""

    per_hour: float = 500.0
    """Requests in all."""
    shortest_s: float = 300.0
    """Shortest time between two visits to a page."""
    longest_s: float = 60 * DAY
    """Longest time between two visits to a page, as far as the budget allows."""
    value: ValueName = "age"
    unseen_days: float = 30.0
    """A link to a page that nobody has seen is worth as much as a page last seen so long ago."""
    discover_most: float = 0.5
    """Of the requests, at most this share looks for new pages while known ones are due."""

    @property
    def period_s(self) -> float:
        """Seconds between two looks at the price."""
        return min(max(_FEW_VISITS * HOUR / max(self.per_hour, 1e-9), 60.0), DAY)


class TokenBucket:
    """Requests in hand: they come evenly, and a few may be saved for when more pages are due."""

    def __init__(self, per_hour: float, now: float) -> None:
        self._per_s = max(per_hour, 1e-9) / HOUR
        self._most = max(_SAVED, per_hour * _SAVED_S / HOUR)
        self._filled = 1.0
        self._at = now

    def is_ready(self, now: float) -> bool:
        return self.ready_at(now) <= now

    def ready_at(self, now: float) -> float:
        """When there is a request in hand: now, or later."""
        if now > self._at:
            self._filled = min(self._most, self._filled + (now - self._at) * self._per_s)
            self._at = now
        # Rounding must not leave somebody who slept until then with almost a request.
        missing = 1.0 - 1e-6 - self._filled
        return now if missing <= 0 else self._at + (1.0 - self._filled) / self._per_s

    def take(self, now: float) -> None:
        self.ready_at(now)
        self._filled -= 1.0


def steer_towards(number: float, asked: float, granted: float) -> float:
    """The number for the next period: more of it if more was asked for than granted, or less.

    Half of the way, and no more than a third at once, lest it swings.
    """
    off = math.log(max(asked, 0.5) / max(granted, 0.5))
    return number * math.exp(min(max(0.5 * off, -0.3), 0.3))


# -- Turns of hosts --
#
# Pages that are due wait for their host: one request at a time. How long a host rests between two
# is the flow's business (:class:`honeyguide.net.host_queue.HostQueues`).


class HostTurn(NamedTuple):
    """A page that is due; the one that has been due longest goes first."""

    due: float
    row: int


@dataclass(slots=True)
class _HostState:
    waiting: list[HostTurn] = field(default_factory=list)
    busy: bool = False
    listed: bool = False
    """Whether its turn may be near."""


class HostTurns:
    """Whose turn it is. Hosts are numbers here."""

    def __init__(self) -> None:
        self._hosts: defaultdict[int, _HostState] = defaultdict(_HostState)
        self._listed: list[int] = []
        """Hosts that got a page, or are free again, since the last turn."""
        self._ready: list[tuple[float, int]] = []

    def offer(self, turn: HostTurn, host: int) -> None:
        """A page is due."""
        heappush(self._hosts[host].waiting, turn)
        self._list_host(host)

    def withdraw(self, row: int, host: int) -> None:
        """A page is not to be visited after all."""
        state = self._hosts[host]
        state.waiting = [turn for turn in state.waiting if turn.row != row]
        heapify(state.waiting)

    def peek_turn(self) -> HostTurn | None:
        """The page whose turn it is; it stays where it is."""
        for host in self._listed:
            waiting = self._hosts[host].waiting
            self._hosts[host].listed = bool(waiting)
            if waiting:
                heappush(self._ready, (waiting[0].due, host))
        self._listed.clear()
        while self._ready:
            state = self._hosts[self._ready[0][1]]
            if state.waiting:
                return state.waiting[0]
            heappop(self._ready)
            state.listed = False
        return None

    def take(self) -> HostTurn | None:
        """The same, and its host is busy from now on."""
        if self.peek_turn() is None:
            return None
        state = self._hosts[heappop(self._ready)[1]]
        state.listed, state.busy = False, True
        return heappop(state.waiting)

    def finish_turn(self, host: int) -> None:
        """The visit is over."""
        self._hosts[host].busy = False
        self._list_host(host)

    def may_have_turn(self) -> bool:
        return bool(self._ready or self._listed)

    def end_period(self) -> int:
        """How many pages waited; none does any more."""
        count = sum(len(state.waiting) for state in self._hosts.values())
        for state in self._hosts.values():
            state.waiting, state.listed = [], False
        self._listed, self._ready = [], []
        return count

    def _list_host(self, host: int) -> None:
        state = self._hosts[host]
        if state.waiting and not state.busy and not state.listed:
            state.listed = True
            self._listed.append(host)


# -- Rows of pages --


_FLOAT_COLUMNS = ("rate", "low", "high", "weight", "last", "due", "not_before")


class ScheduleRows:
    """What the schedule knows of each page. A page's row is its own until it is dropped."""

    rate: Floats
    low: Floats
    high: Floats
    weight: Floats
    last: Floats
    """When it was last seen; minus infinity: never."""
    due: Floats
    """Infinite unless it stands in the heap."""
    not_before: Floats
    """After a failure."""

    def __init__(self) -> None:
        for name in _FLOAT_COLUMNS:
            setattr(self, name, np.zeros(0))
        self.host = np.zeros(0, np.int32)
        self.taken = np.zeros(0, bool)
        self.busy = np.zeros(0, bool)
        self.keys: list[Url | None] = []
        self._rows: dict[Url, int] = {}
        self._hosts: dict[str, int] = {}
        self._dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def row_of(self, key: Url) -> int | None:
        return self._rows.get(key)

    def put_page(self, key: Url, host: str, last: float | None) -> int:
        """The page's row: a new one, or the one it has."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._new_row(key)
            self.taken[row], self.busy[row], self.due[row] = True, False, math.inf
            self.last[row], self.not_before[row] = -math.inf, -math.inf
            self.host[row] = self._hosts.setdefault(host, len(self._hosts))
        if last is not None and last > self.last[row]:
            self.last[row] = last
        return row

    def drop_page(self, key: Url) -> None:
        if (row := self._rows.pop(key, None)) is not None:
            self.taken[row], self.due[row], self.keys[row] = False, math.inf, None
            self._dropped.append(row)

    def plannable_rows(self) -> NDArray[np.intp]:
        """Those that may be planned."""
        return np.flatnonzero(self.taken & ~self.busy)

    def _new_row(self, key: Url) -> int:
        if self._dropped:
            row = self._dropped.pop()
            self.keys[row] = key
            return row
        self.keys.append(key)
        if len(self.keys) > len(self.taken):
            more = max(64, len(self.taken) // 2)
            for name in (*_FLOAT_COLUMNS, "host", "taken", "busy"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros(more, old.dtype)]))
        return len(self.keys) - 1


# -- Prices --


UNKNOWN_RATE = estimate_rate(START_BELIEF)
"""Of a page of which nothing is known."""
_QUEUE_SHARE = 0.1
"""Of those that wait, so many count as asked for too much: a queue should be short, but a short
one makes sure that nothing of the budget is lost."""


class VisitPrices:
    """One price for all, at which pages ask for what the budget grants."""

    def __init__(self, budget: WatchBudget, rows: ScheduleRows) -> None:
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

    def due_at(self, row: int) -> float:
        """When a visit to the page will be worth its price, within the limits for all."""
        rows, budget = self._rows, self._budget
        price = max(self.price, 1e-30)
        days = self._value.wait(float(rows.rate[row]), float(rows.weight[row]), price)
        wait = min(max(days * DAY, budget.shortest_s), budget.longest_s)
        return max(float(rows.last[row]) + wait, float(rows.not_before[row]))

    def earliest_at(self, row: int) -> float:
        """When it may be visited, whatever that is worth."""
        rows = self._rows
        return max(float(rows.last[row]) + self._budget.shortest_s, float(rows.not_before[row]))

    def visit_worth(self, row: int, now: float) -> float:
        """What a visit to the page is worth now."""
        return float(self._visit_worths(np.array([row]), now)[0])

    def unseen_worth(self, expected: float) -> float:
        """What a page is worth that nobody has seen, with this expected weight.

        As much as a known one of average habits that nobody has seen for some time: so both are
        counted in one currency, and that time is the knob between exploring and revisiting.
        """
        days = self._budget.unseen_days
        return float(self._value.worth(UNKNOWN_RATE.per_day, max(expected, 0.0), days))

    def tune_price(self, now: float, made: int, waiting: int, granted: float) -> list[HostTurn]:
        """Find the price for the next period, and say what is due in it.

        ``made`` are the visits of the last one, where ``granted`` were allowed.
        """
        rows, budget = self._rows, self._budget
        until = now + budget.period_s
        free = rows.plannable_rows()
        free = free[np.maximum(rows.not_before[free], rows.last[free] + budget.shortest_s) < until]
        if not len(free):
            return []
        if self.price:
            asked = made + max(waiting - self._queued, 0) + _QUEUE_SHARE * waiting
            portion = min(max(steer_towards(self._portion, granted, asked), 0.25), 4.0)
            # Where all pages were asked for, asking for more of them would be in vain.
            self._portion = min(portion, self._portion) if self._all else portion
        worth = self._visit_worths(free, until)
        places = self._portion * budget.per_hour * budget.period_s / HOUR
        self._all = places >= len(free)
        first = _best_places(worth, places)
        self.price = max(float(worth[first].min()), 1e-30)
        turns = []
        for place, (due, row) in enumerate(
            sorted((self.due_at(r), r) for r in free[first].tolist())
        ):
            # Pages of equal worth, as all are at first, must not all be due at the end.
            turn = now + budget.period_s * place / max(places, 1.0)
            turns.append(HostTurn(min(due, max(turn, self.earliest_at(row))), row))
        turns += [
            HostTurn(self.due_at(row), row) for row in self._neglected_rows(free, first, until)
        ]
        self._queued = sum(turn.due <= now for turn in turns)
        return turns

    def _visit_worths(self, those: NDArray[np.intp], at: float) -> Floats:
        """What visits will be worth then."""
        rows, unseen = self._rows, self._budget.unseen_days
        last = rows.last[those]
        days = np.where(np.isinf(last), unseen, np.maximum(at - last, 0.0) / DAY)
        return self._value.worth(rows.rate[those], rows.weight[those], days)

    def _neglected_rows(
        self, free: NDArray[np.intp], first: NDArray[np.intp], until: float
    ) -> list[int]:
        """Pages that are left alone for too long, though worth little: the oldest of them.

        No more than a quarter: with too small a budget, all pages would be among them, and what
        they are worth would not matter any more.
        """
        old = self._rows.last[free] <= until - self._budget.longest_s
        old[first] = False
        those = free[old]
        oldest = np.argsort(self._rows.last[those])[: 1 + len(first) // 4]
        return [int(row) for row in those[oldest]]


def _best_places(worth: Floats, places: float) -> NDArray[np.intp]:
    """Where the most valuable stand, so many."""
    count = min(max(round(places), 1), len(worth))
    return np.argpartition(worth, -count)[-count:]
