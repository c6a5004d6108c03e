"""Which pages of an SQLite database changed since the last save, read from its write-ahead log.

https://www.sqlite.org/fileformat2.html#walformat. Only while nobody writes
(:meth:`~honeyguide.store.database.Database.block_writers`), and never changed by us.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from secrets import randbelow
from tempfile import SpooledTemporaryFile
from typing import IO, NamedTuple

import numpy as np
import zstandard
from numpy.typing import NDArray

from honeyguide.errors import ClusterError, CollectionCorrupt
from honeyguide.store.collection_files import open_regular
from honeyguide.store.database import Database

_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_MAGIC = 0x377F0682
_MASK_32 = 0xFFFFFFFF


class WalIndex(NamedTuple):
    """What SQLite itself holds to be committed: the beginning of the file beside the log."""

    salts: tuple[int, int]
    """They tell one log from the next in the file: the first counts up, the second is random."""
    frames: int


class WalPosition(NamedTuple):
    """How far a log was read."""

    salts: tuple[int, int]
    frames: int
    sums: tuple[int, int]


class WalCommits(NamedTuple):
    """What was committed after a position, and up to where."""

    end: WalPosition
    offsets: dict[int, int]
    """Page number → where its newest version lies in the file."""
    pages: int
    """Length of the database in pages after the last of these commits; 0: there was none."""


def read_wal_index(path: Path) -> WalIndex:
    """https://www.sqlite.org/walformat.html#the_wal_index_header, in the machine's byte order."""
    data = _read_start(path, 48)
    if data is None or struct.unpack_from("=I", data)[0] != 3007000 or not data[12]:
        raise CollectionCorrupt(f"{path} does not say how long SQLite's log is")
    frames = struct.unpack_from("=I", data, 16)[0]
    # The salts are copied from the log byte by byte, and there they are big-endian.
    one, two = struct.unpack_from(">2I", data, 32)
    return WalIndex((one, two), frames)


def read_wal(path: Path, page_size: int, now: WalIndex, start: WalPosition | None) -> WalCommits:
    """Commits after ``start``, or from the log's beginning."""
    if not now.frames:
        return WalCommits(WalPosition(now.salts, 0, (0, 0)), {}, 0)
    header = _read_header(path)
    if header[2] != page_size or header[4:6] != now.salts:
        raise CollectionCorrupt(f"{path} is not the log of the database beside it")
    if start is None or not start.frames:
        start = WalPosition(now.salts, 0, (header[6], header[7]))
    order = ">" if header[0] & 1 else "<"
    with _open_to_read(path) as fd:
        found = _read_frames(fd, start, now.frames, page_size, order)
    if found.end.frames != now.frames:
        raise CollectionCorrupt(f"{path} is damaged: its frame {found.end.frames + 1} is wrong")
    return found


def _read_frames(fd: int, start: WalPosition, to: int, page_size: int, order: str) -> WalCommits:
    sums, end, pages = start.sums, start, 0
    offsets: dict[int, int] = {}
    for frame in range(start.frames, to):
        at = _HEADER_BYTES + frame * (page_size + _FRAME_HEADER_BYTES)
        data = os.pread(fd, page_size + _FRAME_HEADER_BYTES, at)
        if len(data) < page_size + _FRAME_HEADER_BYTES:
            break
        number, length, one, two, *stated = struct.unpack_from(">6I", data)
        sums = _add_checksum(sums, data[:8] + data[_FRAME_HEADER_BYTES:], order)
        if (one, two) != start.salts or tuple(stated) != sums or not number:
            break
        offsets[number] = at + _FRAME_HEADER_BYTES
        if length:  # a commit
            pages, end = length, WalPosition(start.salts, frame + 1, sums)
    return WalCommits(end, offsets, pages)


def _read_header(path: Path) -> tuple[int, ...]:
    data = _read_start(path, _HEADER_BYTES)
    if data is not None:
        header = struct.unpack(">8I", data)
        order = ">" if header[0] & 1 else "<"
        sums = _add_checksum((0, 0), data[:24], order)
        if (header[0] & ~1, header[1], *sums) == (_MAGIC, 3007000, *header[6:]):
            return header
    raise CollectionCorrupt(f"{path} is not a write-ahead log of SQLite, or is damaged")


def _read_start(path: Path, length: int) -> bytes | None:
    try:
        with _open_to_read(path) as fd:
            data = os.pread(fd, length, 0)
    except FileNotFoundError:
        return None
    return data if len(data) == length else None


@contextmanager
def _open_to_read(path: Path) -> Iterator[int]:
    """A descriptor of a regular file, for os.pread."""
    fd = open_regular(path, os.O_RDONLY)
    try:
        yield fd
    finally:
        os.close(fd)


# The checksum goes through the words in pairs: s0 += x0 + s1; s1 += x1 + s0 (modulo 2^32). So each
# word counts as often as its Fibonacci number from the end says, which numpy sums up at once; pair
# by pair in Python it would cost 0.1 ms a frame.


def _add_checksum(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """The checksum after these bytes, where it was ``sums`` before them."""
    # A pair of words in front of the others brings it from zero to where it was.
    before = np.array([sums[0], (sums[1] - sums[0]) & _MASK_32], np.uint32)
    words = np.concatenate((before, np.frombuffer(data, f"{order}u4").astype(np.uint32)))
    counts = _fibonacci_from_end(len(words) + 1)
    return int(words @ counts[1:]), int(words @ counts[:-1])


@lru_cache(maxsize=8)
def _fibonacci_from_end(count: int) -> NDArray[np.uint32]:
    numbers = [0, 1]
    while len(numbers) < count:
        numbers.append((numbers[-1] + numbers[-2]) & _MASK_32)
    return np.array(numbers[::-1], np.uint32)


# -- Snapshots of changed pages --
#
# The write-ahead log says which pages were committed. It is emptied by us alone
# (:meth:`~honeyguide.store.database.Database.disable_checkpoints`), and only after it was read; if
# somebody else emptied it meanwhile, its salts say so, and the whole database is taken.


PART = 32_000_000
"""Bytes of pages in one entry, before they are compressed."""
_RUN_PAGES = 256
_YEAR_1980_NS = 315_532_800_000_000_000
"""1980: who writes to a file of that date changes the date for certain, whatever the clock."""


class FileStamp(NamedTuple):
    """A database file as it was when all of the database was in it."""

    inode: int
    size: int
    changed: int


def stamp_file(path: Path) -> FileStamp:
    """Set the mark that shows whether anything was written to the file since."""
    date = _YEAR_1980_NS + randbelow(10**15)  # a new one, so that others too see that it changed
    os.utime(path, ns=(date, date), follow_symlinks=False)
    return _read_stamp(path)


def _read_stamp(path: Path) -> FileStamp:
    found = path.lstat()
    return FileStamp(found.st_ino, found.st_size, found.st_mtime_ns)


@dataclass
class DatabaseSnapshot:
    """Pages as they were at one instant between two transactions; on the disk if many."""

    page_size: int
    pages: int
    whole: bool
    numbers: Sequence[int]
    _file: IO[bytes]

    def packed_parts(self) -> Iterator[tuple[bytes, bool]]:
        """Bodies of entries, and whether it is the last."""
        many = max(1, PART // self.page_size)
        self._file.seek(0)
        for at in range(0, max(1, len(self.numbers)), many):
            some = self.numbers[at : at + many]
            raw = struct.pack(f"<{len(some)}I", *some) + self._file.read(len(some) * self.page_size)
            yield zstandard.compress(raw, 1), at + many >= len(self.numbers)

    def close(self) -> None:
        self._file.close()


def unpack_pages(body: bytes, page_size: int, pages: int) -> Iterator[tuple[int, memoryview]]:
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


class DatabaseChanges:
    """Watches one open database for its owner, who calls between its own transactions."""

    def __init__(self, database: Database, known: FileStamp | None) -> None:
        self.database = database
        path = database.path
        self._path = path
        self._log, self._index = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
        self._known = known
        """Set while everything that we took lies in the database's own file."""
        self._position: WalPosition | None = None
        self._clean = False
        """Whether all that the log held at that position is in the database's file as well."""
        self._owed: set[int] = set()
        self._all = False
        """Whether the whole is owed."""
        self._last: DatabaseSnapshot | None = None
        database.disable_checkpoints()

    def take_snapshot(self, *, whole: bool = False) -> DatabaseSnapshot:
        """What is not saved yet. Say :meth:`mark_saved` when it is; otherwise it is taken again."""
        if self.database.in_transaction:
            raise ClusterError("a database is saved between transactions, not within one")
        with self.database.block_writers(), self.database.guard:
            taken = self._last = self._snapshot_pages(whole)
        frames, done = self.database.checkpoint()
        position = self._position
        self._clean = (
            position is not None
            and frames == done == position.frames
            and read_wal_index(self._index).salts == position.salts
        )
        return taken

    def mark_saved(self, taken: DatabaseSnapshot) -> None:
        """It is in the vault. If more was taken meanwhile, that holds all of this as well."""
        if taken is self._last:
            self._owed.clear()
            self._all = False

    def _snapshot_pages(self, whole: bool) -> DatabaseSnapshot:
        now = read_wal_index(self._index)
        self._all = whole = whole or self._all or not self._is_continuous(now)
        same = self._position if self._position and self._position.salts == now.salts else None
        # Where older pages are wanted as well: what is in none of the log's frames is in the file.
        start = None if whole or self._owed else same
        page_size = self.database.fetch_number("PRAGMA page_size")
        pages = self.database.fetch_number("PRAGMA page_count")
        found = read_wal(self._log, page_size, now, start)
        self._owed.update(range(1, pages + 1) if whole else found.offsets)
        numbers = sorted(number for number in self._owed if number <= pages)
        file = SpooledTemporaryFile(max_size=PART, dir=str(self._path.parent))  # noqa: SIM115
        try:
            for piece in self._read_pieces(numbers, found.offsets, page_size):
                file.write(piece)
        except BaseException:  # whatever it is, the file must not stay open
            file.close()
            raise
        self._position = found.end
        self._known = None if now.frames else stamp_file(self._path)
        return DatabaseSnapshot(page_size, pages, whole, numbers, file)

    def _is_continuous(self, now: WalIndex) -> bool:
        """Whether all that was committed since the last time is in the log now."""
        if self._known:
            return _read_stamp(self._path) == self._known
        if not (last := self._position):
            return False
        if now.salts == last.salts:
            return now.frames >= last.frames
        return self._clean and now.salts[0] == (last.salts[0] + 1) & _MASK_32

    def _read_pieces(
        self, numbers: Iterable[int], offsets: dict[int, int], page_size: int
    ) -> Iterator[bytes]:
        with ExitStack() as files:
            file = files.enter_context(_open_to_read(self._path))
            log = files.enter_context(_open_to_read(self._log)) if offsets else -1
            for first, many in _contiguous_runs(numbers, offsets):
                at, size = offsets.get(first), many * page_size
                if at is None:
                    piece = os.pread(file, size, (first - 1) * page_size)
                else:
                    piece = os.pread(log, size, at)
                if len(piece) != size:
                    raise CollectionCorrupt(f"{self._path} is shorter than it says")
                yield piece


def _contiguous_runs(numbers: Iterable[int], alone: dict[int, int]) -> Iterator[tuple[int, int]]:
    """Neighbours that can be read at once: (first, how many)."""
    first, many = 0, 0
    for number in numbers:
        joined = 0 < many < _RUN_PAGES and number == first + many
        if joined and not alone.keys() & {first, number}:
            many += 1
            continue
        if many:
            yield first, many
        first, many = number, 1
    if many:
        yield first, many
