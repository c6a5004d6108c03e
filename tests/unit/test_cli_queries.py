from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.config.settings import load_settings
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Link, Page, Url, Verdict, Visit
from tests.commands import Told
from tests.unit.search_site import SearchSite, asking, search_site

KEY = "s3cret-k3y/+="


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HONEYGUIDE_SEARCH_KEY", "")
    monkeypatch.setattr("honeyguide.search.http_client.BACKOFF", ())  # time is not slept in tests
    return tmp_path


@pytest.fixture
def engine() -> Iterator[SearchSite]:
    with search_site() as site:
        yield site


def visit(url: str, verdict: float, text: str = "", at: float = 2e9) -> Visit:
    page = Page(Url(url), title="About", text=text or f"the words of {url}")
    return Visit(Link(Url(url)), at, page=page, verdict=Verdict(verdict))


def test_a_query_is_asked_kept_and_shown(told: Told, engine: SearchSite) -> None:
    asking(Path("h"), engine.url)
    said = told("queries", "run", "h", "wax moth", "hive --", "--pages", 2)
    assert said.code == 0, said.err
    assert engine.asked == [("wax moth", 1), ("wax moth", 2), ("hive --", 1), ("hive --", 2)]
    assert "https://wax1.example/3" in said.out
    assert "https://wax2.example/3" in said.out
    assert "20 results, 20 not visited yet" in said.err
    assert "honeyguide crawl h" in said.err
    with Store.open(Path("h"), "read") as store:
        kept = [
            (s.query, s.page, s.by, s.outcome, len(hits)) for s, hits in store.searches.iter_since()
        ]
    assert kept[0] == ("wax moth", 1, "user", "", 10)
    assert len(kept) == 4
    listed = told("queries", "list", "h")
    assert "wax moth" in listed.out
    assert "Results wait to be fetched" in listed.err


def test_for_machines(told: Told, engine: SearchSite) -> None:
    asking(Path("h"), engine.url)
    ran = json.loads(told("queries", "run", "h", "wax moth", "--by", "ada", "--json").out)
    assert ran["left"] == []
    (asked,) = ran["asked"]
    assert (asked["query"], asked["error"], len(asked["results"])) == ("wax moth", "", 10)
    assert all(0 <= row["score"] <= 1 and not row["known"] for row in asked["results"])
    listed = json.loads(told("queries", "list", "h", "--json").out)
    (row,) = listed["rows"]
    assert (row["by"], row["pages"], row["results"], row["fresh"]) == ("ada", 1, 10, None)
    assert listed["spent"]["requests"] == 1
    found = json.loads(told("queries", "suggest", "h", "--json").out)
    assert {s["query"] for s in found["suggestions"]} == {"honey bee", "honey"}
    assert json.loads(told("queries", "test", "h", "--json").out)["ok"] is True


def test_while_a_crawl_runs_it_is_left_to_it(told: Told, engine: SearchSite) -> None:
    asking(Path("h"), engine.url)
    told("queries", "run", "h", "wax moth")
    lock = CollectionLock(Path("h/lock"))
    try:
        said = told("queries", "run", "h", "hive beetle")
        assert (said.code, said.out) == (0, "")
        assert "will ask this next: hive beetle" in said.err
        assert len(engine.asked) == 1
        with Store.open(Path("h"), "read") as store:
            assert [(q, by) for _, q, by in store.searches.requested_queries()] == [
                ("hive beetle", "user")
            ]
        listed = json.loads(told("queries", "list", "h", "--json").out)
        assert (listed["wanted"], listed["running"]) == (["hive beetle"], True)
    finally:
        lock.close()


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (403, b"Forbidden", "refused", "formats: be [html, json]"),
        (404, b"", "refused", "https://HOST/search"),
        (429, b"", "limited", "search.per_minute"),
        (500, b"", "down", "is it running"),
        (200, b"<html><body>hello</body></html>", "garbage", "search.url"),
        (200, b'{"results": 7}', "garbage", ""),
    ],
)
def test_each_failure_is_told_in_words(
    told: Told, engine: SearchSite, status: int, body: bytes, kind: str, says: str
) -> None:
    engine.status, engine.body = status, body
    asking(Path("h"), engine.url)
    said = told("queries", "test", "h")
    assert said.code == 9, said
    assert says in said.err
    assert json.loads(told("queries", "test", "h", "--json").out)["kind"] == kind
    assert not Path("h/collection.db").exists(), "a trial keeps nothing"
    assert told("queries", "run", "h", "wax").code == 9
    listed = json.loads(told("queries", "list", "h", "--json").out)
    assert listed["rows"][0]["failures"] == 1
    assert listed["trouble"]["kind"] == kind


def test_nobody_there(told: Told) -> None:
    with search_site() as site:
        asking(Path("h"), site.url)
    said = told("queries", "test", "h")
    assert said.code == 9
    assert "does not answer" in said.err


@pytest.mark.parametrize(
    ("search", "says"),
    [
        ({"engine": ""}, "no search engine is set"),
        ({"engine": "serxng"}, "did you mean 'searxng'"),
        ({"engine": "brave", "url": ""}, "key"),
        ({"engine": "searxng", "url": ""}, "search.url"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    told: Told, engine: SearchSite, search: dict[str, str], says: str
) -> None:
    table = {"engine": "searxng", "url": engine.url} | search
    asking(Path("h"), engine.url)
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items() if value)
    topic = Path("h/topic.toml")
    topic.write_text(topic.read_text().split("[search]")[0] + f"[search]\n{lines}")
    for words in (("test", "h"), ("run", "h", "wax")):
        said = told("queries", *words)
        assert (said.code, says in said.err) == (2, True), said
    assert told("queries", "list", "h").code == 0
    assert engine.asked == []


@pytest.mark.parametrize("query", ["", "  ", "a\x1bb", "x" * 401])
def test_what_is_no_query(told: Told, engine: SearchSite, query: str) -> None:
    asking(Path("h"), engine.url)
    said = told("queries", "run", "h", query)
    assert (said.code, engine.asked) == (2, [])
    assert "\x1b" not in said.err


def test_the_key_is_shown_to_nobody(
    told: Told, engine: SearchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HONEYGUIDE_SEARCH_KEY", KEY)
    engine.status, engine.body = 401, json.dumps({"message": f"bad key {KEY}"}).encode()
    template = f"{engine.url}?q={{query}}&pageno={{page}}&token={{key}}"
    asking(Path("h"), template, engine="json")
    for words in (("test", "h"), ("run", "h", "wax"), ("list", "h"), ("list", "h", "--json")):
        said = told("queries", *words)
        assert KEY not in said.out + said.err
        assert "s3cret" not in said.out + said.err
    for path in Path("h").rglob("*"):
        assert path.is_dir() or b"s3cret" not in path.read_bytes()


def test_results_cannot_steer_the_terminal(told: Told, engine: SearchSite) -> None:
    engine.evil = True
    asking(Path("h"), engine.url)
    said = told("queries", "run", "h", "wax")
    assert "red" in said.out
    assert not {"\x1b", "\x07", "\u202e"} & set(said.out + said.err)
    assert "<b>" not in said.out


def test_the_list_says_what_came_of_it(told: Told) -> None:
    made = asking(Path("h"), "http://localhost:1/search", price=2000.0)
    hits = [(f"https://{n}.example/", "honey", "") for n in range(4)]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        store.searches.add_search(
            SearchRow(1e9, "searxng", "honey bee", 1, more=False, fresh=4, price=2.0), hits
        )
        store.searches.add_search(
            SearchRow(1e9, "searxng", "slow one", outcome="slow", detail="30 s")
        )
        store.set_meta("searches_taken", "2")
        store.append_visits([visit("https://0.example/", 1.0), visit("https://1.example/", 0.0)])
    said = told("queries", "list", "h")
    rows = json.loads(told("queries", "list", "h", "--json").out)["rows"]
    first = next(row for row in rows if row["query"] == "honey bee")
    assert (first["fetched"], first["relevant"], first["mean"]) == (2, 1, 0.5)
    assert (first["fresh"], first["price"], first["by"]) == (4, 2.0, "composed")
    assert first["stopped"] == "no more results"
    assert "stopped: no more results" in said.out
    assert "slow one: failed 1 time; the search engine took too long: 30 s" in said.err


def test_suggestions_come_from_good_pages_and_name_them(told: Told) -> None:
    made = asking(Path("h"), "http://localhost:1/search")
    good = "Royal jelly feeds the queen. Royal jelly is made by nurse bees in the hive."
    bad = "Parking fees and opening hours of the town hall. Parking is free on Sundays."
    visits = [visit(f"https://g{n}.example/", 0.95, good) for n in range(6)]
    visits += [visit(f"https://b{n}.example/", 0.05, bad) for n in range(6)]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        store.append_visits(visits)
        store.searches.add_search(SearchRow(1e9, "searxng", "honey", 1), [])
    said = told("queries", "suggest", "h", "--number", 60)
    assert said.code == 0, said.err
    assert "royal jelly" in said.out
    assert "from https://g3.example/" in said.out
    assert 'honeyguide queries run h \'"royal jelly feeds"' in said.err
    assert "Made from 6 good pages and 6 bad." in said.err
    found = json.loads(told("queries", "suggest", "h", "-n", "60", "--json").out)["suggestions"]
    assert "honey" not in [one["query"] for one in found], "it was asked already"
    assert all("parking" not in one["query"].partition("-")[0] for one in found)


def test_a_new_collection_may_ask(told: Told) -> None:
    base = ("-k", "bee", "-s", "e.org", "-c", "me@e.org")
    said = told(
        "new", "a", *base, "--search-url", "http://localhost:8080/search", "-q", "bee diary"
    )
    assert said.code == 0, said.err
    assert "honeyguide queries test a" in said.err
    search = load_settings(Path("a/topic.toml")).search
    assert (search.engine, search.queries) == ("searxng", ("bee diary",))
    assert told("new", "b", *base, "--search-engine", "brave").code == 0
    said = told("new", "c", *base, "--query", "bee diary")
    assert (said.code, "--search-engine" in said.err) == (2, True)
    assert not Path("c").exists()


def byhand(folder: Path, url: str, **search: object) -> None:
    """A collection as a stranger gives it, or as somebody writes it."""
    asking(folder, "https://searx.example/search")
    file = folder / "topic.toml"
    text = file.read_text("utf-8").replace("https://searx.example/search", url)
    more = "".join(f"{key} = {json.dumps(value)}\n" for key, value in search.items())
    file.write_text(text.replace("[search]\n", f"[search]\n{more}"), "utf-8")


def test_what_stands_in_the_file_must_be_allowed(
    told: Told, engine: SearchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd() / "config"))
    monkeypatch.setenv("HONEYGUIDE_SEARCH_KEY", KEY)
    byhand(Path("h"), engine.url, header="X-Key")
    for words in (("queries", "test"), ("queries", "run"), ("crawl",)):
        said = told(*words, "h", *(["wax"] if words[-1] == "run" else []))
        assert said.code == 2
        for part in ("http://127.0.0.1", "HONEYGUIDE_SEARCH_KEY", "honeyguide queries allow h"):
            assert part in said.err
    assert engine.asked == []
    refused = told("queries", "allow", "h")
    assert (refused.code, "add --yes" in refused.err) == (2, True)
    assert "HONEYGUIDE_SEARCH_KEY" in refused.err
    assert told("queries", "test", "h").code == 2
    done = json.loads(told("queries", "allow", "h", "--yes", "--json").out)
    assert (done["allowed"], done["key"]) == (True, "HONEYGUIDE_SEARCH_KEY")
    assert told("queries", "test", "h").code == 0
    assert len(engine.asked) == 1


@pytest.mark.parametrize("answer", [True, False])
def test_it_shows_what_it_is_about_and_asks(
    told: Told, engine: SearchSite, monkeypatch: pytest.MonkeyPatch, answer: bool
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd() / "config"))
    byhand(Path("h"), engine.url)
    monkeypatch.setattr("honeyguide.cli.queries.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("honeyguide.cli.queries.typer.confirm", lambda *_, **__: answer)
    said = told("queries", "allow", "h")
    assert said.code == 0
    assert "in your own network" in said.err
    assert "no key" in said.err
    assert told("queries", "test", "h").code == (0 if answer else 2)


def test_who_types_the_address_agreed(told: Told, engine: SearchSite) -> None:
    made = told("new", "h", "-k", "honey", "--search-url", engine.url, "-c", "a@example.org")
    assert made.code == 0, made.err
    assert told("queries", "test", "h").code == 0
    assert len(engine.asked) == 1


def test_a_broken_list_of_agreements_is_told(
    told: Told, engine: SearchSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path.cwd() / "config"))
    Path("config/honeyguide").mkdir(parents=True)
    Path("config/honeyguide/engines.json").write_text("{")
    made = told("new", "h", "-k", "honey", "--search-url", engine.url, "-c", "a@example.org")
    assert (made.code, "Move it away" in made.err) == (0, True)
    said = told("queries", "test", "h")
    assert (said.code, "Move it away" in said.err) == (2, True)
