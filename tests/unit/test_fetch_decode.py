from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ProtocolError, TooLarge
from honeyguide.fetch.decode import decode_body

URL = "http://a.test/"
MANY = 10_000_000


def raw_deflate(data: bytes) -> bytes:
    engine = zlib.compressobj(wbits=-15)
    return engine.compress(data) + engine.flush()


ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "X-GZip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate ": raw_deflate,
    "br": lambda data: brotli.compress(data, quality=2),
    "zstd": zstandard.compress,
    "identity": bytes,
}


def undo(payload: bytes, coding: str, limit: int = MANY, ratio: float = 200.0) -> bytes:
    return decode_body(URL, payload, coding, limit=limit, ratio=ratio)


@pytest.mark.parametrize("coding", ENCODERS)
@given(st.binary(max_size=3000))
def test_every_coding_comes_back(coding: str, data: bytes) -> None:
    assert undo(ENCODERS[coding](data), coding) == data


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
@given(st.binary(max_size=300))
def test_rubbish_is_a_protocol_error_or_bytes(coding: str, data: bytes) -> None:
    with suppress(ProtocolError):
        assert isinstance(undo(data, coding), bytes)


def test_stacked_codings_are_undone_last_first() -> None:
    assert undo(brotli.compress(gzip.compress(b"hello")), "gzip, br") == b"hello"
    with pytest.raises(ProtocolError, match="more than 3"):
        undo(b"x", "gzip, gzip, gzip, gzip")
    with pytest.raises(ProtocolError, match="unknown content coding 'exi'"):
        undo(b"x", "exi")


def test_nothing_is_nothing_in_every_coding() -> None:
    assert undo(b"", "gzip") == b""
    assert undo(b"", "unknown") == b""
    assert undo(b"plain", "") == b"plain"


def test_a_lost_tail_is_forgiven() -> None:
    data = b"word " * 4000
    for coding in ("gzip", "deflate", "br"):
        payload = ENCODERS[coding](data)
        assert data.startswith(undo(payload[:-4], coding))
    assert undo(gzip.compress(data)[:-8], "gzip") == data  # only checksum and length missing


def test_a_wrong_checksum_is_not() -> None:
    payload = bytearray(gzip.compress(b"hello" * 50))
    payload[-6] ^= 255
    with pytest.raises(ProtocolError, match="broken gzip"):
        undo(bytes(payload), "gzip")


def test_members_and_padding() -> None:
    assert undo(gzip.compress(b"a") + gzip.compress(b"b") + b"\0" * 9, "gzip") == b"ab"
    with pytest.raises(ProtocolError, match="members"):
        undo(gzip.compress(b"a") * 65, "gzip")


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "deflate"])
def test_bombs_are_recognised_without_inflating_them(coding: str) -> None:
    bomb = ENCODERS[coding](bytes(40_000_000))
    tracemalloc.start()
    with pytest.raises(TooLarge, match="inflates"):
        undo(bomb, coding, limit=50_000_000, ratio=20)
    with pytest.raises(TooLarge, match="passes 2000000 bytes"):
        undo(bomb, coding, limit=2_000_000, ratio=1e9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16_000_000


def test_nested_bomb() -> None:
    nested = gzip.compress(gzip.compress(bytes(40_000_000)))
    with pytest.raises(TooLarge):
        undo(nested, "gzip, gzip")


def test_the_ratio_counts_only_beyond_a_megabyte() -> None:
    small = gzip.compress(bytes(1_000_000))
    assert len(undo(small, "gzip", ratio=10)) == 1_000_000
    with pytest.raises(TooLarge):
        undo(gzip.compress(bytes(1_000_001)), "gzip", ratio=10)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "Deflate ", "gzip, identity"])
def test_rubbish_after_the_end_does_not_count(coding: str) -> None:
    bomb = ENCODERS.get(coding, gzip.compress)(bytes(3_000_000))
    for rubbish in (b"", b"#" * 300_000):
        with pytest.raises(TooLarge, match="inflates"):
            undo(bomb + rubbish, coding, ratio=20)
    assert undo(ENCODERS.get(coding, gzip.compress)(b"x") + b"#" * 999, coding, ratio=20) == b"x"


@pytest.mark.parametrize("coding", ENCODERS)
def test_truncation_keeps_the_beginning(coding: str) -> None:
    data = bytes(range(256)) * 100
    payload = ENCODERS[coding](data)
    kept = decode_body(URL, payload, coding, limit=1000, ratio=200, truncate=True)
    assert kept == data[:1000]
    with pytest.raises(TooLarge):
        undo(payload, coding, limit=1000)
    assert undo(payload, coding, limit=len(data)) == data
