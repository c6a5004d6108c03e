"""A small feed-forward network, trained by online back-propagation in numpy.

Zheng, Kang & Kim 2008, sections 3.1 and 3.2: three layers, a linear input node for each concept
word, four sigmoid hidden nodes, one sigmoid output node, trained until RMSE < 0.01. The paper
gives neither rate, momentum, initial weights nor a limit; here they are 0.3, 0.2, U(-0.5,
0.5)/√inputs and 5,000 epochs, and inputs are divided by their largest value in training. Two equal
pages with opposite labels make RMSE < 0.01 impossible, so training also ends when it no longer
improves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Array = NDArray[np.float64]

_WINDOW, _GAIN = 100, 0.01
"""Training stops when the error fell by less than this share in so many epochs."""
_UPDATES = 600_000
"""Most steps of one training, some seconds: all 5,000 epochs for the 120 pages of the paper."""
_HELD, _PATIENCE, _FEW = 0.2, 30, 10
"""Early stopping: share held out, epochs without improvement, examples that are needed."""


@dataclass(frozen=True, eq=False)
class Network:
    """Trained weights. The last column of each layer is the bias."""

    inner: Array
    """hidden × (inputs + 1)"""
    outer: Array
    """hidden + 1"""
    scale: Array
    """Divisor of each input."""
    epochs: int = 0
    rmse: float = 0.0
    """On the training pages."""

    def scores(self, inputs: Array) -> Array:
        """One score a row, 0..1."""
        return _forward_pass(self.inner, self.outer, _with_bias(inputs, self.scale))

    def scores_without(self, row: Array, parts: NDArray[np.intp]) -> Array:
        """The scores of one row if the inputs in each row of ``parts`` were 0."""
        scaled = row / self.scale
        whole = self.inner[:, :-1] @ scaled + self.inner[:, -1]
        less = (self.inner[:, parts] * scaled[parts]).sum(axis=2)
        inside = 0.5 + 0.5 * np.tanh(0.5 * (whole[:, np.newaxis] - less))
        scores: Array = 0.5 + 0.5 * np.tanh(0.5 * (self.outer[:-1] @ inside + self.outer[-1]))
        return scores


@dataclass(frozen=True)
class BackpropOptions:
    """How to train."""

    hidden: int = 4
    rate: float = 0.3
    momentum: float = 0.2
    goal: float = 0.01
    """RMSE at which training ends."""
    epochs: int = 5000
    decay: float = 0.0
    """L2: how strongly weights are pulled to 0."""
    early: bool = False
    """Hold out a fifth of the examples and keep the best epoch on them."""
    seed: int = 1


def train_network(inputs: Array, targets: Array, lesson: BackpropOptions) -> Network:
    """A network for these rows and targets; deterministic. ModelError if its weights overflow."""
    with np.errstate(all="ignore"):  # told below, in words
        network = _run_training(inputs, targets, lesson)
    if not all(np.isfinite(part).all() for part in (network.inner, network.outer, network.rmse)):
        raise ModelError(
            "the network's weights grew beyond all bounds: a smaller strategy.rate (now "
            f"{lesson.rate:g}) or strategy.momentum (now {lesson.momentum:g}) may help"
        )
    return network


def _run_training(inputs: Array, targets: Array, lesson: BackpropOptions) -> Network:
    dice = np.random.default_rng(lesson.seed)
    largest = inputs.max(axis=0, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    rows = _with_bias(inputs, scale)
    learned, held = _split_held_out(targets, dice, lesson)
    wide = rows.shape[1]
    inner = dice.uniform(-0.5, 0.5, (lesson.hidden, wide)) / math.sqrt(wide)
    outer = dice.uniform(-0.5, 0.5, lesson.hidden + 1) / math.sqrt(lesson.hidden + 1)
    push = (np.zeros_like(inner), np.zeros_like(outer))
    best, best_weights, since = math.inf, (inner.copy(), outer.copy()), 0
    errors: list[float] = []
    for _ in range(_epoch_limit(lesson, len(learned))):
        _train_epoch(inner, outer, push, rows, targets, dice.permutation(learned), lesson)
        errors.append(_rmse(inner, outer, rows[learned], targets[learned]))
        if not math.isfinite(errors[-1]):
            held = learned[:0]  # what was best before it went astray is nothing to keep
            break
        if len(held):
            error = _rmse(inner, outer, rows[held], targets[held])
            since = 0 if error < best else since + 1
            if error < best:
                best, best_weights = error, (inner.copy(), outer.copy())
            if since >= _PATIENCE:
                break
        if errors[-1] < lesson.goal or _stopped_improving(errors):
            break
    if len(held):
        inner, outer = best_weights
    return Network(inner, outer, scale, len(errors), _rmse(inner, outer, rows, targets))


def _train_epoch(
    inner: Array,
    outer: Array,
    push: tuple[Array, Array],
    rows: Array,
    targets: Array,
    order: NDArray[np.intp],
    lesson: BackpropOptions,
) -> None:
    """One step for each example; weights and momentum are changed in place."""
    rate, momentum, shrink = lesson.rate, lesson.momentum, 1.0 - lesson.rate * lesson.decay
    push_in, push_out = push
    hidden = np.ones(len(outer))
    for row, target in zip(rows[order], targets[order].tolist(), strict=True):
        # sigmoid(z) = (1 + tanh(z/2)) / 2, which cannot overflow.
        inside = 0.5 + 0.5 * np.tanh(0.5 * (inner @ row))
        hidden[:-1] = inside
        score = 0.5 + 0.5 * math.tanh(0.5 * float(outer @ hidden))
        slope = (score - target) * score * (1.0 - score)
        back = slope * outer[:-1] * inside * (1.0 - inside)
        if shrink != 1.0:
            inner *= shrink
            outer *= shrink
        push_out *= momentum
        push_out -= (rate * slope) * hidden
        push_in *= momentum
        push_in -= (rate * back)[:, None] * row
        outer += push_out
        inner += push_in


def _forward_pass(inner: Array, outer: Array, rows: Array) -> Array:
    inside = 0.5 + 0.5 * np.tanh(0.5 * (rows @ inner.T))
    scores: Array = 0.5 + 0.5 * np.tanh(0.5 * (inside @ outer[:-1] + outer[-1]))
    return scores


def _rmse(inner: Array, outer: Array, rows: Array, targets: Array) -> float:
    return math.sqrt(float(np.mean((_forward_pass(inner, outer, rows) - targets) ** 2)))


def _with_bias(inputs: Array, scale: Array) -> Array:
    """Scaled inputs, and a column of ones for the bias."""
    return np.hstack([inputs / scale, np.ones((len(inputs), 1))])


def _epoch_limit(lesson: BackpropOptions, examples: int) -> int:
    return max(1, min(lesson.epochs, _UPDATES // max(1, examples)))


def _stopped_improving(errors: list[float]) -> bool:
    if len(errors) <= _WINDOW:
        return False
    return errors[-1] > (1.0 - _GAIN) * errors[-1 - _WINDOW]


def _split_held_out(
    targets: Array, dice: np.random.Generator, lesson: BackpropOptions
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which examples to train on and which to hold out, of both kinds; few are all used."""
    everything = np.arange(len(targets))
    if not lesson.early or len(targets) < _FEW:
        return everything, everything[:0]
    held = np.zeros(len(targets), np.bool_)
    for kind in (targets >= 0.5, targets < 0.5):
        of_kind = dice.permutation(np.flatnonzero(kind))
        held[of_kind[: int(_HELD * len(of_kind))]] = True
    return everything[~held], everything[held]
