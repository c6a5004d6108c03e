"""Word vectors from a file: word2vec's text (.vec, .txt) and binary (.bin) forms and GloVe's text,
each also gzipped. Only vectors of asked-for words are kept, so a file of any size can be read."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

Floats = NDArray[np.floating[Any]]

WIDEST = 2_000
"""Numbers of a word."""
_MOST = 20_000_000
"""Words of a file: no language has more, but a small gzip file may."""
_WORD = 1_000
"""Bytes of a word."""
_LINE = _WORD + 40 * WIDEST
_LARGE = 1e4
_FASTTEXT = (793_712_314).to_bytes(4, "little")


@dataclass(frozen=True)
class WordVectors:
    """A :class:`~honeyguide.models.deep.embedding.Table`."""

    path: Path

    def __post_init__(self) -> None:
        _ = self.width  # A file that is none is told before anything is trained.

    @property
    def binary(self) -> bool:
        return ".bin" in self.path.suffixes[-2:]

    @cached_property
    def width(self) -> int:
        with _Reading(self.path) as file:
            return self._begin(file)[0]

    def vectors(self, words: Sequence[str]) -> dict[str, Floats]:
        """Of those words that the file has; the first where it has two."""
        wanted = {word.encode("utf-8", "replace"): word for word in words}
        found: dict[str, Floats] = {}
        with _Reading(self.path) as file:
            width, headed = self._begin(file)
            read = _binary if self.binary else _text
            if not headed:
                file.seek(0)
            for where, name, vector in read(file, wanted, width, self.path, 1 + headed):
                if not (np.abs(vector) < _LARGE).all():
                    raise ModelError(f"{self.path}, {where}: a number is not finite, or too large")
                found.setdefault(wanted[name], vector)
                if len(found) == len(wanted):
                    break
        return found

    def _begin(self, file: IO[bytes]) -> tuple[int, bool]:
        """How wide the vectors are, and whether a first line says so: GloVe has none."""
        line = file.readline(_LINE)
        if line.startswith(_FASTTEXT):
            raise ModelError(
                f"{self.path} is a fastText model; its word vectors are in the .vec file"
            )
        fields = line.split()
        headed = len(fields) == 2 and all(field.isdigit() for field in fields)
        if not headed and self.binary:
            raise ModelError(f"{self.path}, line 1: not the number and width of word vectors")
        width = int(fields[1][:9]) if headed else len(fields) - 1
        if not 2 <= width <= WIDEST:
            raise ModelError(f"{self.path}, line 1: word vectors have 2 to {WIDEST} numbers")
        return width, headed


class _Reading:
    """The file, unzipped; what goes wrong in reading it becomes a ModelError."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> IO[bytes]:
        try:
            self._file: Any = self._path.open("rb")
            if self._file.read(2) == b"\x1f\x8b":
                self._file.close()
                self._file = gzip.open(self._path, "rb")
            self._file.seek(0)
        except OSError as error:
            raise ModelError(f"{self._path} cannot be read: {error}") from error
        opened: IO[bytes] = self._file
        return opened

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._file.close()
        if isinstance(error, OSError | EOFError | zlib.error):
            raise ModelError(f"{self._path} cannot be read: {error}") from error


Found = Iterator[tuple[str, bytes, Floats]]
"""Where it stands, the word, its vector."""


def _text(file: IO[bytes], wanted: dict[bytes, str], width: int, path: Path, first: int) -> Found:
    firsts = {word.split(b" ", 1)[0] for word in wanted}
    for number in range(first, _MOST + first):
        line = file.readline(_LINE)
        if not line:
            return
        if not line.endswith(b"\n") and len(line) >= _LINE:
            raise ModelError(f"{path}, line {number}: longer than word vectors are")
        if line.partition(b" ")[0] not in firsts:
            continue
        fields = line.rstrip().split(b" ")
        if len(fields) <= width:
            raise ModelError(f"{path}, line {number}: not {width} numbers")
        word = b" ".join(fields[:-width])
        if word not in wanted:  # a name of several words
            continue
        try:
            yield f"line {number}", word, np.array(fields[-width:], np.float32)
        except ValueError as error:
            raise ModelError(f"{path}, line {number}: {error}") from error
    raise ModelError(f"{path} has more than {_MOST} words")


def _binary(file: IO[bytes], wanted: dict[bytes, str], width: int, path: Path, first: int) -> Found:
    size = 4 * width
    left = b""
    for number in range(first, _MOST + first):
        while b" " not in left[: _WORD + 1]:
            more = file.read(1 << 16) if len(left) <= _WORD else b""
            if not more:
                if left.strip():
                    raise ModelError(f"{path}, word {number - 1}: it ends too soon, or is no word")
                return
            left += more
        word, _, rest = left.partition(b" ")
        while len(rest) < size:
            more = file.read(1 << 16)
            if not more:
                raise ModelError(f"{path}, word {number - 1}: it ends in the middle of a vector")
            rest += more
        left = rest[size:]
        word = word.lstrip(b"\n")
        if word in wanted:
            yield f"word {number - 1}", word, np.frombuffer(rest[:size], "<f4").astype(np.float32)
    raise ModelError(f"{path} has more than {_MOST} words")
