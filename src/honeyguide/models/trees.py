"""Regression trees on 0/1 features, grown by the reduction of squared error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from honeyguide.models.regressors import Floats, Trees

_DEEPEST = 20
_LEAST = 2
"""Rows on each side of a question."""


def grow(samples: Sequence[tuple[Floats, Floats]]) -> Trees:
    """One tree for each sample of rows and targets."""
    roots: list[int] = []
    features: list[int] = []
    without: list[int] = []
    having: list[int] = []
    values: list[float] = []

    def leaf(target: Floats) -> int:
        features.append(-1)
        without.append(-1)
        having.append(-1)
        values.append(float(target.mean()))
        return len(values) - 1

    for rows, target in samples:
        roots.append(leaf(target))
        waiting = [(roots[-1], rows, target, 0)]
        while waiting:
            node, here, wanted, depth = waiting.pop()
            feature = _question(here, wanted) if depth < _DEEPEST else -1
            if feature < 0:
                continue
            features[node] = feature
            yes = here[:, feature] > 0
            without[node], having[node] = leaf(wanted[~yes]), leaf(wanted[yes])
            waiting.append((without[node], here[~yes], wanted[~yes], depth + 1))
            waiting.append((having[node], here[yes], wanted[yes], depth + 1))
    as_ints = [np.array(part, np.int32) for part in (roots, features, without, having)]
    return Trees(as_ints[0], as_ints[1], as_ints[2], as_ints[3], np.array(values))


def _question(rows: Floats, target: Floats) -> int:
    """The feature that splits best, or -1 where none helps."""
    if len(rows) < 2 * _LEAST or not rows.shape[1]:
        return -1
    off = target - target.mean()
    with_it = rows.sum(axis=0)
    without_it = len(rows) - with_it
    inside = off @ rows
    useful = (with_it >= _LEAST) & (without_it >= _LEAST)
    gain = inside**2 / np.maximum(with_it, 1.0) + inside**2 / np.maximum(without_it, 1.0)
    gain = np.where(useful, gain, 0.0)
    best = int(gain.argmax())
    return best if gain[best] > 1e-9 else -1
