"""Reading with networks, by numpy: held against loops that anybody can check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep.category_model import CategoryModel
from honeyguide.models.deep.embedding import EncodedTexts
from honeyguide.models.deep.net import NET_KINDS, NetKind, TextNet
from honeyguide.models.deep.vocabulary import (
    FIRST,
    PAD,
    UNKNOWN_WORD,
    WordVocabulary,
    learn_vocabulary,
)
from tests.unit import deep


def slowly(net: TextNet, ids: NDArray[Any]) -> NDArray[Any]:
    """The same network, one word at a time."""
    answers = []
    for row in ids:
        vectors = [net.arrays["embedding"][word] for word in row if word]
        if net.shape.widths:
            pooled: list[float] = []
            for width in net.shape.widths:
                padded = vectors + [np.zeros(net.width)] * max(0, width - len(vectors))
                windows = [
                    np.concatenate(padded[at : at + width]) @ net.arrays[f"kernel{width}"]
                    + net.arrays[f"bias{width}"]
                    for at in range(len(padded) - width + 1)
                ]
                pooled += np.maximum(np.max(windows, axis=0), 0).tolist()
        else:
            pooled = np.max(vectors, axis=0).tolist() if vectors else [0.0] * net.width
        values = np.array(pooled)
        if net.shape.hidden:
            values = np.maximum(values @ net.arrays["hidden"] + net.arrays["hidden_bias"], 0)
        powers = np.exp(values @ net.arrays["out"] + net.arrays["out_bias"])
        answers.append(powers / powers.sum())
    return np.array(answers)


@pytest.mark.parametrize("kind", NET_KINDS)
def test_reads_as_the_definition_says(kind: NetKind) -> None:
    net, ids = deep.net(kind), deep.rows()
    found = net.probabilities(ids)
    assert found == pytest.approx(slowly(net, ids), abs=1e-5)
    assert found.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("kind", NET_KINDS)
def test_reads_vectors_as_it_reads_words(kind: NetKind) -> None:
    whole, ids = deep.net(kind), deep.rows()
    bare = TextNet(kind, {name: a for name, a in whole.arrays.items() if name != "embedding"})
    vectors = whole.arrays["embedding"][ids]
    found = bare.probabilities_of_vectors(vectors, (ids > 0).sum(axis=1))
    assert found == pytest.approx(whole.probabilities(ids), abs=1e-6)
    with pytest.raises(ModelError, match="encoder"):
        bare.probabilities(ids)
    with pytest.raises(ModelError, match="vectors of 6"):
        bare.probabilities_of_vectors(vectors[:, :, :5], (ids > 0).sum(axis=1))


@pytest.mark.parametrize("kind", NET_KINDS)
def test_padding_says_nothing(kind: NetKind) -> None:
    net, ids = deep.net(kind), deep.rows()[-1:]
    other = deep.net(kind)
    other.arrays["embedding"][PAD] = 1e6
    assert (net.probabilities(ids) == other.probabilities(ids)).all()


@pytest.mark.parametrize("kind", NET_KINDS)
def test_a_batch_says_what_each_row_says(kind: NetKind) -> None:
    net, ids = deep.net(kind), deep.rows(130)
    alone = np.concatenate([net.probabilities(row[None]) for row in ids])
    assert net.probabilities(ids) == pytest.approx(alone, abs=1e-6)
    assert net.probabilities(ids[:0]).shape == (0, 3)


@pytest.mark.parametrize("kind", NET_KINDS)
def test_evidence_is_what_a_word_brings(kind: NetKind) -> None:
    """To the first order: the marks of a row add up to what its pool brings to the log-odds."""
    net = deep.net(kind)
    ids = deep.rows()[:1]
    marks = net.word_evidence(ids, 1)
    pool = net._pooled_words(ids).values
    step = 1e-3

    def odds(values: Any) -> float:
        logits = net.logits(values)[0]
        return float(logits[1] - (logits[0] + logits[2]) / 2)

    brought = sum(
        (odds(pool + step * unit) - odds(pool - step * unit)) / (2 * step) * value
        for unit, value in zip(np.eye(pool.shape[1]), pool[0], strict=True)
    )
    assert marks.sum() == pytest.approx(brought, rel=1e-2, abs=1e-3)
    assert net.word_evidence(deep.rows()[1:2], 1).sum() == 0


def test_a_network_refuses_what_does_not_fit() -> None:
    good = deep.net("conv").arrays
    with pytest.raises(ModelError, match="kernel4"):
        TextNet("conv", good | {"kernel4": np.zeros((4 * 6, 127), np.float32)})
    with pytest.raises(ModelError, match="bias5"):
        TextNet("conv", {name: a for name, a in good.items() if name != "bias5"})
    with pytest.raises(ModelError, match="more"):
        TextNet("conv", good | {"more": np.zeros(3, np.float32)})
    with pytest.raises(ModelError, match="no numbers"):
        TextNet("conv", good | {"out": np.zeros((6, 3))})
    with pytest.raises(ModelError, match="out of range"):
        TextNet("conv", good | {"out_bias": np.full(3, np.nan, np.float32)})
    with pytest.raises(ModelError, match="two categories"):
        TextNet("paper", {})
    with pytest.raises(ModelError, match="no first layer"):
        TextNet("paper", {"out": good["out"]})
    with pytest.raises(ModelError, match="one of paper, conv"):
        TextNet("deepest", good)
    with pytest.raises(ModelError, match="vocabulary"):
        deep.net("paper").probabilities(np.full((1, 150), 42, np.int32))
    with pytest.raises(ModelError, match="vocabulary"):
        deep.net("paper").probabilities(np.full((1, 150), -1, np.int32))


def test_words_and_their_numbers() -> None:
    documents = [["kitap", "kitap", "okul"], ["kitap", "okul"], ["okul", "bir"], ["" for _ in "ab"]]
    words = learn_vocabulary(documents, buckets=8)
    assert words.words == ("okul", "kitap")  # by documents; one is in one document only
    assert words.numbers_of(["okul", "kitap"]) == [FIRST, FIRST + 1]
    assert words.number_of("okulda") == FIRST  # its longest known beginning
    assert words.number_of("kitaplıklarımız") >= FIRST + 2  # the beginning is less than half of it
    assert words.number_of("") == UNKNOWN_WORD
    assert words.number_of("bir") == words.number_of("bir") < words.size == FIRST + 2 + 8
    assert WordVocabulary(("okul",), 0).number_of("okulda") == UNKNOWN_WORD
    row = words.to_rows([["okul"] * 200, []])
    assert row.shape == (2, 150)
    assert row[0].tolist() == [FIRST] * 150
    assert row[1].tolist() == [PAD] * 150


def test_a_vocabulary_is_the_same_in_any_order() -> None:
    documents = [["b", "a"], ["a", "b"], ["c", "a"], ["c"]]
    assert (
        learn_vocabulary(documents).words
        == learn_vocabulary(documents[::-1]).words
        == ("a", "b", "c")
    )
    assert learn_vocabulary(documents, most=1).words == ("a",)


@given(st.text())
def test_any_word_has_a_number(word: str) -> None:
    words = WordVocabulary(("okul", "kitap"))
    assert 1 <= words.number_of(word) < words.size


def test_damaged_vocabularies() -> None:
    for wrong in (("a", "a"), ("a", "")):
        with pytest.raises(ModelError, match="twice"):
            WordVocabulary(wrong)
    with pytest.raises(ModelError, match="too large"):
        WordVocabulary(("a",), -1)


def test_a_page_is_the_weighted_mean_of_its_segments() -> None:
    model = deep.model()
    one, two = list(deep.WORDS[:30]), list(deep.WORDS[30:])
    logs = np.log(model.probabilities([one, two]))
    mean = (30 * logs[0] + 2 * 10 * logs[1]) / 50
    expected = np.exp(mean) / np.exp(mean).sum()
    assert model.judge([one, two], [1.0, 2.0]) == pytest.approx(expected, abs=1e-6)
    assert model.judge([one, [], two], [1.0, 5.0, 2.0]) == pytest.approx(expected, abs=1e-6)
    many = model.judge_many([([one, two], [1.0, 2.0]), ([], ()), ([one], ())])
    assert many[0] == pytest.approx(expected, abs=1e-6)
    assert many[1] == pytest.approx([1 / 3] * 3)
    assert many[2] == pytest.approx(model.probabilities([one])[0], abs=1e-6)
    assert model.judge_many([]).shape == (0, 3)
    with pytest.raises(ModelError, match="as many weights"):
        model.judge([one], [1.0, 2.0])


def test_a_long_segment_counts_as_what_was_read_of_it() -> None:
    model = deep.model()
    long, short = list(deep.WORDS) * 10, list(deep.WORDS[:15])
    assert model.judge([long, short]) == pytest.approx(model.judge([long[:150], short]), abs=1e-7)


def test_evidence_names_words() -> None:
    model = deep.model()
    found = model.top_words([list(deep.WORDS), []], "b", most=5)
    assert 0 < len(found) <= 5
    assert [mark for _, mark in found] == sorted((m for _, m in found), reverse=True)
    assert all(word in deep.WORDS and mark > 0 for word, mark in found)
    assert model.top_words([], "b") == []


def test_a_model_refuses_what_does_not_fit() -> None:
    good = deep.model()
    with pytest.raises(ModelError, match="distinguishes 2 to"):
        CategoryModel(("a", "a", "b"), good.vocabulary, good.net)
    with pytest.raises(ModelError, match="network and categories"):
        CategoryModel(("a", "b"), good.vocabulary, good.net)
    with pytest.raises(ModelError, match="network and vocabulary"):
        CategoryModel(good.categories, WordVocabulary(deep.WORDS[1:], 0), good.net)
    bare = {name: array for name, array in good.net.arrays.items() if name != "embedding"}
    with pytest.raises(ModelError, match="encoder"):
        CategoryModel(good.categories, good.vocabulary, TextNet("paper", bare))


def test_weights_whose_products_are_no_numbers() -> None:
    """Each is finite; what a stranger's model says with them would not be."""
    good = deep.net("paper")
    huge = {name: np.full_like(array, 1e29) for name, array in good.arrays.items()}
    with pytest.raises(ModelError, match="out of range"):
        TextNet("paper", huge)
    most = {name: np.full_like(array, 9e5) for name, array in good.arrays.items()}
    model = CategoryModel(("a", "b", "c"), WordVocabulary(deep.WORDS, 0), TextNet("paper", most))
    assert np.isfinite(model.judge([list(deep.WORDS)])).all()


def test_a_verdict_is_a_number_or_told() -> None:
    class Loud:
        width = 6
        origin: ClassVar[dict[str, str]] = {}

        def encode(self, segments: Sequence[Sequence[str]]) -> EncodedTexts:
            vectors = np.full((len(segments), 1, self.width), 3e38, np.float32)
            return EncodedTexts(vectors, np.ones(len(segments), np.int64))

    arrays = {name: a * 100 for name, a in deep.net("paper").arrays.items() if name != "embedding"}
    model = CategoryModel(
        ("a", "b", "c"), WordVocabulary((), 0), TextNet("paper", arrays), encoder=Loud()
    )
    with pytest.raises(ModelError, match="not a number"):
        model.judge([["word"]])
