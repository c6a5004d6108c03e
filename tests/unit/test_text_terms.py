"""Counting terms costs what the text is long, however many terms there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.text import relevance
from honeyguide.text.relevance import TermMatcher

MANY = 2_000


def work(done: Callable[[], Any]) -> int:
    """Steps of the interpreter inside terms.py: unlike time, the same on every machine."""
    steps = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        if frame.f_code.co_filename != relevance.__file__:
            return None
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        done()
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("keyword", ["data {}", "{} data", "wide {} data"])
def test_many_terms_that_share_a_word_cost_no_more_than_few(keyword: str) -> None:
    # So many that neither set is short enough to be searched for.
    few, many = (
        TermMatcher([keyword.format(f"w{n}x") for n in range(size)], "xx") for size in (30, MANY)
    )
    text = " ".join(f"wide data w{n % 25}x data and more wide data" for n in range(50))
    for terms in (few, many):
        terms.count_terms(text)  # words are looked up once
    assert many.count_terms(text) == few.count_terms(text)
    assert few.count_terms(text)[0].terms
    one, other = (work(lambda t=terms: t.count_terms(text)) for terms in (few, many))  # type: ignore[misc]
    assert other < 1.1 * one


def test_the_work_grows_with_the_text_and_no_faster() -> None:
    """The worst text for these terms: every beginning in one piece, then every end."""
    terms = TermMatcher([f"w{n}x data" for n in range(MANY)])

    def hostile(size: int) -> str:
        return "-".join([*(f"w{n}x" for n in range(size)), *["data"] * size])

    for size in (200, 800):
        terms.count_terms(hostile(size))
    small, large = (work(lambda n=size: terms.count_terms(hostile(n))) for size in (200, 800))  # type: ignore[misc]
    assert large < 6 * small, "four times the text"


def test_words_that_phrases_share() -> None:
    terms = TermMatcher(
        ["wide data", "wide data store", "data store", "wide store", "data", "point to point"]
    )

    def found(text: str) -> dict[str, int]:
        return {terms.names[n]: times for n, times in terms.count_terms(text)[0].terms.items()}

    assert found("a wide data store") == {
        "wide data": 1, "wide data store": 1, "data store": 1, "wide store": 1, "data": 1,
    }  # fmt: skip
    assert found("wide data, data") == {"wide data": 1, "data": 2}, "a word is used once"
    assert found("wide wide data") == {"wide data": 1, "data": 1}
    assert found("wide and so on data") == {"data": 1}
    assert found("one point") == {}
    assert found("from point to point") == {"point to point": 1}
    assert found("data store wide") == {"data": 1, "data store": 1}


def plainly(terms: TermMatcher, stems: list[str]) -> dict[int, int]:
    """Phrases of two words, one by one: the nearest first word before a second one, once."""
    found: dict[int, int] = {}
    for number, (one, two) in enumerate(terms.phrases):
        last = -9
        for at, stem in enumerate(stems):
            if stem == two and at - last <= 2:
                found[number] = found.get(number, 0) + 1
                last = -9
            if stem == one:
                last = at
    return found


@given(st.lists(st.sampled_from(["kva", "kvb", "kvc", "kvd", "kve"]), max_size=40))
def test_the_same_is_found_as_one_by_one(said: list[str]) -> None:
    pairs = [f"{a} {b}" for a in ("kva", "kvb", "kvc") for b in ("kva", "kvb", "kvd")]
    terms = TermMatcher(pairs, "xx")
    assert terms.count_terms(" ".join(said))[0].terms == plainly(terms, said)
