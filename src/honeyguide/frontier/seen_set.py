"""Every address ever pushed, as 64-bit fingerprints with their rows.

The newest are in a dictionary. When it is full it becomes a sorted run, and runs of similar size
are merged, so that a hundred million fingerprints are in four or five runs of 12 bytes each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PrintArray = NDArray[np.uint64]
RowArray = NDArray[np.uint32]

MAX_NEWEST = 1 << 15
"""Most fingerprints in the dictionary: some 5 MB."""
RUN_GROWTH = 8
"""A run is at least so many times as long as the next younger one."""


class SeenUrls:
    """Fingerprint → row."""

    def __init__(self) -> None:
        self._newest: dict[int, int] = {}
        self._runs: list[tuple[PrintArray, RowArray]] = []

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

    def _add_run(self, keys: PrintArray, numbers: RowArray) -> None:
        order = np.argsort(keys)
        self._runs.append((keys[order], numbers[order]))
        runs = self._runs
        while len(runs) > 1 and len(runs[-2][0]) < RUN_GROWTH * len(runs[-1][0]):
            younger = runs.pop()
            runs[-1] = _merge_runs(runs[-1], younger)


def _merge_runs(
    one: tuple[PrintArray, RowArray], two: tuple[PrintArray, RowArray]
) -> tuple[PrintArray, RowArray]:
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
