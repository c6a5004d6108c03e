"""Log-odds, thresholds, and logistic regression around a prior.

The prior is the offset of the regression; the rest is learned. Targets may be soft. The penalty
pulls every weight to zero, which is the prior, so a few examples move little and many move much
(maximum a posteriori with normal priors).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Floats = NDArray[np.floating[Any]]
_CERTAIN = 0.001
"""Least probability, and distance to 1: log-odds are unbounded."""


def log_odds(chance: float, least: float = _CERTAIN) -> float:
    """Log-odds of a probability, which is kept between ``least`` and 1 - ``least``."""
    chance = min(max(chance, least), 1 - least)
    return math.log(chance / (1 - chance))


def all_log_odds(chances: Floats) -> NDArray[np.float64]:
    """The same for an array; NaN counts as probability 0."""
    held = np.clip(np.nan_to_num(chances), _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(held / (1 - held)))


# --- Threshold ---


def best_f1_threshold(scores: Sequence[float], relevant: Sequence[bool], now: float) -> float:
    """The positive threshold with the best F1 on labelled pages; of equals the one nearest to
    ``now``.

    Candidates are the present threshold and the middles between neighbouring scores. Keeping an
    equally good threshold prevents a crawl that learns from its own verdicts from drifting.
    """
    values, wanted = np.asarray(scores, np.float64), np.asarray(relevant, np.bool_)
    steps = np.unique(np.append(values, 0.0))
    middles = (steps[:-1] + steps[1:]) / 2
    candidates = np.append(middles[middles > 0], now)
    accepted = values[np.newaxis, :] >= candidates[:, np.newaxis]
    hits = (accepted & wanted).sum(axis=1)
    f1 = 2 * hits / np.maximum(accepted.sum(axis=1) + wanted.sum(), 1)
    equal = candidates[f1 >= f1.max() - 1e-12]
    return float(equal[np.abs(equal - now).argmin()])


# --- Regression ---


_STEPS = 60


def fit_logistic(
    columns: Any,
    targets: Floats,
    *,
    weights: Floats,
    offsets: Floats,
    penalties: Floats,
    start: Floats | None = None,
) -> Floats:
    """The weights of the columns (a dense or scipy matrix) that fit the targets best."""
    from scipy.optimize import minimize

    def loss(w: Floats) -> tuple[float, Floats]:
        z = offsets + columns @ w
        misses = weights * (np.logaddexp(0, z) - targets * z)
        slopes = columns.T @ (weights * (sigmoid(z) - targets)) + penalties * w
        return float(misses.sum() + (penalties * w) @ w / 2), slopes

    first = np.zeros(columns.shape[1]) if start is None else start
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    if not np.isfinite(found.x).all():
        raise ModelError("a logistic regression found no finite weights")
    return np.asarray(found.x, dtype=np.float64)


def logistic_chance(z: float) -> float:
    """1 / (1 + e^-z), which never overflows."""
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def sigmoid(z: Floats) -> Floats:
    """The same for an array."""
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))
