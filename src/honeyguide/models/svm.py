"""Support vector machines with probabilities: linear, and with the RBF kernel.

Iliou et al., section 4.1, table 2: C-SVM, RBF kernel, C = 1, gamma = 1 / number of features,
probabilities by Platt (1999). scikit-learn trains the machine; it is kept as plain arrays, and
scoring needs no scikit-learn.

With vectors of length 1 and that gamma the kernel is almost constant: the sign of the machine is
the larger class for all pages, and its offset jumps between folds although the order of pages is
right. So the sign is not used. The sigmoid sees values without the offset, divided by the sum of
the multipliers, which makes folds of different size comparable; the tolerance is 0.00001 where the
paper has 0.001.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models import untrusted
from honeyguide.models.logistic import Floats, logistic_chance


def fit_platt(values: Floats, good: NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """Slope and offset of P(good) = σ(slope·value + offset).

    Platt 1999 with his cautious targets, by the Newton method of Lin, Lin & Weng 2007. Values are
    scaled to unit spread first, because those of a nearly constant kernel are tiny.
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


# --- Machines ---


Ints = NDArray[np.signedinteger[Any]]
SparseArrays = tuple[Floats, Ints, Ints]
"""Rows as values, places and starts; row i lies between starts[i] and starts[i+1]."""

_NAME = "a saved support vector machine"
LARGEST = 5_000
"""Most rows for the RBF kernel, whose matrix has n² numbers; with more the machine is linear."""
_FOLDS = 5
_CHUNK = 256
_FAILED = "a support vector machine cannot be found: {}"
_TOLERANCE = 1e-5
"""The 0.001 of the paper is as large as the whole range of this flat kernel: the solver would
stop with twice as many support vectors as the smaller class has rows."""


@dataclass(frozen=True, eq=False)
class Linear:
    """P(good) = σ(weights·x + offset); the sigmoid of Platt is included in the weights."""

    weights: Floats
    """Log-odds of each feature."""
    offset: float

    def __post_init__(self) -> None:
        untrusted.check_numbers(_NAME, self.weights)

    def scores(self, rows: SparseArrays) -> list[float]:
        values, places, starts = rows
        sums = np.bincount(row_numbers(starts), values * self.weights[places], len(starts) - 1)
        return [logistic_chance(value) for value in (sums + self.offset).tolist()]


@dataclass(frozen=True, eq=False)
class Rbf:
    """P(good) = σ(slope·Σ aᵢ·exp(-γ|x - sᵢ|²) + offset) over support vectors sᵢ of length ≤ 1."""

    values: Floats
    places: Ints
    starts: Ints
    """The support vectors."""
    multipliers: Floats
    """aᵢ, signed; their absolute values sum to 1."""
    size: int
    """Number of features."""
    gamma: float
    slope: float
    offset: float

    def __post_init__(self) -> None:
        untrusted.check_numbers(_NAME, self.values, self.multipliers)
        untrusted.check_places(_NAME, self.places, self.size)
        untrusted.check_lengths(_NAME, len(self.values), len(self.places))
        untrusted.check_starts(_NAME, self.starts, len(self.multipliers), len(self.places))

    def scores(self, rows: SparseArrays) -> list[float]:
        values, _, starts = rows
        near = _to_matrix(rows, self.size) @ self._vector_columns
        # exp(-γ|x - s|²) = exp(-γ|x|²)·exp(-γ|s|²)·(1 + expm1(2γ x·s)), and expm1(0) = 0: only
        # support vectors that share a word count beyond a constant, and nothing is lost to
        # rounding where the kernel is all but constant.
        shares = self._vector_bases[near.indices] * np.expm1(2 * self.gamma * near.data)
        count = len(starts) - 1
        sums = np.bincount(row_numbers(near.indptr), shares, count) + self._vector_bases.sum()
        squares = np.bincount(row_numbers(starts), values * values, count)
        sums = self.slope * sums * np.exp(-self.gamma * squares) + self.offset
        return [logistic_chance(value) for value in sums.tolist()]

    @cached_property
    def weights(self) -> Floats:
        """Log-odds of each feature near zero, where this kernel is nearly linear; for reasons."""
        pulls = (self._vector_bases * 2 * self.gamma * self.slope)[row_numbers(self.starts)]
        return np.bincount(self.places, pulls * self.values, self.size).astype(np.float64)

    @cached_property
    def _vector_bases(self) -> Floats:
        """aᵢ·exp(-γ|sᵢ|²)."""
        numbers = row_numbers(self.starts)
        squares = np.bincount(numbers, self.values * self.values, len(self.multipliers))
        bases: Floats = self.multipliers * np.exp(-self.gamma * squares)
        return bases

    @cached_property
    def _vector_columns(self) -> Any:
        """The support vectors by word."""
        return _to_matrix((self.values, self.places, self.starts), self.size).T.tocsr()


def train_svm(
    rows: SparseArrays,
    size: int,
    good: NDArray[np.bool_],
    weights: Floats | None = None,
    kernel: Literal["rbf", "linear"] = "linear",
) -> Linear | Rbf | None:
    """A machine that separates good rows from the others; None without an example of each."""
    least = int(min(good.sum(), len(good) - good.sum()))
    if least == 0 or size == 0:
        return None
    if weights is None:
        weights = np.ones(len(good))
    try:
        if kernel == "rbf" and len(good) <= LARGEST:
            return _train_rbf(rows, size, good, weights)
        return _cross_validate(rows, size, good, weights).machine
    except ValueError as error:
        raise ModelError(_FAILED.format(error)) from error


class CrossValidatedSvm(NamedTuple):
    """A linear machine with its cross-validated values."""

    machine: Linear
    outside: Floats
    """Log-odds of each row by a machine that was trained without it."""


def cross_validate_svm(
    rows: SparseArrays, size: int, good: NDArray[np.bool_]
) -> CrossValidatedSvm | None:
    """As :func:`train_svm`, with the values of rows outside the training."""
    if good.all() or not good.any() or size == 0:
        return None
    try:
        return _cross_validate(rows, size, good, np.ones(len(good)))
    except ValueError as error:
        raise ModelError(_FAILED.format(error)) from error


def _cross_validate(
    rows: SparseArrays, size: int, good: NDArray[np.bool_], weights: Floats
) -> CrossValidatedSvm:
    from sklearn.svm import LinearSVC

    matrix = _to_matrix(rows, size)

    def fitted(part: Ints) -> tuple[Floats, float]:
        # The dual is the quicker way to the same machine while features outnumber rows.
        dual = size > len(part)
        machine = LinearSVC(C=1.0, dual=dual, tol=1e-3, max_iter=10_000, random_state=1)
        machine.fit(matrix[part], good[part], sample_weight=weights[part])
        return machine.coef_[0], float(machine.intercept_[0])

    outside, inside = np.zeros(len(good)), np.arange(len(good))
    for train, test in class_folds(good):
        direction, bias = fitted(train)
        outside[test] = matrix[test] @ direction + bias
    direction, bias = fitted(inside)
    slope, offset = _calibrate_values(outside, matrix @ direction + bias, good, weights)
    machine = Linear(slope * direction, slope * bias + offset)
    return CrossValidatedSvm(machine, slope * outside + offset)


def _train_rbf(rows: SparseArrays, size: int, good: NDArray[np.bool_], weights: Floats) -> Rbf:
    from sklearn.svm import SVC

    matrix, gamma = _to_matrix(rows, size), 1 / size
    kernel = _gram_matrix(matrix, gamma)

    def fitted(part: Ints) -> tuple[Ints, Floats]:
        machine = SVC(kernel="precomputed", C=1.0, tol=_TOLERANCE, shrinking=True)
        machine.fit(kernel[np.ix_(part, part)], good[part], sample_weight=weights[part])
        multipliers = machine.dual_coef_[0]
        return part[machine.support_], multipliers / (np.abs(multipliers).sum() or 1.0)

    outside, inside = np.zeros(len(good)), np.arange(len(good))
    for train, test in class_folds(good):
        support, multipliers = fitted(train)
        outside[test] = kernel[np.ix_(test, support)] @ multipliers
    support, multipliers = fitted(inside)
    slope, offset = _calibrate_values(outside, kernel[:, support] @ multipliers, good, weights)
    vectors = matrix[support]
    return Rbf(
        vectors.data.astype(np.float32), vectors.indices.astype(np.int32),
        vectors.indptr.astype(np.int32), multipliers, size, gamma, slope, offset,
    )  # fmt: skip


def _gram_matrix(matrix: Any, gamma: float) -> Floats:
    """exp(-γ|x - y|²) of every two rows, in place: at the cap this is 200 MB."""
    count, turned = matrix.shape[0], matrix.T.tocsr()
    gram = np.empty((count, count))
    for start in range(0, count, _CHUNK):
        part = slice(start, start + _CHUNK)
        gram[part] = (matrix[part] @ turned).toarray()
    squares = gram.diagonal().copy()
    gram *= 2
    gram -= squares[:, None]
    gram -= squares
    gram *= gamma
    return np.exp(gram, out=gram)


def _calibrate_values(
    outside: Floats, inside: Floats, good: NDArray[np.bool_], weights: Floats
) -> tuple[float, float]:
    """The sigmoid of Platt on values from outside each fold, or on those of the machine if these
    fail.

    Folds of a handful of examples with few common words often order them the wrong way round; the
    cautious targets of the sigmoid then keep the values of the machine modest.
    """
    least = min(good.sum(), len(good) - good.sum())
    slope, offset = fit_platt(outside, good, weights) if least > 1 else (0.0, 0.0)
    if slope <= 0 and least < _FOLDS:
        slope, offset = fit_platt(inside, good, weights)
    if slope <= 0:
        share = float(weights[good].sum() / weights.sum())
        return 0.0, math.log(share / (1 - share))
    return slope, offset


def class_folds(good: NDArray[np.bool_]) -> list[tuple[Ints, Ints]]:
    """Up to five parts with each class spread evenly: (the rest, the part)."""
    folds = int(min(_FOLDS, good.sum(), len(good) - good.sum()))
    if folds < 2:
        return []
    fold = np.empty(len(good), dtype=np.int64)
    for side in (good, ~good):
        # Drawn, since neighbours in time are often alike; always the same draw.
        places = np.random.default_rng(1).permutation(np.flatnonzero(side))
        fold[places] = np.arange(len(places)) % folds
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(folds)]


def row_numbers(starts: Ints) -> Ints:
    """The row of each value."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _to_matrix(rows: SparseArrays, size: int) -> Any:
    from scipy.sparse import csr_array

    if len(rows[1]) and not 0 <= int(rows[1].min()) <= int(rows[1].max()) < size:
        # It would be believed, and memory written that is not ours.
        raise ModelError("a support vector machine and its lexicon do not fit together")
    return csr_array(rows, shape=(len(rows[2]) - 1, size))
