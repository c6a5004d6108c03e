"""Logs of a frontier, as simple as can be: in memory, and in a file that survives it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path


class MemoryFrontierLog:
    def __init__(self) -> None:
        self._entries: list[tuple[bytes, bytes]] = []

    def append(self, index: bytes, text: bytes) -> int:
        self._entries.append((index, text))
        return len(self._entries) - 1

    def read_text(self, entry: int) -> bytes:
        return self._entries[entry][1]

    def has_entry(self, entry: int) -> bool:
        return entry < len(self._entries)

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        for number, (index, _) in enumerate(self._entries):
            yield number, index


class FileLog:
    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def append(self, index: bytes, text: bytes) -> int:
        number = self._path.stat().st_size
        with self._path.open("ab") as file:
            file.write(struct.pack("<II", len(index), len(text)) + index + text)
        return number

    def read_text(self, entry: int) -> bytes:
        return self._entry(entry)[1]

    def has_entry(self, entry: int) -> bool:
        return entry < self._path.stat().st_size

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        at = 0
        while at < self._path.stat().st_size:
            index, text = self._entry(at)
            yield at, index
            at += 8 + len(index) + len(text)

    def _entry(self, at: int) -> tuple[bytes, bytes]:
        with self._path.open("rb") as file:
            file.seek(at)
            first, second = struct.unpack("<II", file.read(8))
            return file.read(first), file.read(second)
