"""What a frontier's log knows of one address, read from another process."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from honeyguide.frontier.codec import CHUNK, Codec, Entry
from honeyguide.frontier.replay import batches
from honeyguide.frontier.rows import MOST
from honeyguide.protocols import Log
from honeyguide.types import Link, Url
from honeyguide.url import fingerprint


class Found(NamedTuple):
    """A link as the log tells it."""

    link: Link
    queued: float
    """Its score when it was first seen."""
    state: Literal["waiting", "done"]
    tries: int
    """Attempts that are to be repeated."""
    inlinks: int


def find(log: Log, url: Url) -> Found | None:
    """Look through the whole log; None if the address was never pushed."""
    codec, wanted = Codec(), np.uint64(fingerprint(url))
    link, row, first = None, -1, 0
    queued, tries, inlinks, done = 0.0, 0, 0, False
    for numbers, indexes in batches(log):
        entry, counts = codec.unpack_indexes(indexes, first)
        if link is None and len(at := np.flatnonzero(entry.prints == wanted)):
            place = int(at[0])
            stops = np.cumsum(counts)
            which = int(stops.searchsorted(place, side="right"))
            text = codec.unpack_text(log.text(numbers[which]))
            number, within = divmod(place - int(stops[which]) + counts[which], CHUNK)
            link = codec.link(codec.unpack_chunk(text, number), within)
            row, queued, inlinks = first + place, float(entry.scores[place]), 1
        if link is not None:
            inlinks += int(entry.times[entry.again == row].sum(dtype=np.int64))
            tries = _last_tries(entry, row, tries)
            done = done or bool((entry.done == row).any())
        first += len(entry.prints)
    if link is None:
        return None
    inlinks = min(inlinks, MOST)
    state: Literal["waiting", "done"] = "done" if done else "waiting"
    return Found(link._replace(inlinks=inlinks), queued, state, tries, inlinks)


def _last_tries(entry: Entry, row: int, before: int) -> int:
    told = entry.tries[entry.tried == row]
    return int(told[-1]) if len(told) else before
