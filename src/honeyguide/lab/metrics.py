"""Measures of crawls: harvest against the truth, means with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a crawl brought in, visit by visit."""

    found: tuple[int, ...]
    """Relevant pages found after each visit."""
    relevant: int
    """Relevant pages there are."""

    @property
    def rate(self) -> float:
        """Relevant visits ÷ visits."""
        return self.found[-1] / len(self.found) if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.found[-1] / self.relevant if self.found and self.relevant else 0.0

    @property
    def area(self) -> float:
        """Area under the curve of relevant pages found ÷ that of a perfect crawl; 0..1."""
        ideal = sum(min(n, self.relevant) for n in range(1, len(self.found) + 1))
        return sum(self.found) / ideal if ideal else 0.0

    def visits_to(self, count: int) -> int | None:
        """How many visits it took to find so many relevant pages; None: it did not."""
        return next((n for n, found in enumerate(self.found, 1) if found >= count), None)


def measure_harvest(truth: Iterable[bool], relevant: int) -> Harvest:
    """From the truth about each visited page, in order of the visits."""
    return Harvest(tuple(accumulate(map(int, truth))), relevant)


def sample_curve(values: Sequence[float], most: int) -> list[tuple[int, float]]:
    """At most so many (place, value) points of a curve, evenly spread, the last one included."""
    if not values:
        return []
    step = max(1, -(-len(values) // most))
    places = sorted({*range(step - 1, len(values), step), len(values) - 1})
    return [(place + 1, values[place]) for place in places]


# --------------------------------------------------------------------------------------------------
# Means with intervals: bootstrap over topics, paired differences.
# --------------------------------------------------------------------------------------------------


_DRAWS = 10_000


class BootstrapEstimate(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_mean(groups: Sequence[Sequence[float]], seed: int = 1) -> BootstrapEstimate:
    """The mean over groups (topics) of the means inside them (draws of seeds).

    The unit is the topic: topics are drawn with replacement, and the values of each topic as
    well, so that the interval speaks of other topics and other seeds.
    """
    filled = [np.asarray(group, float) for group in groups if len(group)]
    if not filled:
        return BootstrapEstimate(float("nan"), float("nan"), float("nan"))
    dice = np.random.default_rng(seed)
    means = np.stack(
        [g[dice.integers(0, len(g), (_DRAWS, len(g)))].mean(axis=1) for g in filled], axis=1
    )
    chosen = dice.integers(0, len(filled), (_DRAWS, len(filled)))
    spread = np.take_along_axis(means, chosen, axis=1).mean(axis=1)
    low, high = np.quantile(spread, (0.025, 0.975))
    return BootstrapEstimate(float(np.mean([g.mean() for g in filled])), float(low), float(high))


def paired_difference(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], seed: int = 1
) -> BootstrapEstimate:
    """The mean difference of two strategies on the same topics and seeds."""
    return bootstrap_mean(
        # One may have fewer draws: then the first ones, which both have.
        [[a - b for a, b in zip(x, y, strict=False)] for x, y in zip(ours, theirs, strict=True)],
        seed,
    )
