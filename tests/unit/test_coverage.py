from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.learning.coverage import Coverage, CoverageEstimate
from honeyguide.types import Failure, Link, Url, Visit

VISITS = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from(["a.test", "b.test", "c.test"]),
        st.sampled_from(["link", "seed", "redirect", "search"]),
        st.integers(0, 4),
    ),
    max_size=450,
)
WAITING = st.integers(0, 10**9)


def after(visits: list[tuple[bool, str, str, int]]) -> Coverage:
    found = Coverage()
    for visit in visits:
        found.add_outcome(*visit)
    return found


def crawl(relevant: list[bool], inlinks: int = 1) -> Coverage:
    return after([(each, "a.test", "link", inlinks) for each in relevant])


@given(VISITS, WAITING)
def test_bounds_hold_and_everything_is_a_number(
    visits: list[tuple[bool, str, str, int]], waiting: int
) -> None:
    found = after(visits).estimate(waiting)
    others = ("why", "channels")
    numbers = [getattr(found, x) for x in CoverageEstimate.__dataclass_fields__ if x not in others]
    assert all(math.isfinite(number) for number in numbers)
    assert found.found <= found.low <= found.total + 1e-6
    assert found.total <= found.high
    for name in ("covered", "recent", "falling", "chance", "new_host"):
        assert 0 <= getattr(found, name) <= 1
    assert found.remaining >= -1e-9
    assert found.why
    json.dumps([found.total, found.why], allow_nan=False)


@given(VISITS, WAITING, WAITING)
def test_more_waiting_is_never_less_left(
    visits: list[tuple[bool, str, str, int]], one: int, other: int
) -> None:
    found = after(visits)
    less, more = found.estimate(min(one, other)), found.estimate(max(one, other))
    assert less.total <= more.total
    assert less.covered >= more.covered
    assert less.high <= more.high


@given(VISITS, VISITS)
def test_it_goes_on_from_its_record(
    visits: list[tuple[bool, str, str, int]], later: list[tuple[bool, str, str, int]]
) -> None:
    found = after(visits)
    hosts = {name: sum(v[0] for v in visits if v[1] == name) for name in ("a.test", "b.test", "c")}
    hosts["c.test"] = sum(v[0] for v in visits if v[1] == "c.test")
    again = Coverage.from_record(found.to_record(), hosts)
    assert again is not None
    for visit in later:
        found.add_outcome(*visit)
        again.add_outcome(*visit)
    assert again.estimate(77) == found.estimate(77)
    assert len(found.to_record()) < 200


@given(st.text() | st.lists(st.floats() | st.integers() | st.text(), max_size=8).map(json.dumps))
def test_a_strange_record_is_no_record(text: str) -> None:
    found = Coverage.from_record(text, {})
    assert found is None or found.estimate(5).high >= 0


@pytest.mark.parametrize(
    "record",
    ["", "null", "[]", '[1,2,0,0,0,"0"]', '[9,5,3,3,0,"0"]', '[9,5,1,1,6,"0"]', '[-1,0,0,0,0,"0"]',
     '[Infinity,0,0,0,0,"0"]', '[1,1,0,0,0,"x"]', '[1,1,0,0,0,5]'],
)  # fmt: skip
def test_records_that_cannot_be_are_refused(record: str) -> None:
    assert Coverage.from_record(record, {}) is None


def test_a_dry_crawl_has_found_what_there_is() -> None:
    rich = crawl([True] * 50 + [False] * 30, inlinks=3).estimate(500)
    dry = crawl([True] * 50 + [False] * 300, inlinks=3).estimate(500)
    assert rich.covered < 0.85
    assert dry.total == 50
    assert dry.covered == 1


def test_pages_that_one_page_linked_to_have_sisters_that_none_did() -> None:
    visits = [True] * 60 + [False] * 200
    assert (
        crawl(visits, inlinks=1).estimate(50).remaining
        > 10 * crawl(visits, inlinks=5).estimate(50).remaining
    )
    # Chao 1984: 60 · 59 / 2 never captured, nothing in the queue.
    assert crawl(visits).estimate(50).remaining == pytest.approx(math.sqrt(60 * 59 / 2 + 1) - 1)


def test_nothing_is_claimed_while_little_is_known() -> None:
    few = crawl([True] * 9 + [False] * 300).estimate(0)
    young = crawl([True] * 50).estimate(0)
    assert few.covered == young.covered == 0
    assert "too little" in few.why


def test_the_trend_knows_where_it_goes() -> None:
    fall = crawl([True] * 100 + [False] * 100).estimate(0)
    rise = crawl([False] * 100 + [True] * 100).estimate(0)
    flat = crawl([True, False] * 100).estimate(0)
    assert fall.trend < 0 < rise.trend
    assert fall.falling > 0.999
    assert rise.falling < 0.001
    assert abs(flat.trend) < 0.02
    assert 0.3 < flat.falling < 0.7
    assert fall.chance < 0.01 < 0.99 < rise.chance


def test_new_hosts_by_good_and_turing() -> None:
    hosts = ["a", "a", "b", "c"]
    found = after([(True, f"{name}.test", "link", 1) for name in hosts]).estimate(0)
    assert found.new_host == 0.5, "two of four relevant pages are alone on their hosts"


def test_what_nobody_was_asked_for_is_no_visit() -> None:
    found = Coverage()
    link = Link(Url("http://a.test/"))
    found.add_visit(Visit(link, 0.0, failure=Failure("robots")), False)
    assert found.visits == 0
    found.add_visit(Visit(link, 0.0), True)
    assert (found.visits, found.relevant) == (1, 1)
