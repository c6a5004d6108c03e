"""Foretelling what language links lead to."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.languages import prediction
from honeyguide.languages.detection import DetectedLanguage
from honeyguide.languages.prediction import (
    COUNTRY_LANGUAGES,
    SIGN_PRIORS,
    LanguageLetters,
    LinkLanguagePredictor,
    language_of_directory,
    language_of_file,
    language_of_name,
)
from honeyguide.types import Link, Url

TR = frozenset({"tr"})
HOME = Url("https://example.com/")


def link(url: str = "https://example.com/a/page", **more: object) -> Link:
    return Link(Url(url), **more)  # type: ignore[arg-type]


def chance(guess: LinkLanguagePredictor, *links: Link) -> list[float]:
    return guess.predict_links(links)


@pytest.mark.parametrize(
    ("name", "code"),
    [("tr", "tr"), ("TR", "tr"), ("tr-TR", "tr"), ("tr_tr", "tr"), ("en-us", "en"),
     ("it", ""), ("it-it", "it"), ("my", ""), ("ext", ""), ("trx", ""), ("t", ""), ("", ""),
     ("turkce", "tr"), ("zh-hans", "zh"), ("es-419", "es"), ("xx", ""), ("tr-", "")],
)  # fmt: skip
def test_names_that_speak_of_a_language(name: str, code: str) -> None:
    assert language_of_name(name, TR) == code


def test_a_doubtful_code_counts_where_it_is_wanted() -> None:
    assert language_of_name("it", frozenset({"it"})) == "it"
    assert language_of_name("yue", frozenset({"yue"})) == "yue"


@pytest.mark.parametrize(
    ("directory", "code"),
    [("https://tr.example.org/", "tr"), ("https://example.org/tr/a/", "tr"),
     ("https://de.example.org/a/tr/", "tr"), ("https://tr.example/", ""),
     ("https://example.org/a/b/", ""), ("https://www.example.com.tr/", "")],
)  # fmt: skip
def test_directories_that_speak_of_a_language(directory: str, code: str) -> None:
    assert language_of_directory(directory, TR) == code


@pytest.mark.parametrize(
    ("name", "code"),
    [("index_tr.html", "tr"), ("index.tr.html", "tr"), ("about-en.php", "en"), ("tr", "tr"),
     ("page?lang=tr", "tr"), ("page?a=1&hl=tr_TR&b", "tr"), ("page?slang=tr", ""),
     ("center.html", ""), ("a?x=lang=tr", ""), ("", ""), ("?lang=xx", ""), ("english.html", "en"),
     ("x-it.html", "")],
)  # fmt: skip
def test_ends_of_addresses_that_speak_of_a_language(name: str, code: str) -> None:
    assert language_of_file(name, TR) == code


def test_countries_speak_languages() -> None:
    assert COUNTRY_LANGUAGES["tr"] == ("tr",)
    assert "en" in COUNTRY_LANGUAGES["uk"]
    assert not {"com", "org", "io", "tv", "me", "co", "ai"} & set(COUNTRY_LANGUAGES)
    assert all(languages for languages in COUNTRY_LANGUAGES.values())


@pytest.mark.parametrize(
    ("wanted", "text", "kind"),
    [("tr", "Çalışma saatleri", "own"), ("tr", "İLETİŞİM", "own"), ("tr", "bilgi ve belge", "own"),
     ("tr", "Библиотека", "foreign"), ("tr", "the opening hours", "english"),
     ("tr", "Kataloglar listesi", "plain"), ("tr", "Home", ""), ("tr", "…", ""), ("tr", "", ""),
     ("ru", "Библиотека", "own"), ("ru", "Öffnungszeiten", "foreign"), ("ja", "図書館", "own"),
     ("de", "Öffnungszeiten", "own"), ("en", "the opening hours", "own"),
     ("en", "Catalogue list", ""), ("en", "Öffnungszeiten", "foreign")],
)  # fmt: skip
def test_letters(wanted: str, text: str, kind: str) -> None:
    assert LanguageLetters(frozenset({wanted})).classify_text(text) == kind


ORDERED = [
    link("https://example.com/en/page", hreflang="en"),
    link("https://example.com/en/page"),
    link(anchor="the opening hours"),
    link(),
    link(anchor="Çalışma saatleri"),
    link("https://example.com/tr/page", anchor="Çalışma saatleri"),
    link("https://example.com.tr/tr/page", anchor="Çalışma saatleri", hreflang="tr"),
]


def test_signs_order_links_before_anything_was_learned() -> None:
    guesses = chance(LinkLanguagePredictor(("tr",)), *ORDERED)
    assert all(low < high for low, high in pairwise(guesses))
    assert guesses[0] < 0.05
    assert guesses[3] == 0.5
    assert guesses[-1] > 0.95


def test_words_around_speak_where_the_anchor_does_not() -> None:
    plain, around, both = chance(
        LinkLanguagePredictor(("tr",)),
        link(anchor="PDF"),
        link(anchor="PDF", before="çalışma saatleri için"),
        link(anchor="Çalışma saatleri", before="see the list of"),
    )
    assert plain < around < both


def test_the_page_that_it_stands_on_counts_more_on_its_own_site() -> None:
    guess = LinkLanguagePredictor(("tr",))
    here, there = link(source=HOME), link("https://other.example/a", source=HOME)
    assert chance(guess, here, there) == [0.5, 0.5]
    guess.add_page(HOME, DetectedLanguage("tr", 0.9))
    inside, outside = chance(guess, here, there)
    assert inside > outside > 0.5
    guess.add_page(HOME, DetectedLanguage("en", 0.9))
    inside, outside = chance(guess, here, there)
    assert inside < outside < 0.5


def test_a_site_whose_marks_lie_is_known_for_it_soon_and_others_are_not() -> None:
    guess = LinkLanguagePredictor(("tr",))
    other = link("https://other.example/tr/page")
    (before,) = chance(guess, other)
    for number in range(12):
        guess.learn_link(link(f"https://example.com/tr/{number}"), False)
    assert chance(guess, link("https://example.com/tr/new"))[0] < 0.2
    (after,) = chance(guess, other)
    assert 0.3 < after < before


def test_what_came_of_a_directory_is_about_it_more_than_about_its_site() -> None:
    guess = LinkLanguagePredictor(("tr",))
    for number in range(10):
        guess.learn_link(link(f"https://example.com/help/haber/{number}"), True)
    same, beside, site, elsewhere = chance(
        guess,
        link("https://example.com/help/haber/x"),
        link("https://example.com/help/news/x"),
        link("https://example.com/shop/x"),
        link("https://elsewhere.example/x"),
    )
    assert same > beside > site > elsewhere > 0.5


def test_signs_that_mislead_lose_weight_but_not_beyond_bounds() -> None:
    guess = LinkLanguagePredictor(("tr",))
    for number in range(3_000):
        guess.learn_link(link(f"https://h{number}.example/tr/x", hreflang="tr"), False)
    (told,) = chance(guess, link("https://new.example/tr/x", hreflang="tr"))
    assert told < 0.1
    for reason in guess.explain_link(link("https://new.example/tr/x", hreflang="tr")):
        assert abs(reason.weight) <= 5.0


def test_reasons_add_up_to_the_chance() -> None:
    guess = LinkLanguagePredictor(("tr",))
    guess.add_page(HOME, DetectedLanguage("tr", 0.9))
    links = [
        *ORDERED,
        link(source=HOME),
        link("https://a.tr/b/c/d?lang=en", before="ve", anchor="x"),
    ]
    for turn, each in enumerate(links):
        guess.learn_link(each, turn % 3 == 0)
    for each, told in zip(links, guess.predict_links(links), strict=True):
        total = sum(reason.weight for reason in guess.explain_link(each))
        assert told == pytest.approx(1 / (1 + math.exp(-total)))
        assert all(reason.what for reason in guess.explain_link(each))


def test_told_the_same_it_says_the_same() -> None:
    first, second = LinkLanguagePredictor(("tr",)), LinkLanguagePredictor(("tr",))
    for guess in (first, second):
        guess.add_page(HOME, DetectedLanguage("en", 0.8))
        for turn, each in enumerate(ORDERED * 3):
            guess.predict_links(ORDERED[: turn % 4])  # being asked changes nothing
            guess.learn_link(each, turn % 2 == 0)
    assert first.predict_links(ORDERED) == second.predict_links(ORDERED)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_HOSTS", 30)
    for name, limit in (("_PAGES", 20), ("_MEMO", 10)):
        monkeypatch.setattr(prediction, name, limit)
    guess = LinkLanguagePredictor(("tr",))
    for number in range(100):
        each = link(f"https://h{number}.example/a/b/{number}", anchor=f"no {number}")
        guess.add_page(each.url, DetectedLanguage("tr", 1.0))
        guess.predict_links([each])
        guess.learn_link(each, True)
    assert max(len(guess._weights.places), len(guess._weights.moved)) <= 30
    assert len(guess._pages) <= 20
    assert max(len(guess._phrases), len(guess._names), len(guess._directories)) <= 10
    long = link("https://example.com/" + "a/" * 100_000, anchor="ş" * 1_000_000)
    guess.learn_link(long, True)
    guess.add_page(long.url, DetectedLanguage("tr", 1.0))
    assert all(len(place) <= 300 for place in guess._weights.places)


@given(
    st.text(max_size=40),
    st.text(st.characters(), max_size=40),
    st.text(max_size=12),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_whatever_links_say(path: str, anchor: str, tag: str, wanted: bool) -> None:
    guess = LinkLanguagePredictor(("tr", "de"))
    each = link(
        "https://example.com/" + path, anchor=anchor, after=anchor, hreflang=tag, source=HOME
    )
    guess.add_page(HOME, DetectedLanguage("de", 0.7))
    before = guess.predict_links([each])[0]
    guess.learn_link(each, wanted)
    after = guess.predict_links([each])[0]
    assert 0.0 < before < 1.0
    assert (after > before) is wanted or before == after


def test_every_sign_has_a_prior_and_none_is_certain() -> None:
    assert all(abs(mean) <= 3 and 0 < doubt <= 1 for mean, doubt in SIGN_PRIORS.values())
    made = {*prediction._WORDS.values(), *prediction._AROUND.values()}
    assert (made | set(prediction._STANDS.values())) - {""} <= SIGN_PRIORS.keys()


def test_no_site_turns_the_signs_round_for_others_by_whatever_names() -> None:
    home, lair = Url("https://www.uni.edu.tr/"), Url("https://h.evil.com.tr/")
    honest = (
        link("https://www.uni.edu.tr/tr/a.html", source=home, anchor="Öğrenci işleri"),
        link("https://www.uni.edu.tr/a.html", source=home, anchor="Öğrenci işleri"),
    )
    for where in ("https://h{}.evil.com.tr/tr/{}/p.html", "https://www.h{}.org.tr/tr/{}/p.html"):
        guess = LinkLanguagePredictor(("tr",))
        guess.add_page(home, DetectedLanguage("tr", 1.0))
        guess.add_page(lair, DetectedLanguage("tr", 1.0))
        before = chance(guess, *honest)
        for n in range(200):
            # Pages of hosts that cost nothing, or links that lie about pages of others.
            lie = link(where.format(n, n), source=lair, anchor="Öğrenci işleri", hreflang="tr")
            guess.learn_link(lie, False)
        after = chance(guess, *honest)
        assert all(old - 0.05 < new < old for old, new in zip(before, after, strict=True))
    assert chance(guess, lie)[0] < before[0]


def test_a_new_host_of_a_site_that_lies_is_not_believed() -> None:
    guess = LinkLanguagePredictor(("tr",))
    for n in range(30):
        guess.learn_link(link(f"https://h{n}.evil.com/tr/a", hreflang="tr"), False)
    new, other = chance(
        guess,
        link("https://new.evil.com/tr/a", hreflang="tr"),
        link("https://new.example.com/tr/a", hreflang="tr"),
    )
    assert new < 0.4 < 0.9 < other
