"""The links themselves, found by row: those not yet written as objects, all others in the log."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier.codec import CHUNK, Chunk, Codec
from honeyguide.protocols import Log
from honeyguide.types import Link
from honeyguide.url import canonical
from honeyguide.url import host as host_name

KEPT = 8192
"""Links kept at hand: some 5 MB."""
CACHED = 512
"""Unpacked chunks kept at hand: some 6 MB."""
_MOST = 1 << 31
"""Links away from a seed, or redirects from a link."""


class Texts:
    def __init__(self, log: Log, codec: Codec) -> None:
        self._log = log
        self._codec = codec
        self._entries = array("Q")
        self._firsts = array("Q")
        """The entries that hold links, and the first row in each."""
        self._chunks: OrderedDict[tuple[int, int], Chunk] = OrderedDict()
        self._open: tuple[int, list[bytes]] = (-1, [])
        """The entry read last: a reader that goes on from there finds it here."""
        self._passed: tuple[tuple[int, int], list[Link]] = ((-1, -1), [])
        """The chunk read last in passing: the next step begins in it."""
        self._kept: dict[int, Link] = {}
        """Links in front: these are ranked again and again, and then popped."""
        self.written = 0
        """How many rows the log holds; those after them are in ``fresh``."""
        self.fresh: list[Link] = []
        self.found = 0
        """How many rows the log held when it was opened; those after them are our own."""

    def wrote(self, entry: int, count: int) -> None:
        """The log's entry of that number holds the next so many links."""
        if count:
            self._entries.append(entry)
            self._firsts.append(self.written)
            self.written += count
            del self.fresh[:count]

    def link(self, row: int) -> Link:
        if (kept := self._kept.get(row)) is not None:
            return kept
        if row >= self.written:
            return self.fresh[row - self.written]
        which = bisect_right(self._firsts, row) - 1
        number, at = divmod(row - self._firsts[which], CHUNK)
        place = self._entries[which], number
        chunk = self._chunks.get(place)
        if chunk is None:
            self._chunks[place] = chunk = self._read(*place)
            if len(self._chunks) > CACHED:
                self._chunks.popitem(last=False)
        else:
            self._chunks.move_to_end(place)
        return self._codec.link(chunk, at)

    def checked(self, row: int, host: str) -> Link:
        """A link that is to be visited. A log may be a stranger's, and lie of address or host."""
        link = self.link(row)
        if row < self.found and not _credible(link, host):
            raise CollectionCorrupt(
                f"the frontier's log holds a link that no page of {host:.100} could have had: "
                f"{link.url!r:.200}"
            )
        return link

    def keep(self, rows: NDArray[np.intp]) -> list[Link]:
        """Some links in ascending rows, which stay at hand; the oldest kept go first."""
        wanted, kept = rows.tolist(), self._kept
        missing = [row for row in wanted if row not in kept]
        if missing:
            kept.update(zip(missing, self.links(np.array(missing, np.intp)), strict=True))
        links = [kept[row] for row in wanted]
        if len(kept) > KEPT:
            # What was wanted last goes to the end, and the older half goes.
            for row, link in zip(wanted, links, strict=True):
                del kept[row]
                kept[row] = link
            for row in list(kept)[: len(kept) - max(KEPT // 2, len(wanted))]:
                del kept[row]
        return links

    def forget(self, row: int) -> None:
        """It does not wait any more."""
        self._kept.pop(row, None)

    def links(self, rows: NDArray[np.intp]) -> list[Link]:
        """Many links in ascending rows, each chunk unpacked once."""
        wanted = rows.tolist()
        cut = bisect_left(wanted, self.written)
        links: list[Link] = []
        at = 0
        while at < cut:
            which = bisect_right(self._firsts, wanted[at]) - 1
            number = (wanted[at] - self._firsts[which]) // CHUNK
            start = self._firsts[which] + number * CHUNK
            beyond = self._firsts[which + 1] if which + 1 < len(self._firsts) else self.written
            stop = bisect_left(wanted, min(start + CHUNK, beyond), at, cut)
            links += self._some((self._entries[which], number), start, wanted[at:stop])
            at = stop
        return links + [self.fresh[row - self.written] for row in wanted[cut:]]

    def _some(self, place: tuple[int, int], start: int, wanted: list[int]) -> list[Link]:
        """Some rows' links of a chunk. What is read in passing does not enter the cache."""
        if self._passed[0] != place:
            chunk = self._chunks.get(place) or self._read(*place)
            if len(wanted) * 8 < CHUNK:
                return [self._codec.link(chunk, row - start) for row in wanted]
            self._passed = place, self._codec.links(chunk)
        links = self._passed[1]
        if wanted[-1] - start >= len(links):
            raise CollectionCorrupt("the frontier's log holds fewer links than it says")
        return [links[row - start] for row in wanted]

    def _read(self, entry: int, number: int) -> Chunk:
        if self._open[0] != entry:
            self._open = entry, self._codec.unpack_text(self._log.text(entry))
        return self._codec.unpack_chunk(self._open[1], number)


def _credible(link: Link, host: str) -> bool:
    return (
        canonical(link.url) == link.url
        and host_name(link.url) == host
        and 0 <= link.depth <= _MOST
        and 0 <= link.hops <= _MOST
        and abs(link.parent) <= 1
    )
