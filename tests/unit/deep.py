"""Small networks and texts for the tests of models/deep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.models.deep.category_model import CategoryModel
from honeyguide.models.deep.net import NetKind, TextNet, draw_weights
from honeyguide.models.deep.vocabulary import WordVocabulary

WORDS = tuple(f"word{n}" for n in range(40))


def net(
    kind: NetKind, *, words: int = 42, width: int = 6, categories: int = 3, seed: int = 1
) -> TextNet:
    """Random weights, biases too."""
    dice = np.random.default_rng(seed)
    arrays: dict[str, NDArray[Any]] = {
        name: array + dice.normal(0, 0.1, array.shape).astype(np.float32)
        for name, array in draw_weights(kind, width, categories, dice).items()
    }
    arrays["embedding"] = dice.normal(0, 1, (words, width)).astype(np.float32)
    return TextNet(kind, arrays)


def model(kind: NetKind = "paper") -> CategoryModel:
    return CategoryModel(("a", "b", "c"), WordVocabulary(WORDS, 0), net(kind), {"language": "tr"})


def rows(count: int = 9, length: int = 150, words: int = 42, seed: int = 1) -> NDArray[np.int32]:
    """Rows of every length: full, shorter than any convolution, and empty."""
    dice = np.random.default_rng(seed)
    ids = dice.integers(1, words, (count, length)).astype(np.int32)
    for row, end in zip(ids, (150, 0, 1, 2, 3, 4, 5, 77), strict=False):
        row[end:] = 0
    return ids


def texts(count: int = 60, length: int = 40, seed: int = 1) -> tuple[list[list[str]], list[int]]:
    """Documents of two kinds that two of their words tell apart."""
    dice = np.random.default_rng(seed)
    documents, labels = [], []
    for number in range(count):
        label = number % 2
        words = [f"common{n}" for n in dice.integers(0, 30, length)]
        words[int(dice.integers(length))] = ("goal", "vote")[label]
        words[int(dice.integers(length))] = ("match", "party")[label]
        documents.append(words)
        labels.append(label)
    return documents, labels
