"""The table of word meanings: order of likeness, recorded vectors, hostile and foreign texts."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from honeyguide.text import word_vectors
from honeyguide.text.word_vectors import DIMENSIONS, text_vectors

DATA = Path(word_vectors.__file__).parent / "data"
RECORDED = Path(__file__).with_name("word_vectors.json")
"""Vectors of some texts, times 1,000. After a change that is meant, write them again:
``python -m tests.unit.test_text_word_vectors``."""
TEXTS = (
    "Cholera", "typhoid fever", "steam locomotive", "London and North Eastern Railway", "owl",
    "List of birds of Great Britain", "the", "click here", "Backup and restore",
    "point-in-time recovery", "PostgreSQL", "Ancient Rome", "JULIUS CAESAR", "café au lait",
    "antidisestablishmentarianism", "42", "don't", "photosynthesis in green plants", "プログラム",
    "Diz protezi ameliyatı",
)  # fmt: skip


@pytest.mark.parametrize(
    ("near", "text", "far"),
    [
        ("typhoid fever", "cholera", "steam locomotive"),
        ("railway engine", "steam locomotive", "measles"),
        ("sparrow", "Eurasian eagle owl", "parliament"),
        ("planet", "Jupiter's moons", "sourdough bread"),
        ("Isaac Newton", "Albert Einstein", "London Underground"),
        ("poet and novelist", "William Shakespeare", "volcano"),
        ("restore a database", "recovery from backups", "authentication of users"),
    ],
)
def test_texts_of_like_meaning_are_near(near: str, text: str, far: str) -> None:
    one, two, three = text_vectors((near, text, far))
    assert two @ one > two @ three + 0.1


def text_vector(text: str) -> NDArray[np.float32]:
    return text_vectors([text])[0]


def test_vectors_are_as_recorded() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    assert tuple(recorded) == TEXTS
    found = np.round(text_vectors(TEXTS) * 1000)
    assert np.abs(found - np.array(list(recorded.values()))).max() <= 1


def test_length_is_one_or_nothing() -> None:
    texts = ("owls eat mice", "", " \n\t…—!", "a" * 101, "owl" * 40)
    assert np.linalg.norm(text_vectors(texts), axis=1).tolist() == pytest.approx([1, 0, 0, 0, 0])
    assert text_vectors(()).shape == (0, DIMENSIONS)


def test_a_text_is_the_same_alone_and_among_others() -> None:
    many = (*TEXTS, "") * 30
    together = text_vectors(many)
    assert all(np.array_equal(text_vector(t), row) for t, row in zip(many, together, strict=True))


def test_case_marks_and_signs_do_not_count() -> None:
    assert np.array_equal(text_vector("CAFÉ, “Owl”!"), text_vector("cafe owl"))
    assert np.array_equal(text_vector("snake_case"), text_vector("snake case"))


def test_unknown_words_are_read_by_pieces() -> None:
    birdwatchers = text_vector("birdwatchers")
    assert birdwatchers @ text_vector("watching birds") > 0.5
    assert text_vector("owls") @ text_vector("owl") > 0.6


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "owl " * 1_000_000,
        "ﷺ" * 10_000,
        "각" * 10_000,
        "a" + "\u0301" * 100_000,
        "\ud800 owl \udfff",
        "\0\x1b[2J owl",
        "𝕬𝖓 𝖔𝖜𝖑",
        "小猫",
        "Сова и мышь",
        "بومة",
        "उल्लू",
        "नमस्ते" * 5_000,
    ],
)
def test_any_text_has_a_vector(text: str) -> None:
    found = text_vectors((text, "owl"))
    assert np.isfinite(found).all()
    assert np.linalg.norm(found[0]) == pytest.approx(1) or not found[0].any()
    assert np.array_equal(found[1], text_vector("owl"))


def test_no_more_than_its_beginning_is_read() -> None:
    begin = "owl " * (word_vectors.MAX_CHARS // 4)
    assert np.array_equal(text_vectors((begin,)), text_vectors((begin + "steam locomotive",)))


def test_table_is_small_shared_and_says_whose_it_is() -> None:
    files = [DATA / "word_vectors.npy", DATA / "word_pieces.txt"]
    assert sum(file.stat().st_size for file in files) < 4_000_000
    table = np.load(files[0], mmap_mode="r")
    assert table.dtype == np.int8
    assert table.shape == (len(files[1].read_text("utf-8").split("\n")), DIMENSIONS)
    assert isinstance(word_vectors._table(), np.memmap)
    notice = (DATA / "LICENSES.md").read_text("utf-8")
    assert all(f"`{file.name}`" in notice for file in DATA.iterdir() if file.suffix != ".md")
    project = tomllib.loads((DATA.parents[3] / "pyproject.toml").read_text("utf-8"))["project"]
    assert "src/honeyguide/text/data/LICENSES.md" in project["license-files"]


if __name__ == "__main__":
    whole = np.round(text_vectors(TEXTS) * 1000).astype(int).tolist()
    lines = ",\n".join(
        f"{json.dumps(text, ensure_ascii=False)}: {json.dumps(row, separators=(',', ':'))}"
        for text, row in zip(TEXTS, whole, strict=True)
    )
    RECORDED.write_text(f"{{\n{lines}\n}}\n", "utf-8")
