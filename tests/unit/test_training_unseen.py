"""Training on some sets and testing on another: what counts, and what is left out."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honeyguide.cli.main import build_application
from honeyguide.errors import ConfigError

from .labelled import WORDS, text


def written(path: Path, rows: list[tuple[str, str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return path


def told(*words: object) -> str:
    done = CliRunner().invoke(build_application(), [str(word) for word in words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def sets(tmp_path: Path) -> tuple[Path, Path, Path]:
    one, two, three = (
        [(text(category, n), category) for n in range(start, start + 12) for category in WORDS]
        for start in (0, 100, 200)
    )
    known, foreign, wrong = one[0], (text("birds", 900), "planes"), (text("birds", 901), "soup")
    return (
        written(tmp_path / "one.csv", one),
        written(tmp_path / "two.csv", two),
        written(tmp_path / "three.csv", [*three, known, foreign, wrong]),
    )


def test_trained_on_two_tested_on_a_third(sets: tuple[Path, Path, Path], tmp_path: Path) -> None:
    one, two, three = sets
    words = ("train", one, two, "--test", three, "--kind", "linear", "--folds", 0)
    card = json.loads(told(*words, "--out", tmp_path / "model", "--json"))
    assert card["source"] == "one.csv, two.csv"
    assert sum(card["categories"].values()) == 2 * 12 * len(WORDS)
    test = card["test"]
    assert test["documents"] == 12 * len(WORDS) + 1
    assert test["accuracy"] == pytest.approx(12 * len(WORDS) / (12 * len(WORDS) + 1))
    assert test["macro_recall"] < 1
    assert "1 left out: a category that the model does not have." in test["notes"]
    assert "1 left out: texts that the model was trained on." in test["notes"]
    assert "of three.csv, which were" in (tmp_path / "model" / "card.md").read_text()

    scored = json.loads(told("classify", three, "--model", tmp_path / "model", "--score", "--json"))
    # Nobody knows any more what it was trained on.
    assert scored["accuracy"] > test["accuracy"]
    assert sum(map(sum, scored["confusion"])) == test["documents"] + 1
    shown = told("classify", three, "--model", tmp_path / "model", "--score")
    assert "accuracy" in shown
    assert "birds" in shown


def test_nothing_to_test_on(sets: tuple[Path, Path, Path], tmp_path: Path) -> None:
    one, two, _ = sets
    with pytest.raises(ConfigError, match="36 texts that the model was trained on"):
        told("train", one, two, "--test", one, "--kind", "linear", "--folds", 0,
             "--out", tmp_path / "model")  # fmt: skip
    assert not (tmp_path / "model").exists(), "nothing half done is left"
    with pytest.raises(ConfigError, match="add --score"):
        told("classify", one, "--model", trained(one, tmp_path), "--text", "text")


def trained(source: Path, folder: Path) -> Path:
    told("train", source, "--kind", "linear", "--folds", 0, "--out", folder / "small")
    return folder / "small"
