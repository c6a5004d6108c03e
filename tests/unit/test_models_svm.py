from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from honeyguide.errors import ModelError
from honeyguide.models import svm
from honeyguide.models.svm import Linear, Rbf, SparseArrays, fit_platt, train_svm


def rows_of(dense: np.ndarray) -> SparseArrays:
    lengths = np.linalg.norm(dense, axis=1, keepdims=True)
    matrix = csr_array(dense / np.where(lengths > 0, lengths, 1))
    return matrix.data, matrix.indices, matrix.indptr


def two_topics(
    good: int, bad: int, size: int = 400, seed: int = 1
) -> tuple[SparseArrays, np.ndarray]:
    """Rows of 30 words, of which a class prefers its own tenth of the vocabulary."""
    dice = np.random.default_rng(seed)
    dense = np.zeros((good + bad, size))
    truth = np.arange(good + bad) < good
    for row, is_good in zip(dense, truth, strict=True):
        own = np.arange(0, 40) if is_good else np.arange(40, 80)
        np.add.at(row, dice.choice(own, 6), 1)
        np.add.at(row, dice.integers(0, size, 24), 1)
    return rows_of(dense), truth


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_tells_unseen_rows_apart_with_fair_probabilities(kernel: str) -> None:
    rows, good = two_topics(60, 90)
    machine = train_svm(rows, 400, good, kernel=kernel)  # type: ignore[arg-type]
    assert isinstance(machine, Rbf if kernel == "rbf" else Linear)
    unseen, truth = two_topics(40, 40, seed=2)
    scores = np.array(machine.scores(unseen))
    assert np.mean((scores >= 0.5) == truth) > 0.9
    assert np.mean((scores - truth) ** 2) < 0.08


def test_what_machines_say_of_rows_that_they_never_saw_is_no_boast() -> None:
    rows, good = two_topics(60, 60)
    dice = np.random.default_rng(4)
    for truth, right in ((good, 0.85), (dice.permutation(good), 0.3)):
        found = svm.cross_validate_svm(rows, 400, truth)
        assert found is not None
        own = np.array(found.machine.scores(rows)) >= 0.5
        assert np.mean(own == truth) > 0.95 or right < 0.5, "its own rows it knows by heart"
        outside = np.mean((found.outside >= 0) == truth)
        assert right < outside <= (1.0 if right > 0.5 else 0.7), "of labels by chance it knows none"
    assert svm.cross_validate_svm(rows, 400, np.ones(120, dtype=bool)) is None


@pytest.mark.parametrize(("good", "bad"), [(30, 30), (31, 30), (30, 31), (11, 13), (8, 60)])
def test_a_flat_kernel_is_calibrated_whatever_the_classes_sizes(good: int, bad: int) -> None:
    # The machine's offset jumps between -1 and 1 with the larger class of each fold.
    rows, truth = two_topics(good, bad)
    machine = train_svm(rows, 400, truth, kernel="rbf")
    assert machine is not None
    unseen, told = two_topics(50, 50, seed=3)
    scores = np.array(machine.scores(unseen))
    assert scores[told].mean() > scores[~told].mean() + 0.3


def test_rbf_scores_are_those_of_the_kernel_written_out() -> None:
    rows, good = two_topics(20, 25)
    machine = train_svm(rows, 400, good, kernel="rbf")
    assert isinstance(machine, Rbf)
    shape = (len(machine.multipliers), 400)
    support = csr_array((machine.values, machine.places, machine.starts), shape=shape).toarray()
    unseen, _ = two_topics(3, 3, seed=4)
    for x, score in zip(
        csr_array(unseen, shape=(6, 400)).toarray(), machine.scores(unseen), strict=True
    ):
        kernel = np.exp(-machine.gamma * ((support - x) ** 2).sum(axis=1))
        odds = machine.slope * float(kernel @ machine.multipliers) + machine.offset
        assert score == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-4)
    assert machine.gamma == 1 / 400


def test_rbf_weights_say_nearly_what_the_machine_says() -> None:
    rows, good = two_topics(20, 25)
    machine = train_svm(rows, 400, good, kernel="rbf")
    assert isinstance(machine, Rbf)
    nothing = (np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(2, dtype=np.int32))
    one = (np.ones(1), np.array([5]), np.array([0, 1]))
    odds = [math.log(p / (1 - p)) for (p,) in (machine.scores(one), machine.scores(nothing))]
    assert odds[0] - odds[1] == pytest.approx(machine.weights[5], rel=0.05, abs=0.02)


def test_the_whole_larger_class_is_heard() -> None:
    rows, good = two_topics(10, 100, size=8000)
    machine = train_svm(rows, 8000, good, kernel="rbf")
    assert isinstance(machine, Rbf)
    assert np.sum(machine.multipliers < 0) > 3 * 10


def test_scoring_needs_no_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, good = two_topics(10, 10)
    machines = [train_svm(rows, 400, good, kernel=kernel) for kernel in ("rbf", "linear")]
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    for machine in machines:
        assert machine is not None
        assert len(machine.scores(rows)) == 20


def test_beyond_its_cap_the_kernel_is_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, good = two_topics(10, 10)
    monkeypatch.setattr(svm, "LARGEST", 19)
    assert isinstance(train_svm(rows, 400, good, kernel="rbf"), Linear)


def test_nothing_is_learned_without_both_classes_or_features() -> None:
    rows, good = two_topics(4, 0)
    assert train_svm(rows, 400, good) is None
    empty = (np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(3, dtype=np.int32))
    assert train_svm(empty, 0, np.array([True, False])) is None


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_handful_of_examples_gives_modest_and_right_answers(kernel: str) -> None:
    for good, bad in ((1, 1), (1, 4), (2, 2), (2, 3)):
        rows, truth = two_topics(good, bad)
        machine = train_svm(rows, 400, truth, kernel=kernel)  # type: ignore[arg-type]
        assert machine is not None
        scores = np.array(machine.scores(rows))
        assert scores[truth].min() > scores[~truth].max(), (good, bad)
        assert scores.min() > 0.02
        assert scores.max() < 0.98


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_contradictions_end_near_the_share_of_good_ones(kernel: str) -> None:
    rows = rows_of(np.tile([[1.0, 2.0, 0.0]], (20, 1)))
    good = np.arange(20) < 5
    machine = train_svm(rows, 3, good, kernel=kernel)  # type: ignore[arg-type]
    assert machine is not None
    assert machine.scores(rows)[0] == pytest.approx(0.25, abs=0.02)
    heavy = train_svm(rows, 3, good, np.where(good, 3.0, 1.0), kernel)  # type: ignore[arg-type]
    assert heavy is not None
    assert heavy.scores(rows)[0] == pytest.approx(0.5, abs=0.02), "a weight is so many examples"


def test_random_labels_are_believed_little() -> None:
    rows, _ = two_topics(50, 50)
    good = np.random.default_rng(5).random(100) < 0.5
    machine = train_svm(rows, 400, good)
    assert machine is not None
    unseen, _ = two_topics(50, 50, seed=6)
    assert np.std(machine.scores(unseen)) < 0.2


def test_platt_finds_the_sigmoid_that_made_the_labels() -> None:
    dice = np.random.default_rng(7)
    for scale in (1.0, 1e-5):
        values = dice.normal(0.5, 2, 20_000)
        good = dice.random(20_000) < 1 / (1 + np.exp(-(1.5 * values - 0.7)))
        slope, offset = fit_platt(values * scale, good, np.ones(20_000))
        assert slope * scale == pytest.approx(1.5, rel=0.1)
        assert offset == pytest.approx(-0.7, abs=0.1)


def test_platt_of_perfectly_told_classes_stays_finite() -> None:
    slope, offset = fit_platt(
        np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0, 0, 1, 1]) > 0, np.ones(4)
    )
    top = 1 / (1 + math.exp(-(slope + offset)))
    assert top == pytest.approx(3 / 4, abs=0.01), "(N + 1) / (N + 2)"
    assert fit_platt(np.ones(3), np.array([True, False, True]), np.ones(3)) == (0.0, 0.0)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 3), min_size=5, max_size=5)),
        min_size=2,
        max_size=14,
    ),
    st.sampled_from(["rbf", "linear"]),
)
def test_any_examples_give_scores_between_0_and_1(
    samples: list[tuple[bool, list[int]]], kernel: str
) -> None:
    rows = rows_of(np.array([counts for _, counts in samples], dtype=float))
    good = np.array([is_good for is_good, _ in samples])
    machine = train_svm(rows, 5, good, kernel=kernel)  # type: ignore[arg-type]
    if machine is None:
        assert good.all() or not good.any()
    else:
        assert all(0 <= score <= 1 for score in machine.scores(rows))


@pytest.mark.parametrize("wrong", [5, 100_000, -1])
def test_a_strangers_machine_cannot_point_beyond_its_end(wrong: int) -> None:
    good = {
        "values": np.ones(2),
        "places": np.array([0, 1]),
        "starts": np.array([0, 1, 2]),
        "multipliers": np.array([0.5, -0.5]),
        "size": 3,
        "gamma": 0.1,
        "slope": 1.0,
        "offset": 0.0,
    }
    rows = (np.ones(1), np.array([2]), np.array([0, 1]))
    assert len(Rbf(**good).scores(rows)) == 1  # type: ignore[arg-type]
    for damage in (
        {"places": np.array([0, wrong])},
        {"starts": np.array([0, 2, 1])},
        {"starts": np.array([0, 2])},
        {"multipliers": np.array([0.5, np.nan])},
        {"values": np.array(["a", "b"])},
    ):
        with pytest.raises(ModelError, match="damaged"):
            Rbf(**(good | damage))  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="do not fit"):
        Rbf(**good).scores((np.ones(1), np.array([wrong]), np.array([0, 1])))  # type: ignore[arg-type]
