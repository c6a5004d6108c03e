"""Collections from elsewhere: what their rows may not make us ask, pay for or read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from honeyguide.api.search import _ResultStore, run_queries, search_overview
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.rescore import current_judge
from honeyguide.errors import CollectionCorrupt, ConfigError
from honeyguide.search.engine import ResultPage, SearchResult
from honeyguide.store.searches import TAKEN_KEY, SearchResultRow, SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Link, Page, Url, Verdict, Visit
from tests.unit.crawling import rows
from tests.unit.searching import MadeEngine, asked, crawl, results, scattered
from tests.unit.store_visits import change

ALONE = {"mode": "search_only", "compose": False, "queries": ["honey bee"]}
QUIET = {**ALONE, "queries": []}
FOUND = [SearchResultRow(Url("http://a.test/")), SearchResultRow(Url("http://b.test/"))]
SETTINGS = parse_settings(
    {
        "search": {"engine": "searxng", "url": "http://x.test/search"},
        "fetch": {"contact": "tester@example.org"},
    }
)


def nothing() -> MadeEngine:
    return MadeEngine(lambda *_: results([], more=False))


def made(folder: Path, *searches: SearchRow) -> None:
    with Store.open(folder, "crawl") as store:
        for search in searches or (SearchRow(1.0, "made", "bee"),):
            store.searches.add_search(search, FOUND)
    # As if there were more to find.
    change(folder, "UPDATE searches SET results = 10, fresh = 10, promised = 0.9")


@pytest.mark.parametrize("said", ["999999999999999999", "3", "-1", "x"])
def test_no_question_is_asked_for_ever(tmp_path: Path, said: str) -> None:
    """What is said to be taken is ahead of what was asked: then no answer would ever be taken."""
    made(tmp_path)
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta(TAKEN_KEY, said)
    engine = MadeEngine(["http://h0.test/"])
    crawl(tmp_path, scattered(1), engine, search=ALONE)
    assert ("honey bee", 1) in engine.asked
    assert len(set(engine.asked)) == len(engine.asked)
    assert "http://h0.test/" in rows(tmp_path)


def test_numbers_that_count_backwards(tmp_path: Path) -> None:
    made(tmp_path)
    change(tmp_path, "UPDATE searches SET id = -7")
    change(tmp_path, "UPDATE sqlite_sequence SET seq = -7 WHERE name = 'searches'")
    engine = MadeEngine(["http://h0.test/"])
    report = crawl(tmp_path, scattered(1), engine, search=ALONE)
    assert len(engine.asked) == 1
    assert any("numbers its searches backwards" in text for text in report.warnings)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE searches SET id = 9223372036854775807",
        "UPDATE sqlite_sequence SET seq = 9223372036854775806",
        "UPDATE sqlite_sequence SET seq = '9223372036854775807'",
        "INSERT INTO asked_for VALUES(1000000000000000000, 'bee', 'user', 1)",
    ],
)
def test_no_numbers_are_left(tmp_path: Path, sql: str) -> None:
    made(tmp_path)
    change(tmp_path, sql)
    engine = nothing()
    with pytest.raises(CollectionCorrupt, match="no numbers left"):
        crawl(tmp_path, scattered(1), engine, search=ALONE)
    with pytest.raises(CollectionCorrupt, match="no numbers left"):
        run_queries(tmp_path, SETTINGS, ["bee"])
    assert engine.asked == []


def wish(folder: Path, count: int, query: str = "wish number") -> None:
    with Store.open(folder, "crawl") as store, store.transaction():
        for n in range(count):
            store.searches.request_query(f"{query} {n}")


def test_wishes_count_as_queries(tmp_path: Path) -> None:
    wish(tmp_path, 10)
    engine = nothing()
    report = crawl(tmp_path, scattered(1), engine, search={**QUIET, "most_queries": 3})
    assert [query for query, _ in engine.asked] == [f"wish number {n}" for n in range(3)]
    assert report.warnings[-1].startswith("7 queries of people were not asked: search.most_queries")
    crawl(tmp_path, scattered(1), engine, search={**QUIET, "most_queries": 3})
    assert len(engine.asked) == 3


def test_only_the_newest_wishes_are_heard(tmp_path: Path) -> None:
    wish(tmp_path, 50)
    engine = nothing()
    report = crawl(tmp_path, scattered(1), engine, search=QUIET)
    assert [query for query, _ in engine.asked] == [f"wish number {n}" for n in range(30, 50)]
    assert any(text.startswith("30 queries of people were not") for text in report.warnings)
    again = crawl(tmp_path, scattered(1), engine, search=QUIET)
    assert len(engine.asked) == 20
    assert not any("queries of people" in text for text in again.warnings), "told twice"


@pytest.mark.parametrize("query", ["!!g who reads this", "who !!"])
def test_nothing_leads_to_another_engine(tmp_path: Path, query: str) -> None:
    wish(tmp_path, 1, query)
    made(tmp_path, SearchRow(1.0, "made", query, by="ada"))
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta(TAKEN_KEY, "1")
    engine = nothing()
    report = crawl(tmp_path, scattered(1), engine, search=QUIET)
    assert engine.asked == []
    assert any("!!" in text for text in report.warnings)
    assert search_overview(tmp_path, SETTINGS).wanted == []
    with pytest.raises(ConfigError, match="another engine"):
        parse_settings({"search": {"queries": [query]}})
    with pytest.raises(ConfigError, match="another engine"):
        run_queries(tmp_path, SETTINGS, [query])


@pytest.mark.parametrize("taken", ["0", "1"])
@pytest.mark.parametrize("query", ["site:evil.example bee", "!images bee", ":de bee", "<9 bee"])
def test_what_we_could_not_have_composed_is_not_gone_on_with(
    tmp_path: Path, query: str, taken: str
) -> None:
    made(tmp_path, SearchRow(1.0, "made", query))
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta(TAKEN_KEY, taken)
    engine = nothing()
    crawl(tmp_path, scattered(1), engine, search=QUIET)
    assert engine.asked == []
    if taken == "0":
        assert set(rows(tmp_path)) == {"http://a.test/", "http://b.test/"}, "they are links"


def test_what_we_composed_is(tmp_path: Path) -> None:
    made(tmp_path, *(SearchRow(1.0, "made", '"honey bee" hive', n) for n in (1, 2)))
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta(TAKEN_KEY, "2")
    engine = nothing()
    crawl(tmp_path, scattered(1), engine, search=QUIET)
    assert engine.asked == [('"honey bee" hive', 3)]


def test_a_wish_behind_a_thousand_that_are_none(tmp_path: Path) -> None:
    made(tmp_path)
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500) "
    change(tmp_path, f"{many} INSERT INTO asked_for(query, by, at) SELECT x'00', 'x', 0 FROM n")
    change(tmp_path, f"{many} INSERT INTO asked_for(query, by, at) SELECT char(9), 'x', 0 FROM n")
    with Store.open(tmp_path, "write") as store:
        store.searches.request_query("queen bee")
        assert [query for _, query, _ in store.searches.requested_queries()] == ["queen bee"]
    assert search_overview(tmp_path, SETTINGS).wanted == ["queen bee"]


def test_sums_do_not_overflow(tmp_path: Path) -> None:
    made(tmp_path, *(SearchRow(4e9, "made", "bee", n, price=1e308) for n in range(1, 4)))
    change(tmp_path, "UPDATE searches SET results = 9223372036854775807, fresh = 1e300, more = 0")
    change(tmp_path, "UPDATE searches SET price = 2.0 WHERE id = 1")
    with Store.open(tmp_path, "read") as store:
        sums = store.searches.search_totals()
    assert (sums.asked, sums.results, sums.fresh, sums.price) == (3, 3000, 3000, 2.0)
    facts = json.dumps(search_overview(tmp_path, SETTINGS).to_dict(), allow_nan=False)
    assert '"results": 3000' in facts


def test_no_column_and_no_list_is_read_without_bounds(tmp_path: Path) -> None:
    made(tmp_path)
    big = "A" * 3_000_000
    for name in ("engine", "query", "by", "address", "outcome", "detail"):
        change(tmp_path, f"UPDATE searches SET {name} = ?", big)
    change(tmp_path, "UPDATE search_results SET title = ?1, snippet = ?1, url = url || ?1", big)
    change(tmp_path, "INSERT INTO asked_for(query, by, at) VALUES(?1, ?1, 0)", big)
    many = "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
    change(
        tmp_path,
        f"{many} INSERT INTO search_results SELECT 1, i, 'http://h.test/' || i, i, 't', 's' FROM n",
    )
    with Store.open(tmp_path, "read") as store:
        ((search, hits),) = store.searches.iter_since()
        ((_, query, by),) = store.searches.requested_queries()
    assert len(hits) <= 1_000
    assert max(map(len, (search.engine, search.by, search.outcome, by))) <= 200
    assert max(map(len, (search.query, search.detail, query))) <= 2_000
    assert search.address == ""
    assert len(json.dumps(search_overview(tmp_path, SETTINGS).to_dict())) < 20_000


def test_worth_follows_a_redirect(tmp_path: Path) -> None:
    made(tmp_path)
    there = Url("http://there.test/")
    visits = [
        Visit(Link(Url("http://a.test/")), 2.0, moved=there),
        Visit(Link(there), 3.0, page=Page(there, text="bee"), verdict=Verdict(0.8)),
    ]
    with Store.open(tmp_path, "crawl") as store, store.transaction():
        store.append_visits(visits)
        worth = store.searches.result_stats([1])
    assert worth.fetched == 1
    assert worth.mean == pytest.approx(0.8)


@pytest.mark.parametrize("strip", [True, False])
def test_results_lose_what_says_who_sent_the_visitor(tmp_path: Path, strip: bool) -> None:
    def say(count: int, *_: object) -> ResultPage:
        url = f"http://h0.test/?id=1&utm_source=s{count}&gclid={count}"
        return ResultPage((SearchResult(Url(url), "Honey bee"),), more=count < 3)

    crawl(tmp_path, scattered(0), MadeEngine(say), search=ALONE, scope={"strip_tracking": strip})
    urls = {url for url in rows(tmp_path) if "?" in url}
    with Store.open(tmp_path, "read") as store:
        kept = {hit.url for _, hits in store.searches.iter_since() for hit in hits}
    assert kept == urls
    assert ("http://h0.test/?id=1" in kept) is strip
    assert len(asked(tmp_path)) >= 1


def test_so_do_those_of_a_query_that_is_asked_by_hand(tmp_path: Path) -> None:
    search = SearchRow(1.0, "made", "bee", address="https://made.example/s?q=bee")
    found = [
        SearchResult(Url(f"http://h0.test/?utm_source={n}&id=1"), f"Bee {n}", "b") for n in (1, 2)
    ]
    shelf = _ResultStore(tmp_path, SETTINGS, current_judge(tmp_path, SETTINGS)[0])
    (row,) = shelf.save_results(search, found)
    assert (row.url, row.title, row.snippet) == ("http://h0.test/?id=1", "Bee 1", "b")
    with Store.open(tmp_path, "read") as store:
        assert store.searches.results_of(1) == [SearchResultRow(row.url, "Bee 1", "b")]
