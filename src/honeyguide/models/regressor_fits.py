"""Fit regressors to rows of zeros and ones: the nine that Xu, Yoon & Tourassi compared.

They used Weka; these are the same methods on 0/1 features, in numpy. Weka's defaults are kept where
they mean something here; what differs stands at each function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from honeyguide.models.boosting import boost
from honeyguide.models.regressors import Floats, Ints, Kernel, Linear, Mix, Model, Stumps, Trees
from honeyguide.models.ridge import ridge
from honeyguide.models.trees import grow

_TREES = 10
Fit = Callable[[Floats, Floats], Model]


def additive(rows: Floats, target: Floats) -> Stumps:
    """Additive regression, which won: 10 stumps, each fitted to what the others leave."""
    return boost(rows, target, rounds=10, rate=1.0)


def stumps(rows: Floats, target: Floats) -> Stumps:
    """The same with 100 smaller steps."""
    return boost(rows, target, rounds=100, rate=0.1)


def isotonic(rows: Floats, target: Floats) -> Stumps:
    """Isotonic regression on the best feature; on a 0/1 feature that is a single stump."""
    return boost(rows, target, rounds=1, rate=1.0)


def linear(rows: Floats, target: Floats) -> Linear:
    """Least squares; a breath of a ridge keeps it defined when features depend on each other."""
    return ridge(rows, target).fit(1e-6)


def penalised(rows: Floats, target: Floats) -> Linear:
    """Ridge of the strength that leave-one-out errors choose.

    A Gaussian process with a linear kernel, as Weka's is, has just such a mean.
    """
    parts = ridge(rows, target)
    return parts.fit(parts.best())


def median(rows: Floats, target: Floats) -> Linear:
    """Least median of squares: of 30 fits to halves, the one nearest to most rows, refitted."""
    random = np.random.default_rng(0)
    best, error = linear(rows, target), np.inf
    for _ in range(30 if len(rows) >= 6 else 0):
        half = random.permutation(len(rows))[: (len(rows) + 1) // 2]
        model = ridge(rows[half], target[half]).fit(0.1)
        apart = float(np.median((model.predict(rows) - target) ** 2))
        if apart < error:
            best, error = model, apart
    near = (best.predict(rows) - target) ** 2 <= 2.5**2 * max(error, 1e-4)
    return ridge(rows[near], target[near]).fit(0.1) if near.sum() >= 2 else best


def kernel(rows: Floats, target: Floats) -> Kernel:
    """Kernel ridge with radial kernel, its width the median distance between rows."""
    gamma, mean = _gamma(rows), float(target.mean())
    model = Kernel(rows, np.zeros(len(rows)), mean, gamma)
    weights = np.linalg.solve(model.near(rows) + 0.5 * np.eye(len(rows)), target - mean)
    return Kernel(rows, np.asarray(weights, np.float64), mean, gamma)


def radial(rows: Floats, target: Floats) -> Kernel:
    """A network of radial units: centres by k-means, a ridge on their shares."""
    random = np.random.default_rng(0)
    count = max(1, min(10, len(rows) // 3))
    centres = rows[random.permutation(len(rows))[:count]]
    for _ in range(10):
        apart = ((rows[:, None, :] - centres) ** 2).sum(axis=2)
        mine = apart.argmin(axis=1)
        centres = np.stack(
            [
                rows[mine == c].mean(axis=0) if (mine == c).any() else centres[c]
                for c in range(count)
            ]
        )
    shape = Kernel(centres, np.zeros(count), 0.0, _gamma(rows), shares=True)
    top = ridge(shape.near(rows), target).fit(0.1)
    return Kernel(centres, top.weights, top.offset, shape.gamma, shares=True)


def bagging(rows: Floats, target: Floats) -> Trees:
    """Ten trees, each grown on as many rows drawn with replacement."""
    random = np.random.default_rng(0)
    drawn = [random.integers(0, len(rows), len(rows)) for _ in range(_TREES)]
    return grow([(rows[some], target[some]) for some in drawn])


def discretised(rows: Floats, target: Floats) -> Trees:
    """Regression by discretisation: a tree on ten bins of the target, a bin said by its mean."""
    order = np.argsort(target, kind="stable")
    bins = np.minimum(np.searchsorted(target[order], target), len(target) - 1) * 10 // len(target)
    means = np.array([target[bins == b].mean() for b in bins])
    return grow([(rows, means)])


def stacking(rows: Floats, target: Floats) -> Mix:
    """A ridge on what three others say of rows that they were not fitted to."""
    members: tuple[Fit, ...] = (additive, penalised, kernel)
    fold = folds(target)
    said = np.stack([out_of_fold(fit, rows, target, fold) for fit in members], axis=1)
    top = ridge(said, target).fit(0.1)
    parts = (additive(rows, target), penalised(rows, target), kernel(rows, target))
    return Mix(parts, top.weights, top.offset)


FITS: dict[str, Fit] = {
    "additive": additive, "stumps": stumps, "ridge": penalised, "bagging": bagging,
    "kernel": kernel, "linear": linear, "isotonic": isotonic, "median": median, "radial": radial,
    "discretised": discretised, "stacking": stacking,
}  # fmt: skip


class Choice(NamedTuple):
    """The learner that did best, and what it learned."""

    name: str
    model: Model
    error: float
    """Root of its mean squared error on rows it was not fitted to."""


def choose(names: Sequence[str], rows: Floats, target: Floats) -> Choice:
    """Select a learner by cross-validation and fit it to everything; the first wins a tie."""
    fold = folds(target)
    errors = [_error(out_of_fold(FITS[name], rows, target, fold), target) for name in names]
    best = int(np.argmin(np.round(errors, 9)))
    return Choice(names[best], FITS[names[best]](rows, target), errors[best])


def folds(target: Floats, count: int = 10) -> Ints:
    """Each row's fold; every fold gets its share of low and of high targets."""
    order = np.random.default_rng(0).permutation(len(target))
    order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), np.int32)
    fold[order] = np.arange(len(target)) % max(2, min(count, len(target)))
    return fold


def out_of_fold(fit: Fit, rows: Floats, target: Floats, fold: Ints) -> Floats:
    """For each row, what the model fitted without its fold says of it, as a utility."""
    said = np.full(len(target), float(target.mean()))
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        if inside.any() and not inside.all():
            model = fit(rows[~inside], target[~inside])
            said[inside] = np.clip(model.predict(rows[inside]), 0.0, 1.0)
    return said


def _error(said: Floats, target: Floats) -> float:
    return float(np.sqrt(np.mean((said - target) ** 2)))


def _gamma(rows: Floats) -> float:
    some = rows[:: max(1, len(rows) // 100)]
    apart = np.round((some**2).sum(axis=1)[:, None] + (some**2).sum(axis=1) - 2 * some @ some.T, 9)
    middle = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    return 1.0 / middle
