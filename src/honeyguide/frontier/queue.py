"""One host's waiting links, strictly best first.

The best few are *hot*, a heap of codes; all others are *cold*, a plain array of rows whose
order is looked at only when the hot part runs out. Every hot code is smaller than ``floor`` and
every cold one is not, so the best link is always in the hot part.
"""

from __future__ import annotations

from array import array
from heapq import heappop, heappush
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.domain_limits import Site
from honeyguide.frontier.rows import COLD, HOT, LAST, ROW, Index, Rows

FEW = 8
"""A hot part that gives away keeps at least so many. A hot link takes 60 bytes and a cold one 4,
and most hosts have few links: what is hot for no good reason is most of a small frontier."""
LIMIT = 2 * FEW
"""A hot part of this size gives nothing away."""


def share(count: int) -> int:
    """How many of so many links should be hot: refilling them then costs little per link."""
    return max(FEW, 2 * isqrt(count))


class Host:
    """A host: its queue, and whether it may be asked."""

    __slots__ = (
        "busy", "cold", "floor", "hot", "listed", "name", "number", "parked", "rests", "site",
        "stale",
    )  # fmt: skip

    def __init__(self, number: int, name: str, site: Site) -> None:
        self.number = number
        self.name = name
        self.site = site
        self.hot: list[int] = []
        self.cold: array[int] | None = None
        self.floor = LAST
        self.stale = 0
        """Rows in the cold part that have left it since it was last tidied."""
        self.busy = False
        self.rests = 0.0
        self.parked = 0.0
        self.listed = 0.0
        """The time under which the heap of resting hosts knows it; 0: not at all."""

    @property
    def free_at(self) -> float:
        return self.rests if self.rests > self.parked else self.parked

    def add(self, code: int, rows: Rows) -> bool:
        """A link that is in neither part enters one. Whether it leads now."""
        row = code & ROW
        if code >= self.floor:
            self.chill(row)
            rows.state[row] = COLD
            return False
        rows.state[row] = HOT
        heappush(self.hot, code)
        if len(self.hot) > LIMIT:
            self.ease(rows)
        return self.hot[0] == code

    def ease(self, rows: Rows) -> None:
        """A hot part beyond the limit gives its worse half away, unless it has a right to more."""
        if len(self.hot) > 2 * self._share():
            self._spill(rows)

    def chill(self, row: int) -> None:
        """A link behind the floor enters the cold part; its state becomes COLD elsewhere."""
        if self.cold is None:
            self.cold = array("I")
        self.cold.append(row)

    def move(self, code: int, rows: Rows) -> bool:
        """A waiting link whose rank has changed takes its new place. Whether it leads now."""
        row = code & ROW
        if rows.state[row] == COLD:
            if code >= self.floor:
                return False
            self.stale += 1
        # If it was hot, its former code stays behind and is dropped when it surfaces.
        return self.add(code, rows)

    def top(self, rows: Rows) -> int | None:
        """The code of the best link, or None if none waits here."""
        hot = self.hot
        while True:
            while hot:
                code = hot[0]
                if self._holds(code, rows):
                    return code
                heappop(hot)
            if not self.cold:
                return None
            self._refill(rows)

    def fill(self, codes: list[int], cold: Index, floor: int) -> None:
        """Everything that waits, when a frontier opens: sorted hot codes, then cold rows."""
        self.hot = codes
        self.floor = floor
        if len(cold):
            self.cold = array("I", cold.tobytes())

    def _share(self) -> int:
        return share(len(self.cold)) if self.cold else FEW

    def _holds(self, code: int, rows: Rows) -> bool:
        row = code & ROW
        return bool(rows.state[row] == HOT and rows.rank[row] == code >> 32)

    def _spill(self, rows: Rows) -> None:
        """The worse part of an overfull heap becomes cold."""
        codes = sorted({code for code in self.hot if self._holds(code, rows)})
        keep = self._share()
        self.hot[:] = codes[:keep]
        if len(codes) > keep:
            self.floor = codes[keep]
            spilled = np.array([code & ROW for code in codes[keep:]], np.uint32)
            rows.state[spilled] = COLD
            self.cold = self.cold or array("I")
            self.cold.frombytes(spilled.tobytes())
        if self.cold and self.stale > FEW + len(self.cold) // 2:
            self.cold = array("I", self._cold_rows(rows).tobytes())

    def _cold_rows(self, rows: Rows) -> Index:
        """The cold part without what has left it."""
        assert self.cold is not None
        held: NDArray[np.uint32] = np.frombuffer(self.cold, np.uint32)
        if self.stale:
            held = np.unique(held[rows.state[held] == COLD])
            self.stale = 0
        return held

    def _refill(self, rows: Rows) -> None:
        """The best of the cold part become hot."""
        held = self._cold_rows(rows)
        ranks = rows.rank[held]
        keep = share(len(held))
        if len(held) <= 2 * keep:
            best = np.ones(len(held), bool)
        else:
            bar = np.partition(ranks, keep - 1)[keep - 1]
            best = ranks < bar
            ties = held[ranks == bar]
            room = keep - int(best.sum())
            best |= (ranks == bar) & (held <= np.partition(ties, room - 1)[room - 1])
        rows.state[held[best]] = HOT
        pairs = zip(ranks[best].tolist(), held[best].tolist(), strict=True)
        self.hot[:] = sorted([rank << 32 | row for rank, row in pairs])
        rest, worse = held[~best], ranks[~best]
        if len(rest):
            lowest = worse.min()
            self.floor = int(lowest) << 32 | int(rest[worse == lowest].min())
            self.cold = array("I", rest.tobytes())
        else:
            self.floor, self.cold = LAST, None
