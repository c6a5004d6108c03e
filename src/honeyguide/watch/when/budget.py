"""How many requests may be made, and what a visit must be worth for one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from honeyguide.watch.when.value import ValueName

HOUR = 3_600.0
DAY = 86_400.0

_SAVED, _SAVED_S = 10.0, 10.0
"""Requests that may be saved: so many, or those of so many seconds."""
_FEW = 100.0
"""Visits after which the price is looked at again: fewer would make it follow chance."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a watch may spend, and on what."""

    per_hour: float = 500.0
    """Requests in all."""
    host_rest_s: float = 1.0
    """Rest of a host between two requests, where nobody says otherwise."""
    shortest_s: float = 300.0
    """No page is visited more often than this …"""
    longest_s: float = 60 * DAY
    """… and none less often, as far as the budget goes."""
    value: ValueName = "age"
    unseen_days: float = 30.0
    """A link to a page that nobody has seen is worth as much as a page last seen so long ago."""
    discover_most: float = 0.5
    """Of the requests, at most this share looks for new pages while known ones are due."""

    @property
    def period_s(self) -> float:
        """Seconds between two looks at the price."""
        return min(max(_FEW * HOUR / max(self.per_hour, 1e-9), 60.0), DAY)


class Bucket:
    """Requests in hand: they come evenly, and a few may be saved for when more pages are due."""

    def __init__(self, per_hour: float, now: float) -> None:
        self._per_s = max(per_hour, 1e-9) / HOUR
        self._most = max(_SAVED, per_hour * _SAVED_S / HOUR)
        self._filled = 1.0
        self._at = now

    def ready(self, now: float) -> bool:
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


def steer(number: float, asked: float, granted: float) -> float:
    """The number for the next period: more of it if more was asked for than granted, or less.

    Half of the way, and no more than a third at once, lest it swings.
    """
    off = math.log(max(asked, 0.5) / max(granted, 0.5))
    return number * math.exp(min(max(0.5 * off, -0.3), 0.3))
