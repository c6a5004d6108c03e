"""How a network is trained, whoever does it: what it learns from, and when it is enough.

Alqaraleh & Sırın give neither loss, optimiser, batch nor epochs. Ours: cross-entropy, batches of 64
(fewer where texts are few, so that an epoch has some 16), at most 20 epochs, and early stopping: a
tenth of the documents is held back, and training ends when three epochs in a row did not lower the
loss on them; the best epoch is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]
Weights = dict[str, Floats]

PATIENCE = 3
_BATCH, _LEAST, _STEPS = 64, 4, 16
_HELD = 0.1
_FEW = 20
"""A category with fewer documents has none held back: one or two say nothing."""


@dataclass(frozen=True)
class Lesson:
    """How to train."""

    epochs: int = 20
    batch: int = _BATCH
    seed: int = 1


class Epoch(NamedTuple):
    """What a progress bar may show."""

    number: int
    """From 1."""
    of: int
    loss: float
    """Mean over the epoch, of what is learned from."""
    held_loss: float
    """On what is held back; that of the epoch itself where nothing is."""
    held_accuracy: float


Progress = Callable[[Epoch], None]


class Rows(NamedTuple):
    """Segments of documents, ready for a network."""

    inputs: NDArray[Any]
    """Word numbers [N, 150]; or vectors of an encoder, [N, 150, width], or pooled [N, width]."""
    lengths: Ints
    labels: Ints


class Watch:
    """Sees the end of each epoch, keeps the best weights, says when it is enough."""

    def __init__(self, lesson: Lesson, progress: Progress | None) -> None:
        self._lesson, self._progress = lesson, progress
        self._lowest, self._since = np.inf, 0
        self.best: Weights = {}
        self.epochs: list[Epoch] = []

    def enough(self, loss: float, held: tuple[float, float] | None, weights: Weights) -> bool:
        """``held``: loss and accuracy on what is held back, None where nothing is."""
        held_loss, accuracy = held or (loss, 0.0)
        epoch = Epoch(len(self.epochs) + 1, self._lesson.epochs, loss, held_loss, accuracy)
        self.epochs.append(epoch)
        if self._progress:
            self._progress(epoch)
        if held_loss < self._lowest:
            self._lowest, self._since = held_loss, 0
            self.best = {name: array.copy() for name, array in weights.items()}
        else:
            self._since += 1
        return self._since >= PATIENCE


def batch_of(rows: int) -> int:
    """How many rows a step takes: 64 of a thousand and more."""
    return min(_BATCH, max(_LEAST, rows // _STEPS))


def held_back(labels: Ints, seed: int) -> NDArray[np.bool_]:
    """Which documents to hold back: a tenth of every category that has enough."""
    dice = np.random.default_rng(seed)
    held = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        places = dice.permutation(np.flatnonzero(labels == label))
        if len(places) >= _FEW:
            held[places[: max(1, int(_HELD * len(places)))]] = True
    return held


def batches(count: int, size: int, dice: np.random.Generator) -> list[Ints]:
    """All rows in a new order, in parts."""
    order = dice.permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]
