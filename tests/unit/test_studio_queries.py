from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.config.loading import load_settings
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.searches import SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Link, Page, Url, Verdict, Visit
from tests.unit.search_site import EVIL, SearchSite, asking, search_site
from tests.unit.studio_client import Client
from tests.unit.studio_here import keep

QUERIES = "/api/c/h/queries"


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchSite]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("honeyguide.search.http_client.BACKOFF", ())
    with search_site() as site:
        yield site


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.close()


def test_without_an_engine_it_says_how_to_set_one(client: Client, tmp_path: Path) -> None:
    keep(tmp_path / "h", [])
    said = client.get(QUERIES)
    assert said.status == 200, said.body
    assert (said.json["engine"]["name"], said.json["engine"]["problem"]) == ("", "")
    assert "[search]" in said.json["example"]
    refused = client.post(QUERIES, {"query": "wax"})
    assert (refused.status, "no search engine is set" in refused.json["error"]) == (400, True)


def test_a_topic_is_made_with_an_engine_and_without_seeds(client: Client, tmp_path: Path) -> None:
    said = {
        "name": "h", "contact": "a@example.org", "keywords": ["honey"], "search_engine": "searxng",
        "search_url": "http://localhost:8080/search", "queries": ["hive diary", " "],
    }  # fmt: skip
    made = client.post("/api/collections", said)
    assert made.status == 200, made.body
    search = load_settings(tmp_path / "h" / "topic.toml").search
    assert (search.engine, search.queries) == ("searxng", ("hive diary",))
    assert client.get(QUERIES).json["wanted"] == ["hive diary"]


def test_a_query_is_asked_and_listed(client: Client, tmp_path: Path, engine: SearchSite) -> None:
    engine.evil = True
    asking(tmp_path / "h", engine.url, per_month=5, price=1000.0)
    assert client.get(QUERIES).json["rows"] == [], "also before the first crawl"
    came = client.post(QUERIES, {"query": " wax  moth "}, {"x-honeyguide-person": "Ada"})
    assert came.status == 200, came.body
    assert (came.json["left"], came.json["failed"], len(came.json["results"])) == (False, "", 10)
    assert EVIL[:3] not in came.json["results"][0]["title"]
    assert engine.asked == [("wax moth", 1)]
    state = client.get(QUERIES).json
    (row,) = state["rows"]
    assert (row["query"], row["by"], row["results"], row["price"]) == ("wax moth", "Ada", 10, 1.0)
    spent = state["spent"]
    assert (spent["requests"], spent["limit"], spent["cost"], spent["shared"]) == (1, 5, 1.0, True)
    assert state["engine"]["address"] == "127.0.0.1"


def test_while_a_crawl_runs_it_is_left_to_it(
    client: Client, tmp_path: Path, engine: SearchSite
) -> None:
    asking(tmp_path / "h", engine.url)
    client.post(QUERIES, {"query": "wax"})
    lock = CollectionLock(tmp_path / "h" / "lock")
    try:
        came = client.post(QUERIES, {"query": "moth"}).json
        state = client.get(QUERIES).json
    finally:
        lock.close()
    assert (came["left"], len(engine.asked)) == (True, 1)
    assert (state["running"], state["wanted"]) == (True, ["moth"])


def test_failures_are_told_in_words(client: Client, tmp_path: Path, engine: SearchSite) -> None:
    engine.status = 403
    asking(tmp_path / "h", engine.url)
    trial = client.post(f"{QUERIES}/test", {}).json
    assert (trial["ok"], "formats" in trial["said"]) == (False, True)
    came = client.post(QUERIES, {"query": "wax"}).json
    assert (came["results"], "formats" in came["failed"]) == ([], True)
    assert client.get(QUERIES).json["trouble"]["kind"] == "refused"
    engine.status = 200
    assert client.post(f"{QUERIES}/test", {}).json["ok"] is True


def test_suggestions_name_their_pages_and_follow_what_was_asked(
    client: Client, tmp_path: Path
) -> None:
    made = asking(tmp_path / "h", "http://localhost:1/search")
    before = client.get(f"{QUERIES}/suggestions").json
    assert {row["query"] for row in before["rows"]} == {"honey bee", "honey"}
    text = "Royal jelly feeds the queen. Royal jelly is made by nurse bees in the hive."
    visits = [
        Visit(Link(url), 1.0, page=Page(url, title="A hive", text=text), verdict=Verdict(0.9))
        for url in (Url(f"https://g{n}.example/") for n in range(6))
    ]
    with Store.open(made.folder, "crawl") as store, store.transaction():
        store.append_visits(visits)
    found = client.get(f"{QUERIES}/suggestions?number=3").json
    assert len(found["rows"]) == 3
    best = found["rows"][0]
    assert best["pages"][0]["title"] == "A hive"
    assert best["expected"] is None, "nothing was fetched by a query yet"
    with Store.open(made.folder, "write") as store:
        store.searches.add_search(SearchRow(1e9, "searxng", best["query"]), [])
    again = client.get(f"{QUERIES}/suggestions?number=3").json
    assert best["query"] not in [row["query"] for row in again["rows"]]


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"query": ""}, {}, 400),
        ({"query": "x" * 401}, {}, 400),
        ({"query": "a", "pages": 99}, {}, 400),
        ({"query": "a\x1bb"}, {}, 400),
        ({"query": "a"}, {"x-honeyguide": None}, 403),
        ({"query": "a"}, {"authorization": None}, 401),
    ],
)
def test_what_is_refused(
    client: Client,
    tmp_path: Path,
    engine: SearchSite,
    body: dict[str, object],
    headers: dict[str, str | None],
    status: int,
) -> None:
    asking(tmp_path / "h", engine.url)
    assert client.post(QUERIES, body, headers).status == status
    assert engine.asked == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [("http://localhost:8080", "localhost"), ("https://searx.example?a=b", "searx.example"),
     ("http://[", ""), ("://", "")],
)  # fmt: skip
def test_addresses_as_people_write_them(
    client: Client, tmp_path: Path, url: str, shown: str
) -> None:
    asking(tmp_path / "h", url)
    said = client.get(QUERIES)
    assert (said.status, said.json["engine"]["address"]) == (200, shown), said.body


def test_who_types_the_address_into_a_new_topic_agreed(
    client: Client, tmp_path: Path, engine: SearchSite
) -> None:
    said = {
        "name": "h", "contact": "a@example.org", "keywords": ["honey"], "search_engine": "searxng",
        "search_url": engine.url,
    }  # fmt: skip
    assert client.post("/api/collections", said).status == 200
    assert client.post(f"{QUERIES}/test", {}).json["ok"] is True
    (tmp_path / "h").rename(tmp_path / "i")
    moved = client.post("/api/c/i/queries/test", {}).json
    assert (moved["ok"], "honeyguide queries allow" in moved["said"]) == (False, True)
    assert len(engine.asked) == 1
