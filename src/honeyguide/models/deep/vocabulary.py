"""The words that a network knows, and whether a text consists of known words.

Alqaraleh & Sırın leave the vocabulary open. This one has the 50,000 most frequent words that at
least two documents share, by documents, then the alphabet. An unknown word is read as the longest
known word that it begins with, since in languages such as Turkish the stem comes first; else as one
of 2,048 buckets by the hash of its first letters, which learn from rare words. 0 is padding, 1 an
empty word, or any unknown word if there are no buckets.

Coverage: without known words a linear model falls back on its offsets and a network on its buckets,
which is no evidence. So 5 % of the words must be known as they are; beginnings, buckets, numbers
and single letters do not count. Of 300 Turkish news texts 99 % had 8 % or more with a network
trained from 12 others; with one from 3,000, all had 76 %. This rejects other scripts and gibberish.
It does not separate languages: of English pages 25 to 53 % of the words occurred in those 3,000.
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
    """Words that count for coverage: no numbers and no single letters."""
    return frozenset(filter(_is_telling, words))


def low_coverage(
    known: frozenset[str], segments: Sequence[Sequence[str]]
) -> VocabularyCoverage | None:
    """The coverage if too few words are known to judge a text; None: enough.

    The first segments of most pages are enough to see that, which keeps this fast.
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


# --- Words and their numbers ---


Ints = NDArray[np.signedinteger[Any]]

SEGMENT_WORDS = 150
"""Words that a network reads at once."""
PAD, UNKNOWN_WORD, FIRST = 0, 1, 2
MAX_WORDS, BUCKETS = 50_000, 2_048
MAX_WORD_LETTERS = 64
"""Letters of a word that are read."""
_SHARED = 2
_STEM, _SHARE = 4, 0.5
"""A known beginning stands for a word if it has so many letters, and that share of them."""
_HASHED = 5


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """The words that a network knows, and the number of each."""

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
        """Words that count for coverage."""
        return telling_words(self.words)

    @property
    def size(self) -> int:
        """Numbers in use: the rows of an embedding."""
        return FIRST + len(self.words) + self.buckets

    def number_of(self, word: str) -> int:
        return self._numbers.get(word) or self._guess_number(word)

    def numbers_of(self, words: Iterable[str]) -> list[int]:
        """The numbers of the first 150 words."""
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
        """The number for an unknown word."""
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
    """The words that documents share, the most frequent first, then by the alphabet."""
    seen: Counter[str] = Counter()
    for document in documents:
        seen.update({word for word in document if 0 < len(word) <= MAX_WORD_LETTERS})
    shared = [(-times, word) for word, times in seen.items() if times >= _SHARED]
    return WordVocabulary(tuple(word for _, word in sorted(shared)[:most]), buckets)
