from __future__ import annotations

import pytest

from honeyguide.errors import ConfigError
from honeyguide.text.language import (
    check_language,
    fold_text,
    language_of,
    split_words,
    stems_of,
    stop_words,
    word_memo,
)
from honeyguide.text.relevance import TermMatcher, keyword_relevance
from honeyguide.types import Page, Url


def test_words_fold_by_language() -> None:
    assert split_words("Full-text SEARCH, 2nd_edition!") == [
        "full",
        "text",
        "search",
        "2nd",
        "edition",
    ]
    assert fold_text("ISPARTA İzmir", "tr") == "ısparta izmir"


def test_stems_remember_and_know_no_unknown_language() -> None:
    assert stems_of("en")["replication"] == stems_of("en")["replicating"]
    assert stems_of("xx")["replication"] == "replication"
    assert "the" in stop_words("en")
    assert stop_words("xx") == frozenset()


def test_what_is_too_long_for_a_word_is_cut_and_not_remembered() -> None:
    stems = word_memo(language_of("en").stem)
    assert stems["a" * 2000] == "a" * 64
    assert len(stems["a" * 64]) == 64
    assert list(stems) == ["a" * 64]
    terms = TermMatcher(["backup", "b" * 100])
    (counts, _), length = terms.count_terms(f"{'b' * 100} {'c' * 2000} backup")
    assert (counts, length) == ({0: 1, 1: 1}, 3)
    assert max(map(len, terms._known)) <= 64


@pytest.mark.parametrize("code", ["", "english", "EN", "e", "en-GB"])
def test_language_codes_are_checked(code: str) -> None:
    with pytest.raises(ConfigError, match=r"topic\.language"):
        check_language(code)


def test_terms_find_words_by_stem_and_phrases_in_order() -> None:
    terms = TermMatcher(["backup", "full-text search", "point in time recovery"])
    (counts, parts), length = terms.count_terms(
        "Backups and a backup. Searching text fully is no full text search; the full and "
        "text search counts. Point-in-time recovery works."
    )
    names = {terms.names[number]: n for number, n in counts.items()}
    assert names == {"backup": 2, "full-text search": 2, "point in time recovery": 1}
    assert parts["search"] == 3
    assert length == 21


def test_terms_without_terms_find_nothing() -> None:
    assert TermMatcher([]).count_terms("anything at all") == (({}, {}), 3)
    assert len(TermMatcher(["", "  "])) == 0


def page(text: str, title: str = "", **more: object) -> Page:
    return Page(Url("http://e.org/"), title=title, text=text, **more)  # type: ignore[arg-type]


def test_relevance_orders_pages_as_a_person_would() -> None:
    judge = keyword_relevance(("full-text search", "inverted index"), "", "en").judge
    filler = "word " * 300
    about = judge(page("full-text search with an inverted index. " * 8 + filler, "Text Search"))
    mention = judge(page("There is also a full-text search somewhere. " + filler))
    nothing = judge(page(filler, "Cooking"))
    assert about.score > 0.7 > 0.5 > mention.score > nothing.score == 0
    assert about.reasons[0].what.startswith("“full-text search” ×")
    assert all(a.weight >= b.weight for a, b in zip(about.reasons, about.reasons[1:], strict=False))


def test_relevance_of_few_words() -> None:
    topic = keyword_relevance(("bird migration",), "", "en")
    phrase, parts, nothing, hostile = topic.score_texts(
        ["Bird migration in spring", "migrating birds", "click here", "bird\x1f\x1fmigration"]
    )
    assert phrase > parts > 0
    assert nothing == 0
    assert hostile == phrase, "a break inside a text changes nothing"
    assert topic.score_texts([]) == []
