"""A reranking that goes on, slice by slice, while the ring turns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.rows import Rows
from honeyguide.protocols import Rank

SLICE = 512
"""Most links that are scored in one step."""
WINDOW = 1 << 16
"""Rows that are looked through at once for waiting links."""


class Rerank:
    """One round over all rows, from any row on, so that a successor can go on from there."""

    def __init__(self, rank: Rank, at: int, count: int) -> None:
        self.rank = rank
        self.at = at % count
        self.left = count
        """Rows still to be passed."""
        self._count = count

    def next(self, rows: Rows) -> NDArray[np.intp]:
        """The next waiting rows; none only when the round is over."""
        while self.left:
            stop = min(self.at + min(WINDOW, self.left), self._count)
            some = rows.waiting(self.at, stop)
            if len(some) > SLICE:
                some = some[:SLICE]
                stop = int(some[-1]) + 1
            self.left -= stop - self.at
            self.at = stop % self._count
            if len(some):
                return some
        return np.empty(0, np.intp)
