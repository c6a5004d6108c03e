"""The outline of a text cuts where ``str.split`` does."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.relevance import PIECE_START, TermMatcher, blank_outline

_SPACES = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
_SOME = st.text(st.sampled_from("ab,é日’\x00\ud800" + _SPACES))


@given(_SOME)
def test_pieces_are_those_of_split(text: str) -> None:
    shape = blank_outline(text)
    assert shape.count(PIECE_START) == len(text.split())
    assert len(shape) == len(text) + 1
    assert [sign == 32 for sign in shape[1:]] == [sign.isspace() for sign in text]


@pytest.mark.parametrize("blank", _SPACES)
def test_every_blank_parts_words(blank: str) -> None:
    assert blank_outline(f"a{blank}b") == b" x x"


_WORDS = ("full", "text", "search", "full-text", "index", "x", "’", "–x", "indexes,", "İ")


@given(st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_SPACES + "-.")), max_size=30))
def test_searching_counts_what_going_by_words_counts(parts: list[tuple[str, str]]) -> None:
    """Many terms are looked up word by word, a few are searched for: they find the same."""
    text = "".join(word + blank for word, blank in parts)
    few = TermMatcher(["full-text search", "index"])
    many = TermMatcher(["full-text search", "index"])
    many._starts = ()
    assert few.count_terms(text) == many.count_terms(text)
    assert few.count_terms(f"\n {text}") == few.count_terms(text)
