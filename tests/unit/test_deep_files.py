"""Models of categories on disk: what was saved comes back, and nothing else is believed."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honeyguide.errors import ModelError
from honeyguide.models.deep.category_model import (
    CategoryModel,
    load_net_model,
    model_checksum,
    save_net_model,
)
from honeyguide.models.deep.net import NET_KINDS, NetKind
from honeyguide.models.deep.vocabulary import WordVocabulary
from tests.unit import deep


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    save_net_model(deep.model(), folder)
    return folder


def arrays(folder: Path) -> Path:
    (path,) = folder.glob("arrays-*.npz")
    return path


@pytest.mark.parametrize("kind", NET_KINDS)
def test_what_was_saved_comes_back(tmp_path: Path, kind: NetKind) -> None:
    model = deep.model(kind)
    save_net_model(model, tmp_path)
    back = load_net_model(tmp_path)
    assert back.categories == model.categories
    assert back.vocabulary.words == model.vocabulary.words
    assert back.settings == {"language": "tr"}
    for name, array in model.net.arrays.items():
        assert (back.net.arrays[name] == array).all()
    page = [list(deep.WORDS)]
    assert (back.judge(page) == model.judge(page)).all()


def test_half_precision_is_used_where_it_loses_nothing(tmp_path: Path) -> None:
    model = deep.model()
    table = model.net.arrays["embedding"]
    save_net_model(model, tmp_path / "whole")
    table[:] = table.astype(np.float16)
    save_net_model(model, tmp_path / "half")
    whole, half = (arrays(tmp_path / name).stat().st_size for name in ("whole", "half"))
    assert half == whole - table.nbytes // 2
    assert (load_net_model(tmp_path / "half").net.arrays["embedding"] == table).all()


def test_saving_again_replaces_the_old_and_leaves_other_files(saved: Path) -> None:
    before, old = model_checksum(saved), arrays(saved)
    (saved / "report.md").write_text("mine")
    (saved / "arrays-mine.npz").write_text("mine")
    other = deep.model("sensitivity")
    save_net_model(other, saved)
    assert model_checksum(saved) != before
    assert not old.exists()
    assert load_net_model(saved).net.kind == "sensitivity"
    assert (saved / "report.md").read_text() == (saved / "arrays-mine.npz").read_text() == "mine"
    assert len(list(saved.iterdir())) == 4


def test_a_save_that_stops_leaves_the_old_model(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace

    def stops(path: Path, target: Path) -> Path:
        if target.name == "model.json":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stops)
    with pytest.raises(ModelError, match="No space left"):
        save_net_model(deep.model("conv"), saved)
    assert load_net_model(saved).net.kind == "paper"
    assert not list(saved.glob(".*"))


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    good = deep.model()
    for settings_ in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises(ModelError, match="plain JSON"):
            save_net_model(
                CategoryModel(good.categories, good.vocabulary, good.net, settings_), tmp_path
            )
    for word in ("a\nb", "\ud800"):
        words = WordVocabulary((word, *deep.WORDS[1:]), 0)
        with pytest.raises(ModelError, match="cannot be saved"):
            save_net_model(CategoryModel(good.categories, words, good.net), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot be saved"):
        save_net_model(good, tmp_path / "file")


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    head = json.loads((folder / "model.json").read_text())
    change(head)
    (folder / "model.json").write_text(json.dumps(head))


def packed(folder: Path, data: bytes) -> None:
    """Other arrays, with a checksum that is right: a stranger can do sums too."""
    digest = hashlib.sha256(data).hexdigest()
    name = f"arrays-{digest[:16]}.npz"
    (folder / name).write_bytes(data)
    edited(folder, lambda head: head.update(arrays={"file": name, "sha256": digest}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 2),
        ("kind", "deepest"),
        ("kind", "conv"),
        ("kind", None),
        ("categories", ["a", "b"]),
        ("categories", ["a", "b", 3]),
        ("categories", ["a", "b", "b"]),
        ("categories", "abc"),
        ("settings", []),
        ("card", None),
        ("buckets", -1),
        ("buckets", 10**9),
        ("buckets", True),
        ("buckets", 5),
        ("arrays", {}),
        ("arrays", {"file": "../../etc/passwd", "sha256": ""}),
        ("encoder", {"engine": "onnx", "folder": "/nowhere", "checksum": ""}),
        ("encoder", {"engine": "pickle", "folder": "/tmp", "checksum": ""}),
        ("encoder", 7),
    ],
)
def test_a_damaged_head_is_told(saved: Path, key: str, value: Any) -> None:
    edited(saved, lambda head: head.update({key: value}))
    with pytest.raises(ModelError):
        load_net_model(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, '{"format": 1}', "\x00"])
def test_a_head_that_is_none(saved: Path, text: str) -> None:
    (saved / "model.json").write_text(text)
    with pytest.raises(ModelError):
        load_net_model(saved)


def test_missing_files_are_named(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(ModelError, match=r"model\.json is missing"):
        load_net_model(tmp_path / "none")
    arrays(saved).unlink()
    with pytest.raises(ModelError, match=r"arrays-\w+\.npz is missing"):
        load_net_model(saved)


def test_a_pipe_is_not_waited_for(saved: Path) -> None:
    (saved / "model.json").unlink()
    os.mkfifo(saved / "model.json")
    with pytest.raises(ModelError):
        load_net_model(saved)


def test_changed_arrays_are_told(saved: Path) -> None:
    path = arrays(saved)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelError, match="not those that were saved"):
        load_net_model(saved)


def member(header: bytes, body: bytes = b"") -> bytes:
    """A file of arrays with one named ``out``, whatever its header says."""
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("out.npy", start + body)
    return stream.getvalue()


def compressed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("out.npy", b"\0" * 50_000_000)
    return stream.getvalue()


def many() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for number in range(100):
            file.writestr(f"{number}.npy", b"")
    return stream.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }"),
        member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1), }", b"\0" * 4),
        member(b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\0" * 8),
        member(b"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }", b"\0" * 4),
        member(b"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", b"\0" * 5),
        member(b"__import__('os').abort()"),
        member(b"(" * 5000),
        compressed(),
        many(),
    ],
)
def test_hostile_arrays(saved: Path, data: bytes) -> None:
    packed(saved, data)
    with pytest.raises(ModelError):
        load_net_model(saved)


def nested(count: int = 8, size: int = 10_000) -> bytes:
    """Arrays that lie inside each other: together they are much larger than the file."""
    body, parts = bytes(size), []
    for number in range(count):
        header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(body)},), }}".encode()
        data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body
        name, sizes = f"a{number}.npy".encode(), (zlib.crc32(data), len(data), len(data))
        local = b"PK\3\4" + struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, *sizes, len(name), 0) + name
        body = local + data
        parts.append((name, sizes, len(body)))
    table = b"".join(
        b"PK\1\2"
        + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, 0, 0, 0, 0, *sizes, len(name), 0, 0, 0, 0, 0, at)
        + name
        for name, sizes, span in parts
        for at in (len(body) - span,)
    )
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(table), len(body), 0)
    return body + table + b"PK\5\6" + end


def test_arrays_inside_each_other_are_not_even_read(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed(saved, nested())
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("read"))
    with pytest.raises(ModelError, match="inside each other"):
        load_net_model(saved)


def test_bytes_are_not_widened(saved: Path) -> None:
    packed(saved, member(b"{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", b"\0" * 4))
    with pytest.raises(ModelError, match="another type"):
        load_net_model(saved)


def test_a_device_is_not_read(saved: Path) -> None:
    (saved / "model.json").unlink()
    (saved / "model.json").symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="not a plain file"):
        load_net_model(saved)


def test_a_model_does_not_say_where_its_encoder_is(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    os.mkfifo(tmp_path / "outside" / "model.onnx")
    origin = {"engine": "onnx", "folder": str(tmp_path / "outside"), "checksum": ""}
    edited(saved, lambda head: head.update(encoder=origin))
    with pytest.raises(ModelError, match="An encoder is a program"):
        load_net_model(saved)


def test_numbers_that_are_none_and_words_that_are_none(saved: Path) -> None:
    parts = dict(np.load(arrays(saved)))
    for name, value in [
        ("out", np.full((6, 3), np.inf, np.float32)),
        ("words", np.frombuffer(b"\xff\xfe", np.uint8)),
        ("words", np.frombuffer(b"a\na", np.uint8)),
        ("out", np.zeros((0, 3), np.float32)),
    ]:
        body = io.BytesIO()
        np.savez(body, **(parts | {name: value}))
        packed(saved, body.getvalue())
        with pytest.raises(ModelError):
            load_net_model(saved)


def test_too_large_to_be_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.models.deep.category_model._JSON", 100)
    with pytest.raises(ModelError, match="too large"):
        load_net_model(saved)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.floats(0, 1, exclude_max=True))
def test_any_flipped_byte_is_told_or_changes_nothing_that_counts(
    tmp_path: Path, share: float
) -> None:
    save_net_model(deep.model(), tmp_path)
    name = json.loads((tmp_path / "model.json").read_text())["arrays"]["file"]
    whole = (tmp_path / name).read_bytes()
    place = int(share * len(whole))
    packed(tmp_path, whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
    try:
        model = load_net_model(tmp_path)
    except ModelError:
        return
    assert np.isfinite(model.judge([list(deep.WORDS)])).all()
