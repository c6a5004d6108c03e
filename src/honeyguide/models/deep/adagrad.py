"""Training the paper's network in numpy: what a base install can do.

Of each word's 300 numbers only those that won the pool have a gradient, so a step touches at most
64 × 300 numbers of the embedding instead of millions. Adam would have to decay the moments of all
the others; Adagrad (Duchi, Hazan & Singer 2011) needs no more than the sums of the squares of those
touched, and learns rare words, which are seldom touched, faster. It takes the place of the Adam
that PyTorch uses, with rate 0.05, and 0.005 behind the embedding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep.net import SHAPES, Kind, softmax
from honeyguide.models.deep.training_loop import Floats, Ints, Lesson, Rows, Watch, Weights, batches

_RATE, _BEHIND, _ALONE, _START = 0.05, 0.005, 0.02, 1e-6
"""Step sizes: of the embedding, behind it, and of the layers where there is none; what the sums of
squares begin with."""
_FAR = 0.15
"""Steps get smaller with the root of their number: where they are few, they are larger behind the
embedding, so that the layers get as far."""
_SCORED = 512


def fit(
    kind: Kind, weights: Weights, learned: Rows, held: Rows, lesson: Lesson, watch: Watch
) -> Weights:
    """The weights of the best epoch. ``weights`` are changed in place; without an embedding among
    them, the rows' inputs are pooled already."""
    if kind != "paper":
        raise ModelError(f"numpy trains kind paper alone, not {kind}")
    dice = np.random.default_rng([lesson.seed, 2])
    sums = {name: np.full_like(array, _START) for name, array in weights.items()}
    steps = lesson.epochs * -(-len(learned.labels) // lesson.batch)
    few = min(_ALONE, max(_BEHIND, _FAR / max(steps, 1) ** 0.5))
    rate = few if "embedding" in weights else _ALONE
    for _ in range(lesson.epochs):
        total = 0.0
        for part in batches(len(learned.labels), lesson.batch, dice):
            total += _step(weights, sums, learned, part, dice, rate)
        loss = total / max(len(learned.labels), 1)
        scored = _scored(weights, held) if len(held.labels) else None
        if watch.enough(loss, scored, weights):
            break
    return watch.best


def _step(
    weights: Weights,
    sums: Weights,
    rows: Rows,
    part: Ints,
    dice: np.random.Generator,
    rate: float,
) -> float:
    """One batch; answers the sum of its losses."""
    labels, inputs = rows.labels[part], rows.inputs[part]
    table = weights.get("embedding")
    pooled, winners = (inputs, None) if table is None else _won(table, inputs, rows.lengths[part])
    kept = _kept(pooled.shape, dice)
    dropped = pooled * kept
    inside = dropped @ weights["hidden"] + weights["hidden_bias"]
    kept_inside = _kept(inside.shape, dice)
    hidden = np.maximum(inside, 0) * kept_inside
    chances = softmax(hidden @ weights["out"] + weights["out_bias"])
    here = np.arange(len(part)), labels
    loss = -float(np.log(np.maximum(chances[here], 1e-12)).sum())
    back = chances
    back[here] -= 1
    back /= len(part)
    back_hidden = (back @ weights["out"].T) * kept_inside * (inside > 0)
    slopes = {
        "out": hidden.T @ back,
        "out_bias": back.sum(axis=0),
        "hidden": dropped.T @ back_hidden,
        "hidden_bias": back_hidden.sum(axis=0),
    }
    if table is not None and winners is not None:
        back_pooled = (back_hidden @ weights["hidden"].T) * kept
        _move_won(table, sums["embedding"], winners, back_pooled)
    for name, slope in slopes.items():
        sums[name] += slope * slope
        weights[name] -= rate * slope / np.sqrt(sums[name])
    return loss


def _won(table: Floats, ids: Ints, lengths: Ints) -> tuple[Floats, Ints]:
    """The pooled values, and which word won each."""
    pooled = np.zeros((len(ids), table.shape[1]), np.float32)
    winners = np.zeros(pooled.shape, np.int64)
    for n, length in enumerate(lengths.tolist()):
        words = np.unique(ids[n, :length])
        if len(words):
            vectors = table[words]
            places = vectors.argmax(axis=0)
            winners[n] = words[places]
            pooled[n] = vectors[places, np.arange(len(places))]
    return pooled, winners


def _move_won(table: Floats, sums: Floats, winners: Ints, slopes: Floats) -> None:
    """Adagrad for the numbers that won, and no others; a number that won in several texts of the
    batch has the sum of its slopes."""
    width = table.shape[1]
    places = (winners * width + np.arange(width)).ravel()
    distinct, inverse = np.unique(places, return_inverse=True)
    slope = np.bincount(inverse, slopes.ravel(), len(distinct)).astype(np.float32)
    flat, flat_sums = table.reshape(-1), sums.reshape(-1)
    flat_sums[distinct] += slope * slope
    flat[distinct] -= _RATE * slope / np.sqrt(flat_sums[distinct])


def _kept(shape: tuple[int, ...], dice: np.random.Generator) -> Floats:
    """Dropout: 0 for what is left out, and for the rest what makes up for it."""
    share = 1 - SHAPES["paper"].dropout
    kept: NDArray[Any] = (dice.random(shape, np.float32) < share) / np.float32(share)
    return kept


def _scored(weights: Weights, rows: Rows) -> tuple[float, float]:
    """Loss and accuracy without dropout."""
    right, loss = 0, 0.0
    for start in range(0, len(rows.labels), _SCORED):
        part = slice(start, start + _SCORED)
        inputs = rows.inputs[part]
        if "embedding" in weights:
            inputs, _ = _won(weights["embedding"], inputs, rows.lengths[part])
        hidden = np.maximum(inputs @ weights["hidden"] + weights["hidden_bias"], 0)
        chances = softmax(hidden @ weights["out"] + weights["out_bias"])
        labels = rows.labels[part]
        right += int((chances.argmax(axis=1) == labels).sum())
        loss -= float(np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12)).sum())
    return loss / len(rows.labels), right / len(rows.labels)
