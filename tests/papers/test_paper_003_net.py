"""Alqaraleh & Sırın: the page classifier, layer by layer."""

from __future__ import annotations

import numpy as np
import pytest

from honeyguide.models.deep.net import (
    INITIAL_RANGE,
    NET_SHAPES,
    WORD_WIDTH,
    TextNet,
    draw_weights,
    layer_shapes,
)
from honeyguide.models.deep.torch_engine import PATIENCE, NetTrainingOptions
from honeyguide.models.deep.training import train_net
from honeyguide.models.deep.vocabulary import (
    MAX_WORDS,
    PAD,
    SEGMENT_WORDS,
    UNKNOWN_WORD,
    WordVocabulary,
)

CATEGORIES = 14
"""Cn of the paper."""


def network() -> TextNet:
    dice = np.random.default_rng(1)
    table = dice.uniform(-INITIAL_RANGE, INITIAL_RANGE, (1000, WORD_WIDTH)).astype(np.float32)
    return TextNet(
        "paper", {"embedding": table, **draw_weights("paper", WORD_WIDTH, CATEGORIES, dice)}
    )


def test_the_layers() -> None:
    """[N, 150] → embedding 300 → global max pool [N, 300] → dense 2·Cn → dense Cn; no convolution,
    and dropout 0.2 before either dense layer."""
    assert (SEGMENT_WORDS, WORD_WIDTH) == (150, 300)
    assert layer_shapes("paper", WORD_WIDTH, CATEGORIES) == {
        "hidden": (300, 28),
        "hidden_bias": (28,),
        "out": (28, 14),
        "out_bias": (14,),
    }
    assert NET_SHAPES["paper"].dropout == 0.2
    assert NET_SHAPES["paper"].widths == ()


def test_what_it_computes() -> None:
    net = network()
    ids = np.random.default_rng(2).integers(1, 1000, (5, SEGMENT_WORDS)).astype(np.int32)
    found = net.probabilities(ids)
    assert found.shape == (5, CATEGORIES)
    pooled = net.arrays["embedding"][ids].max(axis=1)
    hidden = np.maximum(pooled @ net.arrays["hidden"] + net.arrays["hidden_bias"], 0)
    powers = np.exp(hidden @ net.arrays["out"] + net.arrays["out_bias"])
    assert found == pytest.approx(powers / powers.sum(axis=1, keepdims=True), abs=1e-6)


def test_a_pool_forgets_order_and_number() -> None:
    """Which is why it is no convolution: any order of the same words is the same text."""
    net = network()
    ids = np.random.default_rng(3).integers(1, 1000, (1, SEGMENT_WORDS)).astype(np.int32)
    turned = ids[:, ::-1]
    twice = np.concatenate([ids[:, :75], ids[:, :75]], axis=1)
    once = np.where(np.arange(SEGMENT_WORDS) < 75, ids, PAD)
    assert (net.probabilities(ids) == net.probabilities(turned)).all()
    assert (net.probabilities(twice) == net.probabilities(once)).all()


def test_our_choices_where_the_paper_is_silent() -> None:
    assert (PAD, UNKNOWN_WORD, MAX_WORDS) == (0, 1, 50_000)
    assert (NetTrainingOptions().batch, NetTrainingOptions().epochs, PATIENCE) == (64, 20, 3)
    assert INITIAL_RANGE == 0.05


def test_the_variant_and_the_rivals() -> None:
    assert NET_SHAPES["conv"] == ((3, 4, 5), 128, True, 0.2)
    assert NET_SHAPES["one_layer"] == ((3, 4, 5), 100, False, 0.5)  # Kim 2014, section 3.1
    assert NET_SHAPES["sensitivity"].widths == (2, 3, 4)  # two filters each
    assert NET_SHAPES["sensitivity"].filters == 2


def test_a_page_is_its_segments_weighted_by_length() -> None:
    words = tuple(f"w{n}" for n in range(998))
    from honeyguide.models.deep.category_model import CategoryModel

    names = tuple(f"c{n}" for n in range(CATEGORIES))
    model = CategoryModel(names, WordVocabulary(words, 0), network())
    title, body = list(words[:5]), list(words[5:105])
    logs = np.log(model.probabilities([title, body]))
    mean = (2 * 5 * logs[0] + 100 * logs[1]) / 110
    assert model.judge([title, body], [2.0, 1.0]) == pytest.approx(
        np.exp(mean) / np.exp(mean).sum(), abs=1e-6
    )


def test_it_learns_fourteen_categories() -> None:
    dice = np.random.default_rng(4)
    documents, labels = [], []
    for number in range(14 * 20):
        label = number % CATEGORIES
        words = [f"common{n}" for n in dice.integers(0, 200, 100)]
        words += [f"topic{label}word{n}" for n in dice.integers(0, 6, 8)]
        documents.append(words)
        labels.append(label)
    names = [f"c{n}" for n in range(CATEGORIES)]
    model = train_net("paper", documents[:224], labels[:224], names, engine="numpy", seed=1)
    said = model.judge_many([([document], ()) for document in documents[224:]]).argmax(axis=1)
    assert (said == labels[224:]).mean() > 0.8
