"""Figures of a category model from documents outside its training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]

_BINS = 10


class CategoryFigures(NamedTuple):
    """How well one category is recognised."""

    category: str
    precision: float
    recall: float
    f1: float
    documents: int


class CalibrationBin(NamedTuple):
    """Documents with similar confidence."""

    sure: float
    right: float
    documents: int


@dataclass(frozen=True)
class ModelFigures:
    """Figures of a model."""

    accuracy: float
    macro_f1: float
    deviation: float
    """Standard deviation of the accuracy over the folds."""
    calibration_error: float
    """Mean difference of confidence and accuracy over ten bins (Naeini, Cooper & Hauskrecht 2015:
    ECE)."""
    each: tuple[CategoryFigures, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Row: the true category; column: the predicted one."""
    bins: tuple[CalibrationBin, ...]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = asdict(self)
        found["each"] = [one._asdict() for one in self.each]
        found["bins"] = [one._asdict() for one in self.bins]
        return found


def measure_figures(
    chances: Floats, truth: Ints, fold: Ints, categories: tuple[str, ...]
) -> ModelFigures:
    """From the probabilities of documents by models that were trained without them."""
    predicted, sure = chances.argmax(axis=1), chances.max(axis=1)
    right = predicted == truth
    size = len(categories)
    confusion = np.bincount(truth * size + predicted, minlength=size * size).reshape(size, size)
    each = tuple(_category_figures(name, n, confusion) for n, name in enumerate(categories))
    folds = [float(right[fold == number].mean()) for number in np.unique(fold)]
    bins = _calibration_bins(sure, right)
    return ModelFigures(
        accuracy=float(right.mean()),
        macro_f1=float(np.mean([one.f1 for one in each])),
        deviation=float(np.std(folds, ddof=1)) if len(folds) > 1 else 0.0,
        calibration_error=sum(b.documents * abs(b.sure - b.right) for b in bins) / len(truth),
        each=each,
        confusion=tuple(tuple(map(int, row)) for row in confusion),
        bins=bins,
    )


def _category_figures(name: str, number: int, confusion: Ints) -> CategoryFigures:
    hits, is_it = int(confusion[number, number]), int(confusion[number].sum())
    said_so = int(confusion[:, number].sum())
    precision, recall = hits / max(1, said_so), hits / max(1, is_it)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return CategoryFigures(name, precision, recall, f1, is_it)


def _calibration_bins(sure: Floats, right: NDArray[np.bool_]) -> tuple[CalibrationBin, ...]:
    place = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    found = []
    for number in range(_BINS):
        inside = place == number
        if inside.any():
            share = float(right[inside].mean())
            found.append(CalibrationBin(float(sure[inside].mean()), share, int(inside.sum())))
    return tuple(found)


def assign_folds(labels: Ints, count: int, seed: int) -> Ints:
    """The fold of each document, every category spread evenly."""
    fold = np.empty(len(labels), dtype=np.int64)
    dice = np.random.default_rng(seed)
    for label in np.unique(labels):
        places = dice.permutation(np.flatnonzero(labels == label))
        # Not always from the first, lest the last folds get none of the small categories.
        fold[places] = (np.arange(len(places)) + int(label)) % count
    return fold
