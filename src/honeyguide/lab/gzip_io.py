"""gzip in memory and on disk, through isal."""

from __future__ import annotations

import lzma
import zlib
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from isal import igzip, isal_zlib

_GZIP = 31
"""zlib's window number for a gzip head and tail."""

_CHUNK = 1 << 16

_IsalError = cast("type[Exception]", isal_zlib.error)  # its stub calls the class an instance
Unreadable = (OSError, EOFError, zlib.error, lzma.LZMAError, _IsalError)
"""What reading a damaged or missing file raises."""


def pack(body: bytes) -> bytes:
    """gzip, without a time in its head: the same body packs to the same bytes."""
    return isal_zlib.compress(body, 1, _GZIP) if body else b""


def unpack(packed: bytes) -> bytes:
    return isal_zlib.decompress(packed, _GZIP) if packed else b""


def open_packed(path: Path) -> IO[bytes]:
    """A file to read, whether its name says gzip, xz or nothing."""
    if path.suffix == ".gz":
        return cast("IO[bytes]", igzip.open(path, "rb"))  # type: ignore[no-untyped-call]
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def open_members(path: Path) -> IO[bytes]:
    """A gzip file of many members, read as far as it goes: it may still be growing."""
    return BufferedReader(_Members(path.open("rb")), _CHUNK)


class _Members(RawIOBase):
    """Inflates member after member and simply ends where the bytes do.

    The library's own reader loses what stands before the break together with it.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._inflater = isal_zlib.decompressobj(_GZIP)
        self._input = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self._inflater.eof:
                self._input = self._inflater.unused_data
                self._inflater = isal_zlib.decompressobj(_GZIP)
            if not self._input:
                self._input = self._file.read(_CHUNK)
            ended = not self._input
            data = self._inflater.decompress(self._input, len(buffer))
            self._input = self._inflater.unconsumed_tail
            if data or ended:
                buffer[: len(data)] = data
                return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
