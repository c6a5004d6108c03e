"""Search, filters, paging, export: on small real stores."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.change import Change
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.studio import collection
from honeyguide.studio.collection import ExportQuery, VisitsQuery
from honeyguide.studio.routes import RequestContext
from honeyguide.studio.search_index import (
    FAILED,
    INDEX_FILE,
    Indexer,
    IndexFilter,
    IndexHit,
    SearchIndex,
    SearchIndexProgress,
    Sort,
    fts_expression,
)
from honeyguide.types import Label, Page, Url, Verdict
from tests.unit.store_visits import bad, good
from tests.unit.studio_here import here, keep

HOST = "host1.example.org"


def words(number: int, text: str, title: str = "", **more: Any) -> Any:
    url = Url(f"https://host{number % 3}.example.org/{number}")
    values = {"language": "en", "detected_language": "en", **more}
    return good(number, page=Page(url, title or f"Page {number}", "", (), text, **values))


@pytest.fixture
def bees(tmp_path: Path) -> Iterator[RequestContext]:
    """Thirty pages, a third of them relevant, and five failures; indexed."""
    visits = [good(n, score=(n % 10) / 10) for n in range(30)] + [bad(n) for n in range(40, 45)]
    known = here(keep(tmp_path / "bees", visits))
    Indexer(known.collection_folder).catch_up()
    yield known
    known.shared.close()


def found(known: RequestContext, **query: Any) -> list[int]:
    return [row.visit for row in collection.list_visits(known, VisitsQuery(**query)).rows]


def test_the_newest_first_and_everything_counted(bees: RequestContext) -> None:
    answer = collection.list_visits(bees, VisitsQuery(limit=10))
    assert [row.visit for row in answer.rows] == list(range(30, 20, -1))
    assert (answer.total, answer.more) == (30, False)
    assert answer.next


@pytest.mark.parametrize("sort", [s for s in get_args(Sort) if s not in ("changed", "match")])
@pytest.mark.parametrize("text", ["", "page"])
def test_paging_shows_each_visit_once(bees: RequestContext, sort: Any, text: str) -> None:
    whole = found(bees, sort=sort, words=text, limit=200)
    assert len(whole) == len(set(whole)) == 30
    seen: list[int] = []
    after = ""
    while True:
        answer = collection.list_visits(
            bees, VisitsQuery(sort=sort, words=text, limit=7, after=after)
        )
        seen += [row.visit for row in answer.rows]
        if not (after := answer.next):
            break
    assert seen == whole


def test_paging_by_match(tmp_path: Path) -> None:
    known = here(
        keep(tmp_path / "c", [words(n, "honey " * (n % 4 + 1) + "x " * n) for n in range(20)])
    )
    Indexer(known.collection_folder).catch_up()
    whole = found(known, words="honey", limit=200)
    first = collection.list_visits(known, VisitsQuery(words="honey", limit=8))
    rest = collection.list_visits(known, VisitsQuery(words="honey", limit=100, after=first.next))
    assert [r.visit for r in (*first.rows, *rest.rows)] == whole
    assert len(set(whole)) == 20
    known.shared.close()


def test_filters(bees: RequestContext) -> None:
    assert len(found(bees, kind="relevant")) == 15
    assert len(found(bees, kind="other")) == 15
    assert len(found(bees, kind="failed")) == 5
    assert len(found(bees, kind="all")) == 35
    assert len(found(bees, least=0.9)) == 3
    assert len(found(bees, least=0.2, most=0.3)) == 6
    assert len(found(bees, host=HOST.upper())) == 10
    assert len(found(bees, language="en")) == 30
    assert found(bees, language="tr") == []
    assert len(found(bees, since=1_700_000_010.0, until=1_700_000_020.0)) == 10
    scores = [row.verdict for row in collection.list_visits(bees, VisitsQuery(sort="best")).rows]
    assert scores == sorted(scores, key=lambda score: -(score or 0))


def test_labels_choose(bees: RequestContext) -> None:
    urls = [Url(f"https://host{n % 3}.example.org/{n}") for n in range(4)]
    with Store.open(bees.collection_folder, "write") as store:
        store.labels.add(Label(url, float(n < 3), "ann", 5.0) for n, url in enumerate(urls))
    assert found(bees, label="good") == [3, 2, 1]
    assert found(bees, label="bad") == [4]
    assert found(bees, label="any") == [4, 3, 2, 1]
    assert len(found(bees, label="none")) == 26
    assert found(bees, label="good", words="page", least=0.2) == [3]
    row = collection.list_visits(bees, VisitsQuery(label="bad")).rows[0]
    assert row.label == 0.0


def test_changes_choose(bees: RequestContext) -> None:
    assert found(bees, changed=True) == []
    with Store.open(bees.collection_folder, "write") as store:
        for at, n in ((50.0, 2), (60.0, 1)):
            store.changes.append(
                Change(Url(f"https://host{n}.example.org/{n}"), at, ("content",), 0.5)
            )
    Indexer(bees.collection_folder).catch_up()
    assert found(bees, changed=True) == [3, 2]
    assert found(bees, changed=True, sort="changed") == [2, 3]


def test_words_phrases_and_what_must_not_be(tmp_path: Path) -> None:
    texts = [
        "royal jelly of bees",
        "jelly royal",
        "Bal arısı ve çiçek",
        "我喜欢蜜蜂和花",
        "royal shop",
    ]
    known = here(keep(tmp_path / "c", [words(n, text) for n, text in enumerate(texts)]))
    Indexer(known.collection_folder).catch_up()
    assert set(found(known, words="royal")) == {1, 2, 5}
    assert found(known, words='"royal jelly"') == [1]
    assert set(found(known, words="royal -shop")) == {1, 2}
    assert found(known, words="ROY* bees") == [1]
    assert found(known, words="çicek") == [3]  # marks are nothing to it
    assert found(known, words="蜜蜂") == [4]
    assert found(known, words="蜂蜜") == []
    row = collection.list_visits(known, VisitsQuery(words="jelly", sort="oldest")).rows[0]
    assert [row.snippet[a:b] for a, b in row.marks] == ["jelly"]
    with pytest.raises(ConfigError, match="at least one word"):
        found(known, words="-shop")
    known.shared.close()


@given(
    st.text(max_size=60) | st.sampled_from(['"', "a AND", "NEAR(", "x:y", "^a", "*", '"a', "a\0b"])
)
@settings(max_examples=150, deadline=None)
def test_whatever_is_typed_is_no_syntax_error(text: str) -> None:
    try:
        query = fts_expression(text)
    except ConfigError:
        return
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE w USING fts5(a)")
        query = query.encode("utf-8", "replace").decode()
        assert db.execute("SELECT * FROM w WHERE w MATCH ?", (query,)).fetchall() == []


def test_by_whatever_way_the_same_is_found(
    bees: RequestContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is rare is looked for by its index, what is common in the order wanted."""
    queries: list[dict[str, Any]] = [
        {"host": HOST, "sort": "best"},
        {"language": "en", "kind": "relevant", "sort": "worst"},
        {"least": 0.2, "most": 0.8, "sort": "oldest"},
        {"since": 1_700_000_005.0, "kind": "all"},
        {"kind": "failed"},
        {"sort": "changed"},
    ]
    rare = [found(bees, **query) for query in queries]
    monkeypatch.setattr("honeyguide.studio.search_index._RARE", -1)
    assert [found(bees, **query) for query in queries] == rare
    assert sum(map(len, rare)) > 40


def test_a_query_ends_after_a_while(bees: RequestContext, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(bees.collection_folder, [good(n, text="") for n in range(100, 1500)])
    Indexer(bees.collection_folder).catch_up()
    monkeypatch.setattr("honeyguide.studio.search_index._PATIENCE_S", -1.0)
    with pytest.raises(ConfigError, match="too long"):
        found(bees, words="page", sort="best")


@pytest.mark.parametrize("after", ["x", "1:", ":", "nan:x", "1:2:x"])
def test_a_strange_cursor_is_refused(bees: RequestContext, after: str) -> None:
    with pytest.raises(ConfigError, match="after"):
        collection.list_visits(bees, VisitsQuery(after=after))


def test_what_is_appended_is_found(bees: RequestContext) -> None:
    assert len(found(bees, limit=200)) == 30
    keep(bees.collection_folder, [words(77, "a drone in autumn")])
    Indexer(bees.collection_folder).catch_up()
    assert found(bees, words="autumn") == [36]


def test_it_is_indexed_while_somebody_looks(tmp_path: Path) -> None:
    now = [0.0]
    indexer = Indexer(keep(tmp_path / "c", [good(n) for n in range(5)]), lambda: now[0])
    assert indexer.keep_running(30.0) == SearchIndexProgress(5, 5, 5, done=True)
    thread = indexer._thread
    assert thread is not None
    assert indexer.keep_running(30.0).done
    assert indexer._thread is thread
    now[0] += 1000.0
    thread.join(30.0)
    assert not thread.is_alive()
    assert indexer.keep_running(30.0).done
    indexer.close()


def test_a_changed_verdict_is_noticed(bees: RequestContext) -> None:
    assert 1 not in found(bees, least=0.95)
    with Store.open(bees.collection_folder, "write") as store, store.transaction():
        store.visits.update_verdict(1, Verdict(0.99))
    Indexer(bees.collection_folder).catch_up()
    assert 1 in found(bees, least=0.95)


def test_not_crawled_yet(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "topic.toml").write_text('[topic]\nname = "c"\n')
    known = here(tmp_path / "c")
    answer = collection.list_visits(known, VisitsQuery())
    assert (answer.rows, answer.indexed.done) == ([], True)
    assert collection.filter_choices(known).hosts == []
    assert not (tmp_path / "c" / INDEX_FILE).exists()


def test_choices(bees: RequestContext) -> None:
    answer = collection.filter_choices(bees)
    assert set(answer.hosts) >= {HOST, "down.example.org"}


def test_the_selection_as_a_file(bees: RequestContext) -> None:
    Indexer(bees.collection_folder).catch_up()
    stream = collection.export_selection(
        bees, ExportQuery(kind="relevant", sort="best", format="csv")
    )
    assert 'filename="bees.csv"' in stream.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(b"".join(stream.chunks).decode())))  # type: ignore[arg-type]
    assert [int(row["visit"]) for row in rows] == found(bees, kind="relevant", sort="best")
    assert "text" not in rows[0]
    stream = collection.export_selection(bees, ExportQuery(host=HOST, format="jsonl", text=True))
    lines = [json.loads(line) for line in b"".join(stream.chunks).splitlines()]  # type: ignore[arg-type]
    assert len(lines) == 10
    assert lines[0]["text"]
    nothing = collection.export_selection(bees, ExportQuery(language="tr", format="csv"))
    assert b"".join(nothing.chunks).startswith(b"url,title")  # type: ignore[arg-type]


def test_the_index_looks_where_it_should(bees: RequestContext) -> None:
    """What is rare is not looked for among everything."""
    Indexer(bees.collection_folder).catch_up()
    with closing(SearchIndex(bees.collection_folder / INDEX_FILE)) as index:
        assert index.find_hits(IndexFilter(kinds=(FAILED,)), "newest", 2) == [
            IndexHit(35, 0.0),
            IndexHit(34, 0.0),
        ]
        assert index.count_hits(IndexFilter(words="page")) == 30
