"""The binary form of an entry of the log.

The *index* contains what a frontier needs to open, in columns: fingerprints uncompressed, since
they do not compress, the rest compressed. The *text* contains the new links in chunks of 64, so
that reading one link unpacks its chunk only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from honeyguide.errors import CollectionCorrupt, CollectionTooNew
from honeyguide.types import Link

CHUNK_LINKS = 64
"""Links in one chunk of a text; part of the format."""

MAX_UNPACKED_BYTES = 64_000_000
"""Largest unpacked index or chunk: a small frame can unpack to a huge one."""

_FORMAT_VERSION = 1
_INDEX_HEAD = struct.Struct("<B7I")
_INDEX_COLUMNS = (
    # (name, type, group): columns of one group are equally long
    ("prints", "<u8", 0), ("hosts", "<u4", 0), ("scores", "<f4", 0), ("depths", "<u2", 0),
    ("again", "<u4", 1), ("times", "<u2", 1),
    ("raised", "<u4", 2), ("better", "<f4", 2),
    ("done", "<u4", 3),
    ("tried", "<u4", 4), ("tries", "u1", 4), ("due", "<f8", 4),
    ("parked", "<u4", 5), ("until", "<f8", 5),
)  # fmt: skip
_COLUMN_WIDTHS = tuple(
    (int(np.dtype(kind).itemsize), group) for _, kind, group in _INDEX_COLUMNS[1:]
)
_ASCENDING_COLUMNS = {"again", "raised", "done"}
"""Columns of ascending rows, stored as differences."""

_encode_msgpack = msgspec.msgpack.Encoder().encode
_decode_link = msgspec.msgpack.Decoder(Link).decode
_decode_chunks = msgspec.msgpack.Decoder(list[bytes]).decode
_decode_raws = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode
_decode_names = msgspec.msgpack.Decoder(list[str]).decode


LinkChunk = list[msgspec.Raw]
"""Packed links side by side: one can be read without the others."""


class LogEntry(NamedTuple):
    """The events of one entry, or of several in a row."""

    prints: NDArray[np.uint64]
    hosts: NDArray[np.uint32]
    scores: NDArray[np.float32]
    depths: NDArray[np.uint16]
    again: NDArray[np.uint32]
    """Rows that were found again, ascending."""
    times: NDArray[np.uint16]
    raised: NDArray[np.uint32]
    """Rows with a better score, ascending."""
    better: NDArray[np.float32]
    done: NDArray[np.uint32]
    tried: NDArray[np.uint32]
    """Rows to be tried again."""
    tries: NDArray[np.uint8]
    due: NDArray[np.float64]
    parked: NDArray[np.uint32]
    """Hosts that are parked."""
    until: NDArray[np.float64]
    names: list[str]
    """New hosts in the order of their numbers."""


class LogCodec:
    """Packs and unpacks entries; contains the working memory of the compressor, so each frontier
    has its own."""

    def __init__(self) -> None:
        self._squeeze = zstandard.ZstdCompressor(level=1).compress
        self._restore = zstandard.ZstdDecompressor().decompress

    def pack_index(self, entry: LogEntry) -> bytes:
        names = _encode_msgpack(entry.names)
        parts = []
        for name, kind, _ in _INDEX_COLUMNS[1:]:
            column = np.asarray(getattr(entry, name), kind)
            if name in _ASCENDING_COLUMNS and len(column):
                column = np.diff(column, prepend=column.dtype.type(0))
            parts.append(column.tobytes())
        head = _INDEX_HEAD.pack(
            _FORMAT_VERSION, len(entry.prints), len(entry.again), len(entry.raised),
            len(entry.done), len(entry.tried), len(entry.parked), len(names),
        )  # fmt: skip
        rest = self._squeeze(b"".join([*parts, names]))
        return b"".join((head, entry.prints.astype("<u8").tobytes(), rest))

    def unpack_indexes(self, indexes: Sequence[bytes], rows: int = 0) -> tuple[LogEntry, list[int]]:
        """Several entries as one, and the number of new links of each.

        ``rows``: links in the entries before them; no entry mentions more.
        """
        parts: list[list[bytes]] = [[] for _ in _INDEX_COLUMNS]
        counts: list[list[int]] = []
        names: list[str] = []
        with _translate_damage():
            for index in indexes:
                version, *count, named = _INDEX_HEAD.unpack_from(index)
                if version != _FORMAT_VERSION:
                    raise CollectionTooNew(
                        "the frontier was written by a newer Honeyguide; "
                        "upgrade with: pip install -U honeyguide"
                    )
                start = _INDEX_HEAD.size + 8 * count[0]
                parts[0].append(index[_INDEX_HEAD.size : start])
                rows += count[0]
                if max(count[1:5]) > rows:
                    raise CollectionCorrupt("an entry of the frontier's log claims too much")
                rest = self._unpack_frame(index[start:], index_size(index) - 8 * count[0])
                at = 0
                for part, (width, group) in zip(parts[1:], _COLUMN_WIDTHS, strict=True):
                    if count[group]:
                        part.append(rest[at : (at := at + width * count[group])])
                if named > 1:
                    names += _decode_names(rest[at:])
                counts.append(count)
            columns: list[NDArray[Any]] = [
                np.frombuffer(b"".join(part), kind)
                for part, (_, kind, _) in zip(parts, _INDEX_COLUMNS, strict=True)
            ]
        for at, (name, _, group) in enumerate(_INDEX_COLUMNS):
            if name in _ASCENDING_COLUMNS and len(columns[at]):
                columns[at] = _undo_differences(columns[at], [count[group] for count in counts])
        return LogEntry._make([*columns, names]), [count[0] for count in counts]

    def pack_text(self, links: Sequence[Link] | Sequence[msgspec.Raw]) -> bytes:
        """The links in chunks; packed links stay as they are."""
        chunks = [links[at : at + CHUNK_LINKS] for at in range(0, len(links), CHUNK_LINKS)]
        packed = [self._squeeze(_pack_links(chunk)) for chunk in chunks]
        return _encode_msgpack(packed) if packed else b""

    def unpack_text(self, text: bytes) -> list[bytes]:
        """The chunks of a text, still compressed."""
        with _translate_damage():
            return _decode_chunks(text)

    def unpack_chunk(self, chunks: list[bytes], number: int) -> LinkChunk:
        """A chunk as :meth:`unpack_link` and :meth:`unpack_links` read it."""
        with _translate_damage():
            return _decode_raws(self._unpack_frame(chunks[number]))

    def _unpack_frame(self, frame: bytes, exactly: int | None = None) -> bytes:
        """The content of a frame, whose stated length zstd enforces."""
        length = zstandard.frame_content_size(frame)
        if not 0 <= length <= MAX_UNPACKED_BYTES or exactly not in (None, length):
            raise CollectionCorrupt("an entry of the frontier's log is cut short, or far too long")
        return self._restore(frame)

    def unpack_link(self, chunk: LinkChunk, at: int) -> Link:
        # No context manager: every link that is visited passes here, and would pay for it.
        try:
            return _decode_link(chunk[at])
        except _DECODE_ERRORS as error:
            raise _damage_error(error) from error

    def unpack_links(self, chunk: LinkChunk) -> list[Link]:
        with _translate_damage():
            return list(map(_decode_link, chunk))


def index_size(index: bytes) -> int:
    """Unpacked bytes of an index, as it states."""
    with _translate_damage():
        head: tuple[int, ...] = _INDEX_HEAD.unpack_from(index)
    _, *count, named = head
    return 8 * count[0] + sum(width * count[group] for width, group in _COLUMN_WIDTHS) + named


_DECODE_ERRORS = (
    struct.error, zstandard.ZstdError, msgspec.MsgspecError, ValueError, IndexError, TypeError,
    OverflowError, RecursionError, MemoryError,
)  # fmt: skip
"""What the libraries raise for damaged bytes."""


def _damage_error(error: Exception) -> CollectionCorrupt:
    """The error for a damaged log."""
    return CollectionCorrupt(f"the frontier's log is damaged: {error}")


@contextmanager
def _translate_damage() -> Iterator[None]:
    """Turn what the libraries raise into that error."""
    try:
        yield
    except _DECODE_ERRORS as error:
        raise _damage_error(error) from error


def _pack_links(links: Sequence[Link] | Sequence[msgspec.Raw]) -> bytes:
    try:
        return _encode_msgpack(links)
    except UnicodeEncodeError:
        # A page can hold half a surrogate pair, which UTF-8 cannot.
        return _encode_msgpack([[_replace_surrogates(value) for value in link] for link in links])


def _replace_surrogates(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _undo_differences(deltas: NDArray[np.uint32], lengths: list[int]) -> NDArray[np.uint32]:
    """Rows from differences that start at every entry."""
    sums = np.cumsum(deltas, dtype=np.uint32)
    before = np.concatenate((np.zeros(1, np.uint32), sums))[np.cumsum(lengths) - lengths]
    rows: NDArray[np.uint32] = sums - np.repeat(before, lengths)
    return rows
