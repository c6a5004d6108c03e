"""The outline of a text cuts where ``str.split`` does."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.terms import Terms
from honeyguide.text.whitespace import BEGINS, outline

_SPACES = "".join(filter(str.isspace, map(chr, range(sys.maxunicode + 1))))
_SOME = st.text(st.sampled_from("ab,é日’\x00\ud800" + _SPACES))


@given(_SOME)
def test_pieces_are_those_of_split(text: str) -> None:
    shape = outline(text)
    assert shape.count(BEGINS) == len(text.split())
    assert len(shape) == len(text) + 1
    assert [sign == 32 for sign in shape[1:]] == [sign.isspace() for sign in text]


@pytest.mark.parametrize("blank", _SPACES)
def test_every_blank_parts_words(blank: str) -> None:
    assert outline(f"a{blank}b") == b" x x"


_WORDS = ("full", "text", "search", "full-text", "index", "x", "’", "–x", "indexes,", "İ")


@given(st.lists(st.tuples(st.sampled_from(_WORDS), st.sampled_from(_SPACES + "-.")), max_size=30))
def test_searching_counts_what_going_by_words_counts(parts: list[tuple[str, str]]) -> None:
    """Many terms are looked up word by word, a few are searched for: they find the same."""
    text = "".join(word + blank for word, blank in parts)
    few = Terms(["full-text search", "index"])
    many = Terms(["full-text search", "index"])
    many._starts = ()
    assert few.count(text) == many.count(text)
    assert few.count(f"\n {text}") == few.count(text)
