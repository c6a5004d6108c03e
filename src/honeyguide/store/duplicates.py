"""Detection of exact and near duplicates of texts: digests, MinHash signatures, and an index of
both.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rensa import RMinHash
from xxhash import xxh3_64_intdigest

from honeyguide.errors import CollectionCorrupt
from honeyguide.store.database import Database, to_int64
from honeyguide.types import DuplicateOf, Url

_MAX_FRESH = 1 << 16
_RUN_RATIO = 4

Int64Array = NDArray[np.int64]


class _SortedRun(NamedTuple):
    keys: Int64Array
    visits: Int64Array


class KeyIndex:
    def __init__(self, keys: Int64Array, visits: Int64Array) -> None:
        self._runs = [_sort_run(keys, visits)] if len(keys) else []
        self._fresh: dict[int, list[int]] = {}
        self._count = 0

    def add(self, keys: Sequence[int], visit: int) -> None:
        for key in keys:
            self._fresh.setdefault(key, []).append(visit)
        self._count += len(keys)
        if self._count >= _MAX_FRESH:
            self._merge_fresh()

    def find(self, keys: Sequence[int], most: int) -> set[int]:
        """Visits that have any of these keys; at most so many for one key."""
        found: set[int] = set()
        for key in keys:
            if key in self._fresh:
                found.update(self._fresh[key][:most])
        if not self._runs:
            return found
        wanted = np.array(keys, np.int64)
        for run in self._runs:
            places = run.keys.searchsorted(wanted)
            hits = run.keys.take(places, mode="clip") == wanted
            if hits.any():
                for place in places[hits]:
                    near = run.keys[place : place + most] == run.keys[place]
                    found.update(run.visits[place : place + most][near].tolist())
        return found

    def _merge_fresh(self) -> None:
        pairs = [(key, visit) for key, visits in self._fresh.items() for visit in visits]
        keys, visits = np.array(pairs, np.int64).T
        self._fresh.clear()
        self._count = 0
        run = _sort_run(keys, visits)
        while self._runs and len(self._runs[-1].keys) < _RUN_RATIO * len(run.keys):
            older = self._runs.pop()
            run = _sort_run(
                np.concatenate((older.keys, run.keys)), np.concatenate((older.visits, run.visits))
            )
        self._runs.append(run)


def _sort_run(keys: Int64Array, visits: Int64Array) -> _SortedRun:
    order = np.lexsort((visits, keys))
    return _SortedRun(keys[order], visits[order])


# -- Sketches of texts --
#
# Broder 1997 (shingles, resemblance); the permutations are rensa's. The shingles' hashes are
# made by numpy from one running polynomial over the bytes, because joining words in Python would
# cost more than all the rest.


SKETCH_ALGORITHM = f"rensa {RMinHash.ALGORITHM_VERSION}, 3 words of 16 KiB, 8 x 9 of 128"
"""Signatures made by another algorithm cannot be compared."""

_PERMUTATIONS = 128
SKETCH_BANDS, _BAND_ROWS = 8, 9
"""A pair of resemblance s shares a band with probability 1 - (1 - s^9)^8: .98 at s = .9."""
_SHINGLE_WORDS = 3
_MIN_WORDS = 50
"""Texts of fewer words are too short to resemble: only equal ones count."""
_SKETCHED_BYTES = 1 << 14
"""Bytes that a signature looks at."""
_BLANKS = bytes(range(33))
_ASCII = bytes(range(128))
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_SHIFT = np.uint64(33)
_HASH_BASE = 0x9E3779B97F4A7C15

HashArray = NDArray[np.uint64]


class TextSketch(NamedTuple):
    digest: int
    """64 bits of the text without blanks and case, as SQLite holds them."""
    bands: tuple[int, ...] = ()
    signature: bytes = b""
    """The lowest byte of each permutation's minimum; empty for a short text."""


class TextSketcher:
    """Holds the powers of the polynomial's base."""

    def __init__(self) -> None:
        self._powers = _power_table(_HASH_BASE)
        self._inverse = _power_table(pow(_HASH_BASE, -1, 1 << 64))
        self._places = np.arange(_SKETCHED_BYTES)

    def sketch_text(self, text: str, near: bool = True) -> TextSketch | None:
        """None for a text without a word. Unless ``near``, only equal texts will be found."""
        if not near:
            raw = text.strip().encode("utf-8", "replace")
            return TextSketch(to_int64(xxh3_64_intdigest(raw))) if raw else None
        raw = _lower_bytes(text)
        solid = raw.translate(None, _BLANKS)
        if not solid:
            return None
        digest = to_int64(xxh3_64_intdigest(solid))
        if len(raw) > _SKETCHED_BYTES:
            raw = raw[:_SKETCHED_BYTES]
            solid = raw.translate(None, _BLANKS)
        if len(raw) - len(solid) < _MIN_WORDS - 1 and raw.isascii():
            return TextSketch(digest)  # there are no more words than blanks, and one
        hashes = self._hash_shingles(raw, solid)
        if len(hashes) < _MIN_WORDS - _SHINGLE_WORDS + 1:
            return TextSketch(digest)
        matrix = RMinHash.digest_matrix_from_flat_token_hashes(
            hashes, [0, len(hashes)], _PERMUTATIONS, 1
        )
        minima = array("I", matrix.to_rows()[0]).tobytes()
        step = 4 * _BAND_ROWS
        bands = tuple(
            to_int64(xxh3_64_intdigest(minima[start : start + step], start))
            for start in range(0, step * SKETCH_BANDS, step)
        )
        return TextSketch(digest, bands, minima[::4])

    def _hash_shingles(self, raw: bytes, solid: bytes) -> HashArray:
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
        starts = borders[:-_SHINGLE_WORDS]
        hashes: HashArray = running[borders[_SHINGLE_WORDS:]] - running[starts]
        hashes *= self._inverse[starts]
        hashes ^= hashes >> _SHIFT
        hashes *= _MIX
        hashes ^= hashes >> _SHIFT
        return hashes


def _lower_bytes(text: str) -> bytes:
    """The text in lower case, as bytes: ``text.lower().encode()`` in a third of the time.

    One curly quotation mark makes Python look every letter up, though nearly all are ASCII.
    """
    raw = text.encode("utf-8", "replace")
    beyond = raw.translate(None, _ASCII).decode()
    return raw.lower() if beyond.lower() == beyond else text.lower().encode("utf-8", "replace")


def estimate_resemblance(a: bytes, b: bytes) -> float:
    """Estimated Jaccard similarity; one in 256 bytes agrees by chance."""
    same = sum(x == y for x, y in zip(a, b, strict=False)) / _PERMUTATIONS
    return max(0.0, (same - 1 / 256) / (255 / 256))


def are_alike(a: TextSketch, b: TextSketch) -> bool:
    """Whether one text is a copy of the other."""
    alike = estimate_resemblance(a.signature, b.signature)
    return a.digest == b.digest or alike > _NEAR_THRESHOLD


def _power_table(base: int) -> HashArray:
    table = np.full(_SKETCHED_BYTES, base, np.uint64)
    table[0] = 1
    return np.multiply.accumulate(table)


# -- The index of duplicates --
#
# Only first appearances are remembered: what resembles a copy is compared with its original, so
# that a chain of small changes does not lead from one page to a quite different one.
#
# The database holds the truth, appended in order; the index over it lives in memory and is built
# when first asked. Eight random inserts per page into a B-tree would cost ten times the rest.


_NEAR_THRESHOLD = 0.84
"""Least estimate for a near copy: pairs of .9 pass in 99 of 100 cases, pairs of .7 in none."""
_MAX_COMPARED = 8
"""Most candidates per band: pages made from one template can share one by the thousand."""
_MAX_PENDING = 1024


@dataclass(slots=True)
class _PendingText:
    """A text that was asked about and is not committed yet."""

    sketch: TextSketch
    first: bool
    visit: int = 0


@dataclass
class DuplicateIndex:
    """``find`` before a visit is appended, ``add`` while it is: the text is hashed once."""

    db: Database
    sketcher: TextSketcher
    near: bool = True
    """Whether similar texts are looked for, or only equal ones."""
    _index: KeyIndex | None = None
    _waiting: dict[Url, _PendingText] = field(default_factory=dict)
    """A batch may hold copies of its own pages."""
    _keys: dict[int, Url] = field(default_factory=dict)
    """Digests and bands of the first appearances among them."""

    def drop_old_signatures(self) -> None:
        """Forget signatures of another algorithm; equal texts are still found."""
        with self.db.join_transaction():
            if self.db.get_meta("sketches") != SKETCH_ALGORITHM:
                self.db.execute("UPDATE sketches SET keys = substr(keys, 1, 8)")
                self.db.execute("DELETE FROM signatures")
                self.db.set_meta("sketches", SKETCH_ALGORITHM)

    def find_duplicate(self, url: Url, text: str) -> DuplicateOf | None:
        """Of which page is this text a copy?"""
        self._forget_pending(url)
        sketch = self.sketcher.sketch_text(text, self.near)
        if sketch is None:
            return None
        of, exact = self._find_first(sketch)
        if len(self._waiting) >= _MAX_PENDING:
            self._forget_pending(next(iter(self._waiting)))
        self._waiting[url] = _PendingText(sketch, of is None)
        if of is None:
            for key in (sketch.digest, *sketch.bands):
                self._keys.setdefault(key, url)
        # A page that resembles its own past is no copy, nor does it need remembering again.
        return None if of is None or of == url else DuplicateOf(of, exact)

    def text_digest(self, url: Url, text: str) -> int | None:
        """The text's digest, from ``find`` if it was asked; None for a text without a word."""
        if url not in self._waiting:
            self.find_duplicate(url, text)
        waiting = self._waiting.get(url)
        return None if waiting is None else waiting.sketch.digest

    def add(self, visit: int, url: Url) -> None:
        """The visit with this text is appended; remember the text if it is the first."""
        waiting = self._waiting.get(url)
        if waiting is None:
            return
        if not waiting.first:
            self._forget_pending(url)
            return
        waiting.visit = visit
        sketch = waiting.sketch
        keys = array("q", (sketch.digest, *sketch.bands)).tobytes()
        with self.db.guard:
            execute = self.db.connection.execute
            execute("INSERT INTO sketches VALUES(?, ?)", (visit, keys))
            if sketch.signature:
                execute("INSERT INTO signatures VALUES(?, ?)", (visit, sketch.signature))

    def commit(self) -> None:
        """What was added is on disk: it no longer waits."""
        for url in [url for url, waiting in self._waiting.items() if waiting.visit]:
            waiting = self._forget_pending(url)
            if waiting is not None and self._index is not None:
                sketch = waiting.sketch
                self._index.add((sketch.digest, *sketch.bands), waiting.visit)

    def rollback(self) -> None:
        """What was added is not on disk: it waits again."""
        for waiting in self._waiting.values():
            waiting.visit = 0

    def _forget_pending(self, url: Url) -> _PendingText | None:
        waiting = self._waiting.pop(url, None)
        if waiting is not None and waiting.first:
            for key in (waiting.sketch.digest, *waiting.sketch.bands):
                if self._keys.get(key) == url:
                    del self._keys[key]
        return waiting

    def _find_first(self, sketch: TextSketch) -> tuple[Url | None, bool]:
        """Where this text, or one much like it, appeared first; and whether it is equal."""
        if self._index is None:
            self._index = self._load_index()
        if (url := self._keys.get(sketch.digest)) is not None:
            return url, True
        if equal := self._index.find((sketch.digest,), 1):
            return self._visit_url(min(equal)), True
        if not sketch.bands:
            return None, False
        best, like = _NEAR_THRESHOLD, None
        for band in sketch.bands:
            if (url := self._keys.get(band)) is not None:
                likeness = estimate_resemblance(
                    sketch.signature, self._waiting[url].sketch.signature
                )
                if likeness > best:
                    best, like = likeness, url
        number = 0
        for visit in sorted(self._index.find(sketch.bands, _MAX_COMPARED)):
            row = self.db.fetch_one(
                "SELECT CAST(data AS BLOB) FROM signatures WHERE visit = ?", (visit,)
            )
            likeness = 0.0 if row is None else estimate_resemblance(sketch.signature, row[0])
            if likeness > best:
                best, number = likeness, visit
        return (self._visit_url(number) if number else like), False

    def _visit_url(self, visit: int) -> Url | None:
        url = self.db.fetch_value("SELECT CAST(url AS TEXT) FROM visits WHERE id = ?", (visit,))
        return None if url is None else Url(url)

    def _load_index(self) -> KeyIndex:
        rows = self.db.fetch_all("SELECT visit, CAST(keys AS BLOB) FROM sketches")
        if any(len(row[1]) % 8 for row in rows):
            raise CollectionCorrupt("the table of texts seen before is damaged")
        keys = np.frombuffer(b"".join(row[1] for row in rows), np.int64)
        visits = np.array([row[0] for row in rows], np.int64)
        return KeyIndex(keys, np.repeat(visits, [len(row[1]) // 8 for row in rows]))
