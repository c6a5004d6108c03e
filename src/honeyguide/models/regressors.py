"""Regressors as values: arrays that predict, saved without pickle, fitted in ``fits.py``.

Rows are 0/1: a page has a phrase or not, a link a word or not. Predictions are not bounded; who
needs a utility clips them to 0..1. They are compared by identity, as arrays have no plain equality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    weights: Floats
    offset: float

    def predict(self, rows: Floats) -> Floats:
        # Not a matrix product: its last digits depend on how many rows are asked for at once.
        return np.asarray((rows * self.weights).sum(axis=1) + self.offset, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """A sum of questions with one answer each: has it this feature, or not?"""

    features: Ints
    without: Floats
    having: Floats
    offset: float

    def predict(self, rows: Floats) -> Floats:
        answers = np.where(rows[:, self.features] > 0, self.having, self.without)
        return np.asarray(answers.sum(axis=1) + self.offset, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The mean of several trees, their nodes in one list."""

    roots: Ints
    features: Ints
    """The feature that a node asks for; -1: it is a leaf."""
    without: Ints
    having: Ints
    values: Floats

    def predict(self, rows: Floats) -> Floats:
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        places = np.arange(len(rows))[:, None]
        while True:
            asked = self.features[at]
            inner = asked >= 0
            if not inner.any():
                return np.asarray(self.values[at].mean(axis=1), np.float64)
            yes = rows[places, np.maximum(asked, 0)] > 0
            at = np.where(inner, np.where(yes, self.having[at], self.without[at]), at)


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A weighted vote of known rows, each as loud as it is near."""

    rows: Floats
    weights: Floats
    offset: float
    gamma: float
    shares: bool = False
    """Loudness is relative to all the others (a network of radial units)."""

    def predict(self, rows: Floats) -> Floats:
        return np.asarray(self.offset + self.near(rows) @ self.weights, np.float64)

    def near(self, rows: Floats) -> Floats:
        apart = (rows**2).sum(axis=1)[:, None] + (self.rows**2).sum(axis=1) - 2 * rows @ self.rows.T
        near = np.exp(-self.gamma * np.maximum(apart, 0.0))
        if self.shares:
            near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(near, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """A weighted sum of other regressors (stacking)."""

    models: tuple[Linear | Stumps | Trees | Kernel, ...]
    weights: Floats
    offset: float

    def predict(self, rows: Floats) -> Floats:
        said = np.stack([model.predict(rows) for model in self.models], axis=1)
        return np.asarray((said * self.weights).sum(axis=1) + self.offset, np.float64)


Model = Linear | Stumps | Trees | Kernel | Mix


def clipped(model: Model, rows: Floats) -> Floats:
    """Predictions as utilities: 0..1."""
    return np.asarray(np.clip(model.predict(rows), 0.0, 1.0), np.float64)


def contributions(model: Model, row: Floats) -> list[tuple[int, float]]:
    """What each feature that a row has adds to its prediction: what it would lose without it."""
    present = np.flatnonzero(row)
    if not len(present):
        return []
    changed = np.repeat(row[None, :], len(present) + 1, axis=0)
    changed[np.arange(len(present)), present] = 0.0
    said = model.predict(changed)
    return [(int(f), float(said[-1] - said[i])) for i, f in enumerate(present)]
