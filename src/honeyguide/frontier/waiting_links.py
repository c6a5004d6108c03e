"""Waiting links in the queues of their hosts: entering, moving, returning, and ranking again."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier import rows as columns
from honeyguide.frontier.host_queues import HOT_LIMIT, HostHeap, HostLinkQueue
from honeyguide.frontier.order import BulkOrder
from honeyguide.protocols import RankFunction
from honeyguide.types import Link


class WaitingLinks:
    """Keeps rows, ranks and queues consistent. All changes of scores go through here."""

    def __init__(self, rows: columns.FrontierRows, choice: HostHeap, order: BulkOrder) -> None:
        self._rows = rows
        self._choice = choice
        self._order = order
        self.deferred: list[tuple[float, int]] = []
        """A heap of rows that wait for a time."""

    def enter_rows(self, first: int, hosts: list[HostLinkQueue]) -> None:
        """Enter new rows from ``first`` on, one for each of these hosts."""
        rows = self._rows
        found = self.set_ranks(np.arange(first, first + len(hosts)))
        for row, (host, value) in enumerate(zip(hosts, found.tolist(), strict=True), first):
            code = value << 32 | row
            if code >= host.floor:
                host.add_cold(row)
                # At once: a later row of this batch may have the host sort out what is cold.
                rows.state[row] = columns.COLD
                continue
            hot = host.hot
            heappush(hot, code)
            if len(hot) > HOT_LIMIT:
                host.shrink_hot(rows)
            if hot[0] == code:
                self._choice.place_host(host)

    def defer_row(self, row: int, until: float) -> None:
        """A row waits again, but not before that time."""
        self._rows.state[row] = columns.DEFERRED
        heappush(self.deferred, (until, row))

    def recall_due(self, now: float) -> None:
        """Return rows whose time has come to the queues of their hosts."""
        while self.deferred and self.deferred[0][0] <= now:
            row = heappop(self.deferred)[1]
            host = self._host_of(row)
            if host.add_link(self._new_code(row), self._rows):
                self._choice.place_host(host)

    def raise_score(self, row: int, score: float) -> None:
        """Set a better score for a waiting row."""
        self._rows.score[row] = score
        code = self._new_code(row)
        if self._rows.state[row] != columns.DEFERRED:
            self._move_link(self._host_of(row), code)

    def rescore_rows(self, chosen: NDArray[np.intp], scores: NDArray[np.float32]) -> None:
        """Set new scores for many waiting rows."""
        rows = self._rows
        old = rows.rank[chosen]
        rows.score[chosen] = scores
        new = self.set_ranks(chosen)
        changed = new != old
        chosen, new = chosen[changed], new[changed]
        state = rows.state[chosen]
        # Cold rows that stay behind their host's floor need no move: that is most of them.
        hosts = [self._choice.hosts[number] for number in rows.host[chosen].tolist()]
        floors = np.array([host.floor >> 32 for host in hosts], np.uint64)
        moves = np.flatnonzero((state == columns.HOT) | ((state == columns.COLD) & (new <= floors)))
        for at, row, value in zip(
            moves.tolist(), chosen[moves].tolist(), new[moves].tolist(), strict=True
        ):
            self._move_link(hosts[at], value << 32 | row)

    def set_ranks(self, chosen: NDArray[np.intp]) -> NDArray[np.uint64]:
        """Set ranks from the present scores, without changing the queues."""
        rows = self._rows
        found = columns.ranks_from_keys(self._order.keys(rows.score[chosen], rows.depth[chosen]))
        rows.rank[chosen] = found
        return found

    def _new_code(self, row: int) -> int:
        rows = self._rows
        value = columns.rank_from_key(
            self._order.sort_key(float(rows.score[row]), int(rows.depth[row]))
        )
        rows.rank[row] = value
        return value << 32 | row

    def _move_link(self, host: HostLinkQueue, code: int) -> None:
        if host.move_link(code, self._rows):
            self._choice.place_host(host)

    def _host_of(self, row: int) -> HostLinkQueue:
        return self._choice.hosts[int(self._rows.host[row])]


# --- Ranking again ---


FRONT_LINKS = 1024
"""Most of the best links that are scored at once when a sweep begins."""
EARNED_PER_TURN = 5
"""How many of these each turn of the crawl loop earns."""
SLICE_LINKS = 64
"""Most links that are scored in one step; smaller slices cost more per link."""
TURNS_PER_STEP = 5
"""Turns of the crawl loop for each step."""
WINDOW_ROWS = 1 << 16
"""Rows that are searched at once where waiting links are rare."""

_NO_ROWS = np.empty(0, np.intp)


class RerankSweep:
    """Ranks all waiting links again, slice by slice, while the crawl goes on.

    A strategy that learns every few pages starts a new ranking long before the last one is
    complete. So the sweep continues where it was with the new ranking, up to the end that it had
    when it began; only then does it start again. Later links were scored recently, and with an end
    that moves with new links the first ones would never get their turn.

    Its cost is bounded by the turns of the crawl loop: every fifth scores a slice, and each turn
    earns a few of the best links, which the next ranking scores at once. So a strategy that learns
    all the time scores some twenty more links for each page.
    """

    def __init__(self) -> None:
        self.rank: RankFunction = _no_ranking
        self._ahead: list[tuple[int, int]] = []
        """Ranges of rows still to be ranked, the next one first."""
        self._end = 0
        """End of this sweep."""
        self._count = 0
        """End of the next sweep."""
        self._earned = FRONT_LINKS
        self._turns = 0

    def __bool__(self) -> bool:
        """Whether it is in progress."""
        return bool(self._ahead)

    def begin_sweep(self, rank: RankFunction, count: int) -> int:
        """Rank so many rows; those that the last ranking did not reach come first.

        Returns how many of the best links may be scored at once.
        """
        at, end = (self._ahead[0][0], self._end) if self._ahead else (0, count)
        self.rank = rank
        self._end, self._count = end, count
        self._ahead = [(at, end), (0, at), (end, count)]
        earned, self._earned = self._earned, 0
        return earned

    def end_sweep(self) -> None:
        """All rows were ranked at once."""
        self._ahead = []

    def next_rows(self, rows: columns.FrontierRows) -> NDArray[np.intp]:
        """Call once each turn of the crawl loop: the next waiting rows, if a step is due."""
        self._turns += 1
        self._earned = min(self._earned + EARNED_PER_TURN, FRONT_LINKS)
        if self._turns % TURNS_PER_STEP:
            return _NO_ROWS
        window = 2 * SLICE_LINKS
        while self._ahead:
            at, stop = self._ahead[0]
            found = rows.waiting_rows(at, min(at + window, stop))
            at = min(at + window, stop)
            if len(found) > SLICE_LINKS:
                found = found[:SLICE_LINKS]
                at = int(found[-1]) + 1
            if at < stop:
                self._ahead[0] = at, stop
            else:
                # Beyond its first stretch a sweep is a new one.
                del self._ahead[0]
                self._end = self._count
            if len(found):
                return found
            window = WINDOW_ROWS
        return _NO_ROWS


def _no_ranking(links: Sequence[Link]) -> list[float]:
    raise AssertionError("nobody has ranked yet", len(links))
