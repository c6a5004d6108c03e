"""A log in memory, for the lab: a frontier that is forgotten when it ends."""

from __future__ import annotations

from collections.abc import Iterator


class MemoryLog:
    def __init__(self) -> None:
        self._entries: list[tuple[bytes, bytes]] = []

    def append(self, index: bytes, text: bytes) -> int:
        self._entries.append((index, text))
        return len(self._entries) - 1

    def text(self, entry: int) -> bytes:
        return self._entries[entry][1]

    def holds(self, entry: int) -> bool:
        return entry < len(self._entries)

    def scan(self) -> Iterator[tuple[int, bytes]]:
        for number, (index, _) in enumerate(self._entries):
            yield number, index
