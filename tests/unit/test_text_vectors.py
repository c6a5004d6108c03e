from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.vectors import (
    MAX_PAGE_CHARS,
    TEXT_BREAK,
    fit_lexicon,
    largest_shares,
    page_text,
)
from honeyguide.types import Page, Url

TEXTS = ("plumage plumage plumage migration", "migration soup", "soup spoon")


def test_a_term_weighs_as_the_formula_says() -> None:
    lexicon, rows = fit_lexicon(TEXTS)
    places = {name: place for place, name in enumerate(lexicon.names)}
    assert list(places) == ["plumag", "migrat", "soup", "spoon"]
    assert lexicon.rarity[places["plumag"]] == pytest.approx(math.log(3 / 1))
    assert lexicon.rarity[places["soup"]] == pytest.approx(math.log(3 / 2))
    values, found = rows.row(0)
    plumage, migration = (1 + math.log(3)) * math.log(3), math.log(3 / 2)
    length = math.hypot(plumage, migration)
    got = dict(zip(found.tolist(), values.tolist(), strict=True))
    assert got[places["plumag"]] == pytest.approx(plumage / length)
    assert got[places["migrat"]] == pytest.approx(migration / length)


def test_the_training_texts_get_the_same_vectors_again() -> None:
    lexicon, rows = fit_lexicon(TEXTS)
    again = lexicon.to_rows(TEXTS)
    assert np.allclose(again.values, rows.values)
    assert again.places.tolist() == rows.places.tolist()
    assert again.starts.tolist() == rows.starts.tolist()


def test_unknown_words_and_stop_words_are_left_out() -> None:
    lexicon, _ = fit_lexicon(("the plumage of birds", "soup"))
    assert "the" not in lexicon.names
    rows = lexicon.to_rows(("unheard words", "", "plumages and gravel"))
    assert rows.starts.tolist() == [0, 0, 0, 1]
    assert rows.values.tolist() == [1.0]


def test_the_language_chooses_letters_and_stems() -> None:
    lexicon, _ = fit_lexicon(("IŞIK kitapları", "çorba"), "tr")
    assert len(lexicon.to_rows(("ışık kitap",)).places) == 2


def test_nothing_to_read_is_no_mistake() -> None:
    for texts in ((), ("",), ("the", "")):
        lexicon, rows = fit_lexicon(texts)
        assert len(lexicon) == 0
        assert len(rows.starts) == len(texts) + 1
        assert lexicon.to_rows(("plumage", "")).starts.tolist() == [0, 0, 0]


@given(st.lists(st.text("ab \x1f_ıİßé", max_size=12), max_size=6))
def test_each_text_has_its_own_row_whatever_its_neighbours(texts: list[str]) -> None:
    lexicon, _ = fit_lexicon(("aa ab ba", "ab bb ıaa", "ß b é"))
    together = lexicon.to_rows(texts)
    for number, text in enumerate(texts):
        alone = lexicon.to_rows((text,))
        values, places = together.row(number)
        assert values.tolist() == alone.values.tolist()
        assert places.tolist() == alone.places.tolist()
        assert not len(values) or np.sum(values**2) == pytest.approx(1) or not values.any()


def test_a_break_inside_a_text_does_not_shift_the_others() -> None:
    lexicon, _ = fit_lexicon(TEXTS)
    rows = lexicon.to_rows((f"soup{TEXT_BREAK}{TEXT_BREAK}spoon", "plumage"))
    assert rows.row(1)[1].tolist() == [lexicon.names.index("plumag")]


def test_a_text_without_each_of_its_terms() -> None:
    lexicon, rows = fit_lexicon(TEXTS)
    spared = rows.without_each()
    assert [spared.row(i)[1].tolist() for i in (0, 1)] == [[1], [0]]
    assert spared.values.tolist() == [1.0, 1.0]
    assert len(lexicon.to_rows(("",)).without_each().starts) == 1
    assert lexicon.to_rows(("soup",)).without_each().starts.tolist() == [0, 0]


def test_the_largest_shares_either_way() -> None:
    shares = np.array([0.1, -0.5, 0.0, 0.2])
    assert largest_shares(np.array([7, 8, 9, 10]), shares, 3) == [(8, -0.5), (10, 0.2), (7, 0.1)]
    assert largest_shares(np.array([7]), np.zeros(1)) == []


def test_a_page_is_read_so_far_and_no_further() -> None:
    page = Page(Url("http://e.org/"), title="Title", headings=("Head",) * 99, text="word " * 10**5)
    text = page_text(page)
    assert text.startswith("Title")
    assert len(text) == MAX_PAGE_CHARS
    assert text.count("Head") == 40


def test_a_long_text_gets_the_same_vector_alone_and_among_others() -> None:
    long = " ".join(f"finch{n % 90} plumage{n % 7} the nest" for n in range(200))
    lexicon, rows = fit_lexicon([long, "nest soup", "plumage3 finch1"])
    alone, among = lexicon.to_rows((long,)), lexicon.to_rows((long, "soup"))
    assert len(long) > 1_000
    for one, other in (rows.row(), alone.row()), (alone.row(), among.row()):
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])
