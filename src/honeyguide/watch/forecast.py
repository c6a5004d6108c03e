"""When which page will be visited next, told from outside.

It is the schedule that a watch would make of the list as it stands; a watch that runs knows besides
which hosts rest, and what failed just now.
"""

from __future__ import annotations

from honeyguide.config import Settings
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.watch.build import budget_of
from honeyguide.watch.record import plan
from honeyguide.watch.when.explain import Why
from honeyguide.watch.when.rates import START
from honeyguide.watch.when.schedule import Schedule

_FIRST = 200
"""Pages of which is known beforehand that they are the next."""


class Foretold:
    """At one moment. Making it reads the whole list, some 70 µs a page; then nothing changes."""

    def __init__(self, store: Store, settings: Settings, now: float) -> None:
        self.at = now
        self._schedule = Schedule(budget_of(settings), now)
        for row in store.watched.each():
            plan(self._schedule, row, row.rate or START, now)
        self._first = self._schedule.soonest(now, _FIRST)

    def __len__(self) -> int:
        return len(self._schedule)

    def why(self, url: Url) -> Why | None:
        """None: it is not watched, or paused."""
        return self._schedule.why(url, self.at)

    def soonest(self, count: int) -> list[tuple[Url, float]]:
        """The next pages, no more than 200, and when each is due."""
        return self._first[:count]
