"""A linear critic of pages: logistic regression, calibrated where examples are few."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.models import logistic
from honeyguide.models.platt import platt
from honeyguide.models.svm import Linear, folds

Floats = NDArray[np.floating[Any]]
Sparse = tuple[Floats, NDArray[Any], NDArray[Any]]

_STRICT = 0.1
_UNPENALISED = 1e-6


class Critic(NamedTuple):
    """P(good) = σ(slope·z + shift) of the machine's log-odds z."""

    machine: Linear
    slope: float = 1.0
    shift: float = 0.0


def learn(rows: Sparse, size: int, targets: Floats, weights: Floats, *, timid: bool) -> Critic:
    """``timid``: so few pages that the log-odds come out too small; those of pages that were not
    learned from tell how much. Good and bad pages count the same in all."""
    from scipy.sparse import csr_array, hstack

    values, places, starts = rows
    count, good = len(targets), targets >= 0.5
    weights = weights.copy()
    for side in (good, ~good):
        weights[side] *= count / (2 * weights[side].sum())
    words = csr_array((values, places, starts), shape=(count, size))
    columns = hstack((words, csr_array(np.ones((count, 1)))), format="csr")
    penalties = np.full(size + 1, _STRICT)
    penalties[-1] = _UNPENALISED

    def fitted(part: Any) -> Floats:
        return logistic.fit(
            columns[part],
            targets[part],
            weights=weights[part],
            offsets=np.zeros(len(part)),
            penalties=penalties,
        )

    slope, shift = 1.0, 0.0
    if timid:
        outside = np.zeros(count)
        for train, test in folds(good):
            outside[test] = columns[test] @ fitted(train)
        slope, shift = platt(outside, good, weights)
    found = fitted(np.arange(count))
    machine = Linear(found[:-1], float(found[-1]))
    # Folds of a handful of pages may tell them apart the wrong way round.
    return Critic(machine, slope, shift) if slope > 0 else Critic(machine)
