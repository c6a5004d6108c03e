"""Languages of other packages, and dictionary forms by an extra."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from types import ModuleType

import pytest

from honeyguide.errors import ConfigError, ModelError
from honeyguide.text import language
from honeyguide.text.highlights import find_highlights
from honeyguide.text.language import (
    Language,
    language_of,
    split_words,
    stop_words,
    surface_forms,
)
from honeyguide.text.relevance import TermMatcher
from honeyguide.text.vectors import stem_counts

# What other packages register -------------------------------------------------------------------


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package that registers languages."""
    package = ModuleType("their_languages")
    monkeypatch.setitem(sys.modules, "their_languages", package)
    values = {"tlh": "klingon", "ja": "japanese", "en": "klingon", "bad": "bad", "out": "missing"}
    entries = EntryPoints(
        EntryPoint(code, f"their_languages:{name}", "honeyguide.languages")
        for code, name in values.items()
    )
    monkeypatch.setattr(language, "_plugin_entries", lambda: entries)
    language_of.cache_clear()
    yield package
    language_of.cache_clear()


def test_others_add_and_replace_languages(registered: ModuleType) -> None:
    def cut(text: str) -> str:
        assert "\x1f" not in text, "texts come one by one"
        return text.replace("機械学習", " 機械学習 ")

    registered.klingon = Language("tlh", stem=lambda word: word.removesuffix("pu'"))  # type: ignore[attr-defined]
    registered.japanese = lambda: Language("ja", cut=cut, listed=lambda: ["を"], spaced=False)  # type: ignore[attr-defined]
    assert language_of("tlh").is_known
    assert split_words("機械学習を", "ja") == ["機械学習", "を"]
    assert stop_words("ja") == {"を"}
    found = TermMatcher(["機械学習"], "ja").count_all(["今日は", "機械学習を"])
    assert [count and count.terms for count in found] == [None, {0: 1}]
    assert TermMatcher(["機械学習"], "ja").count_terms("今日は機械学習を")[0].terms == {0: 1}
    assert language_of("en").stems["hoping"] == "hope", "English is ours"


def test_others_repair_words_wherever_words_are_counted(registered: ModuleType) -> None:
    """A toy language whose people leave out vowel marks and write & for a word."""
    marked = {"kuşo": "kŭŝo", "kuso": "kŭŝo"}
    registered.klingon = Language(  # type: ignore[attr-defined]
        "tlh",
        stem=lambda word: word.removesuffix("j"),
        respell=lambda word: marked.get(word.removesuffix("j"), word),
        rewrite=lambda text: text.replace("&", " kaj "),
    )
    assert split_words("kusoj&Birdo", "tlh") == ["kusoj", "kaj", "birdo"], "as they are written"
    for keyword in ("kŭŝo kaj birdo", "kuso & birdo"):
        matcher = TermMatcher([keyword], "tlh")
        assert matcher.count_terms("La Kuşo & birdoj flugas.")[0].terms == {0: 1}
        assert matcher.count_terms("kŭŝo kaj birdo")[0].terms == {0: 1}
    assert stem_counts("kuso kŭŝo kuşo", "tlh")[0] == ("kŭŝo",)
    spans = find_highlights("Jen kusoj.", {"kŭŝo": 1.0}, "tlh")
    assert [span[:2] for span in spans] == [(4, 9)]
    assert surface_forms(["kŭŝo"], "Jen kusoj.", "tlh") == ["kusoj"]
    assert TermMatcher(["kŭŝo"], "tlh-x-raw").count_terms("kuso")[0].terms == {}


def test_what_others_get_wrong_is_told(registered: ModuleType) -> None:
    registered.bad = lambda: "no language"  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=r"'bad' is not a Language: their_languages:bad"):
        language_of("bad")
    with pytest.raises(ModelError, match=r"'out' cannot be loaded"):
        language_of("out")


# Lemmas -----------------------------------------------------------------------------------------


def test_lemmas_where_asked_for() -> None:
    pytest.importorskip("simplemma", reason="the extra 'lemma' is not installed")
    english = language_of("en")
    assert english.lemma("mice") == "mouse"
    assert english.lemma("Xyzzyq") == "xyzzyq"
    assert english.lemma("") == ""
    with pytest.raises(ConfigError, match="no word list for the language 'xx'"):
        language_of("xx").lemma("word")


def test_lemmas_without_simplemma_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simplemma", None)
    with pytest.raises(ConfigError, match=r"pip install 'honeyguide\[lemma\]'"):
        language.make_lemmatiser("en")
