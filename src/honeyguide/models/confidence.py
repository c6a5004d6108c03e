"""How far a prediction can be trusted: percentiles of the errors that the model made.

Xu, Yoon & Tourassi: with confidence η the truth lies within ±ψ·Υ of the prediction Υ, ψ being
the η-percentile of the relative leave-one-out errors, and a link is drawn in proportion to
q = Σ η·(1 - ψ)·Υ. As written, the percentiles belong to the model and not to the link, so the
factor Σ η·(1 - ψ) is the same for all and cancels (``pooled``). Their notation indexes it by link;
``binned`` and ``nearest`` do so: errors of predictions alike in height and in how many of the words
are known. Relative errors are over max(Υ, 0.05), at most 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from honeyguide.models.regressors import Floats

LEVELS = np.array((0.90, 0.80, 0.70, 0.60, 0.50, 0.40, 0.30, 0.20, 0.10, 0.05))
"""η_k"""
_BINS, _NEIGHBOURS, _PSEUDO, _FLOOR = 10, 50, 20, 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """Σ η·(1 - ψ) ÷ Σ η as a step function of the prediction: 0..1.

    One function for links of which at least half the words are known, one for the others.
    """

    edges: Floats
    factors: Floats
    """One more than there are edges."""
    strange_edges: Floats
    strange_factors: Floats

    def of(self, said: Floats, familiar: Floats) -> Floats:
        known = self.factors[np.searchsorted(self.edges, said, side="right")]
        strange = self.strange_factors[np.searchsorted(self.strange_edges, said, side="right")]
        return np.where(familiar >= 0.5, known, strange)


def relative(truth: Floats, said: Floats) -> Floats:
    """|Φ - Υ| ÷ Υ, capped at 1."""
    return np.asarray(np.minimum(1.0, np.abs(truth - said) / np.maximum(said, _FLOOR)))


def percentiles(errors: Floats) -> Floats:
    """ψ_k for each η_k; without errors nothing is known and nothing trusted."""
    return np.quantile(errors, LEVELS) if len(errors) else np.ones(len(LEVELS))


def factor(psi: Floats) -> float:
    """Σ η·(1 - ψ), divided by what it is when no error was ever made."""
    return float(LEVELS @ (1 - psi) / LEVELS.sum())


def pooled(truth: Floats, said: Floats) -> Confidence:
    """The paper's formula to the letter: one factor for every link."""
    one, none = np.array([factor(percentiles(relative(truth, said)))]), np.zeros(0)
    return Confidence(none, one, none, one)


def binned(truth: Floats, said: Floats, familiar: Floats) -> Confidence:
    """Percentiles of ten bins of equal size, drawn to the global ones as by 20 more errors."""
    errors = relative(truth, said)
    everywhere = percentiles(errors)
    halves = []
    for half in (familiar >= 0.5, familiar < 0.5):
        edges = (
            np.unique(np.quantile(said[half], np.arange(1, _BINS) / _BINS))
            if any(half)
            else (np.zeros(0))
        )
        bins = np.searchsorted(edges, said, side="right")
        factors = []
        for number in range(len(edges) + 1):
            here = errors[half & (bins == number)]
            weight = len(here) / (len(here) + _PSEUDO)
            factors.append(factor(weight * percentiles(here) + (1 - weight) * everywhere))
        halves.append((edges, np.array(factors)))
    return Confidence(*halves[0], *halves[1])


def nearest(truth: Floats, said: Floats, familiar: Floats) -> Confidence:
    """Percentiles of the 50 errors nearest in prediction, at each of up to 200 places."""
    errors = relative(truth, said)
    halves = []
    for half in (familiar >= 0.5, familiar < 0.5):
        inside = half if half.sum() >= _NEIGHBOURS else np.ones(len(said), bool)
        order = np.flatnonzero(inside)[np.argsort(said[inside], kind="stable")]
        places = np.unique(np.linspace(0, len(order) - 1, min(len(order), 200)).astype(int))
        factors = []
        for place in places:
            low = max(0, min(place - _NEIGHBOURS // 2, len(order) - _NEIGHBOURS))
            factors.append(factor(percentiles(errors[order[low : low + _NEIGHBOURS]])))
        middles = said[order[places]]
        halves.append(((middles[1:] + middles[:-1]) / 2, np.array(factors)))
    return Confidence(*halves[0], *halves[1])
