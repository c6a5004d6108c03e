"""What happened since the last flush, until it is an entry of the log."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
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

MIN_LOGGED_PARK_S = 30.0
"""Parking for less than so many seconds is not worth remembering."""


class PendingChanges:
    def __init__(self) -> None:
        self.prints: list[int] = []
        """Of the new rows, in order."""
        self.again: dict[int, int] = {}
        """Row → how often it was seen again; not yet in the rows' inlinks."""
        self.counted: dict[int, int] = {}
        """The same, of a flush that failed: these are in the rows' inlinks."""
        self.raised: dict[int, float] = {}
        self.done: list[int] = []
        self.tried: dict[int, tuple[int, float]] = {}
        """Row → attempts so far, and when to try again."""
        self.parked: dict[int, float] = {}
        """Host → until when."""

    def __bool__(self) -> bool:
        return bool(
            self.prints or self.again or self.counted or self.raised
            or self.done or self.tried or self.parked
        )  # fmt: skip

    def prepend_failed(self, failed: PendingChanges) -> None:
        """Take in what a transaction did not keep: it happened before all this."""
        self.prints[:0] = failed.prints
        self.done[:0] = failed.done
        self.raised = failed.raised | self.raised
        self.tried = failed.tried | self.tried
        self.parked = failed.parked | self.parked
        self.counted = _sum_counts(failed.counted, failed.again)

    def apply_inlinks(self, rows: FrontierRows) -> None:
        """Add what was seen again to the inlinks."""
        if self.again:
            seen = np.fromiter(self.again.keys(), np.uint32, len(self.again))
            times = np.fromiter(self.again.values(), np.int64, len(self.again))
            rows.inlinks[seen] = np.minimum(rows.inlinks[seen] + times, MAX_COUNT)

    def to_entry(self, rows: FrontierRows, new: slice, names: list[str], last: bool) -> LogEntry:
        """These new rows as an entry; everything else goes into the last one."""
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


# --------------------------------------------------------------------------------------------------
# The links themselves, found by row: those not yet written as objects, all others in the log.
# --------------------------------------------------------------------------------------------------


KEPT_LINKS = 8192
"""Links kept at hand: some 5 MB."""
CACHED_CHUNKS = 512
"""Unpacked chunks kept at hand: some 6 MB."""
_MAX_DISTANCE = 1 << 31
"""Links away from a seed, or redirects from a link."""


class LinkStore:
    def __init__(self, log: FrontierLog, codec: LogCodec) -> None:
        self._log = log
        self._codec = codec
        self._entries = array("Q")
        self._firsts = array("Q")
        """The entries that hold links, and the first row in each."""
        self._chunks: OrderedDict[tuple[int, int], LinkChunk] = OrderedDict()
        self._last_entry: tuple[int, list[bytes]] = (-1, [])
        """The entry read last: a reader that goes on from there finds it here."""
        self._last_chunk: tuple[tuple[int, int], list[Link]] = ((-1, -1), [])
        """The chunk read last in passing: the next step begins in it."""
        self._cached: dict[int, Link] = {}
        """Links in front: these are ranked again and again, and then popped."""
        self.written = 0
        """How many rows the log holds; those after them are in ``fresh``."""
        self.fresh: list[Link] = []
        self.found = 0
        """How many rows the log held when it was opened; those after them are our own."""

    def mark_written(self, entry: int, count: int) -> None:
        """The log's entry of that number holds the next so many links."""
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
        """A link that is to be visited. A log may be a stranger's, and lie of address or host."""
        link = self.get_link(row)
        if row < self.found and not _is_credible(link, host):
            raise CollectionCorrupt(
                f"the frontier's log holds a link that no page of {host:.100} could have had: "
                f"{link.url!r:.200}"
            )
        return link

    def get_kept_links(self, rows: NDArray[np.intp]) -> list[Link]:
        """Some links in ascending rows, which stay at hand; the oldest kept go first."""
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
        """It does not wait any more."""
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
        """Some rows' links of a chunk. What is read in passing does not enter the cache."""
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


# --------------------------------------------------------------------------------------------------
# Writes what changed into the log, and keeps it until it is known to stay there.
# --------------------------------------------------------------------------------------------------


ENTRY_LINKS = 512
"""Most new links in one entry of the log: reading one of them back reads the entry."""


class _UnconfirmedFlush(NamedTuple):
    """What a transaction that is not confirmed yet should have kept."""

    changes: PendingChanges
    entries: list[tuple[int, int]]
    """Numbers, and how many links each holds."""
    named: int


class FrontierLogWriter:
    def __init__(
        self, log: FrontierLog, codec: LogCodec, texts: LinkStore, rows: FrontierRows, named: int
    ) -> None:
        self.changes = PendingChanges()
        self._log = log
        self._codec = codec
        self._texts = texts
        self._rows = rows
        self._named = named
        """How many hosts' names the log holds."""
        self._unconfirmed: _UnconfirmedFlush | None = None

    def flush_changes(self, hosts: list[HostLinkQueue]) -> None:
        """Write everything that is not known to be in the log."""
        self._settle_flush()
        changes, rows, texts = self.changes, self._rows, self._texts
        if not changes:
            return
        names = [host.name for host in hosts[self._named :]]
        entries: list[tuple[int, int]] = []
        first = texts.written
        starts = range(first, max(rows.count, first + 1), ENTRY_LINKS)
        for start in starts:
            new = slice(start, min(start + ENTRY_LINKS, rows.count))
            entry = changes.to_entry(rows, new, names, last=start == starts[-1])
            text = self._codec.pack_text(texts.fresh[new.start - first : new.stop - first])
            number = self._log.append(self._codec.pack_index(entry), text)
            entries.append((number, new.stop - new.start))
            names = []
        self._unconfirmed = _UnconfirmedFlush(changes, entries, self._named)
        self._named = len(hosts)
        changes.apply_inlinks(rows)
        self.changes = PendingChanges()

    def confirm_flush(self) -> None:
        """What was written stays."""
        if self._unconfirmed is not None:
            for number, count in self._unconfirmed.entries:
                self._texts.mark_written(number, count)
            self._unconfirmed = None

    def _settle_flush(self) -> None:
        """Nobody confirmed the last flush: ask the log whether it kept it."""
        if self._unconfirmed is None:
            return
        if self._log.has_entry(self._unconfirmed.entries[-1][0]):
            self.confirm_flush()
            return
        self.changes.prepend_failed(self._unconfirmed.changes)
        self._named = self._unconfirmed.named
        self._unconfirmed = None
