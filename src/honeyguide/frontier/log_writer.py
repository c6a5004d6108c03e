"""Writes what changed into the log, and keeps it until it is known to stay there."""

from __future__ import annotations

from typing import NamedTuple

from honeyguide.frontier.changes import Changes
from honeyguide.frontier.codec import Codec
from honeyguide.frontier.link_texts import Texts
from honeyguide.frontier.queue import Host
from honeyguide.frontier.rows import Rows
from honeyguide.protocols import Log

ENTRY = 512
"""Most new links in one entry of the log: reading one of them back reads the entry."""


class _Sent(NamedTuple):
    """What a transaction that is not confirmed yet should have kept."""

    changes: Changes
    entries: list[tuple[int, int]]
    """Numbers, and how many links each holds."""
    named: int


class Scribe:
    def __init__(self, log: Log, codec: Codec, texts: Texts, rows: Rows, named: int) -> None:
        self.changes = Changes()
        self._log = log
        self._codec = codec
        self._texts = texts
        self._rows = rows
        self._named = named
        """How many hosts' names the log holds."""
        self._sent: _Sent | None = None

    def flush(self, hosts: list[Host]) -> None:
        """Write everything that is not known to be in the log."""
        self._settle()
        changes, rows, texts = self.changes, self._rows, self._texts
        if not changes:
            return
        names = [host.name for host in hosts[self._named :]]
        entries: list[tuple[int, int]] = []
        first = texts.written
        starts = range(first, max(rows.count, first + 1), ENTRY)
        for start in starts:
            new = slice(start, min(start + ENTRY, rows.count))
            entry = changes.entry(rows, new, names, last=start == starts[-1])
            text = self._codec.pack_text(texts.fresh[new.start - first : new.stop - first])
            number = self._log.append(self._codec.pack_index(entry), text)
            entries.append((number, new.stop - new.start))
            names = []
        self._sent = _Sent(changes, entries, self._named)
        self._named = len(hosts)
        changes.count(rows)
        self.changes = Changes()

    def flushed(self) -> None:
        """What was written stays."""
        if self._sent is not None:
            for number, count in self._sent.entries:
                self._texts.wrote(number, count)
            self._sent = None

    def _settle(self) -> None:
        """Nobody confirmed the last flush: ask the log whether it kept it."""
        if self._sent is None:
            return
        if self._log.holds(self._sent.entries[-1][0]):
            self.flushed()
            return
        self.changes.follow(self._sent.changes)
        self._named = self._sent.named
        self._sent = None
