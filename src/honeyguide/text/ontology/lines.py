"""Lines of an ontology file, plain or gzip'd, one at a time and bounded.

What the system says of a bad file becomes a ConfigError here, once for all formats.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from honeyguide.errors import ConfigError

_CHUNK = 1 << 19
_LONGEST = 1_000_000
_MOST = 8_000_000_000
"""Bytes read at once, in a line, and in a file: a small .gz can unpack to one endless line."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        if path.exists() and not path.is_file():
            # Opening a pipe would wait for somebody at its other end.
            raise ConfigError(f"the ontology {path} is no plain file")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]  # GzipFile reads as any file does
    except FileNotFoundError:
        raise ConfigError(f"the ontology {path} does not exist") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"the ontology {path} cannot be read: {error}") from error


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line with its number from 1, without its end; bytes that are no UTF-8 are replaced."""
    number, size, rest = 1, 0, b""
    with opened(path) as file:
        # Whole chunks are cut at once: a line at a time takes three times as long.
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size == len(chunk):
                chunk = chunk.removeprefix(b"\xef\xbb\xbf")
            if size > _MOST:
                raise damaged(path, number, "the file is too large")
            whole, end, tail = (rest + chunk).rpartition(b"\n")
            if end:
                said = whole.decode("utf-8", "replace").replace("\r", "").split("\n")
                yield from enumerate(said, number)
                number += len(said)
            rest = tail
            if len(rest) > _LONGEST:
                raise damaged(path, number, f"longer than {_LONGEST:,} bytes")
    if rest:
        yield number, rest.decode("utf-8", "replace").replace("\r", "")


def damaged(path: Path, line: int, what: str) -> ConfigError:
    return ConfigError(f"the ontology {path} is damaged in line {line}: {what}")
