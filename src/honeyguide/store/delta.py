"""A body as bytes that say only how it differs from another: zstd with that other as dictionary.

zstd looks at no more of a dictionary than its tables have room for, so the tables grow with the
page: an edit in a page of 2 MB takes 300 bytes instead of 300 kB, in the same time.
"""

from __future__ import annotations

import zstandard

from honeyguide.errors import CollectionCorrupt

_LEVEL = 3
_SHORT = 64
"""Bytes of a body that is no help as a dictionary."""
_LONG = 16_000_000
"""Bytes of a body for which the tables would take too much memory."""
_LARGEST_LOG = 22


def helps(base: bytes, body: bytes) -> bool:
    """Whether a delta between these two is worth trying."""
    return len(base) >= _SHORT and max(len(base), len(body)) <= _LONG


def pack(body: bytes, base: bytes | None = None) -> bytes:
    """The body alone, or as it differs from ``base``."""
    if base is None:
        return zstandard.ZstdCompressor(level=_LEVEL).compress(body)
    log = min(_LARGEST_LOG, max(12, len(base).bit_length() - 2))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _LEVEL,
        source_size=len(body),
        dict_size=len(base),
        window_log=max(10, (len(base) + len(body)).bit_length()),
        hash_log=log,
        chain_log=log,
    )
    compressor = zstandard.ZstdCompressor(compression_params=parameters, dict_data=_words(base))
    return compressor.compress(body)


def unpack(data: object, base: bytes | None, most: int) -> bytes:
    """What was packed, with the same ``base``; never more than ``most`` bytes."""
    if not isinstance(data, bytes):
        raise CollectionCorrupt("a stored version is damaged: it is not in bytes")
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= most:
            raise CollectionCorrupt(f"a stored version is damaged: it claims {size} bytes")
        words = None if base is None else _words(base)
        return zstandard.ZstdDecompressor(dict_data=words).decompress(data)
    except zstandard.ZstdError as error:
        raise CollectionCorrupt(f"a stored version is damaged: {error}") from error


def _words(base: bytes) -> zstandard.ZstdCompressionDict:
    # Raw content: a page that begins like a trained dictionary must not be read as one.
    return zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
