"""What people are told of searches: the same by every command, and nothing that is not known."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from honeyguide.api.explain import explain_url
from honeyguide.api.search import describe_engine_error, search_overview
from honeyguide.cli.status import search_summary
from honeyguide.cli.terminal import silent_engine
from honeyguide.config.loading import load_settings, parse_settings
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import SearchStatus, format_money
from honeyguide.errors import SearchError
from honeyguide.run_status import RunStatus
from honeyguide.search.composer import QueryComposer
from honeyguide.search.query import parse_query as query
from honeyguide.search.query_bandit import QueryBandit, QuerySuggestion
from honeyguide.search.query_planner import QueryPlanner, _drop_similar, composer_pages
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Link, Page, Url, Verdict, Visit
from tests.commands import Told
from tests.unit.search_site import asking, search_site
from tests.unit.searching import MadeEngine, crawl, scattered


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HONEYGUIDE_SEARCH_KEY", "")
    monkeypatch.setattr("honeyguide.search.http_client.BACKOFF", ())  # time is not slept in tests
    return tmp_path


def visit(url: str, verdict: Verdict, at: float = 1.0) -> Visit:
    page = Page(Url(url), title="Butterfly rash", text="Butterfly rash, and joint pain. " * 3)
    return Visit(Link(Url(url)), at, page=page, verdict=verdict)


def test_what_was_kept_apart_for_its_language_is_no_bad_page(tmp_path: Path) -> None:
    """A crawl, one that goes on, and suggestions: all leave it out."""
    foreign = [visit(f"https://f{n}.example/", Verdict(0.0, ungated=0.9)) for n in range(4)]
    bad = visit("https://bad.example/", Verdict(0.0))
    read: list[tuple[str, float]] = []

    class Noting(QueryComposer):
        def add_page(self, url: Url, title: str, text: str, weight: float) -> None:
            read.append((url, weight))

    queries = QueryPlanner(Noting("en"), QueryBandit(1, 10), {Url("https://f3.example/"): 1.0})
    for one in (*foreign, bad):
        queries.record_visit(one)
    live = list(read)
    assert live == [("https://f3.example/", 1.0), ("https://bad.example/", -0.5)]
    with Store.open(tmp_path / "c", "crawl") as store, store.transaction():
        store.append_visits([*foreign, bad])
    with Store.open(tmp_path / "c", "read") as store:
        read.clear()
        QueryPlanner(Noting("en"), QueryBandit(1, 10), {Url("https://f3.example/"): 1.0}).restore(
            store, 0
        )
        assert read == live
        settings = parse_settings({"topic": {"good": ["https://f3.example/"]}})
        assert [(page.url, weight) for page, weight in composer_pages(store, settings)] == live


def test_a_silent_engine_is_told_and_when_it_is_asked_again(tmp_path: Path) -> None:
    rings: list[CrawlLoop] = []
    seen: list[RunStatus] = []
    alone = {"mode": "search_only", "compose": False, "queries": ["honey bee"]}

    def say(*_: object) -> SearchError:
        seen.append(rings[0].progress())
        return SearchError("down", "it said so")

    crawl(tmp_path, scattered(1), MadeEngine(say), search=alone, meanwhile=rings.append)
    before, told = seen[:2]
    assert (before.unanswered, before.ask_at) == ("", None)
    assert told.unanswered == "the engine does not answer: down: it said so"
    assert told.ask_at is not None
    at = time.mktime((2026, 3, 4, 13, 12, 0, 0, 0, -1))
    progress = RunStatus(0, 0, 0, 0, 0, 0, 0, 0, None, unanswered=told.unanswered, ask_at=at)
    given_up = replace(progress, unanswered="it refuses", ask_at=None)
    assert next(silent_engine(given_up)) == "it refuses; not asked again in this run"
    long, short = silent_engine(progress)
    assert long == "the engine does not answer: down: it said so; asked again at 13:12"
    assert short == "the engine does not answer; asked again at 13:12"


def test_the_list_and_explain_agree_whenever_a_result_was_visited(told: Told) -> None:
    made = asking(Path("h"), "http://localhost:1/search")
    hits = [(f"https://{n}.example/", "honey", "") for n in range(4)]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        store.append_visits(
            [visit("https://0.example/", Verdict(1.0), at=1.0)]
        )  # before it was asked
        store.searches.add_search(SearchRow(2.0, "searxng", "honey bee", 1), hits)
        store.searches.add_search(SearchRow(3.0, "searxng", "bee honey", 2), hits[2:])
        store.append_visits([visit("https://1.example/", Verdict(0.0), at=4.0)])
        store.append_visits(
            [visit("https://1.example/", Verdict(0.5), at=5.0)]
        )  # once, and the newest
    (row,) = search_overview(made.folder, made.settings).rows
    assert (row.fetched, row.mean, row.fresh) == (2, 0.75, None)
    found = explain_url(made.folder, made.settings, "https://1.example/", 0.0)
    (finder,) = found.finders
    assert (finder.fetched, finder.relevant, finder.mean) == (2, row.relevant, 0.75)
    assert "fetched results relevant, mean verdict 0.75" in told("explain", "h", hits[1][0]).out


def test_one_that_failed_among_others_is_an_error(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    with search_site() as site:
        asking(Path("h"), site.url)
        assert told("queries", "run", "h", "wax").code == 0
        good = site.answer
        monkeypatch.setattr(
            site, "answer", lambda text, page: b"<html>" if text == "hive" else good(text, page)
        )
        failed = told("queries", "run", "h", "wax", "hive")
    assert failed.code == 9
    assert "10 results" in failed.err, "the other one was answered"


def test_a_failed_query_is_suggested_again(told: Told) -> None:
    made = asking(Path("h"), "http://localhost:1/search")
    with Store.open(made.folder, "crawl") as store:
        store.searches.add_search(SearchRow(1.0, "searxng", "honey", outcome="down"))
        store.searches.add_search(SearchRow(1.0, "searxng", "bee"))
    said = told("queries", "suggest", "h")
    assert "not known yet  honey\n" in said.out
    assert "50%" not in said.out
    assert "yet  bee\n" not in said.out


def test_the_list_is_never_cut(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    made = asking(Path("h"), "http://localhost:1/search", price=15.0)
    long = '"systemic lupus erythematosus" "living with" "butterfly rash" -"package leaflet"'
    with Store.open(made.folder, "crawl") as store:
        store.searches.add_search(SearchRow(1.0, "searxng", long, 1, more=False, price=0.015), [])
    said = told("queries", "list", "h").out.splitlines()
    assert said[1] == long
    assert said[2].split()[:6] == ["1", "0", "–", "0", "0", "–"]
    assert len(said) == 3


@pytest.mark.parametrize(
    ("amount", "shown"), [(0.015, "0.02"), (0.005, "0.01"), (0.0049, "0.00"), (12.345, "12.35")]
)
def test_half_a_cent_is_rounded_up(amount: float, shown: str) -> None:
    assert format_money(amount) == shown
    asked = SearchStatus("brave", 1, 1, 0, 1, 1, 1, amount)
    assert f"for {shown})" in search_summary(asked)


def test_no_budget_is_shown_as_used_in_the_lab(tmp_path: Path) -> None:
    table = {"engine": "searxng", "url": "http://search.lab/search", "per_month": 1, "price": 9.0}
    fetch = {"contact": "me@e.org", "lab": "http://127.0.0.1:1"}
    spent = search_overview(tmp_path / "x", parse_settings({"search": table, "fetch": fetch})).spent
    assert (spent.limit, spent.cost, spent.price) == (0, 0.0, 0.0)
    assert "the lab has no budget" in spent.to_text()


def test_suggestions_do_not_repeat_themselves() -> None:
    texts = ["a b", "a", "b", "a c", "a b c", "b c", "c", '"d e" f', "a d", '"a b"']
    some = [QuerySuggestion(query(text), None, (), "") for text in texts]
    kept = [str(one.query) for one in _drop_similar(some)]
    assert kept == ["a b", "a", "a c", '"d e" f']


def test_two_suggestions_of_the_same_pages_are_enough() -> None:
    same = (Url("https://a.example/"), Url("https://b.example/"))
    some = [QuerySuggestion(query(word), None, same, "") for word in "abcd"]
    some += [QuerySuggestion(query(word), None, same[:1], "") for word in "ef"]
    assert "".join(str(one.query) for one in _drop_similar(some)) == "abef"


def test_the_best_expected_is_shown_first(told: Told) -> None:
    made = asking(Path("h"), "http://localhost:1/search")
    topic = made.folder / "topic.toml"
    text = topic.read_text()
    assert "keywords = [" in text
    text = text.replace("keywords = [", 'keywords = ["wax", "comb", "hive", ')
    topic.write_text(text.replace("[topic]", '[topic]\ndescription = "Propolis"', 1))
    hits = [("https://0.example/", "", "")]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        for word, n in (("wax", 0.0), ("hive", 1.0)):
            url = f"https://{word}.example/"
            store.searches.add_search(
                SearchRow(1.0, "searxng", word, fresh=1), [(url, "", ""), *hits]
            )
            store.append_visits([visit(url, Verdict(n), at=2.0)])
        store.set_meta("searches_taken", "2")
    found = json.loads(told("queries", "suggest", "h", "--json").out)["suggestions"]
    shown = [round(100 * one["expected"]) for one in found]
    assert shown == sorted(shown, reverse=True)
    assert len(set(shown)) > 1


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (("--search-engine", "google"), "there is no engine 'google'"),
        (("--search-engine", "searxng"), "search.url: searxng needs the address"),
        (("--search-engine", "json"), "search.url: json needs the address"),
    ],
)
def test_an_engine_that_cannot_be_asked_makes_no_collection(
    told: Told, search: tuple[str, ...], says: str
) -> None:
    said = told("new", "a", "-k", "bee", "-c", "me@e.org", *search)
    assert (said.code, says in said.err) == (2, True), said
    assert not Path("a").exists()


def test_the_labs_engine_is_asked_without_rests(told: Told) -> None:
    base = ("-k", "bee", "-c", "me@e.org", "--search-url", "http://search.lab/search")
    assert told("new", "a", *base, "--lab", "http://127.0.0.1:8787").code == 0
    assert told("new", "b", *base).code == 0
    assert load_settings(Path("a/topic.toml")).search.per_minute == 0
    assert load_settings(Path("b/topic.toml")).search.per_minute == 10


def test_each_failure_is_called_by_its_name() -> None:
    large = describe_engine_error("garbage", "it is too large: more than 2000000 bytes received")
    assert large.startswith("the search engine's answer cannot be used: it is too large")
    spent = describe_engine_error(
        "spent", "5 requests were made, and search.per_month allows 5. Raise it, or wait"
    )
    assert spent.count("search.per_month") == 1
