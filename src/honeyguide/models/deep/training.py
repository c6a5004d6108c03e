"""Training category networks: data, engines, early stopping.

Training the paper's network in numpy: what a base install can do.

Of each word's 300 numbers only those that won the pool have a gradient, so a step touches at most
64 × 300 numbers of the embedding instead of millions. Adam would have to decay the moments of all
the others; Adagrad (Duchi, Hazan & Singer 2011) needs no more than the sums of the squares of those
touched, and learns rare words, which are seldom touched, faster. It takes the place of the Adam
that PyTorch uses, with rate 0.05, and 0.005 behind the embedding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep import vocabulary
from honeyguide.models.deep.category_model import CategoryModel
from honeyguide.models.deep.embedding import Embedding, TextEncoder, WordVectors
from honeyguide.models.deep.net import (
    INITIAL_RANGE,
    NET_KINDS,
    NET_SHAPES,
    WORD_WIDTH,
    Floats,
    Ints,
    NetKind,
    TextNet,
    draw_weights,
    pool_vectors,
    softmax,
)
from honeyguide.models.deep.torch_engine import (
    EarlyStopping,
    EpochProgress,
    NetTrainingOptions,
    TrainingRows,
    Weights,
    batch_size,
    choose_held_out,
    shuffled_batches,
)
from honeyguide.models.deep.vocabulary import PAD, SEGMENT_WORDS, WordVocabulary

_RATE, _BEHIND, _ALONE, _START = 0.05, 0.005, 0.02, 1e-6
"""Step sizes: of the embedding, behind it, and of the layers where there is none; what the sums of
squares begin with."""
_FAR = 0.15
"""Steps get smaller with the root of their number: where they are few, they are larger behind the
embedding, so that the layers get as far."""
_SCORED = 512


def fit_with_numpy(
    kind: NetKind,
    weights: Weights,
    learned: TrainingRows,
    held: TrainingRows,
    lesson: NetTrainingOptions,
    watch: EarlyStopping,
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
        for part in shuffled_batches(len(learned.labels), lesson.batch, dice):
            total += _train_step(weights, sums, learned, part, dice, rate)
        loss = total / max(len(learned.labels), 1)
        scored = _score_rows(weights, held) if len(held.labels) else None
        if watch.end_epoch(loss, scored, weights):
            break
    return watch.best


def _train_step(
    weights: Weights,
    sums: Weights,
    rows: TrainingRows,
    part: Ints,
    dice: np.random.Generator,
    rate: float,
) -> float:
    """One batch; answers the sum of its losses."""
    labels, inputs = rows.labels[part], rows.inputs[part]
    table = weights.get("embedding")
    pooled, winners = (
        (inputs, None) if table is None else _pool_winners(table, inputs, rows.lengths[part])
    )
    kept = _dropout_mask(pooled.shape, dice)
    dropped = pooled * kept
    inside = dropped @ weights["hidden"] + weights["hidden_bias"]
    kept_inside = _dropout_mask(inside.shape, dice)
    hidden = np.maximum(inside, 0) * kept_inside
    chances = softmax(hidden @ weights["out"] + weights["out_bias"])
    places = np.arange(len(part)), labels
    loss = -float(np.log(np.maximum(chances[places], 1e-12)).sum())
    back = chances
    back[places] -= 1
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
        _update_winners(table, sums["embedding"], winners, back_pooled)
    for name, slope in slopes.items():
        sums[name] += slope * slope
        weights[name] -= rate * slope / np.sqrt(sums[name])
    return loss


def _pool_winners(table: Floats, ids: Ints, lengths: Ints) -> tuple[Floats, Ints]:
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


def _update_winners(table: Floats, sums: Floats, winners: Ints, slopes: Floats) -> None:
    """Adagrad for the numbers that won, and no others; a number that won in several texts of the
    batch has the sum of its slopes."""
    width = table.shape[1]
    places = (winners * width + np.arange(width)).ravel()
    distinct, inverse = np.unique(places, return_inverse=True)
    slope = np.bincount(inverse, slopes.ravel(), len(distinct)).astype(np.float32)
    flat, flat_sums = table.reshape(-1), sums.reshape(-1)
    flat_sums[distinct] += slope * slope
    flat[distinct] -= _RATE * slope / np.sqrt(flat_sums[distinct])


def _dropout_mask(shape: tuple[int, ...], dice: np.random.Generator) -> Floats:
    """Dropout: 0 for what is left out, and for the rest what makes up for it."""
    share = 1 - NET_SHAPES["paper"].dropout
    kept: NDArray[Any] = (dice.random(shape, np.float32) < share) / np.float32(share)
    return kept


def _score_rows(weights: Weights, rows: TrainingRows) -> tuple[float, float]:
    """Loss and accuracy without dropout."""
    right, loss = 0, 0.0
    for start in range(0, len(rows.labels), _SCORED):
        part = slice(start, start + _SCORED)
        inputs = rows.inputs[part]
        if "embedding" in weights:
            inputs, _ = _pool_winners(weights["embedding"], inputs, rows.lengths[part])
        hidden = np.maximum(inputs @ weights["hidden"] + weights["hidden_bias"], 0)
        chances = softmax(hidden @ weights["out"] + weights["out_bias"])
        labels = rows.labels[part]
        right += int((chances.argmax(axis=1) == labels).sum())
        loss -= float(np.log(np.maximum(chances[np.arange(len(labels)), labels], 1e-12)).sum())
    return loss / len(rows.labels), right / len(rows.labels)


# --------------------------------------------------------------------------------------------------
# Training a model of categories from labelled documents.
#
# A document longer than 150 words is learned in parts of 150, each with its label.
# --------------------------------------------------------------------------------------------------


TrainingEngine = Literal["auto", "numpy", "torch"]
NetFit = Callable[
    [NetKind, Weights, TrainingRows, TrainingRows, NetTrainingOptions, EarlyStopping], Weights
]

_PARTS = 20
"""Parts of a document that are learned: a book must not outweigh everything else."""
_ENCODED = 32
_EPOCHS = 1_000
_HALF = 65_504.0
"""The largest number of half precision."""
_ROOM = 4_000_000_000
"""Bytes for the vectors of an encoder; beyond, only the pooled ones of kind paper have room."""


def train_net(
    kind: NetKind,
    documents: Sequence[Sequence[str]],
    labels: Sequence[int],
    categories: Sequence[str],
    *,
    embedding: Embedding | None = None,
    engine: TrainingEngine = "auto",
    epochs: int = 20,
    seed: int = 1,
    progress: EpochProgress | None = None,
    settings: dict[str, Any] | None = None,
) -> CategoryModel:
    """A model; on one machine, without a GPU, the same seed gives the same.

    ``engine`` auto trains kind paper by numpy, unless there is a GPU, and the others by PyTorch.
    """
    if kind not in NET_KINDS:
        raise ModelError(f"a network is one of {', '.join(NET_KINDS)}, not {str(kind)[:40]!a}")
    numbers = _check_inputs(documents, labels, categories, epochs)
    dice = np.random.default_rng([seed, 1])
    encoder = embedding if isinstance(embedding, TextEncoder) else None
    words = WordVocabulary((), 0) if encoder else vocabulary.learn_vocabulary(documents)
    segments, owners = _split_documents(documents)
    pooled = encoder is not None and kind == "paper"
    inputs, lengths = (
        _encode_parts(encoder, segments, pooled) if encoder else _number_words(words, segments)
    )
    weights: Weights = {}
    if encoder is None:
        weights["embedding"] = _initial_embedding(
            words, cast("WordVectors | None", embedding), dice
        )
    width = encoder.width if encoder else weights["embedding"].shape[1]
    weights |= draw_weights(kind, width, len(categories), dice)
    held = choose_held_out(numbers, seed)[owners]
    rows = TrainingRows(inputs, lengths, numbers[owners])
    lesson = NetTrainingOptions(epochs, batch_size(int((~held).sum())), seed)
    watch = EarlyStopping(lesson, progress)
    fit = _choose_fit(kind, engine)
    found = fit(kind, weights, _select_rows(rows, ~held), _select_rows(rows, held), lesson, watch)
    net = TextNet(kind, {name: _halve_embedding(name, array) for name, array in found.items()})
    card = {"epochs": [epoch._asdict() for epoch in watch.epochs], "documents": len(documents)}
    return CategoryModel(tuple(categories), words, net, settings or {}, card, encoder)


def _choose_fit(kind: NetKind, engine: TrainingEngine) -> NetFit:
    if engine not in get_args(TrainingEngine):
        raise ModelError(f"an engine is auto, numpy or torch, not {str(engine)[:40]!a}")
    if engine == "numpy":
        return fit_with_numpy
    from honeyguide.models.deep import torch_engine

    if engine == "auto" and kind == "paper" and not torch_engine.has_gpu():
        return fit_with_numpy
    torch_engine.check_torch(kind)
    return torch_engine.fit_with_torch


def _check_inputs(
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
        raise ModelError("the documents contain no words")
    return numbers


def _split_documents(documents: Sequence[Sequence[str]]) -> tuple[list[Sequence[str]], Ints]:
    """Parts of 150 words, and the document of each."""
    parts: list[Sequence[str]] = []
    owners: list[int] = []
    for number, document in enumerate(documents):
        found = [
            document[start : start + SEGMENT_WORDS]
            for start in range(0, min(len(document), _PARTS * SEGMENT_WORDS), SEGMENT_WORDS)
        ]
        parts += found
        owners += [number] * len(found)
    return parts, np.array(owners, np.int64)


def _number_words(words: WordVocabulary, parts: Sequence[Sequence[str]]) -> tuple[Ints, Ints]:
    rows = words.to_rows(parts)
    return rows, (rows > 0).sum(axis=1)


def _encode_parts(
    encoder: TextEncoder, parts: Sequence[Sequence[str]], pooled: bool
) -> tuple[Floats, Ints]:
    """The vectors of all parts; they never change, so their pool can be made once."""
    if not pooled and len(parts) * SEGMENT_WORDS * encoder.width * 2 > _ROOM:
        raise ModelError("these texts and this encoder need too much memory; kind paper needs less")
    shape = (len(parts), encoder.width) if pooled else (len(parts), SEGMENT_WORDS, encoder.width)
    inputs = np.zeros(shape, np.float32 if pooled else np.float16)
    lengths = np.zeros(len(parts), np.int64)
    for start in range(0, len(parts), _ENCODED):
        part = slice(start, start + _ENCODED)
        read = encoder.encode(parts[part])
        lengths[part] = read.lengths
        if pooled:
            inputs[part] = pool_vectors(read.vectors, read.lengths, ())
        else:
            inputs[part, : read.vectors.shape[1]] = read.vectors
    return inputs, lengths


def _initial_embedding(
    words: WordVocabulary, start: WordVectors | None, dice: np.random.Generator
) -> Floats:
    """The embedding to begin with: random, and word vectors where they are given, on the same
    scale, so that words without one are not lost beside them."""
    width = WORD_WIDTH if start is None else start.width
    table = dice.uniform(-INITIAL_RANGE, INITIAL_RANGE, (words.size, width)).astype(np.float32)
    table[PAD] = 0
    if start is not None and (known := start.vectors(words.words)):
        vectors = np.stack(list(known.values())).astype(np.float32)
        vectors *= INITIAL_RANGE / 3**0.5 / (float(vectors.std()) or 1.0)
        table[[words.number_of(word) for word in known]] = vectors
    return table


def _select_rows(rows: TrainingRows, which: NDArray[np.bool_]) -> TrainingRows:
    return TrainingRows(*(array[which] for array in rows))


def _halve_embedding(name: str, array: Floats) -> Floats:
    """The embedding, which is nearly all of a model, in numbers that half precision can hold:
    saved in half the space, it is the same."""
    if name != "embedding":
        return np.ascontiguousarray(array, np.float32)
    return np.clip(array, -_HALF, _HALF).astype(np.float16).astype(np.float32)


# --------------------------------------------------------------------------------------------------
# The paper's network, taught in a crawl by what people said of pages: small enough to be kept.
#
# A crawl keeps dozens of generations. So the embedding, which is nearly all of a network, is kept
# in half precision (that is how it was trained, too: nothing is lost) and the rest as it is.
# --------------------------------------------------------------------------------------------------


_KIND: Final = "paper"
_TIMES = 5
_LAYERS = ("embedding", "hidden", "hidden_bias", "out", "out_bias")


@dataclass(frozen=True, eq=False)
class Pupil:
    """All that a trained network consists of, as values that can be saved."""

    categories: tuple[str, ...]
    words: str
    """With a line break between, in the order of their numbers."""
    buckets: int
    embedding: NDArray[Any]
    hidden: NDArray[Any]
    hidden_bias: NDArray[Any]
    out: NDArray[Any]
    out_bias: NDArray[Any]
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """It may come from a stranger; the network checks the rest when it is made."""
        for name in _LAYERS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                raise ModelError(f"a saved network is damaged: {name} has no numbers")
        _ = self.model

    @cached_property
    def model(self) -> CategoryModel:
        words = tuple(self.words.split("\n")) if self.words else ()
        arrays = {name: getattr(self, name).astype(np.float32) for name in _LAYERS}
        net = TextNet(_KIND, arrays)
        return CategoryModel(
            self.categories, WordVocabulary(words, self.buckets), net, self.settings
        )


def train_pupil(
    documents: Sequence[Sequence[str]],
    labels: Sequence[int],
    categories: Sequence[str],
    settings: dict[str, Any],
    *,
    epochs: int,
    seed: int,
) -> Pupil:
    """A network that tells these documents apart; the same ones make the same network."""
    documents, labels = _balance_classes(documents, labels)
    model = train_net(
        _KIND, documents, labels, categories, engine="numpy", epochs=epochs, seed=seed,
        settings=settings,
    )  # fmt: skip
    arrays = dict(model.net.arrays)
    arrays["embedding"] = arrays["embedding"].astype(np.float16)
    words, buckets = model.vocabulary.words, model.vocabulary.buckets
    return Pupil(tuple(categories), "\n".join(words), buckets, **arrays, settings=settings)


def _balance_classes(
    documents: Sequence[Sequence[str]], labels: Sequence[int]
) -> tuple[list[Sequence[str]], list[int]]:
    """Documents of small categories come several times: people label what they find, and a few
    good pages among many bad ones would be learned as none."""
    sizes = Counter(labels)
    largest = max(sizes.values())
    times = {label: min(_TIMES, round(largest / size)) for label, size in sizes.items()}
    pairs = [(d, n) for d, n in zip(documents, labels, strict=True) for _ in range(times[n])]
    return [document for document, _ in pairs], [label for _, label in pairs]
