"""What a strategy tells apart in English, it tells apart in every language and script."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Link, Page, Url

RELEVANT = 0.5


class Text(NamedTuple):
    keyword: str
    title: str
    about: str
    other: str
    coded: str
    """The keyword as an address has it."""


TEXTS = {
    "en": Text(
        "machine learning", "What is machine learning?",
        "Machine learning is a field of study. Many books explain machine learning. ",
        "It rained all day and the children stayed at home with their books. ",
        "machine-learning",
    ),
    "tr": Text(
        "yapay zekâ", "YAPAY ZEKA nedir?",
        "Yapay zekâ bir bilim dalıdır. İstanbul'da YAPAY ZEKÂ üzerine kitaplar okundu. ",
        "Bütün gün yağmur yağdı, çocuklar evde kaldı ve kitap okudu. ",
        "YAPAY-ZEKA",
    ),
    "de": Text(
        "Straßenbahnen", "STRASSENBAHNEN der Stadt",
        "Die Straßenbahn fährt durch die Stadt. Viele Strassenbahnen sind alt. ",
        "Es regnete den ganzen Tag, und die Kinder blieben zu Hause. ",
        "stra%C3%9Fenbahn",
    ),
    "ja": Text(
        "機械学習", "機械学習とは何か",
        "機械学習は人工知能の一分野である。多くの本が機械学習を説明している。",
        "一日中雨が降って、子供たちは家で本を読んでいました。",
        "%E6%A9%9F%E6%A2%B0%E5%AD%A6%E7%BF%92",
    ),
    "ar": Text(
        "تعلم آلي", "ما هو التعلّم الآلي؟",
        "التعـــلم الآلي فرع من الذكاء الاصطناعي. كتب كثيرة تشرح التعلُّم الآليّ. ",
        "هطل المطر طوال اليوم وبقي الأطفال في البيت مع كتبهم. ",
        "%D8%AA%D8%B9%D9%84%D9%85-%D8%A2%D9%84%D9%8A",
    ),
    "th": Text(
        "การเรียนรู้ของเครื่อง", "การเรียนรู้ของเครื่องคืออะไร",
        "การเรียนรู้ของเครื่องเป็นสาขาหนึ่ง หนังสือหลายเล่มอธิบายการเรียนรู้ของเครื่อง ",
        "ฝนตกทั้งวัน เด็กๆ อยู่บ้านและอ่านหนังสือกับครอบครัวของเขา ",
        "%E0%B8%81%E0%B8%B2%E0%B8%A3%E0%B9%80%E0%B8%A3%E0%B8%B5%E0%B8%A2%E0%B8%99",
    ),
    "hi": Text(
        "कृत्रिम बुद्धिमत्ता", "कृत्रिम बुद्धिमत्ता क्या है",
        "कृत्रिम बुद्धिमत्ता विज्ञान की शाखा है। कई पुस्तकें कृत्रिम बुद्धिमत्ता समझाती हैं। ",
        "पूरे दिन बारिश हुई और बच्चे घर पर पुस्तकें पढ़ते रहे। ",
        "kritrim",
    ),
}  # fmt: skip


def made(name: str, code: str) -> Strategy:
    topic = {
        "keywords": [TEXTS[code].keyword],
        "keyword_language": code,
        "seeds": ["http://e.org/"],
    }
    return build_strategy(parse_settings({"topic": topic, "crawl": {"strategy": name}}))


def pages(text: Text) -> tuple[Page, Page]:
    about = Page(Url("http://e.org/a"), title=text.title, text=text.about * 8)
    return about, Page(Url("http://e.org/b"), title=text.other[:20], text=text.other * 16)


def links(text: Text) -> tuple[Link, Link]:
    seed = Url("http://e.org/")
    about = Link(Url(f"http://e.org/{text.coded}"), seed, anchor=text.title, parent=0.5)
    return about, Link(Url("http://e.org/b"), seed, anchor=text.other[:20], parent=0.5)


def tells(strategy: Strategy, code: str) -> bool:
    about, other = map(strategy.judge, pages(TEXTS[code]))
    return about.score >= RELEVANT > other.score


def told(strategy: Strategy, code: str) -> Strategy:
    """The same one after a few labels."""
    (page, other), (link, astray) = pages(TEXTS[code]), links(TEXTS[code])
    lessons = [Example(link, page, 1.0, "user"), Example(astray, other, 0.0, "user")]
    return strategy.learn(lessons * 4)


@pytest.mark.parametrize("code", [code for code in TEXTS if code != "en"])
@pytest.mark.parametrize("name", registry.strategy_names())
def test_tells_pages_apart_as_in_english(name: str, code: str) -> None:
    if tells(made(name, "en"), "en"):
        assert tells(made(name, code), code)
    if tells(told(made(name, "en"), "en"), "en"):
        assert tells(told(made(name, code), code), code)


@pytest.mark.parametrize("code", [code for code in TEXTS if code != "en"])
@pytest.mark.parametrize("name", registry.strategy_names())
def test_ranks_links_apart_as_in_english(name: str, code: str) -> None:
    def apart(code: str) -> bool:
        about, other = made(name, code).rank(links(TEXTS[code]))
        return about > other

    assert apart(code) >= apart("en")


def test_that_holds_for_something() -> None:
    """Most strategies can tell the English pages apart, or nothing above would be checked."""
    able = [name for name in registry.strategy_names() if tells(made(name, "en"), "en")]
    assert {"keyword", "honeyguide"} <= set(able)
