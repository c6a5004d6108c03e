"""Reasons quote stems; people read words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.explain import explain_url
from honeyguide.cli.status import explanation_value
from honeyguide.config.loading import parse_settings
from honeyguide.text.highlights import unstem_reasons
from honeyguide.text.link_text import describe_stem, link_stems
from honeyguide.types import Link, Reason, Url
from tests.unit.crawling import FakeWeb, crawl

LINK = Link(Url("http://e.org/stories"), anchor="my stories", before="defined stories")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("url:stori", "“stories” in the address"),
        ("anchor:stori", "“stories” in the anchor"),
        ("near:defin", "“defined” around it"),
        ("stori", "“stories”"),
    ],
)
@pytest.mark.parametrize("topic", ["", "bees: ", "m1: ", "Süß-Honig 2: "])
def test_words_of_links_are_read_where_they_stand(word: str, told: str, topic: str) -> None:
    assert word in link_stems(LINK, prefixes=":" in word)
    text = f"{LINK.anchor} {LINK.before} stories"
    (reason,) = unstem_reasons([Reason(f"{topic}{describe_stem(word)}", 0.3)], text, "en")
    assert reason == (f"{topic}{told}", 0.3)


def test_what_is_no_stem_is_left_as_it_is() -> None:
    said = Reason("“stori” 3 times", 0.1)
    assert unstem_reasons([said], "stories", "en") == (said,)
    assert describe_stem("odd:word") == "“odd:word”"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("stori… ×6", "“stories” ×6"),
        ("bees: stori… ×6", "bees: “stories” ×6"),
        ("nectar… ×2", "nectar… ×2"),
        ("“to”", "“toed”"),
    ],
)
def test_whole_words_are_shown_and_no_stop_words(said: str, told: str) -> None:
    text = "stories to be told to odd-toed ungulates"
    assert unstem_reasons([Reason(said, 0.1)], text, "en") == ((told, 0.1),)


def test_explain_and_its_json_show_the_words_of_the_page(tmp_path: Path) -> None:
    answers: dict[str, Any] = {"http://a.test/": "<p>feathers, their feathers and much else"}
    topic = {"keywords": ["flight feather"]}
    crawl(tmp_path, FakeWeb(answers), list(answers), topic=topic, crawl={"strategy": "keyword"})
    settings = parse_settings({"topic": {"seeds": list(answers), **topic}})
    (visit,) = explain_url(tmp_path, settings, "http://a.test/", 0.0).visits
    assert "“feathers” ×2" in [reason.what for reason in visit.verdict_reasons]
    (shown,) = explanation_value(explain_url(tmp_path, settings, "http://a.test/", 0.0))["visits"]
    assert "“feathers” ×2" in [reason["what"] for reason in shown["reasons"]]
