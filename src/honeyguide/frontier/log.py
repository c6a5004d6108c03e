"""The log of a frontier: pending changes, links by row, and the writer."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier.host_queues import HostLinkQueue
from honeyguide.frontier.log_codec import CHUNK_LINKS, LinkChunk, LogCodec, LogEntry
from honeyguide.frontier.rows import MAX_COUNT, FrontierRows
from honeyguide.protocols import FrontierLog
from honeyguide.types import Link
from honeyguide.url import canonical_url
from honeyguide.url import host_of as host_name

REOPENED = -1.0
"""Instead of the time of a retry: a finished link waits again, as if it had never been tried."""
MIN_LOGGED_PARK_S = 30.0
"""Shorter parking is not written to the log."""


class PendingChanges:
    """Events since the last flush."""

    def __init__(self) -> None:
        self.prints: list[int] = []
        """Fingerprints of the new rows, in order."""
        self.again: dict[int, int] = {}
        """Row → how often it was found again; not in the inlinks of the rows yet."""
        self.counted: dict[int, int] = {}
        """The same from a failed flush; in the inlinks of the rows already."""
        self.raised: dict[int, float] = {}
        self.done: list[int] = []
        self.tried: dict[int, tuple[int, float]] = {}
        """Row → attempts so far, and when to try again."""
        self.parked: dict[int, float] = {}
        """Host → until when."""

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def prepend_failed(self, failed: PendingChanges) -> None:
        """Take back earlier events that a transaction did not keep."""
        self.prints[:0] = failed.prints
        self.done[:0] = failed.done
        self.raised = failed.raised | self.raised
        self.tried = failed.tried | self.tried
        self.parked = failed.parked | self.parked
        self.counted = _sum_counts(failed.counted, failed.again)

    def apply_inlinks(self, rows: FrontierRows) -> None:
        """Add repeated links to the inlinks."""
        if self.again:
            seen = np.fromiter(self.again.keys(), np.uint32, len(self.again))
            times = np.fromiter(self.again.values(), np.int64, len(self.again))
            rows.inlinks[seen] = np.minimum(rows.inlinks[seen] + times, MAX_COUNT)

    def to_entry(self, rows: FrontierRows, new: slice, names: list[str], last: bool) -> LogEntry:
        """These new rows as an entry; all other events go into the last one."""
        changes = self if last else PendingChanges()
        counts = _sum_counts(changes.counted, changes.again) if changes.counted else changes.again
        again, times = _sorted_columns(counts)
        raised, better = _sorted_columns(changes.raised)
        tried = list(changes.tried.values())
        start = rows.count - len(self.prints)
        return LogEntry(
            np.array(self.prints[new.start - start : new.stop - start], np.uint64),
            rows.host[new],
            rows.queued[new],
            rows.depth[new],
            again,
            np.minimum(times, MAX_COUNT).astype(np.uint16),
            raised,
            better.astype(np.float32),
            np.array(sorted(changes.done), np.uint32),
            np.array(list(changes.tried), np.uint32),
            np.array([tries for tries, _ in tried], np.uint8),
            np.array([due for _, due in tried], np.float64),
            np.array(list(changes.parked), np.uint32),
            np.array(list(changes.parked.values()), np.float64),
            names,
        )


def _sorted_columns(table: dict[int, Any]) -> tuple[NDArray[np.uint32], NDArray[Any]]:
    rows = sorted(table)
    return np.array(rows, np.uint32), np.array([table[row] for row in rows])


def _sum_counts(one: dict[int, int], two: dict[int, int]) -> dict[int, int]:
    return {row: one.get(row, 0) + two.get(row, 0) for row in one.keys() | two.keys()}


# --- Links by row ---


KEPT_LINKS = 8192
"""Most links in the cache: some 5 MB."""
CACHED_CHUNKS = 512
"""Most unpacked chunks in the cache: some 6 MB."""
_MAX_DISTANCE = 1 << 31
"""Largest depth, and number of redirects."""


class LinkStore:
    """The links by row: new ones as objects, all others in the log."""

    def __init__(self, log: FrontierLog, codec: LogCodec) -> None:
        self._log = log
        self._codec = codec
        self._entries = array("Q")
        self._firsts = array("Q")
        """Entries that contain links, and the first row of each."""
        self._chunks: OrderedDict[tuple[int, int], LinkChunk] = OrderedDict()
        self._last_entry: tuple[int, list[bytes]] = (-1, [])
        """The entry that was read last."""
        self._last_chunk: tuple[tuple[int, int], list[Link]] = ((-1, -1), [])
        """The chunk that was read last by :meth:`get_links`."""
        self._cached: dict[int, Link] = {}
        """The best waiting links, which are ranked again and again."""
        self.written = 0
        """Rows in the log; later ones are in ``fresh``."""
        self.fresh: list[Link] = []
        self.found = 0
        """Rows in the log when it was opened; later ones are our own."""

    def mark_written(self, entry: int, count: int) -> None:
        """The entry with that number contains the next ``count`` links."""
        if count:
            self._entries.append(entry)
            self._firsts.append(self.written)
            self.written += count
            del self.fresh[:count]

    def get_link(self, row: int) -> Link:
        if (cached := self._cached.get(row)) is not None:
            return cached
        if row >= self.written:
            return self.fresh[row - self.written]
        which = bisect_right(self._firsts, row) - 1
        number, at = divmod(row - self._firsts[which], CHUNK_LINKS)
        place = self._entries[which], number
        chunk = self._chunks.get(place)
        if chunk is None:
            self._chunks[place] = chunk = self._read_chunk(*place)
            if len(self._chunks) > CACHED_CHUNKS:
                self._chunks.popitem(last=False)
        else:
            self._chunks.move_to_end(place)
        return self._codec.unpack_link(chunk, at)

    def get_checked_link(self, row: int, host: str) -> Link:
        """A link to visit. A log may come from a stranger and contain wrong addresses or hosts."""
        link = self.get_link(row)
        if row < self.found and not _is_credible(link, host):
            raise CollectionCorrupt(
                f"the frontier's log holds a link that no page of {host:.100} could have had: "
                f"{link.url!r:.200}"
            )
        return link

    def get_kept_links(self, rows: NDArray[np.intp]) -> list[Link]:
        """Links in ascending rows, which stay in the cache; the oldest are dropped first."""
        wanted, cached = rows.tolist(), self._cached
        missing = [row for row in wanted if row not in cached]
        if missing:
            cached.update(zip(missing, self.get_links(np.array(missing, np.intp)), strict=True))
        links = [cached[row] for row in wanted]
        if len(cached) > KEPT_LINKS:
            # What was wanted last goes to the end, and the older half goes.
            for row, link in zip(wanted, links, strict=True):
                del cached[row]
                cached[row] = link
            for row in list(cached)[: len(cached) - max(KEPT_LINKS // 2, len(wanted))]:
                del cached[row]
        return links

    def forget_row(self, row: int) -> None:
        """The link no longer waits."""
        self._cached.pop(row, None)

    def get_links(self, rows: NDArray[np.intp]) -> list[Link]:
        """Many links in ascending rows, each chunk unpacked once."""
        wanted = rows.tolist()
        cut = bisect_left(wanted, self.written)
        links: list[Link] = []
        at = 0
        while at < cut:
            which = bisect_right(self._firsts, wanted[at]) - 1
            number = (wanted[at] - self._firsts[which]) // CHUNK_LINKS
            start = self._firsts[which] + number * CHUNK_LINKS
            beyond = self._firsts[which + 1] if which + 1 < len(self._firsts) else self.written
            stop = bisect_left(wanted, min(start + CHUNK_LINKS, beyond), at, cut)
            links += self._chunk_links((self._entries[which], number), start, wanted[at:stop])
            at = stop
        return links + [self.fresh[row - self.written] for row in wanted[cut:]]

    def _chunk_links(self, place: tuple[int, int], start: int, wanted: list[int]) -> list[Link]:
        """Links of some rows of a chunk. They do not enter the cache."""
        if self._last_chunk[0] != place:
            chunk = self._chunks.get(place) or self._read_chunk(*place)
            if len(wanted) * 8 < CHUNK_LINKS:
                return [self._codec.unpack_link(chunk, row - start) for row in wanted]
            self._last_chunk = place, self._codec.unpack_links(chunk)
        links = self._last_chunk[1]
        if wanted[-1] - start >= len(links):
            raise CollectionCorrupt("the frontier's log holds fewer links than it says")
        return [links[row - start] for row in wanted]

    def _read_chunk(self, entry: int, number: int) -> LinkChunk:
        if self._last_entry[0] != entry:
            self._last_entry = entry, self._codec.unpack_text(self._log.read_text(entry))
        return self._codec.unpack_chunk(self._last_entry[1], number)


def _is_credible(link: Link, host: str) -> bool:
    return (
        canonical_url(link.url) == link.url
        and host_name(link.url) == host
        and 0 <= link.depth <= _MAX_DISTANCE
        and 0 <= link.hops <= _MAX_DISTANCE
        and abs(link.parent) <= 1
    )


# --- The writer ---


ENTRY_LINKS = 512
"""Most new links in one entry: reading one of them reads the entry."""


class _UnconfirmedFlush(NamedTuple):
    """A flush whose transaction is not confirmed yet."""

    changes: PendingChanges
    entries: list[tuple[int, int]]
    """Number and links of each entry."""
    named: int


@dataclass
class FrontierLogWriter:
    """Writes changes into the log, and keeps them until they are known to stay."""

    log: FrontierLog
    codec: LogCodec
    texts: LinkStore
    rows: FrontierRows
    named: int
    """Hosts whose names are in the log."""
    changes: PendingChanges = field(default_factory=PendingChanges)
    _unconfirmed: _UnconfirmedFlush | None = None

    def flush_changes(self, hosts: list[HostLinkQueue]) -> None:
        """Write everything that is not known to be in the log."""
        self._settle_flush()
        changes, rows, texts = self.changes, self.rows, self.texts
        if not changes:
            return
        names = [host.name for host in hosts[self.named :]]
        entries: list[tuple[int, int]] = []
        first = texts.written
        starts = range(first, max(rows.count, first + 1), ENTRY_LINKS)
        for start in starts:
            new = slice(start, min(start + ENTRY_LINKS, rows.count))
            entry = changes.to_entry(rows, new, names, last=start == starts[-1])
            text = self.codec.pack_text(texts.fresh[new.start - first : new.stop - first])
            number = self.log.append(self.codec.pack_index(entry), text)
            entries.append((number, new.stop - new.start))
            names = []
        self._unconfirmed = _UnconfirmedFlush(changes, entries, self.named)
        self.named = len(hosts)
        changes.apply_inlinks(rows)
        self.changes = PendingChanges()

    def confirm_flush(self) -> None:
        """The transaction is committed."""
        if self._unconfirmed is not None:
            for number, count in self._unconfirmed.entries:
                self.texts.mark_written(number, count)
            self._unconfirmed = None

    def _settle_flush(self) -> None:
        """Without confirmation of the last flush, ask the log whether it contains it."""
        if self._unconfirmed is None:
            return
        if self.log.has_entry(self._unconfirmed.entries[-1][0]):
            self.confirm_flush()
            return
        self.changes.prepend_failed(self._unconfirmed.changes)
        self.named = self._unconfirmed.named
        self._unconfirmed = None
