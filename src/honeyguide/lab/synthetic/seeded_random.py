"""Random access to random numbers: every draw follows from a seed, a purpose and a place.

Nothing is drawn in turn, so pages may be asked for in any order, in any process.
"""

from __future__ import annotations

import math
from bisect import bisect
from itertools import accumulate
from random import Random
from statistics import NormalDist

import numpy as np
from xxhash import xxh3_64_intdigest, xxh3_128_digest

_UNIT = 2.0**-64
_NORMAL = NormalDist()


class SeededRandom:
    """Draws of one web."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def draw_number(self, purpose: str, a: int, b: int = 0, c: int = 0, d: int = 0) -> int:
        """64 bits."""
        return xxh3_64_intdigest(f"{purpose} {a} {b} {c} {d}".encode(), self._seed)

    def draw_share(self, purpose: str, a: int, b: int = 0) -> float:
        """Within 0..1."""
        return xxh3_64_intdigest(f"{purpose} {a} {b} 0 0".encode(), self._seed) * _UNIT

    def draw_16_bytes(self, purpose: str, a: int) -> bytes:
        """Sixteen bytes."""
        return xxh3_128_digest(f"{purpose} {a}".encode(), self._seed)

    def random_stream(self, purpose: str, a: int, b: int = 0, c: int = 0, d: int = 0) -> Random:
        """Many draws for one place. Only ``random()`` is the same in every Python."""
        return Random(self.draw_number(purpose, a, b, c, d))

    def draw_lognormal(self, purpose: str, a: int, median: float, spread: float) -> float:
        # The ends of the scale are cut off: there the normal distribution has no value.
        middle = min(max(self.draw_share(purpose, a), 1e-9), 1 - 1e-9)
        return median * math.exp(spread * _NORMAL.inv_cdf(middle))


# --------------------------------------------------------------------------------------------------
# When the pages of a made web change: each by its own Poisson process, looked up, not run.
# --------------------------------------------------------------------------------------------------


DAY_S = 86_400.0
_PARETO_EXPONENT = 1.5
"""Exponent of the Pareto distribution of rates: the mean is finite, the variance is not."""
_MAX_RATE_FACTOR = 500.0
"""The fastest page changes so many times as often as the mean one."""
_BLOCK_CHANGES = 32
"""Expected changes in a block: the count of a whole block is one draw."""
_MAX_BLOCKS = 4_000_000
"""Blocks that are counted at most."""


def _poisson_distribution() -> list[float]:
    """The distribution function of the count of a block, as far as a double can tell."""
    chances = (
        math.exp(n * math.log(_BLOCK_CHANGES) - _BLOCK_CHANGES - math.lgamma(n + 1))
        for n in range(4 * _BLOCK_CHANGES)
    )
    return list(accumulate(chances))


class ChangeProcess:
    """Rates and counts of changes. ``place`` is a page's own 64 bits."""

    def __init__(self, dice: SeededRandom, changes: float) -> None:
        self._dice = dice
        self._mean = changes
        self._ends = _poisson_distribution()

    def change_rate(self, place: int) -> float:
        """Changes a day."""
        draw = self._dice.draw_share("rate", place)
        return self._mean * min(
            _MAX_RATE_FACTOR,
            math.pow(1 - draw, -1 / _PARETO_EXPONENT) * (_PARETO_EXPONENT - 1) / _PARETO_EXPONENT,
        )

    def version_at(self, place: int, now: float) -> int:
        """How often the page has changed in its first ``now`` seconds."""
        expected = self.change_rate(place) * max(0.0, now) / DAY_S
        if not expected:
            return 0
        part, blocks = math.modf(expected / _BLOCK_CHANGES)
        whole = min(int(blocks), _MAX_BLOCKS)
        start = self._dice.draw_number("changes", place)
        last = bisect(self._ends, float(_uniform_draws(start, whole, whole + 1)[0]))
        chance = self._dice.random_stream("moments", place, whole).random
        late = sum(chance() < part for _ in range(last))
        if not whole:
            return late
        return late + int(
            np.searchsorted(self._ends, _uniform_draws(start, 0, whole), "right").sum()
        )


def _uniform_draws(
    start: int, first: int, end: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Draws within 0..1 for places first..end of a row: splitmix64, many at a time."""
    x = np.arange(first, end, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) * 2.0**-64
