"""Hearing what pages are written in."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import ConfigError, ModelError
from honeyguide.languages import detection
from honeyguide.languages.detection import (
    COMMON_LANGUAGES,
    DETECTABLE,
    MINOR_LANGUAGES,
    UNDETECTED,
    DetectedLanguage,
    LanguageDetector,
    encode_text,
    language_odds,
    load_ngram_model,
    primary_code,
    readable_pieces,
)
from honeyguide.types import Page, Url

TURKISH = (
    "Kütüphane hafta içi her gün sabah dokuzda açılır ve akşam saat yedide kapanır. Üyelik için"
    " kimliğinizi getirmeniz yeterlidir; ödünç alınan kitaplar üç hafta sonra geri verilmelidir."
)
AZERBAIJANI = (
    "Kitabxana həftənin hər günü səhər saat doqquzda açılır və axşam yeddidə bağlanır. Üzv olmaq"
    " üçün şəxsiyyət vəsiqənizi gətirməyiniz kifayətdir."
)
ENGLISH = (
    "The library opens every weekday at nine in the morning and closes at seven in the evening. To"
    " become a member you only need to bring your identity card with you."
)
GERMAN = "Die Bücherei öffnet werktags um neun Uhr und schließt am Abend um sieben Uhr."
ASCII = TURKISH.translate(str.maketrans("çğıöşüÜ", "cgiosuU"))


@pytest.fixture(scope="module")
def ear() -> LanguageDetector:
    return LanguageDetector(("tr",))


def page(text: str = "", **more: object) -> Page:
    return Page(Url("https://example.org/"), text=text, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TURKISH, "tr"),
        (TURKISH.upper(), "tr"),
        (TURKISH.replace("i", "i\u0307"), "tr"),
        (ASCII, "tr"),
        (AZERBAIJANI, "az"),
        (ENGLISH, "en"),
        (GERMAN, "de"),
        ("İSTANBUL ÜNİVERSİTESİ", "tr"),
        ("図書館は毎朝九時に開きます。", "ja"),
        ("도서관은 매일 아침 아홉 시에 엽니다.", "ko"),
        ("Библиотека открывается каждый будний день в девять утра.", "ru"),
    ],
)
def test_what_is_heard(ear: LanguageDetector, text: str, code: str) -> None:
    heard = ear.detect_text(text)
    assert heard.code == code
    assert 0.8 < heard.confidence <= 1.0
    assert ear.is_wanted(heard) is (code == "tr")


@pytest.mark.parametrize(
    "text",
    ["", " \n\t ", "2024 12 31 17:45", "1", "#@%&!", "\ud800\udc00\ud800", "\x00\x00\x00\x00",
     "http://example.org/tr/kutuphane/giris-sayfasi.html", "biri@example.org"],
)  # fmt: skip
def test_what_nobody_can_tell_gets_the_benefit_of_the_doubt(
    ear: LanguageDetector, text: str
) -> None:
    assert ear.detect_text(text) == UNDETECTED
    assert ear.is_wanted(UNDETECTED)


def test_a_listing_is_not_wanted_words(ear: LanguageDetector) -> None:
    listing = (
        "def f(x):\n    return [y for y in range(x) if y % 2]\nfor (i = 0; i < n; i++) {}\n" * 9
    )
    assert ear.detect_text(listing).code != "tr"


def test_a_declared_language_decides_about_a_few_words_only(ear: LanguageDetector) -> None:
    assert ear.detect_page(page("Menü", language="tr-TR")).code == "tr"
    assert ear.detect_page(page("Menü", language="de")).code == "de"
    assert ear.detect_page(page(TURKISH, language="en")).code == "tr"
    assert ear.detect_page(page(ENGLISH, language="tr")).code == "en"


def test_a_page_without_words_is_what_it_declares(ear: LanguageDetector) -> None:
    assert ear.detect_page(page("", language="tr")) == DetectedLanguage("tr", 0.85)
    assert ear.is_wanted(ear.detect_page(page("", language="en-US"))) is False
    assert ear.detect_page(page("", language="x-default")) == UNDETECTED


def test_title_and_headings_speak_for_a_page_with_hardly_any_text(ear: LanguageDetector) -> None:
    assert ear.detect_page(page("17", title="Kütüphane çalışma saatleri")).code == "tr"
    assert (
        ear.detect_page(page("17", headings=("Opening hours of the public library",))).code == "en"
    )
    assert ear.detect_page(page(TURKISH, title="Opening hours of the library")).code == "tr"


def test_of_a_mixed_page_the_larger_part_counts_and_how_large_it_is(ear: LanguageDetector) -> None:
    menu = "Ana sayfa\nHakkımızda\nİletişim\nÜyelik\nDuyurular\n"
    template = ear.detect_page(page(menu + "\n".join([ENGLISH] * 3)))
    assert template.code == "en"
    half = ear.detect_page(page("\n".join([TURKISH, ENGLISH])))
    assert 0.4 < half.confidence < 0.65
    mostly = ear.detect_page(page("\n".join([TURKISH, TURKISH, TURKISH, ENGLISH])))
    assert mostly.code == "tr"
    assert 0.65 < mostly.confidence < 0.9


def test_half_in_each_of_two_wanted_languages_is_wanted() -> None:
    both = page("\n".join([TURKISH, GERMAN, GERMAN, GERMAN]))
    assert not LanguageDetector(("tr",)).is_wanted(LanguageDetector(("tr",)).detect_page(both))
    ear = LanguageDetector(("de", "tr"))
    assert ear.detect_page(both).code == "de"
    assert ear.detect_page(both).confidence > 0.95


def test_the_beginning_of_a_long_text_does_not_decide(ear: LanguageDetector) -> None:
    text = "\n".join([ENGLISH] * 5 + [TURKISH] * 95)
    assert ear.detect_text(text).code == "tr"


def test_nobody_knows_the_places_where_a_long_text_is_heard(ear: LanguageDetector) -> None:
    """Fillings at the middles of its fifths, as a page would have them that was written for us."""
    long = (ENGLISH + " ") * (20_000 // len(ENGLISH))
    fifth = len(long) // 5
    for filling in (TURKISH, "1 2 3 4 5 ", ". "):
        text = long
        for start in range((fifth - 200) // 2, len(text), fifth):
            text = text[:start] + (filling * 200)[:200] + text[start + 200 :]
        heard = ear.detect_page(page(text, language="tr"))
        assert heard.code == "en"
        assert not LanguageDetector(("tr",)).is_wanted(heard)


def test_words_are_looked_for_in_all_of_a_long_text() -> None:
    """Three quarters of it have none, wherever one begins."""
    text = ("1 2 3 4 5 " * 120 + (ENGLISH + " ") * 4) * 10
    assert len(readable_pieces(text)) >= 4
    assert readable_pieces("1 2 3 4 5 " * 1_000) == []


def test_wants() -> None:
    ear = LanguageDetector(("tr", "az"), threshold=0.7)
    assert ear.is_wanted(DetectedLanguage("az", 0.7))
    assert not ear.is_wanted(DetectedLanguage("az", 0.69))
    assert not ear.is_wanted(DetectedLanguage("en", 1.0))
    assert LanguageDetector().is_wanted(DetectedLanguage("en", 0.1))


def test_codes_are_understood_as_people_write_them() -> None:
    assert LanguageDetector(("nb", "zh-Hans", "TR", "tr")).wanted == ("no", "zh", "tr")
    assert primary_code("iw") == "he"
    assert primary_code(" de-AT, fr") == "de"
    assert (
        primary_code("default")
        == primary_code("x-default")
        == primary_code("")
        == primary_code("1")
        == ""
    )


@pytest.mark.parametrize("code", ["xx", "turkish", "", "klingon"])
def test_a_language_that_cannot_be_heard_is_a_mistake_of_the_settings(code: str) -> None:
    with pytest.raises(ConfigError, match="no way to detect"):
        LanguageDetector((code,))


def test_the_lists_are_of_languages_that_the_model_knows() -> None:
    from py3langid.langid import MODEL_DIR, MODEL_FILE
    from py3langid.modelio import load_model

    classes = set(load_model(MODEL_DIR / MODEL_FILE)[2])
    assert classes - {"zxx"} == DETECTABLE
    assert COMMON_LANGUAGES < DETECTABLE
    assert MINOR_LANGUAGES < DETECTABLE
    assert not COMMON_LANGUAGES & MINOR_LANGUAGES
    assert "wuu" not in language_odds(("zh",))
    assert language_odds(("wuu",))["wuu"] > 1


SOME = frozenset({"tr", "az", "en", "sr", "ja", "de"})


@pytest.fixture(scope="module")
def package() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages([*SOME, "zxx"])
    return identifier


@pytest.mark.parametrize("text", [TURKISH, AZERBAIJANI, GERMAN, "çok", "İz", "図書館", "\ud800 a"])
def test_scores_are_those_of_the_package(package: Any, text: str) -> None:
    model = load_ngram_model(SOME)
    ours = model.log_likelihoods([b"other words before", encode_text(text), b"and after"])[1]
    best = np.maximum.reduceat(ours, model.first)
    expected = dict(package.rank(encode_text(text)))
    for code, score in zip(model.codes, best.tolist(), strict=True):
        assert score == pytest.approx(expected[code], rel=1e-4)


def test_nothing_seen_is_nothing_told() -> None:
    model = load_ngram_model(frozenset({"tr", "en"}))
    chances = model.probabilities(["", "\x01\x02"])
    assert chances.shape == (2, 3)
    assert chances == pytest.approx(1 / 3)


def test_a_damaged_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from py3langid import langid

    monkeypatch.setattr(langid, "MODEL_FILE", "data/none.npz.xz")
    with pytest.raises(ModelError, match="py3langid"):
        detection._read_model()


@pytest.mark.parametrize("piece", ["a", " ", "\n", "\u0307", "\ud800", "a/", "ş\n", "@", "http://"])
def test_ten_million_hostile_letters_take_no_time(ear: LanguageDetector, piece: str) -> None:
    text = piece * (10_000_000 // len(piece))
    ear.detect_text(TURKISH)
    hostile = page(text, title=text, headings=(text,) * 20, language=text[:100_000])
    began = time.process_time()
    heard = ear.detect_page(hostile)
    assert time.process_time() - began < 0.25
    assert 0.0 <= heard.confidence <= 1.0


@given(st.text(st.characters(), max_size=200), st.text(st.characters(), max_size=20))
@settings(max_examples=60, deadline=None)
def test_whatever_the_web_says(text: str, tag: str) -> None:
    heard = LanguageDetector(("tr",)).detect_page(page(text, title=text[::-1], language=tag))
    assert heard.code == "" or heard.code in DETECTABLE
    assert 0.0 <= heard.confidence <= 1.0


@given(st.text(st.sampled_from("aş \n/.é1"), max_size=6_000))
@settings(max_examples=40, deadline=None)
def test_never_more_than_a_page_is_listened_to(text: str) -> None:
    assert sum(map(len, readable_pieces(text))) <= 2_001
