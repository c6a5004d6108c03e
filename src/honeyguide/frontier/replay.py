"""Opening: the log's entries, read in order, become rows, seen-set and hosts again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier.codec import Codec, Entry, size
from honeyguide.frontier.host_heap import Choice
from honeyguide.frontier.link_texts import Texts
from honeyguide.frontier.queue import LIMIT, share
from honeyguide.frontier.rows import (
    COLD,
    DEFERRED,
    DONE,
    HOT,
    LAST,
    MOST,
    ROW,
    Ranks,
    Rows,
    bounded,
)
from honeyguide.frontier.seen import Seen
from honeyguide.protocols import Log

Places = NDArray[np.intp]

BATCH = 4 << 20
"""Bytes of unpacked indexes that are held together."""


def batches(log: Log) -> Iterator[tuple[list[int], list[bytes]]]:
    """The log's entries in handfuls: numbers and indexes."""
    numbers: list[int] = []
    indexes: list[bytes] = []
    held = 0
    for number, index in log.scan():
        if held and held + size(index) > BATCH:
            yield numbers, indexes
            numbers, indexes, held = [], [], 0
        numbers.append(number)
        indexes.append(index)
        held += size(index)
    if numbers:
        yield numbers, indexes


def replay(
    log: Log, codec: Codec, rows: Rows, seen: Seen, choice: Choice, texts: Texts
) -> dict[int, float]:
    """Rebuild everything but the queues. Returns when rows are to be tried again."""
    due: dict[int, float] = {}
    prints: list[NDArray[np.uint64]] = []
    for numbers, indexes in batches(log):
        entry, counts = codec.unpack_indexes(indexes, rows.count)
        for number, count in zip(numbers, counts, strict=True):
            texts.wrote(number, count)
        prints.append(entry.prints)
        for name in entry.names:
            choice.host(name)
        rows.extend(entry.hosts, bounded(entry.scores), entry.depths, COLD)
        _check(entry, rows.count, len(choice.hosts))
        again, where = np.unique(entry.again, return_inverse=True)
        times = np.bincount(where, entry.times, len(again))
        rows.inlinks[again] = np.minimum(rows.inlinks[again] + times, MOST)
        # Of several values for one row numpy keeps the last: the newest event.
        rows.score[entry.raised] = bounded(entry.better)
        rows.tries[entry.tried] = entry.tries
        rows.state[entry.done] = DONE
        due.update(zip(entry.tried.tolist(), entry.due.tolist(), strict=True))
        for number, until in zip(entry.parked.tolist(), entry.until.tolist(), strict=True):
            choice.hosts[number].parked = until
    if prints:
        seen.load(np.concatenate(prints))
    texts.found = texts.written
    return due


def _check(entry: Entry, rows: int, hosts: int) -> None:
    for column in (entry.again, entry.raised, entry.done, entry.tried):
        if len(column) and int(column.max()) >= rows:
            raise CollectionCorrupt("the frontier's log speaks of a link that it does not hold")
    for column in (entry.hosts, entry.parked):
        if len(column) and int(column.max()) >= hosts:
            raise CollectionCorrupt("the frontier's log speaks of a host that it does not hold")


def count(rows: Rows, choice: Choice) -> None:
    """How many links every site has."""
    counts = np.bincount(rows.host[: rows.count], minlength=len(choice.hosts))
    for host, links in zip(choice.hosts, counts.tolist(), strict=True):
        host.site.rows += links


def rest(rows: Rows, choice: Choice, until: float) -> None:
    """Hosts that were asked before rest first: we may have been killed a moment ago."""
    asked = (rows.state[: rows.count] == DONE) | (rows.tries[: rows.count] > 0)
    # numpy's unique would load its masked arrays first, which takes as long as twenty pages.
    for number in np.flatnonzero(np.bincount(rows.host[: rows.count][asked])).tolist():
        choice.hosts[number].rests = until


def defer(rows: Rows, due: dict[int, float], now: float) -> list[tuple[float, int]]:
    """Rows that must not be tried yet leave the others: a sorted list of times and rows."""
    later = [(at, row) for row, at in due.items() if at > now and rows.state[row] == COLD]
    rows.state[np.array([row for _, row in later], np.uint32)] = DEFERRED
    return sorted(later)


def fill(rows: Rows, choice: Choice) -> None:
    """Waiting rows, ranked already, enter their hosts' queues, and hosts their heaps."""
    waiting = np.flatnonzero(rows.state[: rows.count] == COLD)
    if not len(waiting):
        return
    order = waiting[_by_rank(rows.rank[waiting])].astype(np.uint32)
    order = order[_places(rows.host[order].astype(np.uint64), np.arange(len(order)))]
    hosts = rows.host[order]
    starts = np.append(0, np.flatnonzero(hosts[1:] != hosts[:-1]) + 1)
    stops = np.append(starts[1:], len(order))
    cuts = [_cut(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    best = order[np.arange(len(order)) < np.repeat(cuts, stops - starts)]
    rows.state[best] = HOT
    codes = [r << 32 | row for r, row in zip(rows.rank[best].tolist(), best.tolist(), strict=True)]
    at = 0
    for number, start, cut, stop in zip(
        hosts[starts].tolist(), starts.tolist(), cuts, stops.tolist(), strict=True
    ):
        floor = LAST if cut == stop else int(rows.rank[order[cut]]) << 32 | int(order[cut])
        choice.hosts[number].fill(codes[at : (at := at + cut - start)], order[cut:stop], floor)
        choice.place(choice.hosts[number])


def _cut(start: int, stop: int) -> int:
    """Where a host's hot rows end, of those from start to stop."""
    count = stop - start
    return stop if count <= LIMIT else start + min(share(count), count)


def _by_rank(ranks: Ranks) -> Places:
    """The places of ranks in order; equal ones as they stand."""
    rough = np.argsort(ranks)
    ranks = ranks[rough]
    steps = np.zeros(len(ranks), np.uint64)
    np.cumsum(ranks[1:] != ranks[:-1], out=steps[1:])
    return _places(steps, rough)


def _places(numbers: NDArray[np.uint64], places: Places) -> Places:
    """Places by their numbers (32 bits), then as they are; both arrays are used up.

    Sorting values is several times as fast as argsort, and new memory costs as much as the sort.
    """
    numbers <<= np.uint64(32)
    numbers |= places.view(np.uint64)
    numbers.sort()
    numbers &= np.uint64(ROW)
    return numbers.view(np.intp)
