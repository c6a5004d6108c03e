"""Encoding of texts, reasons and topics in the database: zstd over msgpack, and compact JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import zstandard

from honeyguide.errors import CollectionCorrupt
from honeyguide.types import LinkStats, Reason

T = TypeVar("T")

_TEXT_DECODER = msgspec.msgpack.Decoder(tuple[tuple[str, ...], str])
_LINK_STATS_DECODER = msgspec.json.Decoder(LinkStats)
_REASONS_DECODER = msgspec.json.Decoder(list[tuple[str, float | None]])
_TOPICS_DECODER = msgspec.json.Decoder(dict[str, float])
_NAMES_DECODER = msgspec.json.Decoder(tuple[str, ...])
_MAX_COUNT = 1e9
_MAX_JSON_CHARS = 10_000
"""Characters of what is said of a few topics."""
MAX_TEXT_BYTES = 64_000_000
"""No text unpacks to more bytes than this: a small frame can hold a huge one."""


class TextCodec:
    """Holds zstd's work areas, which are costly to make and not for two threads at once."""

    def __init__(self, level: int = 1) -> None:
        self._pack = zstandard.ZstdCompressor(level=level)
        self._unpack = zstandard.ZstdDecompressor()

    def pack(self, data: bytes) -> bytes:
        return self._pack.compress(data)

    def unpack(self, data: object, most: int = MAX_TEXT_BYTES) -> bytes:
        return unpack_frame(data, self._unpack, most, "text")

    def pack_text(self, headings: tuple[str, ...], text: str) -> bytes:
        try:
            plain = msgspec.msgpack.encode((headings, text))
        except UnicodeEncodeError:
            headings, text = tuple(map(replace_surrogates, headings)), replace_surrogates(text)
            plain = msgspec.msgpack.encode((headings, text))
        if len(plain) > MAX_TEXT_BYTES:
            # A character takes four bytes at most.
            plain = msgspec.msgpack.encode(((), text[: MAX_TEXT_BYTES // 4 - 16]))
        return self._pack.compress(plain)

    def unpack_text(self, data: object) -> tuple[tuple[str, ...], str]:
        try:
            return _TEXT_DECODER.decode(self.unpack(data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise CollectionCorrupt(f"a stored text is damaged: {error}") from error


def unpack_frame(
    data: object, decompressor: zstandard.ZstdDecompressor, most: int, what: str
) -> bytes:
    """Decompress a zstd frame that states a size of at most ``most`` bytes.

    Raises CollectionCorrupt, in whose message ``what`` names the data.
    """
    if not isinstance(data, bytes):
        raise CollectionCorrupt(f"a stored {what} is damaged: it is not in bytes")
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise CollectionCorrupt(f"a stored {what} is damaged: it claims {size} bytes")
        return decompressor.decompress(data)
    except zstandard.ZstdError as error:
        raise CollectionCorrupt(f"a stored {what} is damaged: {error}") from error


def replace_surrogates(text: str) -> str:
    """Without lone surrogates, which no file can hold."""
    return text.encode("utf-8", "replace").decode()


def pack_reasons(reasons: Sequence[Reason]) -> str:
    if not reasons:
        return ""
    try:
        return msgspec.json.encode(reasons).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(
            [(replace_surrogates(r.what), r.weight) for r in reasons]
        ).decode()


def unpack_reasons(data: str) -> tuple[Reason, ...]:
    if not data:
        return ()
    try:
        found = _REASONS_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeError, TypeError, RecursionError) as error:
        raise CollectionCorrupt(f"stored reasons are damaged: {error}") from error
    return tuple(Reason(what, 0.0 if weight is None else weight) for what, weight in found)


def pack_topics(names: Sequence[str], scores: Sequence[float]) -> str:
    """Each topic's score under its name; '' where there is but one, or they do not fit."""
    if not scores or len(names) != len(scores):
        return ""
    return msgspec.json.encode(dict(zip(names, scores, strict=True))).decode()


def unpack_topics(text: object) -> dict[str, float]:
    """Without what is no score; nothing at all where they are damaged."""
    found = _decode_or_none(_TOPICS_DECODER, text) or {}
    return {name: score for name, score in found.items() if 0 <= score <= 1}


def pack_names(names: Sequence[str]) -> str:
    return msgspec.json.encode([replace_surrogates(name) for name in names]).decode()


def unpack_names(text: object) -> tuple[str, ...]:
    """Nothing where they are damaged."""
    return _decode_or_none(_NAMES_DECODER, text) or ()


def _decode_or_none(decoder: msgspec.json.Decoder[T], text: object) -> T | None:
    """None where it is empty or damaged, or more than we write."""
    try:
        if isinstance(text, str) and 0 < len(text) <= _MAX_JSON_CHARS:
            return decoder.decode(text)
    except (msgspec.MsgspecError, UnicodeError, TypeError, RecursionError):
        return None
    return None


def json_line(value: dict[str, Any]) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def pack_link_stats(yields: LinkStats) -> str:
    return msgspec.json.encode([round(value, 4) for value in yields]).decode()


def unpack_link_stats(text: str) -> LinkStats | None:
    """None too where they are damaged: they explain a decision, and no other hangs on them."""
    if (found := _decode_or_none(_LINK_STATS_DECODER, text)) is None:
        return None
    chances = (found.host, found.group, found.siblings, found.parents, found.best, found.authority,
               found.originality, found.topic_similarity, found.beside)  # fmt: skip
    counts = (found.host_count, found.group_count, found.relevant, found.barren, found.visits)
    sound = all(0 <= c <= 1 for c in chances) and all(0 <= c < _MAX_COUNT for c in counts)
    return found if sound else None
