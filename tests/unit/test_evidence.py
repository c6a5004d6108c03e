"""Evidence is found again in the text: by stems, in its place, and in bounds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.config import FurtherTopic, Settings, TopicSettings
from honeyguide.crawl.evidence import MARKS, figure, marks, terms_of, worded
from honeyguide.types import Reason


def told(text: str, terms: dict[str, float], language: str = "en") -> list[str]:
    return [text[mark.start : mark.end] for mark in marks(text, terms, language)]


def test_what_reasons_quote_goes_before_keywords() -> None:
    topics = (FurtherTopic(name="wax", keywords=("wax",)),)
    known = Settings(topic=TopicSettings(keywords=("honey", "bee")), topics=topics)
    reasons = (Reason("title: “honey” ×3", 0.4), Reason("nectar… ×2", -0.1), Reason("a seed", 1.0))
    assert terms_of(known, reasons) == {"honey": 0.4, "nectar…": -0.1, "bee": 0.0, "wax": 0.0}


def test_stems_phrases_and_scripts_without_blanks() -> None:
    assert told("Bees, the BEE and beeswax", {"bee": 1}) == ["Bees", "BEE"]
    assert told("a honey  bee; honey-bees, bees of honey", {"honey bee": 1}) == [
        "honey  bee",
        "honey-bees",
    ]
    assert told("养蜜蜂的人喜欢蜜蜂", {"蜜蜂": 1}) == ["蜜蜂", "蜜蜂"]
    assert told("Bal, yani BALI", {"bal": 1}, "tr") == ["Bal", "BALI"]
    assert told("nectars", {"nectar…": 1}) == ["nectars"]


def test_of_two_that_overlap_the_longer_one() -> None:
    assert told("honey bee", {"honey": 1, "honey bee": 1, "bee": 1}) == ["honey bee"]


def test_no_more_than_can_be_shown() -> None:
    assert len(told("bee " * 10_000, {"bee": 1})) == MARKS
    assert len(told("蜜蜂" * 10_000, {"蜜蜂": 1})) == MARKS


@given(
    st.text(max_size=200),
    st.dictionaries(st.text(max_size=10), st.floats(-1, 1), max_size=4),
    st.sampled_from(["en", "tr", "zh", "xx"]),
)
@settings(max_examples=150, deadline=None)
def test_marks_are_apart_and_inside(text: str, terms: dict[str, float], language: str) -> None:
    end = 0
    for mark in marks(text, terms, language):
        assert end <= mark.start < mark.end <= len(text)
        end = mark.end


def test_reasons_quote_words_and_no_stems() -> None:
    text = "Querying: a query, the queries and one more query. Synopsis."
    stems = (
        Reason("“queri”", 0.3),
        Reason("“synopsi”", 0.2),
        Reason("“hive”", 0.1),
        Reason("“queri” in the anchor", 0.1),
        Reason("“query” ×4", 0.1),
        Reason("a seed", 0.0),
    )
    said = [reason.what for reason in worded(stems, text, "en")]
    assert said == [
        *("“query”", "“synopsis”", "“hive…”", "“query” in the anchor", "“query” ×4", "a seed"),
    ]
    assert worded((), text, "en") == ()
    assert worded(stems[:1], "", "en") == (Reason("“queri…”", 0.3),)


@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=80))
def test_reasons_keep_their_number_and_weight(stems: list[str], text: str) -> None:
    reasons = tuple(Reason(f"“{stem}”", n / 10) for n, stem in enumerate(stems))
    said = worded(reasons, text, "en")
    assert [reason.weight for reason in said] == [reason.weight for reason in reasons]


def test_a_verdict_shows_its_side_of_the_threshold() -> None:
    assert figure(0.497, 0.5) == "0.497"
    assert figure(0.49999, 0.5) == "just under 0.5"
    assert figure(0.5, 0.5) == "0.50"
    assert figure(0.4, 0.5) == "0.40"
