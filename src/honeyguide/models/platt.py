"""Values of a machine as probabilities: Platt's sigmoid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def platt(values: Floats, good: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Slope and offset of P(good) = σ(slope·value + offset).

    Platt 1999 with its cautious targets, by Newton's method (Lin, Lin & Weng 2007); values are
    brought to unit spread first, because those of a nearly constant kernel are tiny.
    """
    middle, spread = float(values.mean()), float(values.std())
    if not spread > 1e-12 * max(1.0, abs(middle)):
        return 0.0, 0.0
    x = (values - middle) / spread
    many, few = float(weights[good].sum()), float(weights[~good].sum())
    targets = np.where(good, (many + 1) / (many + 2), 1 / (few + 2))
    a, b = 0.0, math.log((many + 1) / (few + 1))

    def loss(a: float, b: float) -> float:
        z = a * x + b
        return float(weights @ (np.logaddexp(0, z) - targets * z))

    before = loss(a, b)
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(a * x + b, -500, 500)))
        off, bend = weights * (p - targets), weights * p * (1 - p)
        to_a, to_b = float(off @ x), float(off.sum())
        if abs(to_a) + abs(to_b) < 1e-6:
            break
        aa, ab, bb = float(bend @ (x * x)) + 1e-9, float(bend @ x), float(bend.sum()) + 1e-9
        scale = aa * bb - ab * ab
        step_a, step_b = (bb * to_a - ab * to_b) / scale, (aa * to_b - ab * to_a) / scale
        step = 1.0
        while (after := loss(a - step * step_a, b - step * step_b)) > before and step > 1e-8:
            step /= 2
        a, b, before = a - step * step_a, b - step * step_b, after
    return a / spread, b - a * middle / spread
