"""Chance that can be looked up: every draw follows from a seed, a purpose and a place.

Nothing is drawn in turn, so pages may be asked for in any order, in any process.
"""

from __future__ import annotations

import math
from random import Random
from statistics import NormalDist

from xxhash import xxh3_64_intdigest, xxh3_128_digest

_UNIT = 2.0**-64
_NORMAL = NormalDist()


class Dice:
    """Draws of one web."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def number(self, purpose: str, a: int, b: int = 0, c: int = 0, d: int = 0) -> int:
        """64 bits."""
        return xxh3_64_intdigest(f"{purpose} {a} {b} {c} {d}".encode(), self._seed)

    def share(self, purpose: str, a: int, b: int = 0) -> float:
        """Within 0..1."""
        return xxh3_64_intdigest(f"{purpose} {a} {b} 0 0".encode(), self._seed) * _UNIT

    def sixteen(self, purpose: str, a: int) -> bytes:
        """Sixteen bytes."""
        return xxh3_128_digest(f"{purpose} {a}".encode(), self._seed)

    def stream(self, purpose: str, a: int, b: int = 0, c: int = 0, d: int = 0) -> Random:
        """Many draws for one place. Only ``random()`` is the same in every Python."""
        return Random(self.number(purpose, a, b, c, d))

    def lognormal(self, purpose: str, a: int, median: float, spread: float) -> float:
        # The ends of the scale are cut off: there the normal distribution has no value.
        middle = min(max(self.share(purpose, a), 1e-9), 1 - 1e-9)
        return median * math.exp(spread * _NORMAL.inv_cdf(middle))
