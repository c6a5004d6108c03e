"""A text as a few numbers: equal texts have equal digests, similar texts similar signatures.

Broder 1997 (shingles, resemblance); the permutations are rensa's. The shingles' hashes are
made by numpy from one running polynomial over the bytes, because joining words in Python would
cost more than all the rest.
"""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash
from xxhash import xxh3_64_intdigest

from honeyguide.store.database import signed

ALGORITHM = f"rensa {RMinHash.ALGORITHM_VERSION}, 3 words of 16 KiB, 8 x 9 of 128"
"""Signatures made by another algorithm cannot be compared."""

_PERMUTATIONS = 128
BANDS, _ROWS = 8, 9
"""A pair of resemblance s shares a band with probability 1 - (1 - s^9)^8: .98 at s = .9."""
_WORDS = 3
_FEWEST = 50
"""Texts of fewer words are too short to resemble: only equal ones count."""
_MOST = 1 << 14
"""Bytes that a signature looks at."""
_BLANKS = bytes(range(33))
_ASCII = bytes(range(128))
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(33)
_BASE = 0x9E3779B97F4A7C15

Hashes = NDArray[np.uint64]


class Sketch(NamedTuple):
    digest: int
    """64 bits of the text without blanks and case, as SQLite holds them."""
    bands: tuple[int, ...] = ()
    signature: bytes = b""
    """The lowest byte of each permutation's minimum; empty for a short text."""


class Sketcher:
    """Holds the powers of the polynomial's base."""

    def __init__(self) -> None:
        self._powers = _powers(_BASE)
        self._inverse = _powers(pow(_BASE, -1, 1 << 64))
        self._places = np.arange(_MOST)

    def sketch(self, text: str, near: bool = True) -> Sketch | None:
        """None for a text without a word. Unless ``near``, only equal texts will be found."""
        if not near:
            raw = text.strip().encode("utf-8", "replace")
            return Sketch(signed(xxh3_64_intdigest(raw))) if raw else None
        raw = _folded(text)
        solid = raw.translate(None, _BLANKS)
        if not solid:
            return None
        digest = signed(xxh3_64_intdigest(solid))
        if len(raw) > _MOST:
            raw = raw[:_MOST]
            solid = raw.translate(None, _BLANKS)
        if len(raw) - len(solid) < _FEWEST - 1 and raw.isascii():
            return Sketch(digest)  # there are no more words than blanks, and one
        hashes = self._shingles(raw, solid)
        if len(hashes) < _FEWEST - _WORDS + 1:
            return Sketch(digest)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(
            hashes, [0, len(hashes)], _PERMUTATIONS, 1
        )
        minima = array("I", matrix.to_rows()[0]).tobytes()
        step = 4 * _ROWS
        bands = tuple(
            signed(xxh3_64_intdigest(minima[start : start + step], start))
            for start in range(0, step * BANDS, step)
        )
        return Sketch(digest, bands, minima[::4])

    def _shingles(self, raw: bytes, solid: bytes) -> Hashes:
        """A hash for every run of three words; blanks between and around words do not count."""
        letters = np.frombuffer(solid, np.uint8)
        # Methods and ufuncs: on a page's few thousand bytes numpy's functions take longer to be
        # called than to run.
        (blanks,) = (np.frombuffer(raw, np.uint8) < 33).nonzero()
        # Word borders as places in `solid`: a blank's place less the blanks before it.
        borders = np.empty(len(blanks) + 2, np.intp)
        borders[0], borders[-1] = 0, len(letters)
        np.subtract(blanks, self._places[: len(blanks)], out=borders[1:-1])
        # Scripts of three bytes and more are mostly written without spaces: each sign is a
        # word. 0xE2 is left out, because quotation marks and dashes begin so.
        if not raw.isascii():
            (signs,) = ((letters >= 0xE0) & (letters != 0xE2)).nonzero()
            borders = np.sort(np.concatenate((borders, signs)))
        last = np.ones(len(borders), np.bool_)
        np.not_equal(borders[1:], borders[:-1], out=last[:-1])
        borders = borders[last]
        running = np.empty(len(letters) + 1, np.uint64)
        running[0] = 0
        np.add.accumulate(letters * self._powers[: len(letters)], out=running[1:])
        starts = borders[:-_WORDS]
        hashes: Hashes = running[borders[_WORDS:]] - running[starts]
        hashes *= self._inverse[starts]
        hashes ^= hashes >> _SHIFT
        hashes *= _MIX
        hashes ^= hashes >> _SHIFT
        return hashes


def _folded(text: str) -> bytes:
    """The text in lower case, as bytes: ``text.lower().encode()`` in a third of the time.

    One curly quotation mark makes Python look every letter up, though nearly all are ASCII.
    """
    raw = text.encode("utf-8", "replace")
    beyond = raw.translate(None, _ASCII).decode()
    return raw.lower() if beyond.lower() == beyond else text.lower().encode("utf-8", "replace")


def resemblance(a: bytes, b: bytes) -> float:
    """Estimated Jaccard similarity; one in 256 bytes agrees by chance."""
    same = sum(x == y for x, y in zip(a, b, strict=False)) / _PERMUTATIONS
    return max(0.0, (same - 1 / 256) / (255 / 256))


def _powers(base: int) -> Hashes:
    table = np.full(_MOST, base, np.uint64)
    table[0] = 1
    return np.multiply.accumulate(table)
