"""Boosted stumps on 0/1 features (Friedman 2001, least squares): one product a round.

Every fold of a cross-validation is boosted at once, which makes it cheap enough to ask again after
each feature that is admitted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honeyguide.models.regressors import Floats, Ints, Stumps


def boost(rows: Floats, target: Floats, *, rounds: int, rate: float) -> Stumps:
    everything = np.ones((1, len(target)), bool)
    start, features, without, having, _ = _boosted(rows, target, everything, rounds, rate)
    return Stumps(features[:, 0], without[:, 0], having[:, 0], float(start[0]))


def boosted_out_of_fold(
    rows: Floats, target: Floats, fold: Ints, *, rounds: int = 10, rate: float = 1.0
) -> Floats:
    """For each row, what the stumps fitted without its fold say of it, as a utility."""
    numbers = np.arange(int(fold.max()) + 1)
    said = _boosted(rows, target, fold[None, :] != numbers[:, None], rounds, rate)[4]
    return np.asarray(np.clip(said[fold, np.arange(len(target))], 0.0, 1.0), np.float64)


def _boosted(
    rows: Floats, target: Floats, used: NDArray[np.bool_], rounds: int, rate: float
) -> tuple[Floats, Ints, Floats, Floats, Floats]:
    """Start, features, answers without and with them (rounds × folds), and predictions.

    ``used`` says for each fold which rows it is fitted to.
    """
    weights = used.astype(np.float64)
    sizes = np.maximum(weights.sum(axis=1), 1.0)
    start = weights @ target / sizes
    said = np.repeat(start[:, None], len(target), axis=1)
    with_it = weights @ rows
    without_it = sizes[:, None] - with_it
    useful = (with_it > 0) & (without_it > 0)
    each = np.arange(len(used))
    features = np.zeros((rounds, len(used)), np.int32)
    without, having = np.zeros((2, rounds, len(used)))
    for n in range(rounds if rows.shape[1] else 0):
        left = weights * (target - said)
        total = left.sum(axis=1)
        inside = left @ rows
        outside = total[:, None] - inside
        gain = np.where(
            useful,
            inside**2 / np.maximum(with_it, 1.0) + outside**2 / np.maximum(without_it, 1.0),
            -1.0,
        )
        best = gain.argmax(axis=1)
        fit = useful[each, best]
        features[n] = best
        having[n] = rate * fit * inside[each, best] / np.maximum(with_it[each, best], 1.0)
        without[n] = rate * fit * outside[each, best] / np.maximum(without_it[each, best], 1.0)
        said += np.where(rows[:, best].T > 0, having[n][:, None], without[n][:, None])
    return start, features, without, having, said
