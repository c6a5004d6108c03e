"""Logistic regression around a prior: what is known beforehand is the offset, the rest is learned.

Targets may be soft. The penalty draws every weight to zero, that is, to what the prior says, so a
handful of examples moves little and many move much (maximum a posteriori with normal priors).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]

_STEPS = 60


def fit(
    columns: Any,
    targets: Floats,
    *,
    weights: Floats,
    offsets: Floats,
    penalties: Floats,
    start: Floats | None = None,
) -> Floats:
    """The weights of the columns (a dense or scipy matrix) that explain the targets best."""
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


def sigmoid(z: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(z / 2)))
