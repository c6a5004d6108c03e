"""The linear category model, saved and loaded; and the kinds side by side."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from honeyguide.errors import ConfigError, ModelError
from honeyguide.models import categories
from honeyguide.models.categories import BagOfWordsModel, load_category_model, save_category_model
from honeyguide.training.train import (
    MODEL_KINDS,
    TrainingOptions,
    cross_validate,
    model_size,
    parse_kinds,
    train_model,
)
from tests.unit.test_topic_cnn import corpus


@pytest.fixture(scope="module")
def model() -> BagOfWordsModel:
    made = train_model("linear", corpus(), TrainingOptions())
    assert isinstance(made, BagOfWordsModel)
    return made


def test_probabilities_add_up_and_words_count(model: BagOfWordsModel) -> None:
    said = model.judge_many(
        [([["feather", "nest"]], ()), ([["boil"], ["salt"]], (2.0, 1.0)), ([], ())]
    )
    assert said.sum(axis=1) == pytest.approx(1.0)
    assert [model.categories[n] for n in said[:2].argmax(axis=1)] == ["birds", "soup"]
    alone = model.judge([["feather", "nest"]])
    assert alone == pytest.approx(said[0])
    assert dict(model.top_words([["feather", "day", "zzz"]], "birds"))["feather"] > 0
    assert model.top_words([], "birds") == []


def test_a_doubled_word_weighs_more(model: BagOfWordsModel) -> None:
    once = model.judge([["feather"], ["boil"]], (1.0, 1.0))
    twice = model.judge([["feather"], ["boil"]], (2.0, 1.0))
    assert twice[0] > once[0]


def test_saved_and_loaded_it_is_the_same(model: BagOfWordsModel, tmp_path: Path) -> None:
    save_category_model(model, tmp_path)
    save_category_model(model, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2, "no old arrays stay"
    again = load_category_model(tmp_path)
    page = ([["feather", "rail", "pot"]], (1.0,))
    assert (again.judge(*page) == model.judge(*page)).all()
    assert (again.settings, again.categories) == (model.settings, model.categories)


@pytest.mark.parametrize(
    "damage",
    [
        lambda head: head | {"categories": ["a"]},
        lambda head: head | {"categories": ["a", "a", "b"]},
        lambda head: head | {"categories": "abc"},
        lambda head: head | {"settings": 3},
        lambda head: head | {"format": 99},
        lambda head: head | {"arrays": {"file": "../../etc/passwd", "sha256": ""}},
        lambda head: head | {"arrays": head["arrays"] | {"sha256": "0"}},
        lambda head: head | {"arrays": None},
        lambda head: head | {"kind": "strange"},
        lambda head: [head],
    ],
)
def test_a_damaged_folder_is_refused(
    model: BagOfWordsModel, tmp_path: Path, damage: object
) -> None:
    save_category_model(model, tmp_path)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))  # type: ignore[operator]
    with pytest.raises(ModelError):
        load_category_model(tmp_path)


def test_arrays_must_fit_together(model: BagOfWordsModel) -> None:
    with pytest.raises(ModelError):
        replace(model, words=model.words + " more")
    with pytest.raises(ModelError):
        replace(model, weights=model.weights[:, :2])
    with pytest.raises(ModelError):
        replace(model, offsets=np.array([np.nan, 0, 0]))
    with pytest.raises(ModelError):
        replace(model, weights=model.offsets)


def test_a_linear_model_is_not_larger_than_any_lesson_makes_it(model: BagOfWordsModel) -> None:
    names = tuple(f"{n:x}" for n in range(1_001))
    table = np.zeros((1, len(names)), np.float32)
    BagOfWordsModel(names[:1_000], "word", np.ones(1), table[:, :1_000], table[0, :1_000])
    with pytest.raises(ModelError, match="too many"):
        BagOfWordsModel(names, "word", np.ones(1), table, table[0])
    many = 200_001
    with pytest.raises(ModelError, match="too many"):
        BagOfWordsModel(
            ("a", "b"), " ".join(["w"] * many), np.ones(many), np.ones((many, 2)), np.ones(2)
        )
    with pytest.raises(ModelError, match="too many"):
        replace(model, words="w" * 20_000_001)


def test_nothing_in_common_is_told() -> None:
    with pytest.raises(ModelError):
        categories.train_bag_of_words([([["a"]], ()), ([["b"]], ())], [0, 0], ("x", "y"))


def note(told: list[tuple[str, float]], what: str, done: float) -> None:
    told.append((what, done))


def test_every_kind_of_a_base_install_tells_the_categories_apart() -> None:
    some = corpus(10)
    for kind in parse_kinds("auto"):
        told: list[tuple[str, float]] = []
        found = cross_validate(
            kind, some, 3, TrainingOptions(epochs=20), report=partial(note, told)
        )
        assert found.accuracy > 0.8, kind
        shares = [share for _, share in told]
        assert shares == sorted(shares)
        assert told[-1] == (f"{kind}, 3 folds", 1.0)
        assert model_size(train_model(kind, some, TrainingOptions(epochs=1)))["words"] > 20


def test_kinds_by_name() -> None:
    assert parse_kinds("conv") == ("conv",)
    assert set(parse_kinds("auto")) < set(MODEL_KINDS)
    with pytest.raises(ConfigError, match="choose among auto, linear"):
        parse_kinds("cnn")
