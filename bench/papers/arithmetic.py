"""Arithmetic that several studies need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from honeyguide.lab.metrics import BootstrapEstimate

from .study import JobOutcome

_DRAWS = 10_000


def by_topic(outcomes: Sequence[JobOutcome]) -> list[list[JobOutcome]]:
    """The draws of each topic, topics in the order in which they come."""
    groups: dict[str, list[JobOutcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome["topic"], []).append(outcome)
    return list(groups.values())


def relative_gain(ours: Sequence[float], theirs: Sequence[float]) -> BootstrapEstimate:
    """How much more, as a share: the ratio of the means less one, and its 95 % interval.

    Draws are paired, and drawn with replacement for the interval. Infinite, where they have none.
    """
    a, b = np.asarray(ours, float), np.asarray(theirs, float)
    chosen = np.random.default_rng(1).integers(0, len(a), (_DRAWS, len(a)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = a[chosen].mean(axis=1) / b[chosen].mean(axis=1) - 1
        mean = a.mean() / b.mean() - 1
    # Nothing is interpolated, because infinite ratios have no middle.
    low, high = np.quantile(ratios, (0.025, 0.975), method="nearest")
    return BootstrapEstimate(float(mean), float(low), float(high))
