"""Gzip files that came as a body of their own: sitemaps, mostly."""

from __future__ import annotations

import zlib

from honeyguide.errors import ParseError
from honeyguide.types import Url

MAGIC = b"\x1f\x8b"
_MEMBERS = 64
"""Most files in one: more say nothing, at great cost."""
_PIECE = 65_536
"""Bytes unzipped at a time: what follows a member is copied, and must not be everything."""


def inflate(url: Url, body: bytes, limit: int) -> bytes:
    """The file's content, or as much of it as is whole and within bounds."""
    inflated: list[bytes] = []
    size = at = 0
    view = memoryview(body)
    try:
        for _ in range(_MEMBERS):
            engine = zlib.decompressobj(wbits=31)
            while size < limit and at < len(body) and not engine.eof:
                inflated.append(engine.decompress(view[at : at + _PIECE], limit - size))
                size += len(inflated[-1])
                at += _PIECE
            at = min(at, len(body)) - len(engine.unused_data)
            if size >= limit or not body.startswith(MAGIC, at):
                break
    except zlib.error as error:
        if not size:
            raise ParseError(f"{url}: broken gzip: {error}") from error
    return b"".join(inflated)
