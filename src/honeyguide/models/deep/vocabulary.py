"""Which words a network knows, and what number stands for each.

Alqaraleh & Sırın leave the vocabulary open. Ours has the 50,000 most frequent words that at least
two documents share, by documents, then the alphabet. A word outside it is not lost: it is read as
the longest word inside that it begins with, since in Turkish and its like a stem stands in front;
failing that, as one of 2,048 buckets by the hash of its first letters, which learn from the rare
words of the training texts. 0 is padding, 1 what is no word at all, or any unknown word where
there are no buckets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.vocabulary_coverage import telling

Ints = NDArray[np.signedinteger[Any]]

LENGTH = 150
"""Words that a network reads at once."""
PAD, UNKNOWN, FIRST = 0, 1, 2
MOST, BUCKETS = 50_000, 2_048
LONGEST = 64
"""Letters of a word that are looked at."""
_SHARED = 2
_STEM, _SHARE = 4, 0.5
"""A known beginning stands for a word if it has so many letters, and that share of them."""
_HASHED = 5


@dataclass(frozen=True, eq=False)
class Vocabulary:
    words: tuple[str, ...]
    """The word with number ``FIRST + i`` is ``words[i]``."""
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        if not (0 <= self.buckets <= MOST and len(self.words) <= MOST):
            raise ModelError("a vocabulary is damaged: it is too large")
        if len(self._numbers) != len(self.words) or "" in self._numbers:
            raise ModelError("a vocabulary is damaged: a word is empty or stands in it twice")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: FIRST + place for place, word in enumerate(self.words)}

    @cached_property
    def telling(self) -> frozenset[str]:
        """Words by which a text is known to be one that a network can judge."""
        return telling(self.words)

    @property
    def size(self) -> int:
        """How many numbers there are: the rows of an embedding."""
        return FIRST + len(self.words) + self.buckets

    def number(self, word: str) -> int:
        return self._numbers.get(word) or self._guess(word)

    def numbers(self, words: Iterable[str]) -> list[int]:
        """Of the first 150 words; the rest is not read."""
        known, guess = self._numbers.get, self._guess
        return [known(word) or guess(word) for word in islice(words, LENGTH)]

    def rows(self, segments: Sequence[Iterable[str]]) -> Ints:
        """A row of 150 numbers for each segment, padded at its end."""
        rows = np.zeros((len(segments), LENGTH), np.int32)
        for row, segment in zip(rows, segments, strict=True):
            numbers = self.numbers(segment)
            row[: len(numbers)] = numbers
        return rows

    def _guess(self, word: str) -> int:
        """The number of what an unknown word may mean."""
        if not word or not self.buckets:
            return UNKNOWN
        word = word[:LONGEST]
        known = self._numbers
        for end in range(len(word) - 1, max(_STEM, int(_SHARE * len(word) + 0.5)) - 1, -1):
            if number := known.get(word[:end]):
                return number
        hashed = crc32(word[:_HASHED].encode("utf-8", "surrogatepass"))
        return FIRST + len(self.words) + hashed % self.buckets


def learn(
    documents: Iterable[Iterable[str]], most: int = MOST, buckets: int = BUCKETS
) -> Vocabulary:
    """The words that documents share, the most frequent first; ties by the alphabet."""
    seen: Counter[str] = Counter()
    for document in documents:
        seen.update({word for word in document if 0 < len(word) <= LONGEST})
    shared = [(-times, word) for word, times in seen.items() if times >= _SHARED]
    return Vocabulary(tuple(word for _, word in sorted(shared)[:most]), buckets)
