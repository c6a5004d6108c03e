"""Watched pages as rows of arrays: a hundred thousand of them take a few megabytes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from honeyguide.types import Url

Floats = NDArray[np.float64]
_NUMBERS = ("rate", "low", "high", "weight", "last", "due", "not_before")


class Rows:
    """What the schedule knows of each page. A page's row is its own until it is dropped."""

    rate: Floats
    low: Floats
    high: Floats
    weight: Floats
    last: Floats
    """When it was last seen; minus infinity: never."""
    due: Floats
    """Infinite unless it stands in the heap."""
    not_before: Floats
    """After a failure."""

    def __init__(self) -> None:
        for name in _NUMBERS:
            setattr(self, name, np.zeros(0))
        self.host = np.zeros(0, np.int32)
        self.here = np.zeros(0, bool)
        self.paused = np.zeros(0, bool)
        self.busy = np.zeros(0, bool)
        self.surcharge = np.ones(0)
        """By host: what its pages must be worth more than others."""
        self.keys: list[Url | None] = []
        self._rows: dict[Url, int] = {}
        self._hosts: dict[str, int] = {}
        self._dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def get(self, key: Url) -> int | None:
        return self._rows.get(key)

    def put(self, key: Url, host: str, last: float | None, paused: bool) -> int:
        """The page's row: a new one, or the one it has."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._new(key)
            self.here[row], self.busy[row], self.due[row] = True, False, math.inf
            self.last[row], self.not_before[row] = -math.inf, -math.inf
            self.host[row] = self._number(host)
        if last is not None and last > self.last[row]:
            self.last[row] = last
        self.paused[row] = paused
        return row

    def drop(self, key: Url) -> None:
        if (row := self._rows.pop(key, None)) is not None:
            self.here[row], self.due[row], self.keys[row] = False, math.inf, None
            self._dropped.append(row)

    def free(self) -> NDArray[np.intp]:
        """Those that may be planned."""
        return np.flatnonzero(self.here & ~self.paused & ~self.busy)

    def _new(self, key: Url) -> int:
        if self._dropped:
            row = self._dropped.pop()
            self.keys[row] = key
            return row
        self.keys.append(key)
        if len(self.keys) > len(self.here):
            more = max(64, len(self.here) // 2)
            for name in (*_NUMBERS, "host", "here", "paused", "busy"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros(more, old.dtype)]))
        return len(self.keys) - 1

    def _number(self, host: str) -> int:
        number = self._hosts.setdefault(host, len(self._hosts))
        if number >= len(self.surcharge):
            more = max(64, len(self.surcharge) // 2)
            self.surcharge = np.concatenate([self.surcharge, np.ones(more)])
        return number
