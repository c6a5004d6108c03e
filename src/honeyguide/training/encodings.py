"""What a file of many texts is written in, and its lines.

UTF-8 if every byte fits: text in another encoding never does by accident. Else it is found out as
for a page, from lines that are not ASCII.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from honeyguide.errors import ConfigError
from honeyguide.parse.charset import decode

_BLOCK, _SAMPLE, _AHEAD = 1 << 16, 1 << 16, 1 << 22
"""Bytes: read at once, shown to detection, and looked through for them."""
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def encoding_of(path: Path, language: str = "") -> str:
    """The name of the file's encoding, one that Python can read. It is read once for that."""
    with opened(path) as file:
        block = file.read(_BLOCK)
        for mark, encoding in _MARKS:
            if block.startswith(mark):
                return encoding
        decoder, known = codecs.getincrementaldecoder("utf-8")(), False
        while block:
            try:
                known |= not decoder.decode(block).isascii()
            except UnicodeDecodeError:
                # What was UTF-8 so far is UTF-8 with a fault in it.
                return "utf-8" if known else _detected(_sample(block, file), path, language)
            block = file.read(_BLOCK)
    return "utf-8"


def checked(encoding: str) -> str:
    """One that a user names."""
    try:
        codecs.lookup(encoding)
        "".encode(encoding)  # base64 and its like are codecs as well, but not of texts
    except (LookupError, ValueError) as error:
        raise ConfigError(
            f"--encoding: there is no {encoding!r:.40}; it is such as utf-8 or windows-1254"
        ) from error
    return encoding


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked."""
    make: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with make(path, "rb") as file:
            yield file
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


class TooLong(Exception):
    """A line without an end."""


class Lines:
    """A file's lines, none longer than ``longest``; after one that is, the next ones follow."""

    def __init__(self, file: IO[bytes], encoding: str, longest: int) -> None:
        self._file = io.TextIOWrapper(file, encoding, "replace", newline="")
        self._longest = longest
        self.number = 0
        """Of the line that came last."""
        self.lost = 0
        """Letters that could not be read."""

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._longest)
        if not line:
            raise StopIteration
        self.number += 1
        if self._cut(line):
            while self._cut(self._file.readline(self._longest)):
                pass
            raise TooLong(f"a line is longer than {self._longest} characters")
        self.lost += line.count("\ufffd")
        return line

    def _cut(self, line: str) -> bool:
        return len(line) >= self._longest and not line.endswith(("\n", "\r"))


def _sample(block: bytes, file: IO[bytes]) -> bytes:
    """Lines that are not ASCII, from here on."""
    rest = block + file.read(_AHEAD)
    return b"\n".join(line for line in rest.split(b"\n") if not line.isascii())[:_SAMPLE]


def _detected(sample: bytes, path: Path, language: str) -> str:
    """Turkish is told by name, since its encoding differs from the western one in six letters."""
    host = f"x.{language}" if language == "tr" else ""
    found = decode(sample, "text/plain; charset=utf-8", host)[1]
    try:
        return checked(found)
    except ConfigError as error:
        raise ConfigError(
            f"{path} is not UTF-8 but {found}, it seems, which cannot be read. Save it as UTF-8, "
            "or say what it is with --encoding NAME"
        ) from error
