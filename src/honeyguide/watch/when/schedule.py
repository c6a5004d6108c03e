"""When to come back to which page, within a budget. Told the time; does nothing by itself.

    schedule = Schedule(Budget(per_hour=500), now)
    schedule.add(url, "example.org", rate=rate(belief), last=now - 86_400)
    url = schedule.due(now)                       # None: sleep until wake_at(now)
    schedule.visited(url, now, rate=rate(learned))

A page is due when a visit to it is worth the price of one (:mod:`honeyguide.watch.when.value`). The
price is one number for all pages, such that they ask for as many visits as the budget grants; once
in a period it is corrected. A host that cannot take the visits its pages ask for has a surcharge,
the multiplier of its own limit (Kolobov et al. 2019). We depart from the published greedy rule (in
every slot the most valuable page, Busa-Fekete et al. 2025) in that moments are computed beforehand:
a page costs nothing until it is due, however many there are.

Only what is due before the next correction stands in the heap; the rest are rows of arrays.
"""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush, nsmallest
from typing import Literal

from honeyguide.types import Url
from honeyguide.watch.when.budget import HOUR, Bucket, Budget
from honeyguide.watch.when.explain import Circumstances, Why, reason
from honeyguide.watch.when.host_turns import Turn, Turns
from honeyguide.watch.when.prices import UNKNOWN, Prices
from honeyguide.watch.when.rates import FASTEST, SLOWEST, Rate
from honeyguide.watch.when.rows import Rows


class Schedule:
    """Pages, the price of a visit, and whose turn it is."""

    def __init__(self, budget: Budget, now: float) -> None:
        self._budget = budget
        self._rows = Rows()
        self._prices = Prices(budget, self._rows)
        self._soon: list[Turn] = []
        self._turns = Turns(budget.host_rest_s)
        self._bucket = Bucket(budget.per_hour, now)
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
        rate: Rate | None = UNKNOWN,
        weight: float | None = 1.0,
        last: float | None = None,
        paused: bool = False,
    ) -> None:
        """Watch a page, or know it better. ``last`` None: nobody has seen it, and it is due."""
        self._withdraw(key)
        row = self._rows.put(key, host, last, paused)
        self._know(row, rate, weight)
        self._plan(row)

    def remove(self, key: Url) -> None:
        """Watch it no more. If it is being visited, its host stays busy until that is over."""
        if (row := self._rows.get(key)) is not None:
            self._withdraw(key)
            if self._rows.busy[row]:
                self._leaving[key] = int(self._rows.host[row])
            self._rows.drop(key)

    def pause(self, key: Url, paused: bool = True) -> None:
        self._withdraw(key)
        if (row := self._rows.get(key)) is not None:
            self._rows.paused[row] = paused
            self._plan(row)

    def due(self, now: float) -> Url | None:
        """The page to visit now, or None. Its host is busy until ``visited`` or ``failed``."""
        self._advance(now)
        if not self._bucket.ready(now) or (turn := self._turns.take(now)) is None:
            return None
        self._bucket.take(now)
        self._made += 1
        self._rows.busy[turn.row] = True
        return self._rows.keys[turn.row]

    def visited(
        self,
        key: Url,
        now: float,
        *,
        rate: Rate | None = None,
        weight: float | None = None,
        rest: float | None = None,
    ) -> None:
        """The page was seen. ``rest``: seconds its host wants, if not as before."""
        self._end(key, now, rest, True)
        if (row := self._rows.get(key)) is not None:
            self._rows.last[row], self._rows.not_before[row] = now, -math.inf
            self._know(row, rate, weight)
            self._plan(row)

    def failed(
        self, key: Url, now: float, *, again: float, rest: float | None = None, asked: bool = True
    ) -> None:
        """It could not be seen, from which nothing follows; try again after so many seconds.

        ``asked`` False: its host was not spoken to, and need not rest.
        """
        self._end(key, now, rest, asked)
        if (row := self._rows.get(key)) is not None:
            self._rows.not_before[row] = now + again
            self._plan(row)

    def wake_at(self, now: float) -> float | None:
        """When to ask again; None: there is nothing to watch. Nobody is late who sleeps so long."""
        if not len(self._rows):
            return None
        turn = self._turns.wake_at()
        due = self._soon[0].due if self._soon else math.inf
        first = due if turn is None else min(due, turn)
        return max(now, min(max(first, self._bucket.ready_at(now)), self._tune_at))

    def spend(self, now: float, unseen: float = 0.0) -> Literal["revisit", "discover"] | None:
        """What the next request should be for: the page that is due, or a link not yet followed.

        ``unseen`` is the best such link's expected relevance times the weight that a relevant
        page has here. Then call ``due``, or ``discovered``. None: keep it for later.
        """
        self._advance(now)
        if not self._bucket.ready(now):
            return None
        news = self._prices.unseen(unseen)
        turn = self._turns.next(now)
        if turn is None:
            return "discover" if unseen > 0 and news >= self.price else None
        share = self._discovered / max(self._granted(self._budget.period_s), 1.0)
        better = news > self._prices.worth(turn.row, now)
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

    def why(self, key: Url, now: float) -> Why | None:
        """What is known of a page, when it will be visited, and why then; None: not watched."""
        if (row := self._rows.get(key)) is None:
            return None
        self._advance(now)
        rows, host = self._rows, int(self._rows.host[row])
        known = Rate(float(rows.rate[row]), float(rows.low[row]), float(rows.high[row]))
        weight, last = float(rows.weight[row]), float(rows.last[row])
        seen = last if last > -math.inf else None
        if rows.paused[row]:
            return Why(known, weight, seen, None, "it is paused")
        due = min(self._prices.due(row), float(rows.due[row]))
        case = Circumstances(
            now,
            self._budget.shortest_s,
            self._budget.longest_s,
            surcharge=float(rows.surcharge[host]),
            not_before=float(rows.not_before[row]),
            rests_until=self._turns.rests_until(host),
            busy=bool(rows.busy[row]),
            spent=not self._bucket.ready(now),
        )
        return Why(known, weight, seen, max(due, now), reason(known, weight, last, due, case))

    def soonest(self, now: float, count: int) -> list[tuple[Url, float]]:
        """The pages that will be due first, and when; looks at every page."""
        self._advance(now)
        rows = self._rows
        dues = ((min(self._prices.due(r), float(rows.due[r])), r) for r in rows.free().tolist())
        first = nsmallest(count, dues)
        return [(key, max(due, now)) for due, row in first if (key := rows.keys[row]) is not None]

    def _know(self, row: int, rate: Rate | None, weight: float | None) -> None:
        rows = self._rows
        if rate is not None:
            low, middle, high = (
                min(max(r, SLOWEST), FASTEST) for r in (rate.low, rate.per_day, rate.high)
            )
            rows.low[row], rows.rate[row], rows.high[row] = low, middle, high
        if weight is not None:
            rows.weight[row] = min(max(weight, 1e-6), 1e6)

    def _withdraw(self, key: Url) -> None:
        if (row := self._rows.get(key)) is not None:
            self._turns.withdraw(row, int(self._rows.host[row]))
            self._rows.due[row] = math.inf

    def _end(self, key: Url, now: float, rest: float | None, asked: bool) -> None:
        host = self._leaving.pop(key, None)
        row = self._rows.get(key)
        if host is None and row is not None and self._rows.busy[row]:
            self._rows.busy[row] = False
            host = int(self._rows.host[row])
        if host is not None:
            self._turns.done(host, now, rest, asked)

    def _plan(self, row: int) -> None:
        """Put a page where it belongs: into the heap, or away until the next correction."""
        rows = self._rows
        rows.due[row] = math.inf
        if not self.price:
            self._tune_at = -math.inf
        elif (
            not rows.paused[row]
            and not rows.busy[row]
            and (due := self._prices.due(row)) < self._tune_at
        ):
            rows.due[row] = due
            heappush(self._soon, Turn(due, row))

    def _advance(self, now: float) -> None:
        if now >= self._tune_at:
            self._tune(now)
        while self._soon and self._soon[0].due <= now:
            turn = heappop(self._soon)
            if self._rows.due[turn.row] == turn.due:  # or it was planned anew, paused or removed
                self._rows.due[turn.row] = math.inf
                self._turns.offer(turn, int(self._rows.host[turn.row]))

    def _granted(self, seconds: float) -> float:
        return self._budget.per_hour * seconds / HOUR

    def _tune(self, now: float) -> None:
        """A period is over: correct the prices, and find out what is due in the next one."""
        period = self._budget.period_s
        since, self._tuned, self._tune_at = now - self._tuned, now, now + period
        waiting = self._prices.charge(self._turns.end_period(), since)
        self._rows.due[:] = math.inf
        self._soon = self._prices.tune(now, self._made, waiting, self._granted(since))
        self._made = self._discovered = 0
        for turn in self._soon:
            self._rows.due[turn.row] = turn.due
        heapify(self._soon)
