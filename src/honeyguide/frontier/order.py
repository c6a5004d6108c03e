"""Orders of a frontier: breadth, best, or random in proportion to the score.

A key may depend on the time at which it was drawn, so a frontier asks for it once, when a link
enters or its score changes.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError
from honeyguide.protocols import FrontierOrder

ScoreArray = NDArray[np.float32]
DepthArray = NDArray[np.uint16]
KeyArray = NDArray[np.float64]


class BulkOrder(FrontierOrder, Protocol):
    """An order that computes the keys of many links at once, as a frontier needs it."""

    def keys(self, scores: ScoreArray, depths: DepthArray) -> KeyArray: ...


class BestFirstOrder:
    """The best score first."""

    def sort_key(self, score: float, depth: int) -> float:  # noqa: ARG002
        return score

    def keys(self, scores: ScoreArray, depths: DepthArray) -> KeyArray:  # noqa: ARG002
        return scores.astype(np.float64)

    def mark_served(self, key: float) -> None: ...


class BreadthFirstOrder:
    """The fewest links away from a seed first."""

    def sort_key(self, score: float, depth: int) -> float:  # noqa: ARG002
        return -float(depth)

    def keys(self, scores: ScoreArray, depths: DepthArray) -> KeyArray:  # noqa: ARG002
        return -depths.astype(np.float64)

    def mark_served(self, key: float) -> None: ...


class ProportionalOrder:
    """Random choice with a probability proportional to score^beta, without a scan.

    Each link waits an exponential time with rate score^beta, counted from the virtual time at which
    it entered. The first to end is a proportional draw (p_i ∝ q_i), and since the exponential has
    no memory, so is every later one. Links from people, which score 1, go first.
    """

    def __init__(self, seed: int, beta: float = 1.0) -> None:
        self._random = np.random.default_rng(seed)
        self._beta = beta
        self._time = 0.0

    def sort_key(self, score: float, depth: int) -> float:  # noqa: ARG002
        if score >= 1:
            return -self._time
        rate = float(max(score, 1e-6) ** self._beta)
        return -(self._time + float(self._random.standard_exponential()) / rate)

    def keys(self, scores: ScoreArray, depths: DepthArray) -> KeyArray:  # noqa: ARG002
        rates: KeyArray = np.maximum(scores, 1e-6).astype(np.float64) ** self._beta
        drawn: KeyArray = self._random.standard_exponential(len(scores))
        drawn[scores >= 1] = 0.0
        return -(self._time + drawn / rates)

    def mark_served(self, key: float) -> None:
        # A host that rested may offer a link whose time has passed: the clock never runs back.
        self._time = max(self._time, -key)


def make_order(name: str, seed: int) -> BulkOrder:
    """The order with that name in the settings."""
    match name:
        case "best":
            return BestFirstOrder()
        case "breadth":
            return BreadthFirstOrder()
        case "proportional":
            return ProportionalOrder(seed)
        case _:
            raise ConfigError(f"crawl.order: {name!r} is none of best, breadth, proportional")
