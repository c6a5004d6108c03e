"""Word vectors from files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.deep.embedding import WordVectors, open_embedding
from honeyguide.models.deep.training import train_net
from tests.unit import deep

TEXT = "3 4\nokul 1 2 3 4\nnew york 5 6 7 8\nşehir -1 0.5 1e-3 0 \n"


def binary(words: dict[str, list[float]], line_ends: bool = True) -> bytes:
    data = f"{len(words)} {len(next(iter(words.values())))}\n".encode()
    for word, vector in words.items():
        data += word.encode() + b" " + np.array(vector, "<f4").tobytes()
        data += b"\n" if line_ends else b""
    return data


@pytest.mark.parametrize("name", ["words.vec", "words.txt", "words.vec.gz", "glove.txt"])
def test_text(tmp_path: Path, name: str) -> None:
    text = TEXT.partition("\n")[2] if name.startswith("glove") else TEXT
    data = text.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    found = open_embedding(path)
    assert isinstance(found, WordVectors)
    assert found.width == 4
    vectors = found.vectors(["okul", "şehir", "new", "missing"])
    assert vectors.keys() == {"okul", "şehir"}
    assert vectors["okul"].tolist() == [1, 2, 3, 4]
    assert vectors["şehir"] == pytest.approx([-1, 0.5, 1e-3, 0])


@pytest.mark.parametrize("line_ends", [True, False])
@pytest.mark.parametrize("name", ["words.bin", "words.bin.gz"])
def test_binary(tmp_path: Path, name: str, line_ends: bool) -> None:
    words = {f"word{n}": [float(n), 0.5, -1.0] for n in range(9_000)}
    data = binary(words, line_ends)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data, 1) if name.endswith("gz") else data)
    vectors = WordVectors(path).vectors(["word0", "word8999", "other"])
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "word0": [0, 0.5, -1],
        "word8999": [8999, 0.5, -1],
    }


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.vec", b"", "line 1"),
        ("a.vec", b"3 1\n", "line 1"),
        ("a.vec", b"3 999999999999\n", "line 1"),
        ("a.vec", b"1 3\nokul 1 2\n", "line 2: not 3 numbers"),
        ("a.vec", b"1 3\nev 1 2 3\nokul 1 x 3\n", "line 3"),
        ("a.vec", b"1 3\nokul 1 nan 3\n", "line 2: a number is not finite"),
        ("a.vec", b"1 3\nokul 1 1e38 3\n", "line 2: a number"),
        ("a.txt", b"okul 1 2 3\nokul 1\n", ""),
        ("a.vec", b"1 3\nokul" + b"k" * 200_000, "line 2: longer"),
        ("a.bin", b"okul 1 2 3", "line 1"),
        ("a.bin", binary({"okul": [1, 2, 3]})[:-6], "word 1: it ends in the middle"),
        ("a.bin", b"2 2\n" + b"k" * 5_000, "word 1"),
        ("a.bin", binary({"okul": [1, float("inf")]}), "word 1: a number"),
        ("a.bin", b"\xba\x16\x4f\x2f" + b"\0" * 50, "fastText"),
        ("a.vec.gz", gzip.compress(TEXT.encode(), mtime=0)[:-20], "cannot be read"),
        ("a.vec.gz", b"\x1f\x8b\x08nonsense", "cannot be read"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, name: str, data: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    if not told:  # the first of two counts
        assert WordVectors(path).vectors(["okul"])["okul"].tolist() == [1, 2, 3]
        return
    with pytest.raises(ModelError, match=told):
        WordVectors(path).vectors(["okul", "missing"])


def test_a_file_without_end_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("honeyguide.models.deep.embedding._MOST", 10)
    path = tmp_path / "a.vec"
    path.write_bytes(b"9 2\n" + b"a 1 2\n" * 20)
    with pytest.raises(ModelError, match="more than 10 words"):
        WordVectors(path).vectors(["okul"])


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="neither a file"):
        open_embedding(tmp_path / "none")
    with pytest.raises(ModelError, match="engine"):
        open_embedding(tmp_path, "keras")


def test_training_begins_with_them(tmp_path: Path) -> None:
    documents, labels = deep.texts(24)
    path = tmp_path / "a.vec"
    # Two synonyms that the training texts lack one of: only their vectors say that they are alike.
    dice = np.random.default_rng(1)
    lines = [f"common{n} " + " ".join(map(str, dice.normal(0, 1, 8))) for n in range(30)]
    lines += ["goal " + "9 " * 4 + "0 " * 4, "vote " + "0 " * 4 + "9 " * 4]
    path.write_text("32 8\n" + "\n".join(lines) + "\n")
    model = train_net(
        "paper", documents, labels, ("a", "b"), embedding=open_embedding(path), engine="numpy"
    )
    assert model.net.width == 8
    table = model.net.arrays["embedding"]
    number = model.vocabulary.number_of
    assert table[number("goal"), :4].mean() > table[number("goal"), 4:].mean() + 0.02
    assert table[number("vote"), 4:].mean() > table[number("vote"), :4].mean() + 0.02
