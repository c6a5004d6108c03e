"""Key phrases, their odds, zones of a page and words of a link."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text.keywords import (
    ZonePhraseFinder,
    key_phrases,
    min_phrase_support,
    page_zones,
    phrase_odds,
    phrase_vocabulary,
)
from honeyguide.text.link_text import binary_rows, frequent_words, link_stems
from honeyguide.types import Link, Page, Url


def names(text: str, share: float = 1.0) -> dict[str, float]:
    return {phrase.name: phrase.score for phrase in key_phrases(text, share=share)}


def test_stop_words_and_punctuation_cut_phrases() -> None:
    found = names("Bird migration follows the coast. Migration of the arctic tern, a seabird")
    assert set(found) == {
        "bird migration", "coast", "migration", "arctic tern", "seabird",
    }  # fmt: skip


def test_a_word_is_worth_degree_over_frequency() -> None:
    # bird: degree 2, frequency 1. migration: degree 2 + 1, frequency 2.
    found = names("bird migration. migration")
    assert found == {"bird migration": 2 / 1 + 3 / 2, "migration": 3 / 2}
    twice = names("bird migration. bird migration. migration")
    assert twice == {"bird migration": 4 / 2 + 5 / 3, "migration": 5 / 3}


def test_numbers_and_long_runs_do_not_count() -> None:
    assert "2024" not in names("2024. plumage")
    assert names("alpha beta gamma delta epsilon. plumage") == {"plumage": 1.0}


def test_the_best_third_rounded_up_and_no_more_than_asked_for() -> None:
    text = ". ".join(f"plumage{chr(97 + n)} colour" for n in range(10))
    assert len(key_phrases(text)) == 4
    assert len(key_phrases(text, share=1.0, most=3)) == 3
    scores = [phrase.score for phrase in key_phrases(text, share=1.0)]
    assert scores == sorted(scores, reverse=True)


def test_two_forms_of_a_phrase_have_one_key() -> None:
    found = key_phrases("migrating birds. migrating bird", share=1.0)
    assert [(p.key, p.name) for p in found] == [("migrat bird", "migrating birds")]


def test_odds_by_hand_and_with_empty_cells() -> None:
    # 8 of 10 good and 2 of 10 bad pages have it.
    psi = phrase_odds(np.array([8.0, 10.0, 0.0]), np.array([2.0, 0.0, 10.0]), 10, 10)
    assert psi[0] == pytest.approx((8.5 * 8.5) / (2.5 * 2.5))
    assert psi[1] == pytest.approx(10.5**2 / 0.5**2)
    assert psi[2] == pytest.approx(1 / psi[1])


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_odds_are_finite_and_turn_round_with_the_labels(a: int, b: int, c: int, d: int) -> None:
    one = phrase_odds(np.array([float(a)]), np.array([float(b)]), a + c, b + d)[0]
    other = phrase_odds(np.array([float(b)]), np.array([float(a)]), b + d, a + c)[0]
    assert 0 < one < np.inf
    assert one * other == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pages", "least"), [(1000, 5), (100, 5), (99, 5), (60, 3), (21, 2), (20, 1), (2, 1)]
)
def test_support_shrinks_with_few_pages(pages: int, least: int) -> None:
    assert min_phrase_support(pages) == least


def test_a_big_collection_forgets_phrases_of_a_single_page() -> None:
    texts = ["common plumage"] * 2 + [f"rare{n}" for n in range(40)]
    assert list(phrase_vocabulary(texts, "en", share=1.0, most=9).values()) == ["common plumage"]
    assert len(phrase_vocabulary(texts[:5], "en", share=1.0, most=9)) == 4


def test_a_phrase_counts_in_its_own_zone_only() -> None:
    features = [(0, "bird migrat", "bird migration"), (1, "bird migrat", "bird migration"),
                (2, "bird migrat", "bird migration")]  # fmt: skip
    finder = ZonePhraseFinder(features, "en")
    link = Link(Url("http://e.org/bird/migration.html"), anchor="Home")
    url = Url("http://e.org/")
    assert finder.find_features(page_zones(Page(url, text="Birds migrating; bird migrations"))) == [
        0
    ]
    assert finder.find_features(page_zones(Page(url, title="Bird migration"))) == [1]
    assert finder.find_features(page_zones(Page(url, links=(link,)))) == [2]
    assert finder.find_features(page_zones(Page(url, text="migration of a bird"))) == []


def test_a_snippet_has_the_words_of_address_anchor_and_surroundings() -> None:
    link = Link(
        Url("http://www.birds.org/terns/arctic.html"),
        anchor="The Terns", before="read about", after="and plumage",
    )  # fmt: skip
    assert set(link_stems(link)) >= {"bird", "tern", "arctic", "plumag"}
    assert not {"the", "and", "www", "http"} & set(link_stems(link))
    assert "anchor:tern" in link_stems(link, prefixes=True)
    assert "url:tern" in link_stems(link, prefixes=True)


def test_words_of_a_single_link_are_not_kept() -> None:
    assert frequent_words([("a", "b"), ("b", "c"), ("b", "c")], 9) == ("b", "c")
    assert frequent_words([("a", "b"), ("b", "c"), ("b", "c")], 1) == ("b",)
    rows, familiar = binary_rows(("b", "c"), [("b", "x"), (), ("c", "b")])
    assert rows.tolist() == [[1, 0], [0, 0], [1, 1]]
    assert familiar.tolist() == [0.5, 0.0, 1.0]


@given(st.text(max_size=300), st.sampled_from(["en", "tr", "xx"]))
def test_any_text_in_any_language(text: str, language: str) -> None:
    for phrase in key_phrases(text, language, share=1.0):
        assert phrase.key
        assert 1 <= len(phrase.name.split()) <= 4
        assert phrase.score >= 1
    url = Url("http://e.org/" + "y" * 5000)
    assert isinstance(link_stems(Link(url, anchor=text, before=text), language), tuple)
    found = [(0, p.key, p.name) for p in key_phrases(text, language, share=1.0)]
    columns = ZonePhraseFinder(found, language).find_features((text, "", ""))
    assert set(columns) <= set(range(len(found)))
