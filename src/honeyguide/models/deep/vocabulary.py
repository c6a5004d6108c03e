"""Whether a text is in words that a model knows: what it says of others is no evidence.

A linear model falls back on its offsets there, a network on the buckets of its hash. So a share of
the words must be known as they are. Counted are neither beginnings of words nor buckets, and no
numbers and single letters, which stand in any language. The share is low: of 300 Turkish news
texts 99 % had 8 % or more with a network trained from 12 others; with one from 3,000, all had 76 %.
What it keeps out are other scripts and gibberish. It does not tell languages apart: of English
pages 25 to 53 % of the words stood somewhere in those 3,000. That takes ears.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

MIN_KNOWN_SHARE = 0.05


class VocabularyCoverage(NamedTuple):
    """How many words of a text a model knows."""

    words: int
    total: int

    def __str__(self) -> str:
        return f"{self.words} of {self.total} words are known to the model"


def telling_words(words: Iterable[str]) -> frozenset[str]:
    """Those of a model's words by which it knows a text."""
    return frozenset(filter(_is_telling, words))


def low_coverage(
    known: frozenset[str], segments: Sequence[Sequence[str]]
) -> VocabularyCoverage | None:
    """How many words are known, where these are too few to judge by; None: enough.

    The first segment or two of most pages are enough to see that, which keeps this cheap.
    """
    total = sum(map(len, segments))
    found = 0
    for tokens in segments:
        found += sum(map(known.__contains__, tokens))
        if found and found >= MIN_KNOWN_SHARE * total:
            return None
    words = sum(_is_telling(token) for tokens in segments for token in tokens)
    return None if found and found >= MIN_KNOWN_SHARE * words else VocabularyCoverage(found, words)


def _is_telling(word: str) -> bool:
    return len(word) > 1 and not word.isdecimal()


# --------------------------------------------------------------------------------------------------
# Which words a network knows, and what number stands for each.
#
# Alqaraleh & Sırın leave the vocabulary open. Ours has the 50,000 most frequent words that at least
# two documents share, by documents, then the alphabet. A word outside it is not lost: it is read as
# the longest word inside that it begins with, since in Turkish and its like a stem stands in front;
# failing that, as one of 2,048 buckets by the hash of its first letters, which learn from the rare
# words of the training texts. 0 is padding, 1 what is no word at all, or any unknown word where
# there are no buckets.
# --------------------------------------------------------------------------------------------------


Ints = NDArray[np.signedinteger[Any]]

SEGMENT_WORDS = 150
"""Words that a network reads at once."""
PAD, UNKNOWN_WORD, FIRST = 0, 1, 2
MAX_WORDS, BUCKETS = 50_000, 2_048
MAX_WORD_LETTERS = 64
"""Letters of a word that are looked at."""
_SHARED = 2
_STEM, _SHARE = 4, 0.5
"""A known beginning stands for a word if it has so many letters, and that share of them."""
_HASHED = 5


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    words: tuple[str, ...]
    """The word with number ``FIRST + i`` is ``words[i]``."""
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        if not (0 <= self.buckets <= MAX_WORDS and len(self.words) <= MAX_WORDS):
            raise ModelError("a vocabulary is damaged: it is too large")
        if len(self._numbers) != len(self.words) or "" in self._numbers:
            raise ModelError("a vocabulary is damaged: a word is empty or occurs twice")

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: FIRST + place for place, word in enumerate(self.words)}

    @cached_property
    def telling_words(self) -> frozenset[str]:
        """Words by which a text is known to be one that a network can judge."""
        return telling_words(self.words)

    @property
    def size(self) -> int:
        """How many numbers there are: the rows of an embedding."""
        return FIRST + len(self.words) + self.buckets

    def number_of(self, word: str) -> int:
        return self._numbers.get(word) or self._guess_number(word)

    def numbers_of(self, words: Iterable[str]) -> list[int]:
        """Of the first 150 words; the rest is not read."""
        known, guess = self._numbers.get, self._guess_number
        return [known(word) or guess(word) for word in islice(words, SEGMENT_WORDS)]

    def to_rows(self, segments: Sequence[Iterable[str]]) -> Ints:
        """A row of 150 numbers for each segment, padded at its end."""
        rows = np.zeros((len(segments), SEGMENT_WORDS), np.int32)
        for row, segment in zip(rows, segments, strict=True):
            numbers = self.numbers_of(segment)
            row[: len(numbers)] = numbers
        return rows

    def _guess_number(self, word: str) -> int:
        """The number of what an unknown word may mean."""
        if not word or not self.buckets:
            return UNKNOWN_WORD
        word = word[:MAX_WORD_LETTERS]
        known = self._numbers
        for end in range(len(word) - 1, max(_STEM, int(_SHARE * len(word) + 0.5)) - 1, -1):
            if number := known.get(word[:end]):
                return number
        hashed = crc32(word[:_HASHED].encode("utf-8", "surrogatepass"))
        return FIRST + len(self.words) + hashed % self.buckets


def learn_vocabulary(
    documents: Iterable[Iterable[str]], most: int = MAX_WORDS, buckets: int = BUCKETS
) -> WordVocabulary:
    """The words that documents share, the most frequent first; ties by the alphabet."""
    seen: Counter[str] = Counter()
    for document in documents:
        seen.update({word for word in document if 0 < len(word) <= MAX_WORD_LETTERS})
    shared = [(-times, word) for word, times in seen.items() if times >= _SHARED]
    return WordVocabulary(tuple(word for _, word in sorted(shared)[:most]), buckets)
