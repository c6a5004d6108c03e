"""Every regressor: fits, predicts, is saved; and says what was worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.models.link_promise import binned_confidence, nearest_confidence, pooled_confidence
from honeyguide.models.link_scores import mean_response_times
from honeyguide.models.regressors import (
    REGRESSOR_FITS,
    FloatArray,
    Linear,
    Regressor,
    assign_folds,
    boost_stumps,
    boosted_out_of_fold,
    choose_regressor,
    feature_contributions,
    fit_additive,
    fit_isotonic,
    grow_trees,
    predict_clipped,
    predict_out_of_fold,
    prepare_ridge,
)
from honeyguide.store.generations import pack_strategy, unpack_strategy


@dataclass(frozen=True)
class Holder:
    """Something to save a model in."""

    model: Regressor


def data(rows: int = 80, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """The first feature is worth 0.5, the second -0.3; the rest is noise."""
    random = np.random.default_rng(seed)
    table = (random.random((rows, 6)) < 0.4).astype(float)
    target = np.clip(0.4 + 0.5 * table[:, 0] - 0.3 * table[:, 1], 0, 1)
    return table, target


@pytest.mark.parametrize("name", REGRESSOR_FITS)
def test_each_learns_what_is_there_to_learn(name: str) -> None:
    table, target = data()
    model = REGRESSOR_FITS[name](table, target)
    other, truth = data(seed=2)
    error = np.sqrt(np.mean((predict_clipped(model, other) - truth) ** 2))
    assert error < 0.8 * truth.std(), "better than the mean"
    again = REGRESSOR_FITS[name](table, target)
    assert again.predict(other).tolist() == model.predict(other).tolist(), "no chance in it"


@pytest.mark.parametrize("name", REGRESSOR_FITS)
def test_each_survives_saving(name: str) -> None:
    table, target = data()
    model = REGRESSOR_FITS[name](table, target)
    loaded = unpack_strategy(pack_strategy("it", Holder(model)), lambda _: Holder).model
    assert type(loaded) is type(model)
    assert loaded.predict(table).tolist() == model.predict(table).tolist()


@pytest.mark.parametrize("name", REGRESSOR_FITS)
@pytest.mark.parametrize(
    ("table", "target"),
    [
        (np.zeros((4, 3)), np.array([0.0, 0.0, 1.0, 1.0])),
        (np.ones((4, 3)), np.array([0.0, 0.0, 1.0, 1.0])),
        (np.eye(3), np.ones(3)),
        (np.ones((2, 1)), np.array([0.0, 1.0])),
    ],
    ids=["nothing", "everything", "one class", "contradiction"],
)
def test_each_bears_data_without_a_lesson(name: str, table: FloatArray, target: FloatArray) -> None:
    said = predict_clipped(REGRESSOR_FITS[name](table, target), table)
    assert np.isfinite(said).all()
    assert np.abs(said - target.mean()).max() < 0.2


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 25), st.integers(1, 8), st.integers(0, 10**6), st.sampled_from([*REGRESSOR_FITS])
)
def test_each_is_finite_on_anything(rows: int, columns: int, seed: int, name: str) -> None:
    random = np.random.default_rng(seed)
    table = (random.random((rows, columns)) < random.random()).astype(float)
    target = random.integers(0, 2, rows).astype(float)
    said = predict_clipped(REGRESSOR_FITS[name](table, target), table)
    assert np.isfinite(said).all()
    assert ((said >= 0) & (said <= 1)).all()


def test_stumps_by_hand() -> None:
    # Feature 0 splits best: means 1/3 and 1. What is left is zero with it, and ±: feature 1 next.
    table = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 0]], float)
    target = np.array([0, 0, 1, 1, 1], float)
    model = boost_stumps(table, target, rounds=2, rate=1.0)
    assert model.offset == 0.6
    assert model.features.tolist() == [0, 1]
    assert model.without[0] == pytest.approx(1 / 3 - 0.6)
    assert model.having[0] == pytest.approx(0.4)
    # Left over: -1/3, -1/3, 2/3, 0, 0: with feature 1 it is 2/3, without it -2/12.
    assert model.having[1] == pytest.approx(2 / 3)
    assert model.without[1] == pytest.approx(-1 / 6)


def test_folds_at_once_are_folds_one_by_one() -> None:
    table, target = data()
    fold = assign_folds(target)
    slow = predict_out_of_fold(fit_additive, table, target, fold)
    assert boosted_out_of_fold(table, target, fold) == pytest.approx(slow, abs=1e-9)


def test_folds_share_out_the_classes() -> None:
    target = np.array([1.0] * 10 + [0.0] * 90)
    fold = assign_folds(target)
    assert [target[fold == n].sum() for n in range(10)] == [1.0] * 10
    assert assign_folds(np.array([0.0, 1.0, 1.0])).max() == 2, "no more folds than rows"


def test_one_stump_is_the_isotonic_regression_of_the_best_feature() -> None:
    table, target = data()
    said = fit_isotonic(table, target).predict(table)
    assert set(np.round(said, 9)) == {
        round(float(target[table[:, 0] == v].mean()), 9) for v in (0, 1)
    }


def test_a_tree_finds_what_no_sum_can_say() -> None:
    table = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 5 + [[1, 1]] * 3, float)
    target = (table[:, 0] != table[:, 1]).astype(float)
    assert grow_trees([(table, target)]).predict(table).tolist() == target.tolist()


def test_ridge_equals_its_normal_equations() -> None:
    table, target = data()
    for rows in (table, table[:4]):
        wanted = target[: len(rows)]
        off = rows - rows.mean(axis=0)
        weights = np.linalg.solve(off.T @ off + 3 * np.eye(6), off.T @ (wanted - wanted.mean()))
        assert prepare_ridge(rows, wanted).fit(3.0).weights == pytest.approx(weights)


def test_the_best_learner_is_chosen_and_a_tie_goes_to_the_first() -> None:
    table, target = data()
    assert choose_regressor(("isotonic", "linear"), table, target).name == "linear"
    assert choose_regressor(("additive", "additive"), table, target).name == "additive"
    flat = np.full(len(target), 0.5)
    assert choose_regressor(("stumps", "ridge"), table, flat).name == "stumps"


def test_contributions_are_what_would_be_lost() -> None:
    model = Linear(np.array([0.5, -0.2, 0.3]), 0.1)
    found = dict(feature_contributions(model, np.array([1.0, 1.0, 0.0])))
    assert found == pytest.approx({0: 0.5, 1: -0.2})
    assert feature_contributions(model, np.zeros(3)) == []


def test_a_prediction_is_the_same_alone_and_in_company() -> None:
    table, target = data(200)
    model = prepare_ridge(table, target).fit(1.0)
    everyone = model.predict(table)
    assert [float(model.predict(row[None, :])[0]) for row in table] == everyone.tolist()


@pytest.mark.parametrize("size", [1, 2, 7, 60, 300])
def test_confidence_lies_between_nothing_and_everything(size: int) -> None:
    random = np.random.default_rng(size)
    truth, said, familiar = random.random((3, size))
    for one in (
        pooled_confidence(truth, said),
        binned_confidence(truth, said, familiar),
        nearest_confidence(truth, said, familiar),
    ):
        factors = one.factors_of(random.random(50), random.random(50))
        assert ((factors >= 0) & (factors <= 1)).all()


def test_promises_that_were_kept_are_trusted_more() -> None:
    said = np.repeat([0.2, 0.8], 200)
    truth = np.concatenate([np.random.default_rng(1).random(200), np.full(200, 0.8)])
    familiar = np.ones(400)
    for one in (
        binned_confidence(truth, said, familiar),
        nearest_confidence(truth, said, familiar),
    ):
        low, high = one.factors_of(np.array([0.2, 0.8]), np.ones(2))
        assert high > low + 0.2


def test_newer_answers_count_more_and_the_fastest_host_is_one() -> None:
    known = mean_response_times([("a", 1.0), ("b", 4.0), ("a", 2.0), ("c", 0.0), ("d", 3.0)])
    assert known.seconds == pytest.approx({"b": 4.0, "a": 0.7 + 0.6, "d": 3.0})
    assert known.relative_speed("a") == 1.0
    assert known.relative_speed("b") == pytest.approx(1.3 / 4)
    assert known.relative_speed("stranger") == known.relative_speed("d"), "the middle one"
    assert mean_response_times([]).relative_speed("anyone") == 1.0
