"""The largest value of each column over the words of a text, after convolutions if there are any.

A convolution k words wide is k products, one a word of its window, added with a shift. A word's
products are always the same: they are made once for each distinct word of a batch and gathered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]


class Filters(NamedTuple):
    """A convolution."""

    width: int
    """Words that it sees at once."""
    kernel: Floats
    """numbers of a word × (width · filters), so that one product serves the whole window."""
    bias: Floats


class Pool(NamedTuple):
    values: Floats
    places: Ints
    """Where in its row each value was won; of a convolution, where its window begins."""


def filters(width: int, kernel: Floats, bias: Floats) -> Filters:
    """From a kernel of (width · numbers) × filters, as it is learned and saved."""
    parts = kernel.reshape(width, -1, len(bias)).transpose(1, 0, 2)
    return Filters(width, np.ascontiguousarray(parts).reshape(parts.shape[0], -1), bias)


def pool_words(table: Floats, ids: Ints, convolutions: Sequence[Filters], placed: bool) -> Pool:
    """Of rows of word numbers, with padding (0) at their end."""
    lengths = (ids > 0).sum(axis=1)
    if not convolutions:
        return _pool(_bare(table, ids, lengths), len(ids), table.shape[1], placed)
    distinct, numbers = np.unique(np.r_[0, ids.ravel()], return_inverse=True)
    vectors = table[distinct]
    vectors[0] = 0
    return _convolved(vectors, numbers[1:].reshape(ids.shape), lengths, convolutions, placed)


def pool_vectors(
    vectors: Floats, lengths: Ints, convolutions: Sequence[Filters], placed: bool = False
) -> Pool:
    """Of vectors of words [texts, words, numbers]; words beyond a text's length are padding."""
    count, words, width = vectors.shape
    flat = np.concatenate([np.zeros((1, width), np.float32), vectors.reshape(-1, width)])
    numbers = 1 + np.arange(count * words).reshape(count, words)
    numbers[np.arange(words) >= lengths[:, None]] = 0
    if not convolutions:
        return _pool(_bare(flat, numbers, lengths), count, width, placed)
    return _convolved(flat, numbers, lengths, convolutions, placed)


def _convolved(
    vectors: Floats, numbers: Ints, lengths: Ints, convolutions: Sequence[Filters], placed: bool
) -> Pool:
    """``vectors[0]`` is a blank."""
    widest = max(one.width for one in convolutions)
    numbers = np.pad(numbers, ((0, 0), (0, widest)))
    parts = []
    for one in convolutions:
        products = vectors @ one.kernel
        pool = _pool(_windows(products, numbers, lengths, one), len(numbers), len(one.bias), placed)
        parts.append(Pool(np.maximum(pool.values + one.bias, 0), pool.places))
    values, places = zip(*parts, strict=True)
    return Pool(np.concatenate(values, axis=1), np.concatenate(places, axis=1))


def _bare(table: Floats, numbers: Ints, lengths: Ints) -> Iterator[Floats]:
    for row, length in zip(numbers, lengths.tolist(), strict=True):
        yield table[row[:length]]


def _windows(products: Floats, numbers: Ints, lengths: Ints, one: Filters) -> Iterator[Floats]:
    """What each window of each text gives; a text shorter than it is one window."""
    steps = np.split(products, one.width, axis=1)
    for row, length in zip(numbers, lengths.tolist(), strict=True):
        count = max(length - one.width + 1, 1)
        found = steps[0][row[:count]]
        for shift, step in enumerate(steps[1:], 1):
            found += step[row[shift : shift + count]]
        yield found


def _pool(texts: Iterator[Floats], count: int, width: int, placed: bool) -> Pool:
    """A text without words has zeros. Places are as dear as all else, so only if wanted."""
    values = np.zeros((count, width), np.float32)
    places = np.zeros((count, width) if placed else (count, 0), np.int64)
    for n, text in enumerate(texts):
        if not len(text):
            continue
        if placed:
            places[n] = text.argmax(axis=0)
        np.max(text, axis=0, out=values[n])
    return Pool(values, places)
