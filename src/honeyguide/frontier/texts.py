"""The links themselves, found by row: those not yet written as objects, all others in the log."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.frontier.codec import CHUNK, Codec
from honeyguide.protocols import Log
from honeyguide.types import Link
from honeyguide.url import canonical
from honeyguide.url import host as host_name

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
        self._chunks: OrderedDict[tuple[int, int], bytes] = OrderedDict()
        self._open: tuple[int, list[bytes]] = (-1, [])
        """The entry read last: a reader that goes on from there finds it here."""
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

    def links(self, rows: NDArray[np.intp]) -> list[Link]:
        """Many links in ascending rows, each chunk unpacked once."""
        cut = int(rows.searchsorted(self.written))
        links: list[Link] = []
        if cut:
            firsts = np.frombuffer(self._firsts, np.uint64).astype(np.intp)
            which = firsts.searchsorted(rows[:cut], side="right") - 1
            number, at = np.divmod(rows[:cut] - firsts[which], CHUNK)
            starts = np.flatnonzero(np.diff(which, prepend=-1) | np.diff(number, prepend=0))
            places = zip(which[starts].tolist(), number[starts].tolist(), strict=True)
            for (entry, chunk), wanted in zip(places, np.split(at, starts[1:]), strict=True):
                links += self._some(self._entries[entry], chunk, wanted.tolist())
        return links + [self.fresh[row - self.written] for row in rows[cut:].tolist()]

    def _some(self, entry: int, number: int, wanted: list[int]) -> list[Link]:
        """Some links of a chunk. What is read in passing does not enter the cache."""
        chunk = self._chunks.get((entry, number)) or self._read(entry, number)
        if len(wanted) * 8 < CHUNK:
            return [self._codec.link(chunk, at) for at in wanted]
        links = self._codec.links(chunk)
        return links if len(links) == len(wanted) else [links[at] for at in wanted]

    def _read(self, entry: int, number: int) -> bytes:
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
