"""A frontier's log written anew, whole or in parts: every link with what became of it.

Used when a collection is split into shards, and when shards become one again. Links keep their
order, scores, inlinks and attempts; what is written is as if all of it had just happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

import msgspec
import numpy as np
from numpy.typing import NDArray

from honeyguide.frontier import replay
from honeyguide.frontier.codec import CHUNK, Codec, Entry
from honeyguide.frontier.domain_limits import Sites
from honeyguide.frontier.host_heap import Choice
from honeyguide.frontier.link_texts import Texts
from honeyguide.frontier.log_writer import ENTRY
from honeyguide.frontier.rows import DONE, MOST, Rows
from honeyguide.frontier.seen import Seen
from honeyguide.protocols import Log


class Writer:
    """Appends links to a log that nobody else writes; hosts are numbered as they come."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._codec = Codec()
        self._hosts: dict[str, int] = {}
        self._named = 0
        self._rows = 0
        self._parked: dict[int, float] = {}

    def park(self, host: str, until: float) -> None:
        self._parked[self._host(host)] = until

    def add(self, source: Source, rows: NDArray[np.intp], links: Sequence[msgspec.Raw]) -> None:
        """These rows of another log; at most :data:`ENTRY` at a time."""
        if not (len(rows) or self._parked):
            return
        told = source.rows
        first, at = self._rows, np.arange(len(rows), dtype=np.uint32)
        self._rows += len(rows)
        inlinks, tries = told.inlinks[rows], told.tries[rows]
        raised = told.score[rows] != told.queued[rows]
        due = np.array([source.due.get(row, 0.0) for row in rows.tolist()], np.float64)
        done = told.state[rows] == DONE
        tried = ~done & ((tries > 0) | (due > 0))
        hosts = [self._host(source.names[number]) for number in told.host[rows].tolist()]
        entry = Entry(
            source.prints[rows],
            np.array(hosts, np.uint32),
            told.queued[rows],
            told.depth[rows],
            first + at[inlinks > 1],
            np.minimum(inlinks[inlinks > 1] - 1, MOST).astype(np.uint16),
            first + at[raised],
            told.score[rows][raised],
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

    def _host(self, name: str) -> int:
        return self._hosts.setdefault(name, len(self._hosts))


class Source:
    """A log, read whole."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._codec = Codec()
        self.rows = Rows()
        seen, texts = Seen(), Texts(log, self._codec)
        choice = Choice(self.rows, 0.0, Sites(0, 0, 0))
        self.due = replay.replay(log, self._codec, self.rows, seen, choice, texts)
        self.names = [host.name for host in choice.hosts]
        self.parked = {host.name: host.parked for host in choice.hosts if host.parked}
        self.prints = seen.all(self.rows.count)

    def chunks(self) -> Iterator[tuple[int, list[msgspec.Raw]]]:
        """The first row and the links, still packed, of every chunk."""
        first = 0
        for numbers, indexes in replay.batches(self._log):
            _, counts = self._codec.unpack_indexes(indexes, first)
            for number, count in zip(numbers, counts, strict=True):
                if count:
                    text = self._codec.unpack_text(self._log.text(number))
                    for at in range(len(text)):
                        yield first + at * CHUNK, self._codec.unpack_chunk(text, at)
                first += count


def carry(source: Source, into: Sequence[Writer], place: Callable[[str], int]) -> None:
    """Every link of a log into the one that its host's place says."""
    places = np.array([place(name) for name in source.names] or [0], np.intp)
    for name, until in source.parked.items():
        into[place(name)].park(name, min(until, inf))
    waiting: list[list[tuple[int, msgspec.Raw]]] = [[] for _ in into]
    for first, links in source.chunks():
        where = places[source.rows.host[first : first + len(links)]].tolist()
        for row, (number, link) in enumerate(zip(where, links, strict=True), first):
            waiting[number].append((row, link))
        for number, some in enumerate(waiting):
            while len(some) >= ENTRY:
                _write(into[number], source, some[:ENTRY])
                del some[:ENTRY]
    for number, some in enumerate(waiting):
        _write(into[number], source, some)


def _write(into: Writer, source: Source, some: list[tuple[int, msgspec.Raw]]) -> None:
    into.add(source, np.array([row for row, _ in some], np.intp), [link for _, link in some])
