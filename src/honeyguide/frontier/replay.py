"""Read the log of a frontier: open it, look up one address, or copy it.

Copies are written when a collection is split into shards, and when shards are merged. Links keep
their order, scores, inlinks and attempts; the copy looks as if all events had just happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier import rows as columns
from honeyguide.frontier.host_queues import HOT_LIMIT, HostHeap, SiteLimits, hot_share
from honeyguide.frontier.log import ENTRY_LINKS, REOPENED, LinkStore
from honeyguide.frontier.log_codec import CHUNK_LINKS, LogCodec, LogEntry, index_size
from honeyguide.frontier.rows import SeenUrls
from honeyguide.protocols import FrontierLog
from honeyguide.types import Link, Url
from honeyguide.url import url_fingerprint

PlaceArray = NDArray[np.intp]

BATCH_BYTES = 4 << 20
"""Bytes of unpacked indexes in memory at a time."""


def iter_batches(log: FrontierLog) -> Iterator[tuple[list[int], list[bytes]]]:
    """The entries of the log in batches: numbers and indexes."""
    numbers: list[int] = []
    indexes: list[bytes] = []
    held = 0
    for number, index in log.scan_entries():
        if held and held + index_size(index) > BATCH_BYTES:
            yield numbers, indexes
            numbers, indexes, held = [], [], 0
        numbers.append(number)
        indexes.append(index)
        held += index_size(index)
    if numbers:
        yield numbers, indexes


def replay_log(
    log: FrontierLog,
    codec: LogCodec,
    rows: columns.FrontierRows,
    seen: SeenUrls,
    choice: HostHeap,
    texts: LinkStore,
) -> dict[int, float]:
    """Rebuild everything but the queues. Returns when rows are to be tried again."""
    due: dict[int, float] = {}
    prints: list[NDArray[np.uint64]] = []
    for numbers, indexes in iter_batches(log):
        entry, counts = codec.unpack_indexes(indexes, rows.count)
        for number, count in zip(numbers, counts, strict=True):
            texts.mark_written(number, count)
        prints.append(entry.prints)
        for name in entry.names:
            choice.get_host(name)
        rows.extend(entry.hosts, columns.bounded_scores(entry.scores), entry.depths, columns.COLD)
        _check_entry(entry, rows.count, len(choice.hosts))
        again, where = np.unique(entry.again, return_inverse=True)
        times = np.bincount(where, entry.times, len(again))
        rows.inlinks[again] = np.minimum(rows.inlinks[again] + times, columns.MAX_COUNT)
        # Of several values for one row numpy keeps the last: the newest event.
        rows.score[entry.raised] = columns.bounded_scores(entry.better)
        rows.tries[entry.tried] = entry.tries
        before = rows.state[entry.tried[entry.due == REOPENED]] == columns.DONE
        rows.state[entry.done] = columns.DONE
        for row, was_done in zip(_reopened_rows(entry), before.tolist(), strict=True):
            if not _is_done(entry, row, was_done):
                rows.state[row] = columns.COLD
        due.update(zip(entry.tried.tolist(), entry.due.tolist(), strict=True))
        for number, until in zip(entry.parked.tolist(), entry.until.tolist(), strict=True):
            choice.hosts[number].parked = until
    if prints:
        seen.load_rows(np.concatenate(prints))
    texts.found = texts.written
    return due


def _reopened_rows(entry: LogEntry) -> list[int]:
    rows: list[int] = entry.tried[entry.due == REOPENED].tolist()
    return rows


def _is_done(entry: LogEntry, row: int, before: bool) -> bool:
    """Whether a row is finished after these events: more often than it was reopened."""
    return before + int((entry.done == row).sum()) > _reopened_rows(entry).count(row)


def _check_entry(entry: LogEntry, rows: int, hosts: int) -> None:
    for column in (entry.again, entry.raised, entry.done, entry.tried):
        if len(column) and int(column.max()) >= rows:
            raise CollectionCorrupt("the frontier's log refers to a link that it does not contain")
    for column in (entry.hosts, entry.parked):
        if len(column) and int(column.max()) >= hosts:
            raise CollectionCorrupt("the frontier's log refers to a host that it does not contain")


def count_site_links(rows: columns.FrontierRows, choice: HostHeap) -> None:
    """Count the links of each site."""
    counts = np.bincount(rows.host[: rows.count], minlength=len(choice.hosts))
    for host, links in zip(choice.hosts, counts.tolist(), strict=True):
        host.site.rows += links


def delay_asked_hosts(rows: columns.FrontierRows, choice: HostHeap, until: float) -> None:
    """Let hosts rest that were asked before: the process may have been killed a moment ago."""
    asked = (rows.state[: rows.count] == columns.DONE) | (rows.tries[: rows.count] > 0)
    # numpy's unique would load its masked arrays first, which takes as long as twenty pages.
    for number in np.flatnonzero(np.bincount(rows.host[: rows.count][asked])).tolist():
        choice.hosts[number].rests = until


def defer_retries(
    rows: columns.FrontierRows, due: dict[int, float], now: float
) -> list[tuple[float, int]]:
    """Set rows aside that must not be tried yet: a sorted list of times and rows."""
    later = [(at, row) for row, at in due.items() if at > now and rows.state[row] == columns.COLD]
    rows.state[np.array([row for _, row in later], np.uint32)] = columns.DEFERRED
    return sorted(later)


def fill_queues(rows: columns.FrontierRows, choice: HostHeap) -> None:
    """Enter ranked waiting rows into the queues of their hosts, and hosts into their heaps."""
    waiting = np.flatnonzero(rows.state[: rows.count] == columns.COLD)
    if not len(waiting):
        return
    order = waiting[_order_by_rank(rows.rank[waiting])].astype(np.uint32)
    order = order[_sort_places(rows.host[order].astype(np.uint64), np.arange(len(order)))]
    hosts = rows.host[order]
    starts = np.append(0, np.flatnonzero(hosts[1:] != hosts[:-1]) + 1)
    stops = np.append(starts[1:], len(order))
    bounds = zip(starts.tolist(), stops.tolist(), strict=True)
    cuts = [_hot_end(start, stop) for start, stop in bounds]
    best = order[np.arange(len(order)) < np.repeat(cuts, stops - starts)]
    rows.state[best] = columns.HOT
    codes = [r << 32 | row for r, row in zip(rows.rank[best].tolist(), best.tolist(), strict=True)]
    at = 0
    for number, start, cut, stop in zip(
        hosts[starts].tolist(), starts.tolist(), cuts, stops.tolist(), strict=True
    ):
        floor = (
            columns.LAST_CODE if cut == stop else int(rows.rank[order[cut]]) << 32 | int(order[cut])
        )
        host, hot = choice.hosts[number], codes[at : (at := at + cut - start)]
        host.load_queue(hot, order[cut:stop], floor)
        choice.place_host(host)


def _hot_end(start: int, stop: int) -> int:
    """End of the hot rows of a host, whose rows lie between start and stop."""
    count = stop - start
    return stop if count <= HOT_LIMIT else start + min(hot_share(count), count)


def _order_by_rank(ranks: columns.RankArray) -> PlaceArray:
    """The places of ranks in order; equal ones as they stand."""
    rough = np.argsort(ranks)
    ranks = ranks[rough]
    steps = np.zeros(len(ranks), np.uint64)
    np.cumsum(ranks[1:] != ranks[:-1], out=steps[1:])
    return _sort_places(steps, rough)


def _sort_places(numbers: NDArray[np.uint64], places: PlaceArray) -> PlaceArray:
    """Places sorted by their numbers (32 bits), then by themselves; changes both arrays.

    Sorting values is several times faster than argsort, and new memory costs as much as the sort.
    """
    numbers <<= np.uint64(32)
    numbers |= places.view(np.uint64)
    numbers.sort()
    numbers &= np.uint64(columns.ROW_MASK)
    return numbers.view(np.intp)


# --- Looking up one address ---


class LoggedLink(NamedTuple):
    """A link according to the log."""

    link: Link
    queued: float
    """Its score when it was first found."""
    state: Literal["waiting", "done"]
    tries: int
    """Attempts that are to be repeated."""
    inlinks: int


def find_logged_link(log: FrontierLog, url: Url) -> LoggedLink | None:
    """Search the whole log; None if the address was never pushed."""
    codec, wanted = LogCodec(), np.uint64(url_fingerprint(url))
    link, row, first = None, -1, 0
    queued, tries, inlinks, done = 0.0, 0, 0, False
    for numbers, indexes in iter_batches(log):
        entry, counts = codec.unpack_indexes(indexes, first)
        if link is None and len(at := np.flatnonzero(entry.prints == wanted)):
            place = int(at[0])
            stops = np.cumsum(counts)
            which = int(stops.searchsorted(place, side="right"))
            text = codec.unpack_text(log.read_text(numbers[which]))
            number, within = divmod(place - int(stops[which]) + counts[which], CHUNK_LINKS)
            link = codec.unpack_link(codec.unpack_chunk(text, number), within)
            row, queued, inlinks = first + place, float(entry.scores[place]), 1
        if link is not None:
            inlinks += int(entry.times[entry.again == row].sum(dtype=np.int64))
            later = entry.tries[entry.tried == row]
            tries = int(later[-1]) if len(later) else tries
            done = _is_done(entry, row, done)
        first += len(entry.prints)
    if link is None:
        return None
    inlinks = min(inlinks, columns.MAX_COUNT)
    state: Literal["waiting", "done"] = "done" if done else "waiting"
    return LoggedLink(link._replace(inlinks=inlinks), queued, state, tries, inlinks)


# --- Copies ---


class LogCopyWriter:
    """Appends links to a log that nothing else writes; hosts are numbered as they come."""

    def __init__(self, log: FrontierLog) -> None:
        self._log = log
        self._codec = LogCodec()
        self._hosts: dict[str, int] = {}
        self._named = 0
        self._rows = 0
        self._parked: dict[int, float] = {}

    def park_host(self, host: str, until: float) -> None:
        self._parked[self._host_number(host)] = until

    def add_rows(
        self, source: LogCopySource, rows: NDArray[np.intp], links: Sequence[msgspec.Raw]
    ) -> None:
        """Add rows of another log, at most :data:`ENTRY_LINKS` at a time."""
        if not (len(rows) or self._parked):
            return
        source_rows = source.rows
        first, at = self._rows, np.arange(len(rows), dtype=np.uint32)
        self._rows += len(rows)
        inlinks, tries = source_rows.inlinks[rows], source_rows.tries[rows]
        raised = source_rows.score[rows] != source_rows.queued[rows]
        due = np.array([source.due.get(row, 0.0) for row in rows.tolist()], np.float64)
        done = source_rows.state[rows] == columns.DONE
        tried = ~done & ((tries > 0) | (due > 0))
        hosts = [
            self._host_number(source.names[number]) for number in source_rows.host[rows].tolist()
        ]
        entry = LogEntry(
            source.prints[rows],
            np.array(hosts, np.uint32),
            source_rows.queued[rows],
            source_rows.depth[rows],
            first + at[inlinks > 1],
            np.minimum(inlinks[inlinks > 1] - 1, columns.MAX_COUNT).astype(np.uint16),
            first + at[raised],
            source_rows.score[rows][raised],
            first + at[done],
            first + at[tried],
            tries[tried],
            due[tried],
            np.array(list(self._parked), np.uint32),
            np.array(list(self._parked.values()), np.float64),
            list(self._hosts)[self._named :],
        )
        self._named = len(self._hosts)
        self._parked = {}
        self._log.append(self._codec.pack_index(entry), self._codec.pack_text(links))

    def _host_number(self, name: str) -> int:
        return self._hosts.setdefault(name, len(self._hosts))


class LogCopySource:
    """A log that is read as a whole."""

    def __init__(self, log: FrontierLog) -> None:
        self._log = log
        self._codec = LogCodec()
        self.rows = columns.FrontierRows()
        seen, texts = SeenUrls(), LinkStore(log, self._codec)
        choice = HostHeap(self.rows, 0.0, SiteLimits(0, 0, 0))
        self.due = replay_log(log, self._codec, self.rows, seen, choice, texts)
        self.names = [host.name for host in choice.hosts]
        self.parked = {host.name: host.parked for host in choice.hosts if host.parked}
        self.prints = seen.all_prints(self.rows.count)

    def iter_chunks(self) -> Iterator[tuple[int, list[msgspec.Raw]]]:
        """The first row and the packed links of every chunk."""
        first = 0
        for numbers, indexes in iter_batches(self._log):
            _, counts = self._codec.unpack_indexes(indexes, first)
            for number, count in zip(numbers, counts, strict=True):
                if count:
                    text = self._codec.unpack_text(self._log.read_text(number))
                    for at in range(len(text)):
                        yield first + at * CHUNK_LINKS, self._codec.unpack_chunk(text, at)
                first += count


def copy_log(
    source: LogCopySource, into: Sequence[LogCopyWriter], place: Callable[[str], int]
) -> None:
    """Copy every link of a log into the one that ``place`` gives for its host."""
    places = np.array([place(name) for name in source.names] or [0], np.intp)
    for name, until in source.parked.items():
        into[place(name)].park_host(name, min(until, inf))
    waiting: list[list[tuple[int, msgspec.Raw]]] = [[] for _ in into]
    for first, links in source.iter_chunks():
        where = places[source.rows.host[first : first + len(links)]].tolist()
        for row, (number, link) in enumerate(zip(where, links, strict=True), first):
            waiting[number].append((row, link))
        for number, pending in enumerate(waiting):
            while len(pending) >= ENTRY_LINKS:
                _write_rows(into[number], source, pending[:ENTRY_LINKS])
                del pending[:ENTRY_LINKS]
    for number, pending in enumerate(waiting):
        _write_rows(into[number], source, pending)


def _write_rows(
    into: LogCopyWriter, source: LogCopySource, pending: list[tuple[int, msgspec.Raw]]
) -> None:
    into.add_rows(
        source, np.array([row for row, _ in pending], np.intp), [link for _, link in pending]
    )
