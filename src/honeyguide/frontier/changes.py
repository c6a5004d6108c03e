"""What happened since the last flush, until it is an entry of the log."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.codec import Entry
from honeyguide.frontier.rows import MOST, Rows

LONG = 30.0
"""Parking for less than so many seconds is not worth remembering."""


class Changes:
    def __init__(self) -> None:
        self.prints: list[int] = []
        """Of the new rows, in order."""
        self.again: dict[int, int] = {}
        """Row → how often it was seen again; not yet in the rows' inlinks."""
        self.counted: dict[int, int] = {}
        """The same, of a flush that failed: these are in the rows' inlinks."""
        self.raised: dict[int, float] = {}
        self.done: list[int] = []
        self.tried: dict[int, tuple[int, float]] = {}
        """Row → attempts so far, and when to try again."""
        self.parked: dict[int, float] = {}
        """Host → until when."""

    def __bool__(self) -> bool:
        return bool(
            self.prints or self.again or self.counted or self.raised
            or self.done or self.tried or self.parked
        )  # fmt: skip

    def follow(self, failed: Changes) -> None:
        """Take in what a transaction did not keep: it happened before all this."""
        self.prints[:0] = failed.prints
        self.done[:0] = failed.done
        self.raised = failed.raised | self.raised
        self.tried = failed.tried | self.tried
        self.parked = failed.parked | self.parked
        self.counted = _added(failed.counted, failed.again)

    def count(self, rows: Rows) -> None:
        """Add what was seen again to the inlinks."""
        if self.again:
            seen = np.fromiter(self.again.keys(), np.uint32, len(self.again))
            times = np.fromiter(self.again.values(), np.int64, len(self.again))
            rows.inlinks[seen] = np.minimum(rows.inlinks[seen] + times, MOST)

    def entry(self, rows: Rows, new: slice, names: list[str], last: bool) -> Entry:
        """These new rows as an entry; everything else goes into the last one."""
        told = self if last else Changes()
        again, times = _ascending(_added(told.counted, told.again) if told.counted else told.again)
        raised, better = _ascending(told.raised)
        tried = list(told.tried.values())
        start = rows.count - len(self.prints)
        return Entry(
            np.array(self.prints[new.start - start : new.stop - start], np.uint64),
            rows.host[new],
            rows.queued[new],
            rows.depth[new],
            again,
            np.minimum(times, MOST).astype(np.uint16),
            raised,
            better.astype(np.float32),
            np.array(sorted(told.done), np.uint32),
            np.array(list(told.tried), np.uint32),
            np.array([tries for tries, _ in tried], np.uint8),
            np.array([due for _, due in tried], np.float64),
            np.array(list(told.parked), np.uint32),
            np.array(list(told.parked.values()), np.float64),
            names,
        )


def _ascending(table: dict[int, Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    rows = sorted(table)
    return np.array(rows, np.uint32), np.array([table[row] for row in rows])


def _added(one: dict[int, int], two: dict[int, int]) -> dict[int, int]:
    return {row: one.get(row, 0) + two.get(row, 0) for row in one.keys() | two.keys()}
