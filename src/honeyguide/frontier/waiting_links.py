"""Waiting links in their hosts' queues: entering, moving up and down, coming back."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier.host_heap import Choice
from honeyguide.frontier.order import BulkOrder
from honeyguide.frontier.queue import LIMIT, Host
from honeyguide.frontier.rows import COLD, DEFERRED, HOT, Rows, rank, ranks


class Waiting:
    """Keeps rows, ranks and queues in step. Every change of a score goes through here."""

    def __init__(self, rows: Rows, choice: Choice, order: BulkOrder) -> None:
        self._rows = rows
        self._choice = choice
        self._order = order
        self.deferred: list[tuple[float, int]] = []
        """A heap of the rows that wait for a time, each with its time."""

    def enter(self, first: int, hosts: list[Host]) -> None:
        """New rows from ``first`` on, one for each of these hosts."""
        rows = self._rows
        found = self.set_ranks(np.arange(first, first + len(hosts)))
        for row, (host, value) in enumerate(zip(hosts, found.tolist(), strict=True), first):
            code = value << 32 | row
            if code >= host.floor:
                host.chill(row)
                # At once: a later row of this batch may have the host sort out what is cold.
                rows.state[row] = COLD
                continue
            hot = host.hot
            heappush(hot, code)
            if len(hot) > LIMIT:
                host.ease(rows)
            if hot[0] == code:
                self._choice.place(host)

    def defer(self, row: int, until: float) -> None:
        """A row comes back, but not before that time."""
        self._rows.state[row] = DEFERRED
        heappush(self.deferred, (until, row))

    def recall(self, now: float) -> None:
        """Rows whose time has come join the others of their host."""
        while self.deferred and self.deferred[0][0] <= now:
            row = heappop(self.deferred)[1]
            host = self._host(row)
            if host.add(self._new_code(row), self._rows):
                self._choice.place(host)

    def lift(self, row: int, score: float) -> None:
        """One waiting row gets a better score."""
        self._rows.score[row] = score
        code = self._new_code(row)
        if self._rows.state[row] != DEFERRED:
            self._move(self._host(row), code)

    def rescore(self, some: NDArray[np.intp], scores: NDArray[np.float32]) -> None:
        """New scores for many waiting rows."""
        rows = self._rows
        old = rows.rank[some]
        rows.score[some] = scores
        new = self.set_ranks(some)
        changed = new != old
        some, new = some[changed], new[changed]
        state = rows.state[some]
        # Cold rows that stay behind their host's floor need no move: that is most of them.
        hosts = [self._choice.hosts[number] for number in rows.host[some].tolist()]
        floors = np.array([host.floor >> 32 for host in hosts], np.uint64)
        moves = np.flatnonzero((state == HOT) | ((state == COLD) & (new <= floors)))
        for at, row, value in zip(
            moves.tolist(), some[moves].tolist(), new[moves].tolist(), strict=True
        ):
            self._move(hosts[at], value << 32 | row)

    def set_ranks(self, some: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Ranks from the scores as they are, without touching the queues."""
        rows = self._rows
        found = ranks(self._order.keys(rows.score[some], rows.depth[some]))
        rows.rank[some] = found
        return found

    def _new_code(self, row: int) -> int:
        rows = self._rows
        value = rank(self._order.key(float(rows.score[row]), int(rows.depth[row])))
        rows.rank[row] = value
        return value << 32 | row

    def _move(self, host: Host, code: int) -> None:
        if host.move(code, self._rows):
            self._choice.place(host)

    def _host(self, row: int) -> Host:
        return self._choice.hosts[int(self._rows.host[row])]
