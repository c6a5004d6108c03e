"""Whether a text is in words that a model knows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honeyguide.models.categories import train_bag_of_words as train_bags
from honeyguide.models.deep.training import train_net
from honeyguide.models.deep.vocabulary import (
    MIN_KNOWN_SHARE,
    VocabularyCoverage,
    low_coverage,
    telling_words,
)

WORDS = frozenset(("lig", "gol"))


def test_numbers_and_single_letters_stand_in_any_language() -> None:
    assert telling_words(["a", "7", "2013", "٣٤", "gol", "b2", "東京"]) == {"gol", "b2", "東京"}


def test_a_twentieth_is_enough() -> None:
    assert low_coverage(WORDS, [["gol"] + ["xx"] * 19]) is None
    assert low_coverage(WORDS, [["gol"] + ["xx"] * 20]) == VocabularyCoverage(1, 21)
    assert low_coverage(WORDS, [["xx"] * 30, ["gol"] * 3, ["yy"] * 17]) is None
    assert low_coverage(WORDS, []) == VocabularyCoverage(0, 0)
    assert low_coverage(WORDS, [["gol", "xx", *["7"] * 99]]) is None, "numbers are no words"
    assert low_coverage(WORDS, [["7"] * 99]) == VocabularyCoverage(0, 0)
    assert str(VocabularyCoverage(1, 21)) == "1 of 21 words are known to the model"


@given(st.lists(st.lists(st.sampled_from(["gol", "xx", "yy"]), max_size=30), max_size=8))
def test_it_is_what_counting_all_says(segments: list[list[str]]) -> None:
    tokens = [token for segment in segments for token in segment]
    enough = tokens.count("gol") > 0 and tokens.count("gol") >= MIN_KNOWN_SHARE * len(tokens)
    assert (low_coverage(WORDS, segments) is None) is enough


def test_either_kind_of_model_says_so() -> None:
    documents = [["lig", "gol", "maç"], ["borsa", "faiz", "dolar"]] * 10
    for model in (
        train_bags([([document], ()) for document in documents], [0, 1] * 10, ("spor", "para")),
        train_net("paper", documents, [0, 1] * 10, ("spor", "para"), engine="numpy", epochs=1),
    ):
        assert model.low_coverage([["gol", "xx"]]) is None
        assert model.low_coverage([["golcüler", "xx"]]) == VocabularyCoverage(0, 2), (
            "a beginning is no word"
        )
        assert model.low_coverage([]) == VocabularyCoverage(0, 0)
