"""Decodes content codings (gzip, deflate, br, zstd) into a bounded number of bytes.

The codecs (isal, brotli, zstandard) all take a bound on their output, so a bomb is
recognised by one byte too many and never inflated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

import brotli
import zstandard
from isal import isal_zlib

from honeyguide.errors import ProtocolError, TooLarge

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"

_MAX_CODINGS = 3
"""Most codings stacked on one body."""

_MAX_MEMBERS = 64
"""Most gzip members in one body: each costs a copy of what follows it."""

_GRACE_BYTES = 1_000_000
"""Up to this size a body may have inflated by any ratio."""

_ZSTD_WINDOW = 8 * 2**20
"""Largest zstd window: what RFC 8878 asks every decoder to support."""


_ISAL_ERRORS = (cast("type[Exception]", isal_zlib.IsalError), OverflowError)
"""What isal raises; its type stub takes the class for an instance."""


DecodedBody = tuple[bytes, int]
"""A body, and how much of what came was needed for it: rubbish may follow."""


_DETAIL_CHARS = 200


def to_printable(text: str) -> str:
    """Text of a server as printable ASCII of bounded length, for a journal or a terminal."""
    return ascii(text[:_DETAIL_CHARS])[1:-1][:_DETAIL_CHARS]


class CorruptBody(ValueError):
    """The bytes are not what the coding says. Stays inside this file."""


def decode_body(
    url: str, payload: bytes, coding: str, *, limit: int, ratio: float, truncate: bool = False
) -> bytes:
    """The payload with its Content-Encoding undone, at most ``limit`` bytes of it.

    A body that ends early yields what there is; a corrupt one is a ProtocolError. A body
    that passes the limit, or inflates more than ``ratio`` times beyond the first megabyte,
    is TooLarge, or is cut there when ``truncate`` says so.
    """
    most = limit if truncate else _max_bytes(limit, ratio, len(payload))
    body = payload
    sent = 0
    """Bytes of the payload that the outermost coding made use of."""
    if coding and payload:
        for name in reversed(_coding_names(url, coding)):
            codec = _CODECS.get(name)
            if codec is None:
                raise ProtocolError(url, f"unknown content coding '{to_printable(name[:40])}'")
            try:
                body, used = codec(body, most + 1)
            except CorruptBody as error:
                raise ProtocolError(url, f"broken {name} body: {error}") from error
            sent = sent or used
    if not truncate and sent:
        most = _max_bytes(limit, ratio, sent)
    if len(body) <= most:
        return body
    if truncate:
        return body[:most]
    if len(body) > limit:
        raise TooLarge(url, f"the body passes {limit} bytes")
    raise TooLarge(url, f"the body inflates more than {ratio:g} times")


def _max_bytes(limit: int, ratio: float, sent: int) -> int:
    return min(limit, max(_GRACE_BYTES, int(sent * ratio)))


def _coding_names(url: str, coding: str) -> list[str]:
    if coding in _CODECS:  # as nearly always
        return [coding]
    names = [name for part in coding.lower().split(",") if (name := part.strip())]
    if len(names) > _MAX_CODINGS:
        raise ProtocolError(url, f"more than {_MAX_CODINGS} content codings")
    return [name for name in names if name != "identity"]


def _decode_gzip(data: bytes, most: int) -> DecodedBody:
    body, length = b"", len(data)
    for _ in range(_MAX_MEMBERS):
        member = isal_zlib.decompressobj(31)
        try:
            piece = member.decompress(data, most - len(body))
        except _ISAL_ERRORS as error:
            raise CorruptBody(str(error)) from error
        body = body + piece if body else piece
        data = member.unused_data
        # After the last member some servers send padding or rubbish; browsers ignore it too.
        if len(body) >= most or not member.eof or not data.startswith(b"\x1f\x8b"):
            return body, length - len(data)
    raise CorruptBody(f"more than {_MAX_MEMBERS} gzip members")


def _decode_deflate(data: bytes, most: int) -> DecodedBody:
    """With a zlib wrapper as the standard says, or raw as some servers send it."""
    with suppress(*_ISAL_ERRORS):
        return _inflate_zlib(data, most, 15)
    try:
        return _inflate_zlib(data, most, -15)
    except _ISAL_ERRORS as error:
        raise CorruptBody(str(error)) from error


def _inflate_zlib(data: bytes, most: int, window: int) -> DecodedBody:
    engine = isal_zlib.decompressobj(window)
    body = bytes(engine.decompress(data, most))
    return body, len(data) - len(engine.unused_data)


def _decode_brotli(data: bytes, most: int) -> DecodedBody:
    decoder = brotli.Decompressor()
    pieces = []
    size = 0
    try:
        piece = decoder.process(data, output_buffer_limit=most)
        while piece:
            pieces.append(piece)
            size += len(piece)
            if size >= most or decoder.is_finished():
                break
            piece = decoder.process(b"", output_buffer_limit=most - size)
    except brotli.error as error:
        raise CorruptBody(str(error)) from error
    if not pieces and data.startswith(b"\x1f\x8b"):
        # Brotli has no magic number, so that gzip may read as a stream that says nothing.
        raise CorruptBody("it is gzip")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces), len(data)


def _decode_zstd(data: bytes, most: int) -> DecodedBody:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    try:
        with decoder.stream_reader(data, read_across_frames=True) as reader:
            return reader.read(most), len(data)
    except zstandard.ZstdError as error:
        raise CorruptBody(str(error)) from error


_CODECS: Final[dict[str, Callable[[bytes, int], DecodedBody]]] = {
    "gzip": _decode_gzip,
    "x-gzip": _decode_gzip,
    "deflate": _decode_deflate,
    "br": _decode_brotli,
    "zstd": _decode_zstd,
}
