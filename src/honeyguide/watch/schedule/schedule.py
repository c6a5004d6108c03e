"""The schedule: when to revisit which page within a budget, and explanations of it."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush, nsmallest
from typing import Literal, NamedTuple

from honeyguide.types import Url
from honeyguide.watch.schedule import prices
from honeyguide.watch.schedule.change_rate import DAY, FASTEST, SLOWEST, ChangeRate

_UNITS = ((365 * DAY, "year"), (DAY, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))

_EDGE = 0.85
"""So near the fastest or slowest rate of all, a belief says no more than that it is there."""


class VisitExplanation(NamedTuple):
    """When a page will be visited, and why then."""

    rate: ChangeRate
    weight: float
    last: float | None
    """None: nobody has seen it."""
    next_at: float
    reason: str


class VisitCircumstances(NamedTuple):
    """What holds a page back or presses it, besides its worth."""

    now: float
    shortest_s: float
    longest_s: float
    not_before: float = -math.inf
    busy: bool = False
    spent: bool = False


def visit_reason(
    rate: ChangeRate, weight: float, last: float, next_at: float, case: VisitCircumstances
) -> str:
    """The sentence: how often it changes, when it is visited, what decided that."""
    if case.busy:
        return "it is being visited now"
    if last == -math.inf:
        return f"it has not been visited yet{_describe_hold(next_at, case)}"
    wait = next_at - last
    if next_at <= case.not_before:
        cause = "the last visit failed; this is the retry"
    elif wait <= case.shortest_s * 1.001:
        cause = "this is the shortest interval (watch.min_interval_s)"
    elif wait >= case.longest_s * 0.999:
        cause = "this is the longest interval (watch.max_interval_days)"
    else:
        cause = "then a visit has the same value as one to any other page"
    return (
        f"it changes {describe_frequency(rate)} and counts {weight:.2g}; "
        f"it was visited {describe_span(case.now - last)} ago and "
        f"{_describe_due(next_at, case.now)}: {cause}{_describe_hold(next_at, case)}"
    )


def describe_frequency(rate: ChangeRate) -> str:
    """How often a page changes: an interval with its band, or what is known of it where the belief
    ends. There the number is the model's, and nobody measured it."""
    if rate.high >= FASTEST * _EDGE:
        return (
            f"at least every {describe_span(DAY / rate.low)}, and how much more often is not known"
        )
    if rate.low <= SLOWEST / _EDGE:
        return f"no more often than every {describe_span(DAY / rate.high)}, from what is known"
    band = f"{describe_span(DAY / rate.high)} to {describe_span(DAY / rate.low)}"
    return f"about every {describe_span(DAY / rate.per_day)} ({band})"


def _describe_hold(next_at: float, case: VisitCircumstances) -> str:
    return "; the budget is used up for now" if case.spent and next_at <= case.now else ""


def _describe_due(at: float, now: float) -> str:
    if at > now:
        return f"is due in {describe_span(at - now)}"
    return f"has been due for {describe_span(now - at)}" if now - at >= 1 else "is due now"


def describe_span(seconds: float) -> str:
    """``3 hours``: the largest unit of which there are at least two, roughly."""
    if not seconds < 1e12:
        return "ever"
    for size, name in _UNITS:
        if seconds >= 2 * size or (size == 1.0):
            number = round(seconds / size)
            return f"{number} {name}{'' if number == 1 else 's'}"
    raise AssertionError("the last unit takes everything")


# -- The schedule --
#
#     schedule = Schedule(Budget(per_hour=500), now)
#     schedule.add(url, "example.org", rate=rate(belief), last=now - 86_400)
#     url = schedule.due(now)                       # None: sleep until wake_at(now)
#     schedule.visited(url, now, rate=rate(learned))
#
# A page is due when a visit to it is worth the price of one
# (:mod:`honeyguide.watch.schedule.prices`). The price is one number for all pages, such that they
# ask for as many visits as the budget grants; once in a period it is corrected. We depart from the
# published greedy rule (in every slot the most valuable page, Busa-Fekete et al. 2025) in that
# moments are computed beforehand: a page costs nothing until it is due, however many there are.
#
# Only what is due before the next correction stands in the heap; the rest are rows of arrays.


class Schedule:
    """Pages, the price of a visit, and whose turn it is."""

    def __init__(self, budget: prices.WatchBudget, now: float) -> None:
        self._budget = budget
        self._rows = prices.ScheduleRows()
        self._prices = prices.VisitPrices(budget, self._rows)
        self._soon: list[prices.HostTurn] = []
        self._turns = prices.HostTurns()
        self._bucket = prices.TokenBucket(budget.per_hour, now)
        self._tuned = self._tune_at = now
        self._made = self._discovered = 0
        self._leaving: dict[Url, int] = {}
        """Pages that were removed during their visit, and their busy hosts."""

    @property
    def price(self) -> float:
        """What a visit must be worth; 0: not known yet."""
        return self._prices.price

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def add(
        self,
        key: Url,
        host: str,
        *,
        rate: ChangeRate | None = prices.UNKNOWN_RATE,
        weight: float | None = 1.0,
        last: float | None = None,
    ) -> None:
        """Watch a page, or know it better. ``last`` None: nobody has seen it, and it is due."""
        self._withdraw_page(key)
        row = self._rows.put_page(key, host, last)
        self._update_page(row, rate, weight)
        self._plan_row(row)

    def remove(self, key: Url) -> None:
        """Watch it no more. If it is being visited, its host stays busy until that is over."""
        if (row := self._rows.row_of(key)) is not None:
            self._withdraw_page(key)
            if self._rows.busy[row]:
                self._leaving[key] = int(self._rows.host[row])
            self._rows.drop_page(key)

    def due(self, now: float) -> Url | None:
        """The page to visit now, or None. Its host is busy until ``visited`` or ``failed``."""
        self._advance_to(now)
        if not self._bucket.is_ready(now) or (turn := self._turns.take()) is None:
            return None
        self._bucket.take(now)
        self._made += 1
        self._rows.busy[turn.row] = True
        return self._rows.keys[turn.row]

    def visited(self, key: Url, now: float, *, rate: ChangeRate | None = None) -> None:
        """The page was seen."""
        self._end_visit(key)
        if (row := self._rows.row_of(key)) is not None:
            self._rows.last[row], self._rows.not_before[row] = now, -math.inf
            self._update_page(row, rate)
            self._plan_row(row)

    def failed(self, key: Url, now: float, *, again: float) -> None:
        """It could not be seen, from which nothing follows; try again after so many seconds."""
        self._end_visit(key)
        if (row := self._rows.row_of(key)) is not None:
            self._rows.not_before[row] = now + again
            self._plan_row(row)

    def wake_at(self, now: float) -> float | None:
        """When to ask again; None: there is nothing to watch. Nobody is late who sleeps so long."""
        if not len(self._rows):
            return None
        first = self._soon[0].due if self._soon else math.inf
        if self._turns.may_have_turn():
            first = now
        return max(now, min(max(first, self._bucket.ready_at(now)), self._tune_at))

    def choose_spending(
        self, now: float, unseen: float = 0.0
    ) -> Literal["revisit", "discover"] | None:
        """What the next request should be for: the page that is due, or a link not yet followed.

        ``unseen`` is the best such link's expected relevance times the weight that a relevant
        page has here. Then call ``due``, or ``discovered``. None: keep it for later.
        """
        self._advance_to(now)
        if not self._bucket.is_ready(now):
            return None
        news = self._prices.unseen_worth(unseen)
        turn = self._turns.peek_turn()
        if turn is None:
            return "discover" if unseen > 0 and news >= self.price else None
        share = self._discovered / max(self._granted_visits(self._budget.period_s), 1.0)
        better = news > self._prices.visit_worth(turn.row, now)
        return "discover" if better and share < self._budget.discover_most else "revisit"

    def spent(self, now: float) -> None:
        """A request was made for something else: robots.txt, a second look."""
        self._bucket.take(now)
        self._made += 1

    def discovered(self, now: float) -> None:
        """A request went to a page that was not watched."""
        self._bucket.take(now)
        self._made += 1
        self._discovered += 1

    def explain_visit(self, key: Url, now: float) -> VisitExplanation | None:
        """What is known of a page, when it will be visited, and why then; None: not watched."""
        if (row := self._rows.row_of(key)) is None:
            return None
        self._advance_to(now)
        rows = self._rows
        known = ChangeRate(float(rows.rate[row]), float(rows.low[row]), float(rows.high[row]))
        weight, last = float(rows.weight[row]), float(rows.last[row])
        seen = last if last > -math.inf else None
        due = min(self._prices.due_at(row), float(rows.due[row]))
        case = VisitCircumstances(
            now,
            self._budget.shortest_s,
            self._budget.longest_s,
            not_before=float(rows.not_before[row]),
            busy=bool(rows.busy[row]),
            spent=not self._bucket.is_ready(now),
        )
        return VisitExplanation(
            known, weight, seen, max(due, now), visit_reason(known, weight, last, due, case)
        )

    def next_visits(self, now: float, count: int) -> list[tuple[Url, float]]:
        """The pages that will be due first, and when; looks at every page."""
        self._advance_to(now)
        rows = self._rows
        dues = (
            (min(self._prices.due_at(r), float(rows.due[r])), r)
            for r in rows.plannable_rows().tolist()
        )
        first = nsmallest(count, dues)
        return [(key, max(due, now)) for due, row in first if (key := rows.keys[row]) is not None]

    def _update_page(self, row: int, rate: ChangeRate | None, weight: float | None = None) -> None:
        rows = self._rows
        if rate is not None:
            low, middle, high = (
                min(max(r, SLOWEST), FASTEST) for r in (rate.low, rate.per_day, rate.high)
            )
            rows.low[row], rows.rate[row], rows.high[row] = low, middle, high
        if weight is not None:
            rows.weight[row] = min(max(weight, 1e-6), 1e6)

    def _withdraw_page(self, key: Url) -> None:
        if (row := self._rows.row_of(key)) is not None:
            self._turns.withdraw(row, int(self._rows.host[row]))
            self._rows.due[row] = math.inf

    def _end_visit(self, key: Url) -> None:
        host = self._leaving.pop(key, None)
        row = self._rows.row_of(key)
        if host is None and row is not None and self._rows.busy[row]:
            self._rows.busy[row] = False
            host = int(self._rows.host[row])
        if host is not None:
            self._turns.finish_turn(host)

    def _plan_row(self, row: int) -> None:
        """Put a page where it belongs: into the heap, or away until the next correction."""
        rows = self._rows
        rows.due[row] = math.inf
        if not self.price:
            self._tune_at = -math.inf
        elif not rows.busy[row] and (due := self._prices.due_at(row)) < self._tune_at:
            rows.due[row] = due
            heappush(self._soon, prices.HostTurn(due, row))

    def _advance_to(self, now: float) -> None:
        if now >= self._tune_at:
            self._tune_prices(now)
        while self._soon and self._soon[0].due <= now:
            turn = heappop(self._soon)
            if self._rows.due[turn.row] == turn.due:  # or it was planned again or removed
                self._rows.due[turn.row] = math.inf
                self._turns.offer(turn, int(self._rows.host[turn.row]))

    def _granted_visits(self, seconds: float) -> float:
        return self._budget.per_hour * seconds / prices.HOUR

    def _tune_prices(self, now: float) -> None:
        """A period is over: correct the prices, and find out what is due in the next one."""
        period = self._budget.period_s
        since, self._tuned, self._tune_at = now - self._tuned, now, now + period
        waiting = self._turns.end_period()
        self._rows.due[:] = math.inf
        self._soon = self._prices.tune_price(now, self._made, waiting, self._granted_visits(since))
        self._made = self._discovered = 0
        for turn in self._soon:
            self._rows.due[turn.row] = turn.due
        heapify(self._soon)
