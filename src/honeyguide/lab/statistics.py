"""Means with intervals: bootstrap over topics, paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_DRAWS = 10_000


class Estimate(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap(groups: Sequence[Sequence[float]], seed: int = 1) -> Estimate:
    """The mean over groups (topics) of the means inside them (draws of seeds).

    The unit is the topic: topics are drawn with replacement, and the values of each topic as
    well, so that the interval speaks of other topics and other seeds.
    """
    filled = [np.asarray(group, float) for group in groups if len(group)]
    if not filled:
        return Estimate(float("nan"), float("nan"), float("nan"))
    dice = np.random.default_rng(seed)
    means = np.stack(
        [g[dice.integers(0, len(g), (_DRAWS, len(g)))].mean(axis=1) for g in filled], axis=1
    )
    chosen = dice.integers(0, len(filled), (_DRAWS, len(filled)))
    spread = np.take_along_axis(means, chosen, axis=1).mean(axis=1)
    low, high = np.quantile(spread, (0.025, 0.975))
    return Estimate(float(np.mean([g.mean() for g in filled])), float(low), float(high))


def paired(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], seed: int = 1
) -> Estimate:
    """The mean difference of two strategies on the same topics and seeds."""
    return bootstrap(
        # One may have fewer draws: then the first ones, which both have.
        [[a - b for a, b in zip(x, y, strict=False)] for x, y in zip(ours, theirs, strict=True)],
        seed,
    )
