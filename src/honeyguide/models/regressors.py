"""Regressors as values: arrays that predict, saved without pickle, and how they are fitted.

Rows are 0/1: a page has a phrase or not, a link a word or not. Predictions are not bounded; who
needs a utility clips them to 0..1. They are compared by identity, as arrays have no plain equality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    weights: FloatArray
    offset: float

    def predict(self, rows: FloatArray) -> FloatArray:
        # Not a matrix product: its last digits depend on how many rows are asked for at once.
        return np.asarray((rows * self.weights).sum(axis=1) + self.offset, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Stumps:
    """A sum of questions with one answer each: has it this feature, or not?"""

    features: IntArray
    without: FloatArray
    having: FloatArray
    offset: float

    def predict(self, rows: FloatArray) -> FloatArray:
        answers = np.where(rows[:, self.features] > 0, self.having, self.without)
        return np.asarray(answers.sum(axis=1) + self.offset, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The mean of several trees, their nodes in one list."""

    roots: IntArray
    features: IntArray
    """The feature that a node asks for; -1: it is a leaf."""
    without: IntArray
    having: IntArray
    values: FloatArray

    def predict(self, rows: FloatArray) -> FloatArray:
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

    rows: FloatArray
    weights: FloatArray
    offset: float
    gamma: float
    shares: bool = False
    """Loudness is relative to all the others (a network of radial units)."""

    def predict(self, rows: FloatArray) -> FloatArray:
        return np.asarray(self.offset + self.kernel_values(rows) @ self.weights, np.float64)

    def kernel_values(self, rows: FloatArray) -> FloatArray:
        apart = (rows**2).sum(axis=1)[:, None] + (self.rows**2).sum(axis=1) - 2 * rows @ self.rows.T
        near = np.exp(-self.gamma * np.maximum(apart, 0.0))
        if self.shares:
            near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-12)
        return np.asarray(near, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Mix:
    """A weighted sum of other regressors (stacking)."""

    models: tuple[Linear | Stumps | Trees | Kernel, ...]
    weights: FloatArray
    offset: float

    def predict(self, rows: FloatArray) -> FloatArray:
        predicted = np.stack([model.predict(rows) for model in self.models], axis=1)
        return np.asarray((predicted * self.weights).sum(axis=1) + self.offset, np.float64)


Regressor = Linear | Stumps | Trees | Kernel | Mix


def predict_clipped(model: Regressor, rows: FloatArray) -> FloatArray:
    """Predictions as utilities: 0..1."""
    return np.asarray(np.clip(model.predict(rows), 0.0, 1.0), np.float64)


def feature_contributions(model: Regressor, row: FloatArray) -> list[tuple[int, float]]:
    """What each feature that a row has adds to its prediction: what it would lose without it."""
    present = np.flatnonzero(row)
    if not len(present):
        return []
    changed = np.repeat(row[None, :], len(present) + 1, axis=0)
    changed[np.arange(len(present)), present] = 0.0
    predicted = model.predict(changed)
    return [(int(f), float(predicted[-1] - predicted[i])) for i, f in enumerate(present)]


# --------------------------------------------------------------------------------------------------
# Ridge regression by one eigendecomposition, with leave-one-out errors that cost nothing more.
#
# A ridge with a free intercept is a linear smoother, ŷ = H·y, so the prediction for a row by the
# model fitted without it is y - (y - ŷ)/(1 - h) with h its diagonal element of H (Allen 1974,
# PRESS): exactly what n refits would say. The eigenvectors serve every strength of the penalty.
# --------------------------------------------------------------------------------------------------


RIDGE_STRENGTHS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass(frozen=True, slots=True, eq=False)
class RidgeSolver:
    """The rows taken apart, ready for any penalty."""

    centre: FloatArray
    mean: float
    target: FloatArray
    axes: FloatArray
    """Unit directions in the space of the rows."""
    across: FloatArray
    """The same directions in the space of the features, scaled: axes.T @ centred rows."""
    spread: FloatArray
    """Eigenvalues."""

    def fit(self, strength: float) -> Linear:
        pull = (self.axes.T @ (self.target - self.mean)) / (self.spread + strength)
        weights = self.across.T @ pull
        return Linear(weights, float(self.mean - self.centre @ weights))

    def leave_one_out(self, strength: float) -> FloatArray:
        """For each row, what the ridge fitted to all the others says of it."""
        shrinkage = self.spread / (self.spread + strength)
        off = self.target - self.mean
        predicted = self.mean + (self.axes * shrinkage) @ (self.axes.T @ off)
        own = 1 / len(off) + (self.axes**2) @ shrinkage
        # A row that alone has a feature could own its prediction; never divide by nothing.
        return np.asarray(self.target - (self.target - predicted) / np.maximum(1 - own, 1e-9))

    def best_strength(self) -> float:
        """The strength with the least squared leave-one-out error."""
        errors = [
            float(np.mean((self.leave_one_out(s) - self.target) ** 2)) for s in RIDGE_STRENGTHS
        ]
        return RIDGE_STRENGTHS[int(np.argmin(errors))]


def prepare_ridge(rows: FloatArray, target: FloatArray) -> RidgeSolver:
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
    return RidgeSolver(centre, float(target.mean()), target, axes, across, spread)


# --------------------------------------------------------------------------------------------------
# Boosted stumps on 0/1 features (Friedman 2001, least squares): one product a round.
#
# Every fold of a cross-validation is boosted at once, which makes it cheap enough to ask again
# after each feature that is admitted.
# --------------------------------------------------------------------------------------------------


def boost_stumps(rows: FloatArray, target: FloatArray, *, rounds: int, rate: float) -> Stumps:
    everything = np.ones((1, len(target)), bool)
    start, features, without, having, _ = _boost_folds(rows, target, everything, rounds, rate)
    return Stumps(features[:, 0], without[:, 0], having[:, 0], float(start[0]))


def boosted_out_of_fold(rows: FloatArray, target: FloatArray, fold: IntArray) -> FloatArray:
    """For each row, what additive regression fitted without its fold says of it, as a utility."""
    numbers = np.arange(int(fold.max()) + 1)
    predicted = _boost_folds(rows, target, fold[None, :] != numbers[:, None], 10, 1.0)[4]
    return np.asarray(np.clip(predicted[fold, np.arange(len(target))], 0.0, 1.0), np.float64)


def _boost_folds(
    rows: FloatArray, target: FloatArray, used: NDArray[np.bool_], rounds: int, rate: float
) -> tuple[FloatArray, IntArray, FloatArray, FloatArray, FloatArray]:
    """Start, features, answers without and with them (rounds × folds), and predictions.

    ``used`` says for each fold which rows it is fitted to.
    """
    weights = used.astype(np.float64)
    sizes = np.maximum(weights.sum(axis=1), 1.0)
    start = weights @ target / sizes
    predicted = np.repeat(start[:, None], len(target), axis=1)
    with_it = weights @ rows
    without_it = sizes[:, None] - with_it
    useful = (with_it > 0) & (without_it > 0)
    each = np.arange(len(used))
    features = np.zeros((rounds, len(used)), np.int32)
    without, having = np.zeros((2, rounds, len(used)))
    for n in range(rounds if rows.shape[1] else 0):
        left = weights * (target - predicted)
        total = left.sum(axis=1)
        inside = left @ rows
        outside = total[:, None] - inside
        gain = np.where(
            useful,
            inside**2 / np.maximum(with_it, 1.0) + outside**2 / np.maximum(without_it, 1.0),
            -1.0,
        )
        best = gain.argmax(axis=1)
        fit = useful[each, best]
        features[n] = best
        having[n] = rate * fit * inside[each, best] / np.maximum(with_it[each, best], 1.0)
        without[n] = rate * fit * outside[each, best] / np.maximum(without_it[each, best], 1.0)
        predicted += np.where(rows[:, best].T > 0, having[n][:, None], without[n][:, None])
    return start, features, without, having, predicted


# --------------------------------------------------------------------------------------------------
# Regression trees on 0/1 features, grown by the reduction of squared error.
# --------------------------------------------------------------------------------------------------


_DEEPEST = 20
_LEAST = 2
"""Rows on each side of a question."""


def grow_trees(samples: Sequence[tuple[FloatArray, FloatArray]]) -> Trees:
    """One tree for each sample of rows and targets."""
    roots: list[int] = []
    features: list[int] = []
    without: list[int] = []
    having: list[int] = []
    values: list[float] = []

    def leaf(target: FloatArray) -> int:
        features.append(-1)
        without.append(-1)
        having.append(-1)
        values.append(float(target.mean()))
        return len(values) - 1

    for rows, target in samples:
        roots.append(leaf(target))
        waiting = [(roots[-1], rows, target, 0)]
        while waiting:
            node, part, wanted, depth = waiting.pop()
            feature = _best_split(part, wanted) if depth < _DEEPEST else -1
            if feature < 0:
                continue
            features[node] = feature
            yes = part[:, feature] > 0
            without[node], having[node] = leaf(wanted[~yes]), leaf(wanted[yes])
            waiting.append((without[node], part[~yes], wanted[~yes], depth + 1))
            waiting.append((having[node], part[yes], wanted[yes], depth + 1))
    as_ints = [np.array(part, np.int32) for part in (roots, features, without, having)]
    return Trees(as_ints[0], as_ints[1], as_ints[2], as_ints[3], np.array(values))


def _best_split(rows: FloatArray, target: FloatArray) -> int:
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


# --------------------------------------------------------------------------------------------------
# Fit regressors to rows of zeros and ones: the nine that Xu, Yoon & Tourassi compared.
#
# They used Weka; these are the same methods on 0/1 features, in numpy. Weka's defaults are kept
# where they mean something here; what differs stands at each function.
# --------------------------------------------------------------------------------------------------


_TREES = 10
RegressorFit = Callable[[FloatArray, FloatArray], Regressor]


def fit_additive(rows: FloatArray, target: FloatArray) -> Stumps:
    """Additive regression, which won: 10 stumps, each fitted to what the others leave."""
    return boost_stumps(rows, target, rounds=10, rate=1.0)


def fit_stumps(rows: FloatArray, target: FloatArray) -> Stumps:
    """The same with 100 smaller steps."""
    return boost_stumps(rows, target, rounds=100, rate=0.1)


def fit_isotonic(rows: FloatArray, target: FloatArray) -> Stumps:
    """Isotonic regression on the best feature; on a 0/1 feature that is a single stump."""
    return boost_stumps(rows, target, rounds=1, rate=1.0)


def fit_linear(rows: FloatArray, target: FloatArray) -> Linear:
    """Least squares; a breath of a ridge keeps it defined when features depend on each other."""
    return prepare_ridge(rows, target).fit(1e-6)


def fit_ridge(rows: FloatArray, target: FloatArray) -> Linear:
    """Ridge of the strength that leave-one-out errors choose.

    A Gaussian process with a linear kernel, as Weka's is, has just such a mean.
    """
    parts = prepare_ridge(rows, target)
    return parts.fit(parts.best_strength())


def fit_least_median(rows: FloatArray, target: FloatArray) -> Linear:
    """Least median of squares: of 30 fits to halves, the one nearest to most rows, refitted."""
    random = np.random.default_rng(0)
    best, error = fit_linear(rows, target), np.inf
    for _ in range(30 if len(rows) >= 6 else 0):
        half = random.permutation(len(rows))[: (len(rows) + 1) // 2]
        model = prepare_ridge(rows[half], target[half]).fit(0.1)
        apart = float(np.median((model.predict(rows) - target) ** 2))
        if apart < error:
            best, error = model, apart
    near = (best.predict(rows) - target) ** 2 <= 2.5**2 * max(error, 1e-4)
    return prepare_ridge(rows[near], target[near]).fit(0.1) if near.sum() >= 2 else best


def fit_kernel(rows: FloatArray, target: FloatArray) -> Kernel:
    """Kernel ridge with radial kernel, its width the median distance between rows."""
    gamma, mean = _kernel_gamma(rows), float(target.mean())
    model = Kernel(rows, np.zeros(len(rows)), mean, gamma)
    weights = np.linalg.solve(model.kernel_values(rows) + 0.5 * np.eye(len(rows)), target - mean)
    return Kernel(rows, np.asarray(weights, np.float64), mean, gamma)


def fit_radial(rows: FloatArray, target: FloatArray) -> Kernel:
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
    shape = Kernel(centres, np.zeros(count), 0.0, _kernel_gamma(rows), shares=True)
    top = prepare_ridge(shape.kernel_values(rows), target).fit(0.1)
    return Kernel(centres, top.weights, top.offset, shape.gamma, shares=True)


def fit_bagging(rows: FloatArray, target: FloatArray) -> Trees:
    """Ten trees, each grown on as many rows drawn with replacement."""
    random = np.random.default_rng(0)
    drawn = [random.integers(0, len(rows), len(rows)) for _ in range(_TREES)]
    return grow_trees([(rows[some], target[some]) for some in drawn])


def fit_discretised(rows: FloatArray, target: FloatArray) -> Trees:
    """Regression by discretisation: a tree on ten bins of the target, a bin given by its mean."""
    order = np.argsort(target, kind="stable")
    bins = np.minimum(np.searchsorted(target[order], target), len(target) - 1) * 10 // len(target)
    means = np.array([target[bins == b].mean() for b in bins])
    return grow_trees([(rows, means)])


def fit_stacking(rows: FloatArray, target: FloatArray) -> Mix:
    """A ridge on what three others say of rows that they were not fitted to."""
    members: tuple[RegressorFit, ...] = (fit_additive, fit_ridge, fit_kernel)
    fold = assign_folds(target)
    predicted = np.stack([predict_out_of_fold(fit, rows, target, fold) for fit in members], axis=1)
    top = prepare_ridge(predicted, target).fit(0.1)
    parts = (fit_additive(rows, target), fit_ridge(rows, target), fit_kernel(rows, target))
    return Mix(parts, top.weights, top.offset)


REGRESSOR_FITS: dict[str, RegressorFit] = {
    "additive": fit_additive, "stumps": fit_stumps, "ridge": fit_ridge, "bagging": fit_bagging,
    "kernel": fit_kernel, "linear": fit_linear, "isotonic": fit_isotonic,
    "median": fit_least_median, "radial": fit_radial, "discretised": fit_discretised,
    "stacking": fit_stacking,
}  # fmt: skip


class RegressorChoice(NamedTuple):
    """The learner that did best, and what it learned."""

    name: str
    model: Regressor
    error: float
    """Root of its mean squared error on rows it was not fitted to."""


def choose_regressor(names: Sequence[str], rows: FloatArray, target: FloatArray) -> RegressorChoice:
    """Select a learner by cross-validation and fit it to everything; the first wins a tie."""
    fold = assign_folds(target)
    misses = [
        predict_out_of_fold(REGRESSOR_FITS[name], rows, target, fold) - target for name in names
    ]
    errors = [float(np.sqrt(np.mean(miss**2))) for miss in misses]
    best = int(np.argmin(np.round(errors, 9)))
    return RegressorChoice(names[best], REGRESSOR_FITS[names[best]](rows, target), errors[best])


def assign_folds(target: FloatArray, count: int = 10) -> IntArray:
    """Each row's fold; every fold gets its share of low and of high targets."""
    order = np.random.default_rng(0).permutation(len(target))
    order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), np.int32)
    fold[order] = np.arange(len(target)) % max(2, min(count, len(target)))
    return fold


def predict_out_of_fold(
    fit: RegressorFit, rows: FloatArray, target: FloatArray, fold: IntArray
) -> FloatArray:
    """For each row, what the model fitted without its fold says of it, as a utility."""
    predicted = np.full(len(target), float(target.mean()))
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        if inside.any() and not inside.all():
            model = fit(rows[~inside], target[~inside])
            predicted[inside] = np.clip(model.predict(rows[inside]), 0.0, 1.0)
    return predicted


def _kernel_gamma(rows: FloatArray) -> float:
    some = rows[:: max(1, len(rows) // 100)]
    apart = np.round((some**2).sum(axis=1)[:, None] + (some**2).sum(axis=1) - 2 * some @ some.T, 9)
    middle = float(np.median(apart[apart > 0])) if (apart > 0).any() else 1.0
    return 1.0 / middle
