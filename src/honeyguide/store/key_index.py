"""Many 64-bit keys and the visits they stand for, in little memory: sorted runs of numpy arrays.

A key may stand for several visits. The newest keys are in a dictionary; when it is full it
becomes a run, and runs of similar size merge, so that there are never many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_FRESH = 1 << 16
_RATIO = 4

Numbers = NDArray[np.int64]


class _Run(NamedTuple):
    keys: Numbers
    visits: Numbers


class Keys:
    def __init__(self, keys: Numbers, visits: Numbers) -> None:
        self._runs = [_sorted(keys, visits)] if len(keys) else []
        self._fresh: dict[int, list[int]] = {}
        self._count = 0

    def add(self, keys: Sequence[int], visit: int) -> None:
        for key in keys:
            self._fresh.setdefault(key, []).append(visit)
        self._count += len(keys)
        if self._count >= _FRESH:
            self._settle()

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

    def _settle(self) -> None:
        pairs = [(key, visit) for key, visits in self._fresh.items() for visit in visits]
        keys, visits = np.array(pairs, np.int64).T
        self._fresh.clear()
        self._count = 0
        run = _sorted(keys, visits)
        while self._runs and len(self._runs[-1].keys) < _RATIO * len(run.keys):
            older = self._runs.pop()
            run = _sorted(
                np.concatenate((older.keys, run.keys)), np.concatenate((older.visits, run.visits))
            )
        self._runs.append(run)


def _sorted(keys: Numbers, visits: Numbers) -> _Run:
    order = np.lexsort((visits, keys))
    return _Run(keys[order], visits[order])
