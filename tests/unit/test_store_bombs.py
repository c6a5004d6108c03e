"""Small blobs that claim or unpack to something huge, or to nothing that we could use."""

from __future__ import annotations

import io
import json
import resource
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import zstandard

from honeyguide.errors import CollectionCorrupt, ModelError
from honeyguide.store import Store, codec, generations, unpack_strategy
from tests.unit.store_visits import change, good


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    with Store.open(folder, "crawl") as store, store.transaction():
        store.append_visits([good(n) for n in range(5)])
    return folder


def grown() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def unsized(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=False).compress(data)


def bomb() -> bytes:
    """200 MB of zeros that say so."""
    squeeze = zstandard.ZstdCompressor().compressobj(size=200_000_000)
    zeros = bytes(1_000_000)
    return b"".join([squeeze.compress(zeros) for _ in range(200)]) + squeeze.flush()


HUGE = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00"


@pytest.mark.parametrize("data", [HUGE, unsized(b"x" * 100), b"", b"x", "text", 1 << 40, 0.5])
def test_a_text_that_is_a_bomb_or_none(folder: Path, data: object) -> None:
    change(folder, "UPDATE texts SET data = ?", data)
    change(folder, "INSERT INTO robots VALUES('http://a.org', 1000.0, 200, ?)", data)
    with Store.open(folder, "read") as store:
        with pytest.raises(CollectionCorrupt):
            store.visits.page_text(1)
        # What is not signed is not there: it will be fetched again.
        assert list(store.robots.iter_fresh(1000.0)) == []


def test_a_bomb_does_not_go_off(folder: Path) -> None:
    data = bomb()
    assert len(data) < 100_000
    change(folder, "UPDATE texts SET data = ?", data)
    change(folder, "UPDATE frontier_text SET data = ?", data)
    before = grown()
    with Store.open(folder, "read") as store, pytest.raises(CollectionCorrupt, match="claims"):
        store.visits.page_text(1)
    assert grown() < before + 50


def test_a_text_beyond_the_limit_is_cut_and_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "MAX_TEXT_BYTES", 1000)
    packed = codec.TextCodec().pack_text(("a heading",), "ş" * 2000)
    headings, text = codec.TextCodec().unpack_text(packed)
    assert headings == ()
    assert set(text) == {"ş"}


@dataclass(frozen=True)
class Sample:
    weight: float = 0.5
    words: tuple[str, ...] = ()
    name: str = ""


def blob(header: object, body: bytes | None = None) -> bytes:
    """A saved strategy with whatever inside, its checksum right."""
    if body is None:
        file = io.BytesIO()
        np.savez_compressed(file)
        body = file.getvalue()
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    rest = head + body
    return generations._BLOB_HEAD.pack(generations._MAGIC, len(head), zlib.crc32(rest)) + rest


def sample(**fields: object) -> dict[str, object]:
    return {"name": "s", "strategy": {"class": "Sample", "fields": fields}}


def test_an_honest_strategy_is_made() -> None:
    assert unpack_strategy(blob(sample(weight=1)), lambda _: Sample) == Sample(1)


@pytest.mark.parametrize(
    "header",
    [
        {"name": "s", "strategy": None}, {"name": "s", "strategy": 7}, {"name": 7, "strategy": {}},
        {"name": "s", "strategy": {"tuple": []}}, [], None, {}, sample(weight="x"),
        sample(name=1.5), sample(weight=None), sample(odd=1), sample(words={"array": "a9"}),
        b'{"name":"s","strategy":' + b'{"tuple":[' * 50_000 + b"]}" * 50_000 + b"}",
        b'{"name":"s","strategy":' + b'{"tuple":[' * 400 + b"]}" * 400 + b"}",
        b"[" * 100_000, b"\xff\xfe", b'{"name":"s","strategy":' + b"9" * 10_000 + b"}",
    ],
    ids=range(17),
)  # fmt: skip
def test_a_strategy_that_is_none(header: object) -> None:
    with pytest.raises(ModelError):
        unpack_strategy(blob(header), lambda _: Sample)


@pytest.mark.parametrize("data", [b"", b"x" * 100, "text", 1 << 40, None, 0.5])
def test_a_strategy_of_another_kind(folder: Path, data: object) -> None:
    change(folder, "PRAGMA ignore_check_constraints = ON")
    change(folder, "INSERT INTO generations VALUES(7, 's', '', 0.0, ?)", data or b"")
    with Store.open(folder, "read") as store, pytest.raises(ModelError):
        store.generations.load(7, lambda _: Sample)


def npz(shape: tuple[int, ...], content: bytes = b"") -> bytes:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a0.npy", head.getvalue() + content)
    return file.getvalue()


def test_arrays_that_are_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generations, "_MAX_ARRAY_BYTES", 1_000_000)
    before = grown()
    for body in (npz((200_000,), bytes(1_600_000)), npz((1 << 50,)), npz((-1,)), npz((1 << 70,))):
        with pytest.raises(ModelError):
            unpack_strategy(blob(sample(), body), lambda _: Sample)
    assert grown() < before + 50


@pytest.mark.parametrize("body", [b"", b"PK\x05\x06" + bytes(18), b"\x93NUMPY\x01\x00", b"x" * 99])
def test_arrays_that_are_none(body: bytes) -> None:
    with pytest.raises(ModelError):
        unpack_strategy(blob(sample(words={"array": "a0"}), body), lambda _: Sample)
