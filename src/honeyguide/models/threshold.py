"""Where to cut a score in two: the threshold with the best F1 on labelled pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def best_f1(scores: Sequence[float], relevant: Sequence[bool], now: float) -> float:
    """The positive threshold with the best F1; among equals, the one nearest to ``now``.

    Candidates are the present threshold and the middles between neighbouring scores. Staying
    put where that is as good keeps a crawl that learns from its own verdicts from drifting.
    """
    given, wanted = np.asarray(scores, np.float64), np.asarray(relevant, np.bool_)
    steps = np.unique(np.append(given, 0.0))
    middles = (steps[:-1] + steps[1:]) / 2
    candidates = np.append(middles[middles > 0], now)
    kept = given[np.newaxis, :] >= candidates[:, np.newaxis]
    hits = (kept & wanted).sum(axis=1)
    f1 = 2 * hits / np.maximum(kept.sum(axis=1) + wanted.sum(), 1)
    equal = candidates[f1 >= f1.max() - 1e-12]
    return float(equal[np.abs(equal - now).argmin()])
