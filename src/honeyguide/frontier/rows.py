"""What the frontier stores of each address, in columns: 26 bytes a row.

A *rank* is the key of an order as 64 bits that sort the other way round: the smallest rank goes
first. A *code* is the rank followed by the row, one integer; codes sort by key and, among equal
keys, by arrival.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

RowIndex = NDArray[np.uint32]
RankArray = NDArray[np.uint64]

COLD, HOT, DEFERRED, BUSY, DONE = range(5)
"""States of a row. The first three wait: in the cold part of its host, in its hot part, or for
the time of a retry."""

ROW_MASK = 0xFFFF_FFFF
LAST_CODE = (1 << 96) - 1
"""A code after all others."""
MAX_COUNT = 0xFFFF
"""Largest stored inlinks and depth."""

_SIGN_BIT = np.int64(-(1 << 63))
_FLOAT64 = struct.Struct("<d")
_INT64 = struct.Struct("<q")


def bounded_scores(scores: NDArray[Any]) -> NDArray[np.float32]:
    """Scores as the rows store them, 0..1; NaN is 0."""
    inside: NDArray[np.float32] = np.minimum(np.fmax(scores, 0.0), 1.0).astype(np.float32)
    return inside


def ranks_from_keys(keys: NDArray[np.float64]) -> RankArray:
    bits = (0.0 - keys).view(np.int64)
    return (bits ^ ((bits >> 63) | _SIGN_BIT)).view(np.uint64)


def rank_from_key(key: float) -> int:
    (bits,) = _INT64.unpack(_FLOAT64.pack(0.0 - key))
    return int(~bits & 0xFFFF_FFFF_FFFF_FFFF if bits < 0 else bits | 1 << 63)


def key_from_rank(rank: int) -> float:
    """The key from which :func:`rank_from_key` made the rank."""
    bits = rank & ~(1 << 63) if rank >> 63 else ~rank & 0xFFFF_FFFF_FFFF_FFFF
    (negated,) = _FLOAT64.unpack(bits.to_bytes(8, "little"))
    return 0.0 - float(negated)


class FrontierRows:
    """The columns, grown by doubling. Only the first ``count`` rows are valid."""

    def __init__(self, room: int = 1024) -> None:
        self.count = 0
        self.host = np.zeros(room, np.uint32)
        self.score = np.zeros(room, np.float32)
        self.queued = np.zeros(room, np.float32)
        self.rank = np.zeros(room, np.uint64)
        self.state = np.zeros(room, np.uint8)
        self.tries = np.zeros(room, np.uint8)
        self.inlinks = np.zeros(room, np.uint16)
        self.depth = np.zeros(room, np.uint16)

    def extend(
        self, host: RowIndex, score: NDArray[np.float32], depth: NDArray[np.uint16], state: int
    ) -> slice:
        """Append rows with one inlink each; the caller sets their ranks."""
        start, stop = self.count, self.count + len(host)
        if stop > len(self.host):
            self._grow_columns(max(stop, 2 * len(self.host)))
        new = slice(start, stop)
        self.host[new] = host
        self.score[new] = score
        self.queued[new] = score
        self.depth[new] = depth
        self.state[new] = state
        self.tries[new] = 0
        self.inlinks[new] = 1
        self.count = stop
        return new

    def waiting_rows(self, start: int = 0, stop: int | None = None) -> NDArray[np.intp]:
        """The waiting rows between two rows."""
        stop = self.count if stop is None else min(stop, self.count)
        return np.flatnonzero(self.state[start:stop] < BUSY) + start

    def _grow_columns(self, room: int) -> None:
        for name, old in list(vars(self).items()):
            if isinstance(old, np.ndarray):
                # Room beyond the rows in use is never touched, so it costs no memory yet.
                new = np.empty(room, old.dtype)
                new[: self.count] = old[: self.count]
                setattr(self, name, new)


# --- Every address ever pushed ---
#
# Fingerprints of 64 bits with their rows. The newest are in a dictionary. When it is full it
# becomes a sorted run, and runs of similar size are merged, so that a hundred million fingerprints
# are in four or five runs of 12 bytes each.


PrintArray = NDArray[np.uint64]

MAX_NEWEST = 1 << 15
"""Most fingerprints in the dictionary: some 5 MB."""
RUN_GROWTH = 8
"""A run is at least so many times as long as the next younger one."""


class SeenUrls:
    """Fingerprint → row."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._runs: list[tuple[PrintArray, RowIndex]] = []

    def find_rows(self, prints: Sequence[int]) -> list[int]:
        """The row of each fingerprint, -1 if it is unknown."""
        rows = [self._newest.get(p, -1) for p in prints]
        if not self._runs:
            return rows
        missing = [i for i, row in enumerate(rows) if row < 0]
        if not missing:
            return rows
        wanted = np.array([prints[i] for i in missing], np.uint64)
        for keys, numbers in self._runs:
            at = keys.searchsorted(wanted)
            hits = np.flatnonzero(keys.take(at, mode="clip") == wanted)
            if len(hits):
                found = numbers[at[hits]].tolist()
                for i, row in zip(hits.tolist(), found, strict=True):
                    rows[missing[i]] = row
        return rows

    def add_rows(self, prints: Sequence[int], first: int) -> None:
        """Add new fingerprints with rows from ``first`` on."""
        self._newest.update(zip(prints, range(first, first + len(prints)), strict=True))
        if len(self._newest) >= MAX_NEWEST:
            count = len(self._newest)
            self._add_run(
                np.fromiter(self._newest.keys(), np.uint64, count),
                np.fromiter(self._newest.values(), np.uint32, count),
            )
            self._newest = {}

    def load_rows(self, prints: PrintArray) -> None:
        """Load all fingerprints with rows from 0 on, when a frontier opens."""
        if len(prints):
            order = np.argsort(prints)
            self._runs = [(prints[order], order.astype(np.uint32))]

    def all_prints(self, count: int) -> PrintArray:
        """Every fingerprint, by row."""
        prints = np.zeros(count, np.uint64)
        for keys, numbers in self._runs:
            prints[numbers] = keys
        for mark, row in self._newest.items():
            prints[row] = mark
        return prints

    def _add_run(self, keys: PrintArray, numbers: RowIndex) -> None:
        order = np.argsort(keys)
        self._runs.append((keys[order], numbers[order]))
        runs = self._runs
        while len(runs) > 1 and len(runs[-2][0]) < RUN_GROWTH * len(runs[-1][0]):
            younger = runs.pop()
            runs[-1] = _merge_runs(runs[-1], younger)


def _merge_runs(
    one: tuple[PrintArray, RowIndex], two: tuple[PrintArray, RowIndex]
) -> tuple[PrintArray, RowIndex]:
    """Two sorted runs as one, in linear time."""
    if len(one[0]) < len(two[0]):
        one, two = two, one
    places = one[0].searchsorted(two[0]) + np.arange(len(two[0]))
    from_one = np.ones(len(one[0]) + len(two[0]), bool)
    from_one[places] = False
    keys = np.empty(len(from_one), np.uint64)
    numbers = np.empty(len(from_one), np.uint32)
    keys[places], numbers[places] = two
    keys[from_one], numbers[from_one] = one
    return keys, numbers
