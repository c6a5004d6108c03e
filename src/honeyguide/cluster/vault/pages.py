"""Which pages of a database are not in the vault yet, and their bytes at one instant.

The write-ahead log says which pages were committed. It is emptied by us alone
(:meth:`~honeyguide.store.database.Database.keep_log`), and only after it was read; if somebody
else emptied it meanwhile, its salts say so, and the whole database is taken.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import randbelow
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

import zstandard

from honeyguide.cluster.vault import wal
from honeyguide.errors import ClusterError, CollectionCorrupt
from honeyguide.store.database import Database
from honeyguide.store.files import open_plain

PART = 32_000_000
"""Bytes of pages in one entry, before they are compressed."""
_RUN = 256
_LONG_AGO = 315_532_800_000_000_000
"""1980: who writes to a file of that date changes the date for certain, whatever the clock."""


class Stamp(NamedTuple):
    """A database file as it was when all of the database was in it."""

    inode: int
    size: int
    changed: int


def stamp(path: Path) -> Stamp:
    """Set the mark that shows whether anything was written to the file since."""
    date = _LONG_AGO + randbelow(10**15)  # a new one, so that others too see that it changed
    os.utime(path, ns=(date, date), follow_symlinks=False)
    return _stamped(path)


def _stamped(path: Path) -> Stamp:
    found = path.lstat()
    return Stamp(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass
class Taken:
    """Pages as they were at one instant between two transactions; on the disk if many."""

    page_size: int
    pages: int
    whole: bool
    numbers: Sequence[int]
    _file: IO[bytes]

    def parts(self, most: int = PART) -> Iterator[tuple[bytes, bool]]:
        """Bodies of entries, and whether it is the last."""
        many = max(1, most // self.page_size)
        self._file.seek(0)
        for at in range(0, max(1, len(self.numbers)), many):
            some = self.numbers[at : at + many]
            raw = struct.pack(f"<{len(some)}I", *some) + self._file.read(len(some) * self.page_size)
            yield zstandard.compress(raw, 1), at + many >= len(self.numbers)

    def close(self) -> None:
        self._file.close()


def unpacked(body: bytes, page_size: int, pages: int) -> Iterator[tuple[int, memoryview]]:
    """Page numbers and pages of a part; raises ValueError if it is none."""
    each = page_size + 4
    try:
        size = zstandard.frame_content_size(body)
        if not 0 <= size <= max(PART, page_size) // page_size * each or size % each:
            raise ValueError(f"it claims {size} bytes")
        raw = memoryview(zstandard.ZstdDecompressor().decompress(body))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    count = size // each
    numbers = struct.unpack_from(f"<{count}I", raw)
    if numbers and not 1 <= min(numbers) <= max(numbers) <= pages:
        raise ValueError("it holds pages that the database has not")
    start = 4 * count
    for place, number in enumerate(numbers):
        yield number, raw[start + place * page_size : start + (place + 1) * page_size]


class Pages:
    """Watches one open database for its owner, who calls between its own transactions."""

    def __init__(self, database: Database, known: Stamp | None) -> None:
        self.database = database
        path = database.path
        self._path = path
        self._log, self._index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
        self._known = known
        """Set while everything that we took lies in the database's own file."""
        self._position: wal.Position | None = None
        self._clean = False
        """Whether all that the log held at that position is in the database's file as well."""
        self._owed: set[int] = set()
        self._all = False
        """Whether the whole is owed."""
        self._last: Taken | None = None
        database.keep_log()

    def take(self, *, whole: bool = False) -> Taken:
        """What is not saved yet. Say :meth:`saved` when it is; otherwise it is taken again."""
        if self.database.in_transaction:
            raise ClusterError("a database is saved between transactions, not within one")
        with self.database.still(), self.database.guard:
            taken = self._last = self._take(whole)
        frames, done = self.database.checkpoint()
        position = self._position
        self._clean = (
            position is not None
            and frames == done == position.frames
            and wal.index(self._index).salts == position.salts
        )
        return taken

    def saved(self, taken: Taken) -> None:
        """It is in the vault. If more was taken meanwhile, that holds all of this as well."""
        if taken is self._last:
            self._owed.clear()
            self._all = False

    def _take(self, whole: bool) -> Taken:
        now = wal.index(self._index)
        self._all = whole = whole or self._all or not self._continues(now)
        same = self._position if self._position and self._position.salts == now.salts else None
        # Where older pages are wanted as well: what is in none of the log's frames is in the file.
        start = None if whole or self._owed else same
        page_size, pages = self._pragma("page_size"), self._pragma("page_count")
        found = wal.read(self._log, page_size, now, start)
        self._owed.update(range(1, pages + 1) if whole else found.offsets)
        numbers = sorted(number for number in self._owed if number <= pages)
        file = SpooledTemporaryFile(max_size=PART, dir=str(self._path.parent))  # noqa: SIM115
        try:
            for piece in self._pieces(numbers, found.offsets, page_size):
                file.write(piece)
        except BaseException:  # whatever it is, the file must not stay open
            file.close()
            raise
        self._position = found.end
        self._known = None if now.frames else stamp(self._path)
        return Taken(page_size, pages, whole, numbers, file)

    def _continues(self, now: wal.Index) -> bool:
        """Whether all that was committed since the last time is in the log now."""
        if self._known:
            return _stamped(self._path) == self._known
        if not (last := self._position):
            return False
        if now.salts == last.salts:
            return now.frames >= last.frames
        return self._clean and now.salts[0] == (last.salts[0] + 1) & 0xFFFFFFFF

    def _pieces(
        self, numbers: Iterable[int], offsets: dict[int, int], page_size: int
    ) -> Iterator[bytes]:
        file = open_plain(self._path, os.O_RDONLY)
        try:
            log = open_plain(self._log, os.O_RDONLY) if offsets else -1
            try:
                for first, many in _runs(numbers, offsets):
                    at = offsets.get(first)
                    size = many * page_size
                    if at is None:
                        piece = os.pread(file, size, (first - 1) * page_size)
                    else:
                        piece = os.pread(log, size, at)
                    if len(piece) != size:
                        raise CollectionCorrupt(f"{self._path} is shorter than it says")
                    yield piece
            finally:
                if log >= 0:
                    os.close(log)
        finally:
            os.close(file)

    def _pragma(self, name: str) -> int:
        row = self.database.one(f"PRAGMA {name}")
        assert row is not None
        return int(row[0])


def _runs(numbers: Iterable[int], alone: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Neighbours that can be read at once: (first, how many)."""
    first, many = 0, 0
    for number in numbers:
        if many and number == first + many and many < _RUN and not alone.keys() & {first, number}:
            many += 1
            continue
        if many:
            yield first, many
        first, many = number, 1
    if many:
        yield first, many
