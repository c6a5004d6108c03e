"""SQLite's write-ahead log, read as a file: which pages were committed since we last looked.

https://www.sqlite.org/fileformat2.html#walformat. Only while nobody writes
(:meth:`~honeyguide.store.database.Database.still`), and never changed by us.
"""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt
from honeyguide.store.files import open_plain

_HEADER = 32
_FRAME = 24
_MAGIC = 0x377F0682
_BATCH = 1 << 22
_32 = 0xFFFFFFFF


class Index(NamedTuple):
    """What SQLite itself holds to be committed: the beginning of the file beside the log."""

    salts: tuple[int, int]
    """They tell one log from the next in the file: the first counts up, the second is random."""
    frames: int


class Position(NamedTuple):
    """How far a log was read."""

    salts: tuple[int, int]
    frames: int
    sums: tuple[int, int]


class Committed(NamedTuple):
    """What was committed after a position, and up to where."""

    end: Position
    offsets: dict[int, int]
    """Page number → where its newest version lies in the file."""
    pages: int
    """Length of the database in pages after the last of these commits; 0: there was none."""


def index(path: Path) -> Index:
    """https://www.sqlite.org/walformat.html#the_wal_index_header, in the machine's byte order."""
    data = _start(path, 48)
    if data is None or struct.unpack_from("=I", data)[0] != 3007000 or not data[12]:
        raise CollectionCorrupt(f"{path} does not say how long SQLite's log is")
    frames = struct.unpack_from("=I", data, 16)[0]
    # The salts are copied from the log byte by byte, and there they are big-endian.
    one, two = struct.unpack_from(">2I", data, 32)
    return Index((one, two), frames)


def read(path: Path, page_size: int, now: Index, start: Position | None) -> Committed:
    """Commits after ``start``, or from the log's beginning."""
    if not now.frames:
        return Committed(Position(now.salts, 0, (0, 0)), {}, 0)
    header = _header(path)
    if header[2] != page_size or header[4:6] != now.salts:
        raise CollectionCorrupt(f"{path} is not the log of the database beside it")
    if start is None or not start.frames:
        start = Position(now.salts, 0, (header[6], header[7]))
    order = ">" if header[0] & 1 else "<"
    fd = open_plain(path, os.O_RDONLY)
    try:
        found = _frames(fd, start, now.frames, page_size, order)
    finally:
        os.close(fd)
    if found.end.frames != now.frames:
        raise CollectionCorrupt(f"{path} is damaged: its frame {found.end.frames + 1} is wrong")
    return found


def _frames(fd: int, start: Position, to: int, page_size: int, order: str) -> Committed:
    size = page_size + _FRAME
    frame, sums = start.frames, start.sums
    offsets: dict[int, int] = {}
    pages, end = 0, start
    while frame < to:
        many = min(max(1, _BATCH // size), to - frame)
        data = os.pread(fd, many * size, _HEADER + frame * size)
        rows = np.frombuffer(data[: len(data) // size * size], np.uint8).reshape(-1, size)
        if not len(rows):
            break
        adds = _sums(np.concatenate([rows[:, :8], rows[:, _FRAME:]], axis=1), order)
        for row, add in zip(rows, adds, strict=True):
            number, length, one, two, *stated = struct.unpack(">6I", row[:_FRAME].tobytes())
            sums = _carried(sums, add, (page_size + 8) // 8)
            if (one, two) != start.salts or tuple(stated) != sums or not number:
                return Committed(end, offsets, pages)
            offsets[number] = _HEADER + frame * size + _FRAME
            frame += 1
            if length:  # a commit
                pages, end = length, Position(start.salts, frame, sums)
    return Committed(end, offsets, pages)


def _header(path: Path) -> tuple[int, ...]:
    data = _start(path, _HEADER)
    if data is not None:
        header = struct.unpack(">8I", data)
        order = ">" if header[0] & 1 else "<"
        words = np.frombuffer(data[:24], np.uint8).reshape(1, -1)
        sums = _carried((0, 0), _sums(words, order)[0], 3)
        if (header[0] & ~1, header[1], *sums) == (_MAGIC, 3007000, *header[6:]):
            return header
    raise CollectionCorrupt(f"{path} is no write-ahead log of SQLite's, or a damaged one")


def _start(path: Path, length: int) -> bytes | None:
    try:
        fd = open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        data = os.pread(fd, length, 0)
    finally:
        os.close(fd)
    return data if len(data) == length else None


# The checksum goes through the words in pairs: s0 += x0 + s1; s1 += x1 + s0 (modulo 2^32). That
# is linear, so a frame's own part is two products with fixed weights, and what came before is
# carried over it by a fixed matrix. Pair by pair in Python it would cost 0.1 ms a frame.


def _sums(rows: NDArray[np.uint8], order: str) -> list[tuple[int, int]]:
    words = np.ascontiguousarray(rows).view(f"{order}u4").astype(np.uint32, copy=False)
    first, second = _weights(words.shape[1])
    return [(int(a), int(b)) for a, b in zip(words @ first, words @ second, strict=True)]


def _carried(sums: tuple[int, int], add: tuple[int, int], pairs: int) -> tuple[int, int]:
    (a, b), (c, d) = _matrix(pairs)
    one, two = sums
    return (a * one + b * two + add[0]) & _32, (c * one + d * two + add[1]) & _32


@lru_cache(maxsize=8)
def _matrix(pairs: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(s0, s1) → (s0 + s1, s0 + 2 s1), so many times."""
    a, b, c, d = 1, 0, 0, 1
    for _ in range(pairs):
        a, b, c, d = (a + c) & _32, (b + d) & _32, (a + 2 * c) & _32, (b + 2 * d) & _32
    return (a, b), (c, d)


@lru_cache(maxsize=8)
def _weights(words: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """How often each word is counted in s0 and in s1 at the end."""
    first, second = np.zeros(words, np.uint32), np.zeros(words, np.uint32)
    a, b, c, d = 1, 0, 0, 1
    for pair in range(words - 2, -1, -2):
        # x0 adds (1, 1) and x1 adds (0, 1) to what is carried from there on.
        first[pair : pair + 2] = (a + b) & _32, b
        second[pair : pair + 2] = (c + d) & _32, d
        a, b, c, d = (a + c) & _32, (b + d) & _32, (a + 2 * c) & _32, (b + 2 * d) & _32
    return first, second
