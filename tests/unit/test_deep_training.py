"""Training networks: in numpy always, with PyTorch where it is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.deep.category_model import CategoryModel
from honeyguide.models.deep.net import NET_KINDS, NetKind
from honeyguide.models.deep.torch_engine import (
    EarlyStopping,
    NetTrainingOptions,
    TrainingEpoch,
    batch_size,
    choose_held_out,
)
from honeyguide.models.deep.torch_engine import TrainingEpoch as Seen
from honeyguide.models.deep.training import TrainingEngine, train_net
from tests.unit import deep

TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="needs PyTorch: pip install honeyguide[deep]")
SPORT, POLITICS = ["goal", "match", "common1"], ["vote", "party", "common1"]


def trained(
    kind: NetKind = "paper", engine: TrainingEngine = "numpy", seed: int = 1
) -> CategoryModel:
    documents, labels = deep.texts(24)
    return train_net(
        kind, documents, labels, ("sport", "politics"), engine=engine, epochs=3, seed=seed
    )


@pytest.mark.parametrize(
    ("kind", "engine"),
    [
        ("paper", "numpy"),
        pytest.param("paper", "torch", marks=needs_torch),
        pytest.param("conv", "torch", marks=needs_torch),
        pytest.param("one_layer", "auto", marks=needs_torch),
        pytest.param("sensitivity", "auto", marks=needs_torch),
    ],
)
def test_learns_what_tells_texts_apart(kind: NetKind, engine: TrainingEngine) -> None:
    documents, labels = deep.texts(120, length=12)
    epochs: list[TrainingEpoch] = []
    model = train_net(
        kind,
        documents,
        labels,
        ("sport", "politics"),
        engine=engine,
        epochs=20,
        progress=epochs.append,
        settings={"language": "en"},
    )
    assert min(epoch.held_loss for epoch in epochs) < epochs[0].held_loss
    assert [epoch.number for epoch in epochs] == list(range(1, len(epochs) + 1))
    assert model.judge([SPORT])[0] > model.judge([POLITICS])[0]
    assert model.settings == {"language": "en"}
    assert model.card["documents"] == 120
    assert len(model.card["epochs"]) == len(epochs)


@pytest.mark.parametrize("engine", ["numpy", pytest.param("torch", marks=needs_torch)])
def test_the_same_seed_gives_the_same(engine: TrainingEngine) -> None:
    one, two, other = (trained("paper", engine, seed) for seed in (3, 3, 4))
    for name, array in one.net.arrays.items():
        assert (array == two.net.arrays[name]).all()
    assert (one.net.arrays["out"] != other.net.arrays["out"]).any()


@needs_torch
@pytest.mark.parametrize("kind", ["conv", "one_layer", "sensitivity"])
def test_the_same_seed_gives_the_same_convolutions(kind: NetKind) -> None:
    documents, labels = deep.texts(24, length=12)
    one, two = (train_net(kind, documents, labels, ("a", "b"), epochs=2, seed=5) for _ in "ab")
    for name, array in one.net.arrays.items():
        assert (array == two.net.arrays[name]).all()


@needs_torch
@pytest.mark.parametrize("kind", NET_KINDS)
def test_numpy_and_pytorch_read_alike(kind: NetKind) -> None:
    import torch

    from honeyguide.models.deep import torch_engine

    net, ids = deep.net(kind, width=300), deep.rows(40)
    params = {name: torch.tensor(array) for name, array in net.arrays.items()}
    lengths = torch.tensor((ids > 0).sum(axis=1))
    logits = torch_engine.forward_pass(kind, params, torch.tensor(ids), lengths)
    expected = torch.softmax(logits, dim=1).numpy()
    assert np.abs(net.probabilities(ids) - expected).max() < 1e-5


@needs_torch
@pytest.mark.parametrize("kind", NET_KINDS)
def test_very_many_segments_are_read_where_the_gpu_is(
    kind: NetKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    from honeyguide.models.deep import category_model, torch_engine

    few, pages = deep.model(kind), [([list(deep.WORDS[n:])], ()) for n in range(30)]
    expected = few.judge_many(pages)
    asked: list[int] = []
    found = torch_engine.torch_probabilities
    monkeypatch.setattr(
        torch_engine, "torch_probabilities", lambda n, i: asked.append(len(i)) or found(n, i)
    )
    monkeypatch.setattr(category_model, "_MANY", 30)
    few.judge_many(pages)
    assert asked == ([30] if torch_engine.has_gpu() else [])
    monkeypatch.setattr(torch_engine, "has_gpu", lambda: True)
    monkeypatch.setattr(torch_engine, "torch_device", lambda: "cpu")
    assert np.abs(few.judge_many(pages) - expected).max() < 1e-5
    few.judge_many(pages[1:])
    assert asked[-1] == 30


@pytest.mark.skipif(TORCH, reason="PyTorch is installed")
@pytest.mark.parametrize("kind", ["conv", "one_layer", "sensitivity"])
def test_says_what_to_install(kind: NetKind) -> None:
    documents, labels = deep.texts(8)
    with pytest.raises(ModelError, match=r"pip install honeyguide\[deep\]"):
        train_net(kind, documents, labels, ("a", "b"))


def test_refuses_what_cannot_be_learned() -> None:
    documents, labels = deep.texts(8)
    both = ("a", "b")
    with pytest.raises(ModelError, match="8 documents and 7 labels"):
        train_net("paper", documents, labels[1:], both)
    with pytest.raises(ModelError, match="number of a category"):
        train_net("paper", documents, [2, *labels[1:]], both)
    with pytest.raises(ModelError, match="two categories"):
        train_net("paper", documents, [1] * 8, both)
    with pytest.raises(ModelError, match="contain no words"):
        train_net("paper", [[] for _ in documents], labels, both)
    with pytest.raises(ModelError, match="epochs"):
        train_net("paper", documents, labels, both, epochs=0)
    with pytest.raises(ModelError, match="one of paper"):
        train_net("deepest", documents, labels, both)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="engine"):
        train_net("paper", documents, labels, both, engine="jax")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="kind paper alone"):
        train_net("conv", documents, labels, both, engine="numpy")


def test_two_documents_are_enough_to_begin_with() -> None:
    model = train_net("paper", [["goal"], ["vote"]], [0, 1], ("sport", "politics"), engine="numpy")
    assert model.vocabulary.words == ()  # they share no word: the buckets learn
    assert model.judge([["goal"]])[0] > 0.5 > model.judge([["vote"]])[0]


def test_long_documents_are_learned_to_their_end() -> None:
    """What tells them apart stands behind the first 150 words."""
    documents = [["same"] * 160 + [("goal", "vote")[n % 2]] * 20 for n in range(40)]
    labels = [n % 2 for n in range(40)]
    model = train_net("paper", documents, labels, ("sport", "politics"), engine="numpy", epochs=20)
    assert model.judge([["goal"]])[0] > 0.5 > model.judge([["vote"]])[0]


def test_the_best_epoch_is_kept_and_three_worse_ones_are_enough() -> None:
    told: list[Seen] = []
    watch = EarlyStopping(NetTrainingOptions(epochs=9), told.append)
    weight = np.zeros(1, np.float32)
    for number, held in enumerate([0.9, 0.5, 0.6, 0.5, 0.7]):
        weight[0] = number
        ended = watch.end_epoch(0.1, (held, 0.5), {"w": weight})
    assert ended
    assert watch.best["w"][0] == 1
    assert [epoch.number for epoch in told] == [1, 2, 3, 4, 5]


def test_a_tenth_of_each_category_is_held_back() -> None:
    labels = np.array([0] * 50 + [1] * 20 + [2] * 19)
    held = choose_held_out(labels, 1)
    assert [int(held[labels == label].sum()) for label in range(3)] == [5, 2, 0]
    assert (held == choose_held_out(labels, 1)).all()


def test_few_texts_are_learned_in_small_steps() -> None:
    assert [batch_size(rows) for rows in (1, 64, 160, 1024, 10**6)] == [4, 4, 10, 64, 64]
    documents, labels = deep.texts(30)
    model = train_net("paper", documents, labels, ("sport", "politics"), engine="numpy")
    assert model.judge([SPORT])[0] > 0.7
    assert model.judge([POLITICS])[0] < 0.3
