"""Ridge regression by one eigendecomposition, with leave-one-out errors that cost nothing more.

A ridge with a free intercept is a linear smoother, ŷ = H·y, so the prediction for a row by the
model fitted without it is y - (y - ŷ)/(1 - h) with h its diagonal element of H (Allen 1974, PRESS):
exactly what n refits would say. The eigenvectors serve every strength of the penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honeyguide.models.regressors import Floats, Linear

STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """The rows taken apart, ready for any penalty."""

    centre: Floats
    mean: float
    target: Floats
    axes: Floats
    """Unit directions in the space of the rows."""
    across: Floats
    """The same directions in the space of the features, scaled: axes.T @ centred rows."""
    spread: Floats
    """Eigenvalues."""

    def fit(self, strength: float) -> Linear:
        pull = (self.axes.T @ (self.target - self.mean)) / (self.spread + strength)
        weights = self.across.T @ pull
        return Linear(weights, float(self.mean - self.centre @ weights))

    def left_out(self, strength: float) -> Floats:
        """For each row, what the ridge fitted to all the others says of it."""
        kept = self.spread / (self.spread + strength)
        off = self.target - self.mean
        said = self.mean + (self.axes * kept) @ (self.axes.T @ off)
        own = 1 / len(off) + (self.axes**2) @ kept
        # A row that alone has a feature could own its prediction; never divide by nothing.
        return np.asarray(self.target - (self.target - said) / np.maximum(1 - own, 1e-9))

    def best(self, strengths: tuple[float, ...] = STRENGTHS) -> float:
        """The strength with the least squared leave-one-out error."""
        errors = [float(np.mean((self.left_out(s) - self.target) ** 2)) for s in strengths]
        return strengths[int(np.argmin(errors))]


def ridge(rows: Floats, target: Floats) -> Ridge:
    centre = rows.mean(axis=0)
    centred = rows - centre
    if len(rows) <= rows.shape[1]:
        spread, axes = np.linalg.eigh(centred @ centred.T)
        keep = spread > 1e-9 * max(1.0, float(spread[-1]))
        spread, axes = spread[keep], axes[:, keep]
        across = axes.T @ centred
    else:
        spread, sides = np.linalg.eigh(centred.T @ centred)
        keep = spread > 1e-9 * max(1.0, float(spread[-1]))
        spread, sides = spread[keep], sides[:, keep]
        axes = (centred @ sides) / np.sqrt(spread)
        across = (sides * np.sqrt(spread)).T
    return Ridge(centre, float(target.mean()), target, axes, across, spread)
