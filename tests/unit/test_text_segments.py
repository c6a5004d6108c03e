"""Pages as segments of whole sentences."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ModelError
from honeyguide.text.language import split_words
from honeyguide.text.segments import MAX_PAGE_CHARS, MAX_SEGMENT_TOKENS, TextTokenizer
from honeyguide.types import Link, Page, Url

HOME = Url("http://e.org/")
PLAIN = TextTokenizer(stem=False, stops=True)


def page(text: str, title: str = "", description: str = "") -> Page:
    return Page(HOME, title=title, description=description, text=text)


def test_sentences_are_put_together_as_long_as_they_fit() -> None:
    sentence = " ".join(f"w{n}" for n in range(60)) + ". "
    found = PLAIN.page_segments(page(sentence * 5))
    assert [len(tokens) for tokens in found.tokens] == [120, 120, 60], "60 more would not fit"
    assert found.weights == [1.0, 1.0, 1.0]


def test_a_sentence_that_is_too_long_is_cut() -> None:
    found = PLAIN.page_segments(page(" ".join(f"w{n}" for n in range(400))))
    assert [len(tokens) for tokens in found.tokens] == [150, 150, 100]


def test_title_and_description_are_a_segment_that_counts_double() -> None:
    found = PLAIN.page_segments(page("Water boils.", "Soup", "How to cook"))
    assert found.tokens == [["soup", "how", "to", "cook"], ["water", "boils"]]
    assert found.weights == [2.0, 1.0]


def test_stems_stop_words_and_turkish() -> None:
    assert TextTokenizer().tokens("The birds are migrating") == ["bird", "migrat"]
    assert TextTokenizer("tr", stem=False).tokens("ISPARTA İSTANBUL") == ["ısparta", "istanbul"]
    repaired = TextTokenizer("tr", normalise=True, stem=False, stops=True)
    assert repaired.tokens("slm, çooooook guzel") == ["selam", "çok", "güzel"]
    assert TextTokenizer("en", normalise=True).tokens("slm") == ["slm"], "for Turkish only"


def test_what_was_heard_in_another_language_is_not_repaired() -> None:
    repaired = TextTokenizer("tr", normalise=True, stem=False, stops=True)
    for tongue, tokens in (("", ["selam"]), ("tr", ["selam"]), ("en", ["slm"])):
        heard = Page(HOME, text="slm", detected_language=tongue)
        assert repaired.page_segments(heard).tokens == [tokens]


def test_an_empty_page_has_no_segments() -> None:
    assert PLAIN.page_segments(page("  \n . ! \n")) == ([], [])


def test_the_words_of_links_are_their_own() -> None:
    links = (
        Link(HOME, anchor="One", before="before"),
        Link(HOME, anchor=""),
        Link(HOME, anchor="Two ǀǁǂ three", after="after. Then"),
    )
    assert PLAIN.link_tokens(links) == [["one", "before"], [], ["two", "three", "after", "then"]]
    assert PLAIN.link_tokens(()) == []


@pytest.mark.parametrize(
    ("language", "normalise", "evil"),
    [
        ("en", False, "ǀ\u00adǁǂ"),
        ("en", False, "\U000107b6\U000107b7\U000107b8"),
        ("tr", True, "ǀǁǁǁǂ"),
        ("ko", False, "ǀǁǂ은"),
        ("ar", False, "الǀǁǂ"),
    ],
)
def test_no_link_speaks_for_others(language: str, normalise: bool, evil: str) -> None:
    reading = TextTokenizer(language, normalise, stem=False)
    anchors = ("football", f"evil {evil} casino", "medicine", "weather")
    found = reading.link_tokens([Link(HOME, anchor=anchor) for anchor in anchors])
    alone = [reading.link_tokens([Link(HOME, anchor=anchor)])[0] for anchor in anchors]
    assert found == alone
    assert found[2:] == [["medicine"], ["weather"]]
    assert {"evil", "casino"} <= set(found[1])


def test_settings_of_a_stranger() -> None:
    reading = TextTokenizer("tr", normalise=True)
    assert TextTokenizer.from_settings(asdict(reading)) == reading
    for bad in ({"language": 1}, {"langauge": "tr"}, {"stem": "yes"}, {"language": ["tr"]}):
        with pytest.raises(ModelError):
            TextTokenizer.from_settings(bad)


@given(st.text(max_size=3000))
def test_whatever_the_text_segments_hold_all_of_its_words_in_order(text: str) -> None:
    found = PLAIN.page_segments(page(text))
    assert all(0 < len(tokens) <= MAX_SEGMENT_TOKENS for tokens in found.tokens)
    assert [token for tokens in found.tokens for token in tokens] == PLAIN.tokens(text)
    assert PLAIN.tokens(text) == [word[:64] for word in split_words(text)]


def test_a_huge_page_is_read_in_part_and_quickly() -> None:
    found = PLAIN.page_segments(page("x" * 5_000_000, "y" * 5_000_000))
    assert sum(map(len, found.tokens)) <= 4
    found = PLAIN.page_segments(page("a " * 5_000_000))
    assert sum(map(len, found.tokens)) == MAX_PAGE_CHARS // 2


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("N&uuml;rnberg", ["nürnberg"]),
        ("T&#252;rkiye &amp;ouml;ncesi", ["türkiye", "öncesi"]),
        ("AT&T R&D; x &nosuch; &", ["at", "t", "r", "d", "x", "nosuch"]),
        ("&#9999999; &#xD800; a", ["a"]),
    ],
)
def test_names_of_letters_are_letters(said: str, read: list[str]) -> None:
    assert [token for part in PLAIN.page_segments(page(said)).tokens for token in part] == read
