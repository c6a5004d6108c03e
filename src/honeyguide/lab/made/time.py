"""When the pages of a made web change: each by its own Poisson process, looked up, not run."""

from __future__ import annotations

import math
from bisect import bisect
from itertools import accumulate

import numpy as np

from honeyguide.lab.made.seeded_random import Dice

DAY = 86_400.0
_TAIL = 1.5
"""Exponent of the Pareto distribution of rates: the mean is finite, the variance is not."""
_MOST = 500.0
"""The fastest page changes so many times as often as the mean one."""
_BLOCK = 32
"""Expected changes in a block: the count of a whole block is one draw."""
_HORIZON = 4_000_000
"""Blocks that are counted at most."""


def _poisson() -> list[float]:
    """The distribution function of the count of a block, as far as a double can tell."""
    chances = (
        math.exp(n * math.log(_BLOCK) - _BLOCK - math.lgamma(n + 1)) for n in range(4 * _BLOCK)
    )
    return list(accumulate(chances))


class Calendar:
    """Rates and counts of changes. ``place`` is a page's own 64 bits."""

    def __init__(self, dice: Dice, changes: float) -> None:
        self._dice = dice
        self._mean = changes
        self._ends = _poisson()

    def rate(self, place: int) -> float:
        """Changes a day."""
        draw = self._dice.share("rate", place)
        return self._mean * min(_MOST, math.pow(1 - draw, -1 / _TAIL) * (_TAIL - 1) / _TAIL)

    def version(self, place: int, now: float) -> int:
        """How often the page has changed in its first ``now`` seconds."""
        expected = self.rate(place) * max(0.0, now) / DAY
        if not expected:
            return 0
        part, blocks = math.modf(expected / _BLOCK)
        whole = min(int(blocks), _HORIZON)
        start = self._dice.number("changes", place)
        last = bisect(self._ends, float(_units(start, whole, whole + 1)[0]))
        chance = self._dice.stream("moments", place, whole).random
        late = sum(chance() < part for _ in range(last))
        if not whole:
            return late
        return late + int(np.searchsorted(self._ends, _units(start, 0, whole), "right").sum())


def _units(start: int, first: int, end: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draws within 0..1 for places first..end of a row: splitmix64, many at a time."""
    x = np.arange(first, end, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) * 2.0**-64
