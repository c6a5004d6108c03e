"""Training a model of categories from labelled documents.

A document longer than 150 words is learned in parts of 150, each with its label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep import adagrad, vocabulary
from honeyguide.models.deep.embedding import Embedding, Encoder, Table
from honeyguide.models.deep.model import CategoryModel
from honeyguide.models.deep.net import INITIAL, KINDS, WIDTH, Kind, Net, drawn
from honeyguide.models.deep.pooling import pool_vectors
from honeyguide.models.deep.training_loop import (
    Lesson,
    Progress,
    Rows,
    Watch,
    Weights,
    batch_of,
    held_back,
)
from honeyguide.models.deep.vocabulary import LENGTH, PAD, Vocabulary

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]
Engine = Literal["auto", "numpy", "torch"]
Fit = Callable[[Kind, Weights, Rows, Rows, Lesson, Watch], Weights]

_PARTS = 20
"""Parts of a document that are learned: a book must not outweigh everything else."""
_ENCODED = 32
_EPOCHS = 1_000
_HALF = 65_504.0
"""The largest number of half precision."""
_ROOM = 4_000_000_000
"""Bytes for the vectors of an encoder; beyond, only the pooled ones of kind paper have room."""


def train(
    kind: Kind,
    documents: Sequence[Sequence[str]],
    labels: Sequence[int],
    categories: Sequence[str],
    *,
    embedding: Embedding | None = None,
    engine: Engine = "auto",
    epochs: int = 20,
    seed: int = 1,
    progress: Progress | None = None,
    settings: dict[str, Any] | None = None,
) -> CategoryModel:
    """A model; on one machine, without a GPU, the same seed gives the same.

    ``engine`` auto trains kind paper by numpy, unless there is a GPU, and the others by PyTorch.
    """
    if kind not in KINDS:
        raise ModelError(f"a network is one of {', '.join(KINDS)}, not {str(kind)[:40]!a}")
    numbers = _checked(documents, labels, categories, epochs)
    dice = np.random.default_rng([seed, 1])
    encoder = embedding if isinstance(embedding, Encoder) else None
    words = Vocabulary((), 0) if encoder else vocabulary.learn(documents)
    segments, owners = _parts(documents)
    pooled = encoder is not None and kind == "paper"
    inputs, lengths = _encoded(encoder, segments, pooled) if encoder else _numbered(words, segments)
    weights: Weights = {}
    if encoder is None:
        weights["embedding"] = _table(words, cast(Table | None, embedding), dice)
    width = encoder.width if encoder else weights["embedding"].shape[1]
    weights |= drawn(kind, width, len(categories), dice)
    held = held_back(numbers, seed)[owners]
    rows = Rows(inputs, lengths, numbers[owners])
    lesson = Lesson(epochs, batch_of(int((~held).sum())), seed)
    watch = Watch(lesson, progress)
    fit = _fitter(kind, engine)
    found = fit(kind, weights, _chosen(rows, ~held), _chosen(rows, held), lesson, watch)
    net = Net(kind, {name: _halved(name, array) for name, array in found.items()})
    card = {"epochs": [epoch._asdict() for epoch in watch.epochs], "documents": len(documents)}
    return CategoryModel(tuple(categories), words, net, settings or {}, card, encoder)


def _fitter(kind: Kind, engine: Engine) -> Fit:
    if engine not in get_args(Engine):
        raise ModelError(f"an engine is auto, numpy or torch, not {str(engine)[:40]!a}")
    if engine == "numpy":
        return adagrad.fit
    from honeyguide.models.deep import with_torch

    if engine == "auto" and kind == "paper" and not with_torch.gpu():
        return adagrad.fit
    with_torch.check(kind)
    return with_torch.fit


def _checked(
    documents: Sequence[Sequence[str]],
    labels: Sequence[int],
    categories: Sequence[str],
    epochs: int,
) -> Ints:
    numbers = np.asarray(labels, np.int64)
    if len(documents) != len(numbers):
        raise ModelError(f"there are {len(documents)} documents and {len(numbers)} labels")
    if not 1 <= epochs <= _EPOCHS:
        raise ModelError(f"training takes 1 to {_EPOCHS} epochs, not {epochs}")
    if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(categories):
        raise ModelError("a label is the number of a category, from 0")
    if len(np.unique(numbers)) < 2:
        raise ModelError("training needs documents of at least two categories")
    if not any(len(document) for document in documents):
        raise ModelError("there is not a word in any of the documents")
    return numbers


def _parts(documents: Sequence[Sequence[str]]) -> tuple[list[Sequence[str]], Ints]:
    """Parts of 150 words, and the document of each."""
    parts: list[Sequence[str]] = []
    owners: list[int] = []
    for number, document in enumerate(documents):
        found = [
            document[start : start + LENGTH]
            for start in range(0, min(len(document), _PARTS * LENGTH), LENGTH)
        ]
        parts += found
        owners += [number] * len(found)
    return parts, np.array(owners, np.int64)


def _numbered(words: Vocabulary, parts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
    rows = words.rows(parts)
    return rows, (rows > 0).sum(axis=1)


def _encoded(encoder: Encoder, parts: Sequence[Sequence[str]], pooled: bool) -> tuple[Floats, Ints]:
    """The vectors of all parts; they never change, so their pool can be made once."""
    if not pooled and len(parts) * LENGTH * encoder.width * 2 > _ROOM:
        raise ModelError("these texts and this encoder need too much memory; kind paper needs less")
    shape = (len(parts), encoder.width) if pooled else (len(parts), LENGTH, encoder.width)
    inputs = np.zeros(shape, np.float32 if pooled else np.float16)
    lengths = np.zeros(len(parts), np.int64)
    for start in range(0, len(parts), _ENCODED):
        here = slice(start, start + _ENCODED)
        read = encoder.read(parts[here])
        lengths[here] = read.lengths
        if pooled:
            inputs[here] = pool_vectors(read.vectors, read.lengths, ()).values
        else:
            inputs[here, : read.vectors.shape[1]] = read.vectors
    return inputs, lengths


def _table(words: Vocabulary, given: Table | None, dice: np.random.Generator) -> Floats:
    """The embedding to begin with: random, and word vectors where they are given, on the same
    scale, so that words without one are not lost beside them."""
    width = WIDTH if given is None else given.width
    table = dice.uniform(-INITIAL, INITIAL, (words.size, width)).astype(np.float32)
    table[PAD] = 0
    if given is not None and (known := given.vectors(words.words)):
        vectors = np.stack(list(known.values())).astype(np.float32)
        vectors *= INITIAL / 3**0.5 / (float(vectors.std()) or 1.0)
        table[[words.number(word) for word in known]] = vectors
    return table


def _chosen(rows: Rows, which: NDArray[np.bool_]) -> Rows:
    return Rows(*(array[which] for array in rows))


def _halved(name: str, array: Floats) -> Floats:
    """The embedding, which is nearly all of a model, in numbers that half precision can hold:
    saved in half the space, it is the same."""
    if name != "embedding":
        return np.ascontiguousarray(array, np.float32)
    return np.clip(array, -_HALF, _HALF).astype(np.float16).astype(np.float32)
