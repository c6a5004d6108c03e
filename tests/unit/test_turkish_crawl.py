"""Turkish words are repaired wherever a crawl counts words: pages, keywords, links, queries."""

from __future__ import annotations

import json

import pytest

from honeyguide.change import Change, PageEdit
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.search.composer import QueryComposer
from honeyguide.text.highlights import find_highlights, unstem_reasons
from honeyguide.text.keywords import key_phrases
from honeyguide.text.language import language_of, stop_words
from honeyguide.text.link_text import collect_signs, link_stems
from honeyguide.text.relevance import TermMatcher
from honeyguide.text.segments import TextTokenizer
from honeyguide.text.turkish.crawl_reader import respell_word, rewrite_text
from honeyguide.text.vectors import Lexicon, fit_lexicon, stem_counts
from honeyguide.types import Link, Page, Url, Verdict
from honeyguide.watch.notify.delivery import NotifyRule, is_wanted

RIGHT = "göçmen kuşlar her yıl güneye uçar"
BARE = "gocmen kuslar her yil guneye ucar"
NOISY = "cooook gocmen kuslar"
KEYWORD_JUDGES = ("breadth", "keyword", "honeyguide", "backlinks", "link_sorter", "hybrid_svm",
                  "adaptive_links", "user_utility", "topic_cnn")  # fmt: skip


def judge(text: str, strategy: str = "keyword", **topic: object) -> Verdict:
    """What a strategy that has not learned yet says of such a page."""
    topic = {
        "keywords": ["göçmen kuşlar"],
        "keyword_language": "tr",
        "seeds": ["http://a.test/"],
        **topic,
    }
    settings = parse_settings({"topic": topic, "crawl": {"strategy": strategy}}, "test")
    return build_strategy(settings).judge(Page(Url("http://a.test/"), title=text, text=text))


@pytest.mark.parametrize("strategy", KEYWORD_JUDGES)
def test_every_strategy_finds_the_keyword_however_it_is_written(strategy: str) -> None:
    score = judge(RIGHT, strategy).score
    assert score > 0.3
    assert judge(BARE, strategy).score == pytest.approx(score)
    assert judge(NOISY, strategy).score == pytest.approx(score, rel=0.05)
    assert judge("balıklar yüzer", strategy).score < 0.1


def test_keywords_without_letters_find_pages_with_them() -> None:
    assert judge(RIGHT, keywords=["gocmen kuslar"]) == judge(BARE, keywords=["gocmen kuslar"])
    assert judge(RIGHT, keywords=["gocmen kuslar"]).score == judge(RIGHT).score


def test_it_can_be_switched_off() -> None:
    assert judge(RIGHT, normalise=False).score == judge(RIGHT).score
    assert judge(BARE, normalise=False).score == 0.0


def test_no_other_language_is_read_differently() -> None:
    assert language_of("en-x-raw") is language_of("en")
    assert language_of("de").respell is None
    assert language_of("tr" + "-x-raw" * 10_000).respell is None
    english = {"keywords": ["hoping birds"], "keyword_language": "en"}
    assert judge("hoped birds", normalise=False, **english) == judge("hoped birds", **english)
    settings = parse_settings(
        {"topic": {**english, "normalise": False, "seeds": ["http://a.test/"]}}, "t"
    )
    assert vars(build_strategy(settings))["language"] == "en"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("gocmen", "göçmen"),  # its letters
        ("cooook", "çok"),  # repeated letters, then its letters
        ("dikkkat", "dikkat"),
        ("hoşlanmmadım", "hoşlanmadım"),
        ("mrb", "merhaba"),  # slang
        ("bişey", "bişey"),  # two stop words
        ("ıstanbul", "istanbul"),  # Istanbul and BILGI, folded
        ("bılgı", "bilgi"),
        ("wındows", "windows"),
        ("kuşlar", "kuşlar"),  # as it is: known, foreign, a name, no word
        ("once", "once"),
        ("guardian", "guardian"),
        ("mp3", "mp3"),
        ("", ""),
    ],
)
def test_words_are_spelt_right(written: str, meant: str) -> None:
    assert respell_word(written) == meant


def test_repairing_twice_changes_nothing_more() -> None:
    for word in (*BARE.split(), *NOISY.split(), "mrb", "bılgı"):
        assert respell_word(respell_word(word)) == respell_word(word)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2. Dünya Savaşı", "ikinci Dünya Savaşı"),
        ("(19. yüzyıl)", "(on dokuzuncu yüzyıl)"),
        ("$ark14U bir a$k", "şarkı senin için bir aşk"),
        ("sürüm 1.2. Yeni", "sürüm 1.2. Yeni"),
        ("Windows 10, 2023 ve $5", "Windows 10, 2023 ve $5"),
        ("http://a.test/?q=$x", "http://a.test/?q=$x"),
    ],
)
def test_what_takes_several_words_is_rewritten(written: str, meant: str) -> None:
    assert rewrite_text(written) == meant


def test_ordinals_are_found_as_words_and_as_digits() -> None:
    matcher = TermMatcher(["2. Dünya Savaşı"], "tr")
    assert matcher.count_terms("Ikinci Dunya Savasi sirasinda")[0].terms == {0: 1}
    assert matcher.count_terms("2. Dünya Savaşı sırasında")[0].terms == {0: 1}


def test_stop_words_count_as_such_in_other_spellings() -> None:
    assert {"icin", "cok", "ıle", "herşey"} <= stop_words("tr")
    assert not {"su", "kus", "gocmen", "is"} & stop_words("tr")
    assert stem_counts("icin ıle", "tr")[0] == ()


def test_links_are_read_alike() -> None:
    right = Link(
        Url("http://a.test/göçmen-kuşlar"), anchor=RIGHT, before="Türkiye'deki", after="yıl"
    )
    bare = Link(Url("http://a.test/gocmen-kuslar"), anchor=BARE, before="Turkiye'deki", after="yil")
    assert link_stems(right, "tr", prefixes=True) == link_stems(bare, "tr", prefixes=True)
    one, other = collect_signs((right, bare), "tr")
    assert one._replace(host="") == other._replace(host="")
    assert "göçme" in one.address


def test_vectors_and_key_phrases_are_alike() -> None:
    assert stem_counts(RIGHT, "tr")[0] == stem_counts(BARE, "tr")[0]
    lexicon, rows = fit_lexicon([RIGHT, "balıklar yüzer"], "tr")
    assert isinstance(lexicon, Lexicon)
    assert lexicon.to_rows([BARE]).row()[1].tolist() == rows.row()[1].tolist()
    keys = [{phrase.key for phrase in key_phrases(text, "tr")} for text in (RIGHT, BARE)]
    assert keys[0] == keys[1]


def test_engines_are_asked_for_words_spelt_right() -> None:
    composer = QueryComposer("tr", ["kuş"], "", least=2)
    for number in range(4):
        text = f"gocmen leylekler. Sayfa {number}. gocmen leylekler ve baska kuslar."
        composer.add_page(Url(f"http://h{number}.test/"), "gocmen leylekler", text, 1.0)
    asked = " ".join(str(one.query) for one in composer.propose_queries())
    assert "göçmen leylekler" in asked
    assert "gocmen" not in asked


def test_people_see_the_words_of_the_page() -> None:
    reasons = unstem_reasons(judge(BARE).reasons, BARE, "tr")
    assert {"“gocmen” ×5", "“kuslar” ×5"} <= {reason.what for reason in reasons}
    spans = find_highlights(f"Iste {BARE}.", {"göçmen kuşlar": 1.0}, "tr")
    assert [f"Iste {BARE}."[span.start : span.end] for span in spans] == ["gocmen kuslar"]


def test_a_watch_hears_of_a_word_in_any_spelling() -> None:
    edit = PageEdit("changed", "p", "hava", "gocmen kuslar geldi")
    change = Change(Url("http://a.test/"), 0.0, ("content",), 1.0, edits=(edit,))
    assert is_wanted(NotifyRule("me", words=("göçmen kuş",), language="tr"), change)
    assert not is_wanted(NotifyRule("me", words=("göçmen balık",), language="tr"), change)


def test_category_models_read_as_they_were_trained() -> None:
    page = Page(Url("http://a.test/"), text=BARE)
    assert "gocme" in TextTokenizer("tr").page_segments(page).tokens[0]
    assert "göçme" in TextTokenizer("tr", normalise=True).page_segments(page).tokens[0]


@pytest.mark.parametrize(
    "text", ["ı" * 200_000, "aa" * 100_000, "$" * 200_000, "1. " * 60_000, "a$" * 90_000]
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    assert len(json.dumps(stem_counts(text, "tr")[0])) < 1_000
