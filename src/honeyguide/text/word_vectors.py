"""What words mean, as vectors: texts of like meaning point into like directions.

A static table that was distilled from the sentence model all-MiniLM-L6-v2 (Wang et al. 2020;
Tulkens & van Dongen 2024, Model2Vec) by ``tools/make_word_vectors.py``. It knows pieces of English
words. A text is split into pieces by the longest match (WordPiece: Devlin, Chang, Lee & Toutanova
2019), and its vector is the sum of their rows, of length 1. No word of a text is unknown but those
of scripts without pieces. The table is mapped into memory, so processes share it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

DIMENSIONS = 64
LANGUAGES = frozenset({"en"})
"""Languages whose words the table knows."""
MAX_CHARS = 2_000
"""Characters of a text that are read."""
_MAX_PIECES = 256
_MAX_WORD = 100
"""Characters of a word; longer ones are no words."""
_BATCH = 256
"""Texts whose rows are in memory together."""
_DATA = Path(str(resources.files(__package__) / "data"))
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")
"""A Chinese character is a word of its own."""


def text_vectors(texts: Sequence[str]) -> Vectors:
    """The meaning of each text: a row of 64 numbers of length 1, or zeros if no word is known."""
    table = _table()
    found = np.zeros((len(texts), DIMENSIONS), np.float32)
    for first in range(0, len(texts), _BATCH):
        rows = [_piece_rows(text) for text in texts[first : first + _BATCH]]
        filled = np.array([len(row) for row in rows])
        starts = (np.cumsum(filled) - filled)[filled > 0]
        if len(starts):
            flat = np.fromiter(chain.from_iterable(rows), np.int32, int(filled.sum()))
            sums = np.add.reduceat(table[flat].astype(np.float32), starts)
            sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
            found[first + np.flatnonzero(filled)] = sums
    return found


def _piece_rows(text: str) -> list[int]:
    """Rows of the table for the pieces of a text."""
    text = text[:MAX_CHARS].lower()
    if not text.isascii():
        text = "".join(c for c in normalize("NFD", text) if category(c) != "Mn")
    found: list[int] = []
    for word in _WORDS.findall(text):
        found += _word_rows(word)
        if len(found) >= _MAX_PIECES:
            break
    return found[:_MAX_PIECES]


@lru_cache(maxsize=32_768)
def _word_rows(word: str) -> tuple[int, ...]:
    """A word as the longest pieces from its start on; none if it cannot be made of pieces."""
    if len(word) > _MAX_WORD:
        return ()
    pieces, longest = _pieces()
    found, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(min(len(word), start + longest), start, -1):
            if (row := pieces.get(mark + word[start:end])) is not None:
                found.append(row)
                start = end
                break
        else:
            return ()
    return tuple(found)


@lru_cache(maxsize=1)
def _table() -> NDArray[np.int8]:
    found: NDArray[Any] = np.load(_DATA / "word_vectors.npy", mmap_mode="r")
    return found


@lru_cache(maxsize=1)
def _pieces() -> tuple[dict[str, int], int]:
    """Piece → its row, and the length of the longest."""
    names = (_DATA / "word_pieces.txt").read_text("utf-8").split("\n")
    return {name: row for row, name in enumerate(names)}, max(map(len, names))
