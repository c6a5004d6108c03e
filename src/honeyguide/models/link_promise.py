"""Promises: what the words of a link say of its page, and how far to believe it.

The second tier of Xu, Yoon & Tourassi. Leave-one-out errors are exact where the learner is a
ridge; for stumps, errors of a 10-fold cross-validation stand in for them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honeyguide.models.boosting import boosted_out_of_fold
from honeyguide.models.confidence import Confidence, binned, nearest, pooled
from honeyguide.models.odds import all_log_odds
from honeyguide.models.regressor_fits import additive, folds
from honeyguide.models.regressors import Floats, Linear, Stumps, clipped
from honeyguide.models.ridge import ridge

_LEAST = 1e-6
"""No link is out of the question."""


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    model: Linear | Stumps
    confidence: Confidence
    usual: float = 0.5
    """What links turned out to be worth on average."""

    def said(self, rows: Floats) -> Floats:
        """Υ of each row, 0..1."""
        return clipped(self.model, rows)

    def weigh(self, said: Floats, familiar: Floats) -> Floats:
        """q = Σ η·(1 - ψ)·Υ, divided by Σ η so that it lies in 0..1."""
        return np.asarray(np.maximum(said * self.confidence.of(said, familiar), _LEAST))

    def beside(self, pages: Floats, said: Floats) -> Floats:
        """What links are worth whose pages are worth so much (ours): what they promise more or less
        than links usually do comes to that, in log-odds. Trust has no say: the ridge's penalty was
        chosen by the same errors, and to doubt twice found less."""
        odds = all_log_odds(pages) + all_log_odds(said) - all_log_odds(np.array(self.usual))
        return np.asarray(1 / (1 + np.exp(-odds)))


def promise(
    rows: Floats, target: Floats, familiar: Floats, *, learner: str, confidence: str
) -> Promise:
    """``familiar`` is the share of each link's words that the rows have a column for."""
    model: Linear | Stumps
    if learner == "ridge":
        parts = ridge(rows, target)
        strength = parts.best()
        model, said = parts.fit(strength), np.clip(parts.left_out(strength), 0.0, 1.0)
    else:
        model = additive(rows, target)
        said = boosted_out_of_fold(rows, target, folds(target))
    usual = float(target.mean())
    match confidence:
        case "global":
            return Promise(model, pooled(target, said), usual)
        case "knn":
            return Promise(model, nearest(target, said, familiar), usual)
        case _:
            return Promise(model, binned(target, said, familiar), usual)
