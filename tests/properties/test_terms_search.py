"""Terms that are searched for are the terms that looking every word up would find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.language import stems_of
from honeyguide.text.relevance import TermMatcher

_TERMS = ("backup", "full-text search", "university", "time series", "hope", "ability")
_ENDINGS = (
    "s es ed ing ly y ies ied ying ational ation ator ization izer ability ibility bly fulness "
    "ousness iveness ivity ical icate icity ative al ance ence er able ant ement ism ate ous ive "
    "ize ion e eed eedly ingly edly logy"
)
_WORDS = (
    "Backups backup's re-backup full-text FULL text text-search searching university universities "
    "times timing series hoping hoped hopped skies sky_high abilities ably the of a - x1f 3.14 İ"
)
_texts = st.lists(st.sampled_from(_WORDS.split()) | st.text(max_size=5), max_size=30).map(" ".join)


def _both() -> tuple[TermMatcher, TermMatcher]:
    searching, looking = TermMatcher(_TERMS), TermMatcher(_TERMS)
    assert searching._starts
    looking._starts = ()
    return searching, looking


@given(_texts)
def test_in_one_text(text: str) -> None:
    searching, looking = _both()
    assert searching.count_terms(text) == looking.count_terms(text)


@given(st.lists(_texts, max_size=6))
def test_in_many_texts(texts: list[str]) -> None:
    searching, looking = _both()
    assert searching.count_all(texts) == looking.count_all(texts)


@given(
    st.text("abcdehiklnoprstuy", min_size=1, max_size=8),
    st.lists(st.sampled_from(_ENDINGS.split()), max_size=3).map("".join),
)
def test_english_stems_keep_the_beginning_of_the_word(word: str, ending: str) -> None:
    stem = stems_of("en")[word + ending]
    assert (word + ending).startswith(stem[: max(1, len(stem) - 2)])


@pytest.mark.parametrize("language", ["tr", "ar", "id", "xx"])
def test_other_languages_may_change_it(language: str) -> None:
    assert not TermMatcher(("backup",), language)._starts


def test_many_terms_are_not_searched_one_by_one() -> None:
    assert not TermMatcher([f"{a}{b}bra" for a in "abcdef" for b in "abcdef"])._starts
