"""Predicted values of links, and how far to trust them: percentiles of the errors of the model.

The second tier of Xu, Yoon & Tourassi: with confidence η the truth lies within ±ψ·Υ of the
prediction Υ, ψ being the η-percentile of the relative leave-one-out errors, and a link is drawn in
proportion to q = Σ η·(1 - ψ)·Υ. As written, the percentiles belong to the model, so the factor Σ
η·(1 - ψ) is the same for all links and cancels (``pooled``). Their notation indexes it by link;
``binned`` and ``nearest`` do so: errors of predictions of similar height and with a similar share
of known words. Relative errors are over max(Υ, 0.05), at most 1.

Leave-one-out errors are exact for a ridge; for stumps, errors of a 10-fold cross-validation replace
them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honeyguide.models.logistic import all_log_odds
from honeyguide.models.regressors import (
    FloatArray,
    Linear,
    Stumps,
    assign_folds,
    boosted_out_of_fold,
    fit_additive,
    predict_clipped,
    prepare_ridge,
)

LEVELS = np.array((0.90, 0.80, 0.70, 0.60, 0.50, 0.40, 0.30, 0.20, 0.10, 0.05))
"""η_k."""
_BINS, _NEIGHBOURS, _PSEUDO, _FLOOR = 10, 50, 20, 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """Σ η·(1 - ψ) ÷ Σ η as a step function of the prediction: 0..1.

    One function for links of which at least half the words are known, one for the others.
    """

    edges: FloatArray
    factors: FloatArray
    """One more than there are edges."""
    strange_edges: FloatArray
    strange_factors: FloatArray

    def factors_of(self, predicted: FloatArray, familiar: FloatArray) -> FloatArray:
        known = self.factors[np.searchsorted(self.edges, predicted, side="right")]
        strange = self.strange_factors[np.searchsorted(self.strange_edges, predicted, side="right")]
        return np.where(familiar >= 0.5, known, strange)


def relative_errors(truth: FloatArray, predicted: FloatArray) -> FloatArray:
    """|Φ - Υ| ÷ Υ, at most 1."""
    return np.asarray(np.minimum(1.0, np.abs(truth - predicted) / np.maximum(predicted, _FLOOR)))


def error_percentiles(errors: FloatArray) -> FloatArray:
    """ψ_k for each η_k; without errors nothing is trusted."""
    return np.quantile(errors, LEVELS) if len(errors) else np.ones(len(LEVELS))


def confidence_factor(psi: FloatArray) -> float:
    """Σ η·(1 - ψ), divided by its value without any error."""
    return float(LEVELS @ (1 - psi) / LEVELS.sum())


def pooled_confidence(truth: FloatArray, predicted: FloatArray) -> Confidence:
    """The formula of the paper: one factor for all links."""
    none = np.zeros(0)
    one = np.array([confidence_factor(error_percentiles(relative_errors(truth, predicted)))])
    return Confidence(none, one, none, one)


def binned_confidence(truth: FloatArray, predicted: FloatArray, familiar: FloatArray) -> Confidence:
    """Percentiles of ten bins of equal size, shrunk to the global ones as by 20 more errors."""
    errors = relative_errors(truth, predicted)
    everywhere = error_percentiles(errors)
    halves = []
    for half in (familiar >= 0.5, familiar < 0.5):
        shares = np.arange(1, _BINS) / _BINS
        edges = np.unique(np.quantile(predicted[half], shares)) if any(half) else np.zeros(0)
        bins = np.searchsorted(edges, predicted, side="right")
        factors = []
        for number in range(len(edges) + 1):
            inside = errors[half & (bins == number)]
            weight = len(inside) / (len(inside) + _PSEUDO)
            mixed = weight * error_percentiles(inside) + (1 - weight) * everywhere
            factors.append(confidence_factor(mixed))
        halves.append((edges, np.array(factors)))
    return Confidence(*halves[0], *halves[1])


def nearest_confidence(
    truth: FloatArray, predicted: FloatArray, familiar: FloatArray
) -> Confidence:
    """Percentiles of the 50 errors nearest in prediction, at up to 200 places."""
    errors = relative_errors(truth, predicted)
    halves = []
    for half in (familiar >= 0.5, familiar < 0.5):
        inside = half if half.sum() >= _NEIGHBOURS else np.ones(len(predicted), bool)
        order = np.flatnonzero(inside)[np.argsort(predicted[inside], kind="stable")]
        places = np.unique(np.linspace(0, len(order) - 1, min(len(order), 200)).astype(int))
        factors = []
        for place in places:
            low = max(0, min(place - _NEIGHBOURS // 2, len(order) - _NEIGHBOURS))
            nearest = errors[order[low : low + _NEIGHBOURS]]
            factors.append(confidence_factor(error_percentiles(nearest)))
        middles = predicted[order[places]]
        halves.append(((middles[1:] + middles[:-1]) / 2, np.array(factors)))
    return Confidence(*halves[0], *halves[1])


# --- Predicted values ---


_LEAST = 1e-6
"""Least value of a link."""


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """A fitted model of link values, and how far to trust it."""

    model: Linear | Stumps
    confidence: Confidence
    usual: float = 0.5
    """Mean value of the training links."""

    def predict(self, rows: FloatArray) -> FloatArray:
        """Υ of each row, 0..1."""
        return predict_clipped(self.model, rows)

    def trusted_value(self, predicted: FloatArray, familiar: FloatArray) -> FloatArray:
        """q = Σ η·(1 - ψ)·Υ, divided by Σ η, so 0..1."""
        return np.asarray(
            np.maximum(predicted * self.confidence.factors_of(predicted, familiar), _LEAST)
        )

    def combine_with_pages(self, pages: FloatArray, predicted: FloatArray) -> FloatArray:
        """The value of links by their pages, plus what they promise more or less than links usually
        do, in log-odds (ours). Trust is not used: the penalty of the ridge was chosen by the same
        errors, and using them twice found less."""
        odds = all_log_odds(pages) + all_log_odds(predicted) - all_log_odds(np.array(self.usual))
        return np.asarray(1 / (1 + np.exp(-odds)))


def fit_promise(
    rows: FloatArray, target: FloatArray, familiar: FloatArray, *, learner: str, confidence: str
) -> Promise:
    """``familiar`` is the share of the words of each link that have a column."""
    model: Linear | Stumps
    if learner == "ridge":
        parts = prepare_ridge(rows, target)
        strength = parts.best_strength()
        model, predicted = parts.fit(strength), np.clip(parts.leave_one_out(strength), 0.0, 1.0)
    else:
        model = fit_additive(rows, target)
        predicted = boosted_out_of_fold(rows, target, assign_folds(target))
    usual = float(target.mean())
    if confidence == "global":
        return Promise(model, pooled_confidence(target, predicted), usual)
    trust = nearest_confidence if confidence == "knn" else binned_confidence
    return Promise(model, trust(target, predicted, familiar), usual)
