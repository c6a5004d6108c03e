"""Networks that classify text, for reading in numpy: four kinds, from word numbers to
probabilities.

    paper        Alqaraleh & Sırın: embedding 300, max pool, dense 2C (ReLU), dense C (softmax). It
                 has no convolution, although the authors call it a CNN.
    conv         the same with convolutions 3, 4 and 5 words wide, 128 each, before the pool: ours.
    one_layer    Kim 2014: convolutions 3, 4 and 5 wide, 100 each, max pool, dense C.
    sensitivity  Zhang & Wallace 2015: convolutions 2, 3 and 4 wide, two each, max pool, dense C.

Padding never wins a pool. A text shorter than a convolution is read as if blanks (zeros) followed.
A convolution k words wide is k products, one for each word of its window, added with a shift. The
products of a word are always the same: they are computed once for each distinct word of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]


class ConvFilters(NamedTuple):
    """A convolution."""

    width: int
    """Words of its window."""
    kernel: Floats
    """numbers of a word × (width · filters), so that one product serves the whole window."""
    bias: Floats


class PooledValues(NamedTuple):
    """The largest values of each column, and their places."""

    values: Floats
    places: Ints
    """Row of each value; for a convolution the beginning of its window."""


def make_filters(width: int, kernel: Floats, bias: Floats) -> ConvFilters:
    """From a kernel of (width · numbers) × filters, as it is trained and saved."""
    parts = kernel.reshape(width, -1, len(bias)).transpose(1, 0, 2)
    return ConvFilters(width, np.ascontiguousarray(parts).reshape(parts.shape[0], -1), bias)


def pool_words(
    table: Floats, ids: Ints, convolutions: Sequence[ConvFilters], placed: bool
) -> PooledValues:
    """Pool rows of word numbers, padded with 0 at the end."""
    lengths = (ids > 0).sum(axis=1)
    if not convolutions:
        return _max_pool(_plain_rows(table, ids, lengths), len(ids), table.shape[1], placed)
    distinct, numbers = np.unique(np.r_[0, ids.ravel()], return_inverse=True)
    vectors = table[distinct]
    vectors[0] = 0
    return _pool_convolved(vectors, numbers[1:].reshape(ids.shape), lengths, convolutions, placed)


def pool_vectors(vectors: Floats, lengths: Ints, convolutions: Sequence[ConvFilters]) -> Floats:
    """Pool vectors of words [texts, words, numbers]; words beyond the length of a text are
    padding."""
    count, words, width = vectors.shape
    flat = np.concatenate([np.zeros((1, width), np.float32), vectors.reshape(-1, width)])
    numbers = 1 + np.arange(count * words).reshape(count, words)
    numbers[np.arange(words) >= lengths[:, None]] = 0
    if not convolutions:
        return _max_pool(_plain_rows(flat, numbers, lengths), count, width, False).values
    return _pool_convolved(flat, numbers, lengths, convolutions, False).values


def _pool_convolved(
    vectors: Floats, numbers: Ints, lengths: Ints, convolutions: Sequence[ConvFilters], placed: bool
) -> PooledValues:
    """``vectors[0]`` is a blank."""
    widest = max(one.width for one in convolutions)
    numbers = np.pad(numbers, ((0, 0), (0, widest)))
    parts = []
    for one in convolutions:
        products = vectors @ one.kernel
        pool = _max_pool(
            _window_sums(products, numbers, lengths, one), len(numbers), len(one.bias), placed
        )
        parts.append(PooledValues(np.maximum(pool.values + one.bias, 0), pool.places))
    values, places = zip(*parts, strict=True)
    return PooledValues(np.concatenate(values, axis=1), np.concatenate(places, axis=1))


def _plain_rows(table: Floats, numbers: Ints, lengths: Ints) -> Iterator[Floats]:
    for row, length in zip(numbers, lengths.tolist(), strict=True):
        yield table[row[:length]]


def _window_sums(
    products: Floats, numbers: Ints, lengths: Ints, one: ConvFilters
) -> Iterator[Floats]:
    """The sum of each window of each text; a text shorter than a window is one window."""
    steps = np.split(products, one.width, axis=1)
    for row, length in zip(numbers, lengths.tolist(), strict=True):
        count = max(length - one.width + 1, 1)
        found = steps[0][row[:count]]
        for shift, step in enumerate(steps[1:], 1):
            found += step[row[shift : shift + count]]
        yield found


def _max_pool(texts: Iterator[Floats], count: int, width: int, placed: bool) -> PooledValues:
    """Zeros for a text without words. Places cost as much as all else, so only if wanted."""
    values = np.zeros((count, width), np.float32)
    places = np.zeros((count, width) if placed else (count, 0), np.int64)
    for n, text in enumerate(texts):
        if not len(text):
            continue
        if placed:
            places[n] = text.argmax(axis=0)
        np.max(text, axis=0, out=values[n])
    return PooledValues(values, places)


# --- Networks ---


NetKind = Literal["paper", "conv", "one_layer", "sensitivity"]
NET_KINDS: tuple[NetKind, ...] = get_args(NetKind)
WORD_WIDTH = 300
"""Numbers of a word vector."""
INITIAL_RANGE = 0.05
"""Embeddings begin in U(-.05, .05): with N(0, 1) a max-pooled network learns nothing."""
_CHUNK = 64
_LARGE = 1e6
"""Larger weights come from no training; products of a few of them would not be finite."""


class NetShape(NamedTuple):
    """The layers of a kind."""

    widths: tuple[int, ...] = ()
    """Words of the window of each convolution; none: the words themselves are pooled."""
    filters: int = 0
    hidden: bool = True
    """A dense layer of 2C before the last."""
    dropout: float = 0.2
    """Share of the pooled and hidden values that is dropped in training."""


NET_SHAPES: Mapping[str, NetShape] = {
    "paper": NetShape(),
    "conv": NetShape((3, 4, 5), 128),
    "one_layer": NetShape((3, 4, 5), 100, hidden=False, dropout=0.5),
    "sensitivity": NetShape((2, 3, 4), 2, hidden=False, dropout=0.5),
}


@dataclass(frozen=True, eq=False)
class TextNet:
    """A network for reading, in numpy."""

    kind: str
    arrays: dict[str, NDArray[Any]]
    """embedding (words × width; missing where an encoder gives the vectors), for each convolution
    kernelK (K·width × filters) and biasK, then hidden, hidden_bias, out, out_bias."""

    def __post_init__(self) -> None:
        if self.kind not in NET_SHAPES:
            raise ModelError(f"a network is one of {', '.join(NET_KINDS)}, not {self.kind[:40]!a}")
        for name, array in self.arrays.items():
            if array.dtype != np.float32:
                raise ModelError(f"a network is damaged: {name[:40]} has no numbers")
            if array.size and not np.abs(array).max() < _LARGE:
                raise ModelError(f"a network is damaged: {name[:40]} has numbers out of range")
        self._check_shapes()

    def _check_shapes(self) -> None:
        out = self.arrays.get("out")
        if out is None or out.ndim != 2 or not out.shape[1] >= 2:
            raise ModelError("a network is damaged: it has no last layer for two categories")
        table = self.arrays.get("embedding")
        if table is not None and (table.ndim != 2 or not len(table)):
            raise ModelError("a network is damaged: its embedding is not a table")
        expected = layer_shapes(cast("NetKind", self.kind), self.width, out.shape[1])
        if table is not None:
            expected["embedding"] = table.shape
        found = {name: array.shape for name, array in self.arrays.items()}
        if found != expected:
            wrong = sorted(name[:40] for name, _ in set(found.items()) ^ set(expected.items()))
            raise ModelError(f"a network is damaged: {', '.join(dict.fromkeys(wrong))} do not fit")

    @property
    def shape(self) -> NetShape:
        return NET_SHAPES[self.kind]

    @property
    def categories(self) -> int:
        return int(self.arrays["out"].shape[1])

    @cached_property
    def width(self) -> int:
        """Numbers of a word vector."""
        if (table := self.arrays.get("embedding")) is not None:
            return int(table.shape[1])
        first = self.arrays.get(f"kernel{self.shape.widths[0]}" if self.shape.widths else "hidden")
        if first is None or first.ndim != 2:
            raise ModelError("a network is damaged: it has no first layer")
        return int(first.shape[0]) // (self.shape.widths or (1,))[0]

    def probabilities(self, ids: Ints) -> Floats:
        """The probability of each category, a row for each row of word numbers."""
        return softmax(self.logits(self._pooled_words(ids).values))

    def probabilities_of_vectors(self, vectors: Floats, lengths: Ints) -> Floats:
        """The same from vectors of words [N, words, width] of an encoder."""
        if vectors.ndim != 3 or vectors.shape[2] != self.width:
            raise ModelError(f"this network reads vectors of {self.width} numbers a word")
        return softmax(self.logits(pool_vectors(vectors, lengths, self._conv_filters)))

    def logits(self, pooled: Floats) -> Floats:
        arrays = self.arrays
        if self.shape.hidden:
            pooled = np.maximum(pooled @ arrays["hidden"] + arrays["hidden_bias"], 0)
        answer: Floats = pooled @ arrays["out"] + arrays["out_bias"]
        return answer

    def word_evidence(self, ids: Ints, category: int) -> Floats:
        """How much each place of each row speaks for a category: its pooled values times the slope
        of the log-odds there. Fast, and correct to the first order."""
        pool = self._pooled_words(ids, placed=True)
        slopes = self._logit_slopes(pool.values, category) * pool.values
        marks = np.zeros(ids.shape, np.float32)
        rows = np.arange(len(ids))[:, None]
        start = 0
        for width in self.shape.widths or (1,):
            end = start + (self.shape.filters or self.width)
            for step in range(width):
                places = np.minimum(pool.places[:, start:end] + step, ids.shape[1] - 1)
                np.add.at(marks, (rows, places), slopes[:, start:end] / width)
            start = end
        return np.where(ids > 0, marks, 0)

    def _logit_slopes(self, pooled: Floats, category: int) -> Floats:
        """∂(logit of the category - mean of the others) ÷ ∂ pooled."""
        arrays, count = self.arrays, self.categories
        toward = np.full(count, -1 / (count - 1), np.float32)
        toward[category] = 1
        back = arrays["out"] @ toward
        if not self.shape.hidden:
            return np.broadcast_to(back, pooled.shape)
        alive = pooled @ arrays["hidden"] + arrays["hidden_bias"] > 0
        slopes: Floats = (alive * back) @ arrays["hidden"].T
        return slopes

    def _pooled_words(self, ids: Ints, placed: bool = False) -> PooledValues:
        table = self.arrays.get("embedding")
        if table is None:
            raise ModelError("this network reads vectors of an encoder, not word numbers")
        if ids.size and not (int(ids.min()) >= 0 and int(ids.max()) < len(table)):
            # numpy would count negative ones from the end.
            raise ModelError("a network and its vocabulary do not fit together")
        parts = [
            pool_words(table, ids[start : start + _CHUNK], self._conv_filters, placed)
            for start in range(0, max(len(ids), 1), _CHUNK)
        ]
        return PooledValues(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    @cached_property
    def _conv_filters(self) -> list[ConvFilters]:
        return [
            make_filters(width, self.arrays[f"kernel{width}"], self.arrays[f"bias{width}"])
            for width in self.shape.widths
        ]


def layer_shapes(kind: NetKind, width: int, categories: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all layers behind the embedding, in the order in which they are drawn."""
    shape = NET_SHAPES[kind]
    found: dict[str, tuple[int, ...]] = {}
    for wide in shape.widths:
        found[f"kernel{wide}"] = (wide * width, shape.filters)
        found[f"bias{wide}"] = (shape.filters,)
    inside = shape.filters * len(shape.widths) or width
    if shape.hidden:
        found["hidden"] = (inside, 2 * categories)
        found["hidden_bias"] = (2 * categories,)
        inside = 2 * categories
    found["out"] = (inside, categories)
    found["out_bias"] = (categories,)
    return found


def draw_weights(
    kind: NetKind, width: int, categories: int, dice: np.random.Generator
) -> dict[str, Floats]:
    """Initial weights behind the embedding: Glorot & Bengio 2010, uniform; biases 0."""
    arrays: dict[str, Floats] = {}
    for name, shape in layer_shapes(kind, width, categories).items():
        if len(shape) == 1:
            arrays[name] = np.zeros(shape, np.float32)
            continue
        limit = (6 / (shape[0] + shape[1])) ** 0.5
        arrays[name] = dice.uniform(-limit, limit, shape).astype(np.float32)
    return arrays


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    answer: Floats = powers / powers.sum(axis=1, keepdims=True)
    return answer
