"""Behaviours of content coding: bombs, lies, damage; and all that is right, to compare."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import zstandard

from tests.site.exchange import Behaviour, Exchange
from tests.site.wire import PAGE

GIB = 1024**3
_MIB = bytes(1024**2)


def zipped(data: bytes) -> bytes:
    """Always the same bytes: without the time."""
    return gzip.compress(data, mtime=0)


def coded(coding: str, make: Callable[[], bytes]) -> Behaviour:
    """A page whose body is made when first asked for, and labelled so."""
    made = cache(make)

    async def answer(x: Exchange) -> None:
        await x.answer(made(), headers=[("Content-Encoding", coding)])

    return answer


def deflated(window: int) -> bytes:
    """A gibibyte of zeros in a megabyte: one flushed block, repeated. Its checksum is wrong."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, window)
    start = squeeze.compress(_MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(_MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return start + block * 1023 + squeeze.flush()


def brotli_bomb() -> bytes:
    """A gibibyte in some kilobytes, one stream."""
    squeeze = brotli.Compressor(quality=5, lgwin=24)
    start = squeeze.process(_MIB) + squeeze.flush()
    block = squeeze.process(_MIB) + squeeze.flush()
    return bytes(start + block * 1023 + squeeze.finish())


def zstd_bomb() -> bytes:
    """A gibibyte in some kilobytes, as 64 frames."""
    return zstandard.ZstdCompressor(level=1).compress(_MIB * 16) * 64


def zstd_claim() -> bytes:
    """A frame that claims 2**60 bytes of content and has thirteen."""
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"hello, honey!")
    claim = b"\xe0" + (2**60).to_bytes(8, "little")  # single segment, eight bytes of size
    return frame[:4] + claim + frame[6:]


def zstd_window() -> bytes:
    """A frame whose window of two gibibytes the reader is to allocate."""
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(b"hello, honey!")
    return frame[:4] + b"\x00" + bytes([21 << 3]) + frame[6:]


def raw_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


def nested(times: int, data: bytes = PAGE) -> bytes:
    for _ in range(times):
        data = zipped(data)
    return data


def corrupt() -> bytes:
    data = bytearray(zipped(PAGE + str(list(range(5000))).encode()))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    return bytes(data)


CODINGS: dict[str, Behaviour] = {
    "/coding/gzip": coded("gzip", lambda: zipped(PAGE)),
    "/coding/x-gzip": coded("x-gzip", lambda: zipped(PAGE)),
    "/coding/gzip-members": coded("gzip", lambda: zipped(PAGE) + zipped(b"second")),
    "/coding/gzip-junk-behind": coded("gzip", lambda: zipped(PAGE) + b"\0junk"),
    "/coding/deflate": coded("deflate", lambda: zlib.compress(PAGE)),
    "/coding/deflate-raw": coded("deflate", lambda: raw_deflate(PAGE)),
    "/coding/brotli": coded("br", lambda: bytes(brotli.compress(PAGE))),
    "/coding/zstd": coded("zstd", lambda: zstandard.compress(PAGE)),
    "/coding/identity": coded("identity", lambda: PAGE),
    "/coding/upper-case": coded("GZIP", lambda: zipped(PAGE)),
    "/coding/gzip-bomb": coded("gzip", lambda: deflated(31)),
    "/coding/deflate-bomb": coded("deflate", lambda: deflated(15)),
    "/coding/brotli-bomb": coded("br", brotli_bomb),
    "/coding/zstd-bomb": coded("zstd", zstd_bomb),
    "/coding/zstd-claim": coded("zstd", zstd_claim),
    "/coding/zstd-window": coded("zstd", zstd_window),
    "/coding/nested": coded("gzip, gzip", lambda: nested(2)),
    "/coding/nested-bomb": coded("gzip, gzip", lambda: zipped(deflated(31))),
    "/coding/nested-deep": coded(", ".join(["gzip"] * 50), lambda: nested(50)),
    "/coding/mixed": coded("gzip, br", lambda: bytes(brotli.compress(zipped(PAGE)))),
    "/coding/truncated": coded("gzip", lambda: zipped(PAGE * 50)[:-30]),
    "/coding/no-trailer": coded("gzip", lambda: zipped(PAGE)[:-8]),
    "/coding/corrupt": coded("gzip", corrupt),
    "/coding/empty": coded("gzip", bytes),
    "/coding/lie-plain": coded("gzip", lambda: PAGE),
    "/coding/lie-other": coded("br", lambda: zipped(PAGE)),
    "/coding/unknown": coded("lz5", lambda: PAGE),
    "/coding/garbage-label": coded("\x80; ,,", lambda: PAGE),
    "/coding/unlabelled": coded("", lambda: zipped(PAGE)),
}
