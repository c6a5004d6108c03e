"""A reranking that goes on, slice by slice, while the ring turns.

A strategy that learns every few pages ranks anew long before the last ranking is through. So
the sweep over the rows goes on where it was, with the newer ranking, up to where the rows ended
when it set out; only then does it begin again. Links that came later were scored lately, and an
end that ran away as links come in would never let the first ones have their turn.

What it costs is bounded by the turns of the ring: every fifth scores a slice, and each earns a few
of the links in front, which the next ranking scores at once: as a turn takes one link out, a few
times as many as can leave before the ranking after that. So a strategy that learns all the time
scores some twenty links more for every page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.rows import Rows
from honeyguide.protocols import Rank
from honeyguide.types import Link

AT_ONCE = 1024
"""Most links in front that are scored at once, when a ranking begins."""
EARNED = 5
"""Of these, what one turn of the ring earns."""
SLICE = 64
"""Most links that are scored in one step: any fewer, and they cost more each."""
TURNS = 5
"""A step is taken every so many turns of the ring."""
WINDOW = 1 << 16
"""Rows that are looked through at once where waiting links are rare."""

_NONE = np.empty(0, np.intp)


class Rerank:
    def __init__(self) -> None:
        self.rank: Rank = _nobody
        self._ahead: list[tuple[int, int]] = []
        """Stretches of rows still to be passed, the nearest first."""
        self._end = 0
        """Where this sweep ends."""
        self._count = 0
        """Where the next one will."""
        self._earned = AT_ONCE
        self._turns = 0

    def __bool__(self) -> bool:
        """Whether it is still under way."""
        return bool(self._ahead)

    def begin(self, rank: Rank, count: int) -> int:
        """Have that many rows ranked; what the last ranking did not reach comes first.

        Returns how many links in front may be scored at once.
        """
        at, end = (self._ahead[0][0], self._end) if self._ahead else (0, count)
        self.rank = rank
        self._end, self._count = end, count
        self._ahead = [(at, end), (0, at), (end, count)]
        earned, self._earned = self._earned, 0
        return earned

    def end(self) -> None:
        """All has been done at once."""
        self._ahead = []

    def next(self, rows: Rows) -> NDArray[np.intp]:
        """The ring has turned: the next waiting rows, if it is time for a step."""
        self._turns += 1
        self._earned = min(self._earned + EARNED, AT_ONCE)
        if self._turns % TURNS:
            return _NONE
        window = 2 * SLICE
        while self._ahead:
            at, stop = self._ahead[0]
            some = rows.waiting(at, min(at + window, stop))
            at = min(at + window, stop)
            if len(some) > SLICE:
                some = some[:SLICE]
                at = int(some[-1]) + 1
            if at < stop:
                self._ahead[0] = at, stop
            else:
                # Beyond its first stretch a sweep is a new one.
                del self._ahead[0]
                self._end = self._count
            if len(some):
                return some
            window = WINDOW
        return _NONE


def _nobody(links: Sequence[Link]) -> list[float]:
    raise AssertionError("nobody has ranked yet", len(links))
