"""What is kept of searches, what is told of them, and who found what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.api.explain import explain_url
from honeyguide.cli.status import _plain_value, coverage_summary, status_lines
from honeyguide.cli.status import channel_summary as told_between
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.status import collection_status
from honeyguide.errors import ConfigError
from honeyguide.learning.coverage import Coverage, CoverageEstimate, estimate_channels
from honeyguide.store.searches import (
    RelevantByChannel,
    SearchResultRow,
    SearchResultStats,
    SearchRow,
)
from honeyguide.store.store import Store
from honeyguide.types import Url
from tests.unit.searching import MadeEngine, crawl, failing, results, scattered
from tests.unit.store_visits import change

FOUND = [
    SearchResultRow(Url("http://a.test/"), "A", "about a"),
    SearchResultRow(Url("http://b.test/"), "B", "b"),
]


def test_a_search_is_kept_with_its_results(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        one = store.searches.add_search(SearchRow(1.0, "made", "bee", price=0.5), FOUND)
        two = store.searches.add_search(SearchRow(2.0, "made", "hive", 2, "ada", outcome="slow"))
        assert [search.id for search, _ in store.searches.iter_since()] == [one, two]
        ((search, hits),) = (
            store.searches.iter_since(one - 1 if one > 1 else 0)
            if two < 0
            else [next(iter(store.searches.iter_since()))]
        )
        assert (search.query, search.results, search.price, hits) == ("bee", 2, 0.5, FOUND)
        assert [found.by for found, _ in store.searches.iter_since(one)] == ["ada"]
        ((found, place),) = store.searches.positions_of("http://b.test/")
        assert (found.query, place) == ("bee", 2)
        store.searches.mark_taken(one, 2, 0.7)
        assert store.searches.list_searches()[0].fresh == 2
        sums = store.searches.search_totals()
        assert (sums.asked, sums.failed, sums.queries, sums.results) == (2, 1, 2, 2)
        assert (sums.fresh, sums.price) == (2, 0.5)
        assert store.searches.search_totals(1.5).asked == 1
        last = store.searches.newest_search()
        assert last is not None
        assert last.outcome == "slow"


def test_wishes_are_numbered(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        first = store.searches.request_query("queen bee", "ada", 1.0)
        store.searches.request_query("  ", "ada", 1.0)
        second = store.searches.request_query("drone", "bob", 2.0)
        assert store.searches.requested_queries() == [
            (first, "queen bee", "ada"),
            (second, "drone", "bob"),
        ]
        assert store.searches.requested_queries(first) == [(second, "drone", "bob")]


def test_no_text_is_too_long_or_too_strange(tmp_path: Path) -> None:
    hit = ("http://a.test/", "t\ud800" * 1_000, "s" * 9_000)
    with Store.open(tmp_path, "crawl") as store:
        store.searches.add_search(
            SearchRow(1.0, "made", "q" * 9_000, detail="\ud800"), [hit] * 2_000
        )
        ((search, hits),) = store.searches.iter_since()
    assert len(search.query) == 2_000
    assert len(hits) == search.results == 1_000
    assert (len(hits[0].title), len(hits[0].snippet)) == (300, 1_000)


def test_a_strangers_rows_do_no_harm(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.searches.add_search(SearchRow(1.0, "made", "bee"), FOUND)
    change(tmp_path, "UPDATE searches SET at = 'x', page = -3, query = x'00', price = 9e999")
    change(tmp_path, "UPDATE search_results SET url = 'javascript:x' WHERE place = 1")
    change(tmp_path, "INSERT INTO asked_for(query, by, at) VALUES(x'ff', 3, 'y')")
    with Store.open(tmp_path, "read") as store:
        ((search, hits),) = store.searches.iter_since()
        assert (search.at, search.page, search.query) == (0.0, 0, "")
        assert [hit.url for hit in hits] == ["http://b.test/"]
        assert store.searches.requested_queries() == []
        store.searches.search_totals()


def test_who_found_what(tmp_path: Path) -> None:
    """h0 by a search alone, h1 by both, the page behind h0 by links alone."""
    web = scattered(2)
    web.answers["http://h0.test/"] = (
        "<title>Honey bee</title>honey bee <a href='/n'>honey bee</a>"
        "<a href='http://h1.test/'>honey bee</a>"
    )
    web.answers["http://h0.test/n"] = "<title>Honey bee</title>bee honey bee honey"
    engine = MadeEngine(["http://h0.test/", "http://h1.test/", "http://h9.test/"])
    joint = {"queries": ["honey bee"], "compose": False}
    report = crawl(tmp_path, web, engine, search=joint, crawl={"concurrency": 1})
    with Store.open(tmp_path, "read") as store:
        found = store.searches.relevant_by_channel()
        assert found in (
            RelevantByChannel(2, 2, 1),
            RelevantByChannel(1, 2, 0),
        )  # h1 may be visited before h0
        assert store.searches.result_stats([1]).fetched == 3
        assert (
            store.searches.result_stats([7])
            == store.searches.result_stats([])
            == SearchResultStats(0, 0, 0.0)
        )
    assert report.estimate.channels == estimate_channels(*found)
    assert json.dumps(_plain_value(report.estimate))
    settings = parse_settings({"topic": {"keywords": ["bee"]}, "search": {"engine": "searxng"}})
    why = explain_url(tmp_path, settings, "http://h1.test/", 0.0)
    (finder,) = why.finders
    assert (finder.query, finder.place, finder.engine, finder.fetched) == (
        "honey bee",
        2,
        "made",
        3,
    )
    assert 0 < finder.mean < 1


def test_status_tells_what_was_asked(tmp_path: Path) -> None:
    settings = parse_settings({"search": {"engine": "searxng"}})
    with Store.open(tmp_path, "crawl") as store:
        assert collection_status(store, settings, 5).searched is None
    engine = MadeEngine(lambda *_: results(["http://h0.test/"], more=False), price=0.25)
    alone = {"mode": "search_only", "compose": False, "queries": ["honey bee"]}
    web = scattered(1)
    web.start = 4_000_000_000.0  # this month, whenever that is
    crawl(tmp_path, web, engine, search=alone)
    with Store.open(tmp_path, "read") as store:
        found = collection_status(store, settings, 5)
    assert found.searched is not None
    assert (found.searched.asked, found.searched.fresh, found.searched.cost) == (1, 1, 0.25)
    told = "\n".join(status_lines(found))
    assert "1 query asked in 1 request (1 this month for 0.25): 1 result, 1 new" in told
    assert found.visits == 1, "a question is no visit"


def test_status_tells_what_went_wrong(tmp_path: Path) -> None:
    alone = {"mode": "search_only", "compose": False, "queries": ["honey bee"]}
    crawl(tmp_path, scattered(1), MadeEngine(failing("spent")), search=alone)
    with Store.open(tmp_path, "read") as store:
        found = collection_status(store, parse_settings({}), 5)
    told = "\n".join(status_lines(found))
    assert "0 queries asked in 0 requests (0 this month)" in told, "it never left"
    assert "the last one failed: spent: it said so" in told


def test_chapman_on_a_worked_case() -> None:
    """Seber's own: 1,000 fish marked, 500 caught, 100 of them marked."""
    found = estimate_channels(1000, 500, 100)
    assert found.total == pytest.approx(1001 * 501 / 101 - 1)
    assert found.error == pytest.approx(((1001 * 501 * 900 * 400) / (101**2 * 102)) ** 0.5)
    assert estimate_channels(0, 0, 0).total == 0
    assert "or more" in coverage_summary(
        CoverageEstimate(why="too little is known yet", channels=found)
    )


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_chapman_is_never_less_than_was_found(links: int, search: int, both: int) -> None:
    both = min(both, links, search)
    found = estimate_channels(links, search, both)
    assert found.total >= links + search - both - 1e-6
    assert found.error >= 0


def test_a_page_of_results_is_no_page_that_links() -> None:
    """Found by a search and by one link: captured once, like what one link led to."""
    found, alone, both = Coverage(), Coverage(), Coverage()
    for n in range(120):
        found.add_outcome(True, f"{n}.test", "search", 1)
        alone.add_outcome(True, f"{n}.test", "link", 1)
        both.add_outcome(True, f"{n}.test", "search", 2)
    assert both.to_record() == alone.to_record() != found.to_record()
    told = found.estimate(8)
    assert "linked" not in told.why
    assert (told.total, told.low <= told.total <= told.high) == (pytest.approx(128), True)


@pytest.mark.parametrize("found", [(40, 30, 0), (40, 30, 4), (117, 0, 0), (20, 20, 20)])
def test_too_little_in_both_tells_nothing(found: tuple[int, int, int]) -> None:
    said = told_between(estimate_channels(*found))
    assert said.endswith(f"both {found[2]}: too few to estimate how many there are")
    assert "±" not in said


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"mode": "search_only"}, r"set search\.engine"),
        ({"queries": [" "]}, r"search\.queries\[0\]"),
        ({"queries": ["q" * 401]}, r"search\.queries\[0\]"),
        ({"key": "secret"}, r"unknown setting search\.key; did you mean"),
        ({"per_minute": -1}, r"search\.per_minute must be at least 0"),
    ],
)
def test_mistakes_are_named(search: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_settings({"search": search})
