"""Languages: one writing for one letter, words of every script, stems, stop words."""

from __future__ import annotations

from time import process_time
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from honeyguide.text.keywords import key_phrases
from honeyguide.text.language import fold_text, language_of, split_words, stop_words
from honeyguide.text.link_text import choose_link_words, collect_signs, link_stems
from honeyguide.text.normalise import (
    is_telling_word,
    is_too_short,
    readable_address,
    rejoin_words,
    split_into_pairs,
)
from honeyguide.text.relevance import TermMatcher, keyword_relevance
from honeyguide.text.vectors import fit_lexicon
from honeyguide.types import Link, Page, Url

SENTENCES = {
    "ar": ("تعلم آلي", "التعـــلُّمُ الآليُّ فرعٌ من الذكاء الاصطناعي.", "الطقس جميل اليوم."),
    "az": ("süni intellekt", "SÜNİ İNTELLEKT sahəsi inkişaf edir.", "Bu gün hava yaxşıdır."),
    "cs": ("strojové učení", "Metody strojového učení se šíří.", "Dnes je hezky."),
    "de": ("Straßenbahn", "Die STRASSENBAHNEN fahren wieder.", "Heute ist schönes Wetter."),
    "el": ("μηχανική μάθηση", "Η ΜΗΧΑΝΙΚΗ ΜΑΘΗΣΗ είναι κλάδος.", "Ο καιρός είναι καλός."),
    "fa": ("یادگیری ماشین", "كتاب‌هاي يادگيري ماشين را می‌خواهم.", "هوا امروز خوب است."),
    "fr": ("œuvre d'été", "Des oeuvres d'e\u0301te\u0301.", "La pluie tombe sur Paris."),
    "he": ("למידת מכונה", "לְמִידַת מְכוֹנָה היא תחום מחקר.", "מזג האוויר נעים היום."),
    "hi": ("कृत्रिम बुद्धिमत्ता", "आज कृत्रिम बुद्धिमत्ता हर जगह है।", "आज मौसम अच्छा है।"),
    "ja": ("機械学習", "Pythonで機械学習を使う方法。", "今日は天気がいいです。"),
    "km": ("ការរៀនម៉ាស៊ីន", "នេះគឺជាការរៀនម៉ាស៊ីនទំនើប។", "អាកាសធាតុល្អណាស់។"),
    "ko": ("기계학습", "기계학습은 인공지능의 한 분야이다.", "오늘은 날씨가 좋다."),
    "lo": ("ປັນຍາປະດິດ", "ການນຳໃຊ້ປັນຍາປະດິດໃນລາວ.", "ມື້ນີ້ອາກາດດີ."),
    "my": ("စက်သင်ယူမှု", "ဒီစာအုပ်သည်စက်သင်ယူမှုအကြောင်းဖြစ်သည်။", "ရာသီဥတုကောင်းသည်။"),
    "ro": ("învățare automată", "Metode de învăţare automată.", "Vremea este frumoasă."),
    "ru": ("машинное обучение", "Методы маши́нного обуче́ния.", "Сегодня хорошая погода."),
    "ta": ("இயந்திர கற்றல்", "இயந்திர கற்றல் ஒரு துறை.", "இன்று வானிலை நன்றாக உள்ளது."),
    "th": ("การเรียนรู้ของเครื่อง", "หนังสือการเรียนรู้ของเครื่องเบื้องต้น", "วันนี้อากาศดีมากทุกคนมีความสุข"),
    "tr": ("yapay zekâ", "YAPAY ZEKA İstanbul'da konuşuldu.", "Bugün hava çok güzel."),
    "vi": ("trí tuệ nhân tạo", normalize("NFD", "Trí tuệ nhân tạo là gì?"), "Hôm nay trời đẹp."),
    "zh": ("机器学习", "《机器学习》是人工智能的一个分支，很流行。", "今天天气很好。"),
}  # fmt: skip


@pytest.mark.parametrize("code", SENTENCES)
def test_a_keyword_is_found_in_a_sentence_of_its_language(code: str) -> None:
    keyword, about, other = SENTENCES[code]
    terms = TermMatcher([keyword], code)
    assert terms.count_terms(about)[0].terms == {0: 1}
    assert [found and found.terms for found in terms.count_all([other, about])][1] == {0: 1}
    assert terms.count_terms(other)[0] == ({}, {})
    assert language_of(code).is_known


@pytest.mark.parametrize("code", SENTENCES)
def test_texts_have_vectors_and_key_phrases(code: str) -> None:
    keyword, about, other = SENTENCES[code]
    lexicon, rows = fit_lexicon((about, other), code)
    assert len(lexicon) >= 2
    assert rows.starts.tolist()[0] < rows.starts.tolist()[1] < rows.starts.tolist()[2]
    found = key_phrases(f"{about}\n{keyword}\n", code, share=1.0)
    assert found
    for phrase in found:
        (stems,) = TermMatcher([phrase.name], code).phrases
        assert set(stems) <= set(phrase.key.split(" ")), "its name is read as the phrase"


@pytest.mark.parametrize(
    ("code", "text", "same"),
    [
        ("tr", "ISPARTA İZMİR I\u0307ZMI\u0307R i\u0307zmir", "ısparta izmir izmir izmir"),
        ("tr", "kus\u0327 c\u0327ic\u0327eg\u0306i", "kuş çiçeği"),
        ("az", "BAKI İL", "bakı il"),
        ("en", "İstanbul I\u0307stanbul", "istanbul istanbul"),
        ("en", "ﬁle soft\u00adhyphen Ｗｉｄｅ nai\u0308ve", "file softhyphen wide naïve"),
        ("en", "“Quoted” – NAÏVE… ÉTÉ", "“quoted” – naïve… été"),
        ("de", "GROẞ groß GROSS", "gross gross gross"),
        ("el", "ΟΔΟΣ οδός ὁδός"[:9], "οδοσ οδοσ"),
        ("ru", "Ёлка за\u0301мок", "елка замок"),
        ("lt", "i\u0307\u0301 Į", "i į"),
        ("ar", "كِتَابٌ كتـــاب أحمد", "كتاب كتاب احمد"),
        ("fa", "كتابي", "کتابی"),
        ("hi", "क्\u200dष", "क्ष"),
        ("ja", "ｶﾞｷﾞ ＰＣ", "ガギ pc"),
        ("ko", normalize("NFD", "한국어"), "한국어"),
        ("xx", "Plain TEXT", "plain text"),
    ],
)
def test_one_writing(code: str, text: str, same: str) -> None:
    assert fold_text(text, code) == same
    assert fold_text(same, code) == same


def test_marks_belong_to_words_and_joiners_do_not_part_them() -> None:
    assert split_words("हिन्दी में क्रिकेट", "hi") == ["हिन्दी", "में", "क्रिकेट"]
    assert split_words("தமிழ் மொழி", "ta") == ["தமிழ்", "மொழி"]
    assert split_words("বাংলা ভাষা", "bn") == ["বাংলা", "ভাষা"]
    assert split_words("ẹ̀kọ́ Yorùbá", "yo") == [normalize("NFC", w) for w in ("ẹ̀kọ́", "yorùbá")]
    assert split_words("می‌خواهم", "fa") == ["می‌خواهم"]
    assert split_words("Auf\u00adlage", "de") == ["auflage"]
    assert split_words("the-end_of 2nd", "en") == ["the", "end", "of", "2nd"]


def test_scripts_without_blanks_become_pairs() -> None:
    assert split_words("機械学習", "ja") == ["機械", "械学", "学習"]
    assert split_words("Pythonで データ分析2026年", "ja") == [
        "python", "で", "デー", "ータ", "分析", "2026", "年",
    ]  # fmt: skip
    assert split_words("中文 and English", "en") == ["中文", "and", "english"]
    assert split_words("한국어 위키백과", "ko") == ["한국어", "위키백과"]
    assert split_into_pairs("猫が好き", ends=True).split() == ["猫", "が", "好", "き"]
    assert split_into_pairs("黒猫は", ends=True).split() == ["黒猫", "猫", "は"]
    assert all(len(w) >= 2 for w in split_words("การเรียนรู้", "th"))
    assert not any(w[0] in "\u0e31\u0e34\u0e35\u0e49" for w in split_words("การเรียนรู้ปัญญา", "th"))


def test_a_single_character_is_found_anywhere() -> None:
    terms = TermMatcher(["猫", "茶 写真"], "ja")
    assert terms.count_terms("黒猫と白い猫が好き")[0].terms == {0: 2}
    assert terms.count_terms("お茶の写真")[0].terms == {1: 1}
    assert TermMatcher(["งู"], "th").count_terms("เขาเลี้ยงงูเขียว")[0].terms == {0: 1}


def test_chinese_keywords_need_no_setting() -> None:
    """The default language reads them too, beside words with blanks."""
    terms = TermMatcher(["机器学习", "backup"])
    assert terms.count_terms("我们研究机器学习, with backups.")[0].terms == {0: 1, 1: 1}


def test_pairs_that_say_nothing_alone_are_no_evidence() -> None:
    keyword, _, other = SENTENCES["th"]
    terms = TermMatcher([keyword], "th")
    assert not terms.parts
    assert terms.count_terms(other)[0] == ({}, {})
    assert TermMatcher(["機械学習"], "ja").count_terms("機械と学習")[0] == (
        {},
        {"機械": 1, "学習": 1},
    )
    assert [is_telling_word(word) for word in ("学習", "学", "する", "อง", "word")] == [
        True, False, False, False, True,
    ]  # fmt: skip


def test_a_description_hints_at_what_tells() -> None:
    assert language_of("en").hint_words("How the birds travel") == ["birds", "travel"]
    assert language_of("ja").hint_words("データを分析する") == ["分析", "データ"]
    assert language_of("th").hint_words("ปัญญา และ สังคม") == ["ปัญญา", "และ", "สังคม"]
    _, about, other = SENTENCES["th"]
    judge = keyword_relevance((), about, "th").judge
    weather = Page(Url("http://e.org/"), text=f"{other} " * 20)
    assert judge(weather).score < 0.1, "pairs that every page has are no evidence"


def test_the_length_of_a_text_is_told_in_words() -> None:
    text = "机器学习是人工智能的一个分支" * 100
    length = TermMatcher(["学习"], "zh").count_terms(text)[1]
    assert len(text) / 3 < length < len(text)
    assert TermMatcher(["x"], "zh").count_terms("")[1] == 0
    assert TermMatcher(["x"], "zh").count_terms("a")[1] == 1


def test_key_phrases_of_japanese_read_as_written() -> None:
    found = [phrase.name for phrase in key_phrases("機械学習と深層学習の違い。データ分析。", "ja")]
    assert {"機械学習", "深層学習"} & set(found)
    assert rejoin_words(["機械", "械学", "学習", "python"]) == "機械学習 python"
    assert rejoin_words(["full", "text"]) == "full text"
    assert not is_too_short("学習")
    assert is_too_short("学")
    assert is_too_short("of")


def test_korean_particles_are_no_part_of_the_word() -> None:
    stems = language_of("ko").stems
    assert stems["기계학습은"] == stems["기계학습을"] == stems["기계학습에서는"] == "기계학습"
    assert stems["나는"] == "나는", "two syllables stay"


def test_arabic_articles_are_no_part_of_the_word() -> None:
    stems = language_of("ar").stems
    assert stems["الالي"] == stems["الي"]
    assert stems["والكتاب"] == stems["بالكتاب"] == stems["كتاب"]


def test_stop_words_are_folded_like_words() -> None:
    assert "dass" in stop_words("de")
    assert not any("ß" in word for word in stop_words("de"))
    assert "ίσως" not in stop_words("el")
    assert stop_words("nb") == stop_words("no") != frozenset()


def test_addresses_are_read_and_their_capitals_are_of_no_language() -> None:
    assert readable_address("/ISTANBUL-Tarihi") == "/istanbul-tarihi"
    assert split_words(readable_address("/%C4%B0stanbul/k%C4%B1%C5%9F"), "tr") == [
        "istanbul",
        "kış",
    ]
    assert readable_address("/%ff%zz%") == "/\ufffd%zz%"
    coded = Link(Url("https://e.org/%E6%A9%9F%E6%A2%B0"), anchor="x")
    turkish = Link(Url("https://e.org/ISTANBUL"), anchor="ISPARTA")
    assert collect_signs([coded], "ja")[0].address == ["機械"]
    assert collect_signs([turkish], "tr")[0].address == ["istanbul"]
    assert "機械" in link_stems(coded, "ja")
    chosen = choose_link_words([coded] * 9, ("url",), {"url": 5}, "ja")
    assert "機械" in chosen.url
    assert len(chosen.to_rows([coded]).places) == len(chosen.url) + 1


def test_unknown_languages_are_plain_and_say_so() -> None:
    plain = language_of("xx")
    assert not plain.is_known
    assert plain.spaced
    assert plain.stop_words == frozenset()
    assert plain.stems["replication"] == "replication"
    assert not language_of("ja").spaced
    assert language_of("tr").is_known
    assert language_of("tr") is language_of("tr")


# Hostile text -----------------------------------------------------------------------------------

CODES = ("en", "tr", "de", "el", "ar", "fa", "hi", "ja", "th", "ko", "xx")
_scripts = st.text(st.characters(codec="utf-8") | st.sampled_from("Iİıi\u0307\u0301\u200c猫กา्क"))


@given(_scripts, st.sampled_from(CODES))
def test_any_text_has_words_and_folding_twice_is_folding_once(text: str, code: str) -> None:
    tongue = language_of(code)
    once = tongue.fold(text)
    assert tongue.fold(once) == once
    assert len(tongue.separate_words(text)) <= 40 + 12 * len(text)
    for word in tongue.words(text):
        assert word.strip()
        assert not set(word) & set(" \n_-.")


def test_halves_of_characters_do_no_harm() -> None:
    for code in CODES:
        assert split_words("a\ud800b \udfff猫", code)


@pytest.mark.parametrize(
    "text",
    ["\u0301\u0316" * 50_000, "\u200c" * 100_000, "猫" * 100_000, "ก็" * 50_000, "ﬃ" * 100_000],
    ids=["marks", "joiners", "han", "thai", "ligatures"],
)  # fmt: skip
def test_hostile_texts_take_time_in_proportion(text: str) -> None:
    """A hundred thousand marks in one go would take a quarter of a minute."""
    for code in ("en", "hi", "ja"):
        started = process_time()
        split_words(text, code)
        assert process_time() - started < 2.0


@given(_scripts.filter(lambda said: len(said) > 1), st.sampled_from(CODES))
def test_a_term_finds_itself(term: str, code: str) -> None:
    # Marks alone are a gap as any word is, and two of them part the words of a phrase.
    assume(all(any(map(str.isalnum, piece)) for piece in term.split()))
    terms = TermMatcher([term], code)
    if len(terms):
        assert terms.count_terms(f"x. {term} y")[0].terms
        assert terms.count_all([term])[0] is not None
