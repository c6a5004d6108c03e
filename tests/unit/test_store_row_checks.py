"""What a stranger's database says of visits and labels is checked where it leaves it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.build import open_crawl
from honeyguide.errors import FetchTimeout, StoreError
from honeyguide.learning.label_queries import label_questions
from honeyguide.store import Store
from honeyguide.store.codec import pack_topics, unpack_topics
from honeyguide.store.row_checks import is_http_url
from honeyguide.types import Label, Request, Response, Url, Verdict, Visit
from honeyguide.url import canonical_url, host_of, path_of, site_origin
from tests.unit.store_visits import change, crawl, good, small

LIES = ["x", b"\xff", 1e300, -1e300, 9e999, 2**62, -7]
NUMBERS = ["at", "queued", "score", "parent", "verdict", "ungated", "started", "elapsed"]
WHOLE = ["generation", "tries", "depth", "hops", "inlinks", "has_page", "relevant", "copy_exact"]
TEXTS = [
    "anchor",
    "before",
    "tag_path",
    "title",
    "language",
    "topics",
    "yields",
    "detail",
    "tongue",
]
ADDRESSES = ["source", "canonical", "copy_of", "moved"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small(tmp_path / "collection")


@pytest.mark.parametrize("lie", LIES)
def test_rows_are_of_the_kinds_they_claim(folder: Path, lie: object) -> None:
    columns = [*NUMBERS, *WHOLE, *TEXTS, *ADDRESSES]
    change(folder, f"UPDATE visits SET {', '.join(f'{name} = ?1' for name in columns)}", lie)
    with Store.open(folder, "read") as store:
        rows = list(store.visits.iter_visits())
        assert len(rows) == 5
        for row in rows:
            for name in NUMBERS:
                value = getattr(row, name)
                assert value is None or abs(value) <= 2**1023
            assert row.verdict is None
            assert row.parent == 0.0
            assert all(isinstance(getattr(row, name), int) for name in WHOLE)
            assert all(isinstance(getattr(row, name), str) for name in TEXTS)
            assert all(getattr(row, name) is None for name in ADDRESSES)
            assert row.topic_scores == {}
            assert row.link.url == row.url
            assert store.visits.attempts_at(row.url)[0] == row
            assert store.visits.rebuild_page(row).text
        assert store.counter.read_counts().hosts == 3


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "http:///", "https://e.org", "ftp://e.org/", 7]
)
def test_rows_without_an_address_are_left_out(folder: Path, url: object) -> None:
    change(folder, "UPDATE visits SET url = ? WHERE id = 2", url)
    with Store.open(folder, "read") as store:
        assert [row.id for row in store.visits.iter_visits()] == [1, 3, 4, 5]
        assert [row.id for row in store.visits.iter_visits(limit=2)] == [1, 3]
        assert store.visits.visit_by_id(2) is None


@pytest.mark.parametrize("value", ["x", b"1", 1e300, -0.1, 9e999])
def test_labels_that_are_none(folder: Path, value: object) -> None:
    one, two = good(1).link.url, good(2).link.url
    with Store.open(folder, "write") as store:
        store.labels.add([Label(one, 1.0, "ada"), Label(two, 0.0, "bob")])
    change(folder, "UPDATE labels SET value = ? WHERE id = 1", value)
    with Store.open(folder, "read") as store:
        assert [label.url for _, label in store.labels.effective_after()] == [two]
        assert store.labels.effective_label(one) is None
        assert store.labels.effective_label(two) == Label(two, 0.0, "bob")


def test_labels_speak_of_canonical_addresses(folder: Path) -> None:
    with Store.open(folder, "write") as store:
        store.labels.add(
            [Label(Url("http://E.org:80/a/../b#c"), 1.0, "ada"), Label(Url("no"), 1.0)]
        )
    change(folder, "UPDATE labels SET by = x'ff', at = 'x', topic = 7 WHERE id = 1")
    with Store.open(folder, "read") as store:
        assert store.labels.effective_after() == []
    change(folder, "UPDATE labels SET topic = '' WHERE id = 1")
    with Store.open(folder, "read") as store:
        assert store.labels.effective_after() == [(1, Label(Url("http://e.org/b"), 1.0, "", 0.0))]


def test_hosts_and_times_that_are_none(folder: Path) -> None:
    change(folder, "UPDATE hosts SET visits = 'x', relevant = x'00', failures = 9e999")
    change(folder, "UPDATE visits SET at = 'x'")
    with Store.open(folder, "read") as store:
        assert {row[1:] for row in store.counter.top_hosts()} == {(0, 0, 0)}
        assert (store.counter.read_counts().first, store.counter.read_counts().last) == (None, None)


def test_a_lie_is_not_relevant(folder: Path) -> None:
    change(folder, "UPDATE visits SET verdict = 'x' WHERE id = 1")
    change(folder, "UPDATE visits SET verdict = 1e300 WHERE id = 2")
    with Store.open(folder, "crawl") as store:
        store.counter.recount_relevant(0.5)
        assert store.counter.read_counts().relevant == 3


# -- languages ---------------------------------------------------------------------------------


def spoken(number: int, tongue: str, **more: Any) -> Visit:
    visit = good(number, **more)
    assert visit.page is not None
    return visit._replace(page=replace(visit.page, detected_language=tongue))


def test_the_journal_keeps_what_was_heard_and_what_the_gate_took(tmp_path: Path) -> None:
    apart = Verdict(0.0, (), (), 0.8)
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([spoken(1, "tr"), spoken(2, "de", verdict=apart), spoken(3, "")])
            store.append_visits([spoken(4, "de", verdict=apart)])
        rows = list(store.visits.iter_visits())
        assert [row.tongue for row in rows] == ["tr", "de", "", "de"]
        assert [row.ungated for row in rows] == [None, 0.8, None, 0.8]
        assert [row.topical_score for row in rows] == [0.9, 0.8, 0.9, 0.8]
        assert [store.visits.rebuild_page(row).detected_language for row in rows] == [
            "tr",
            "de",
            "",
            "de",
        ]
        assert list(store.counter.read_counts().tongues.items()) == [("de", 2), ("tr", 1)]
        with store.transaction():
            store.visits.update_verdict(2, Verdict(0.7), "tr")
            store.counter.recount_relevant(0.5)
        assert store.counter.read_counts().tongues == {"tr": 2, "de": 1}
        assert (
            list(store.visits.iter_visits())[1].verdict,
            list(store.visits.iter_visits())[1].ungated,
        ) == (0.7, None)


def test_languages_that_are_none(folder: Path) -> None:
    change(folder, "UPDATE visits SET tongue = x'ff', ungated = 'x' WHERE id = 1")
    change(folder, "UPDATE visits SET tongue = '<b>tr</b>', ungated = 7 WHERE id = 2")
    change(folder, "UPDATE visits SET tongue = 7, ungated = 1e999 WHERE id = 3")
    change(folder, "INSERT INTO counters VALUES('tongue', '\x1b[31m', 5), ('tongue', 'de', 'x')")
    change(folder, "INSERT INTO counters VALUES('tongue', 'tr', 5)")
    with Store.open(folder, "crawl") as store:
        assert {(row.tongue, row.ungated) for row in store.visits.iter_visits()} == {("", None)}
        assert store.counter.read_counts().tongues == {"tr": 5, "de": 0}
        store.counter.recount_relevant(0.5)
        assert store.counter.read_counts().tongues == {}


# -- topics ------------------------------------------------------------------------------------


def test_scores_by_topic_survive_and_lies_do_not() -> None:
    assert unpack_topics(pack_topics(("a", "b"), (0.25, 1.0))) == {"a": 0.25, "b": 1.0}
    assert pack_topics(("a", "b"), ()) == pack_topics(("a",), (0.1, 0.2)) == ""
    for lie in ("{", "[0.1]", '{"a":"x"}', '{"a":1e999}', "[" * 100_000, "7"):
        assert unpack_topics(lie) == {}, lie
    assert unpack_topics('{"a":7,"b":0.5,"c":-1}') == {"b": 0.5}


def test_the_journal_keeps_each_topics_score(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([good(1)])
        store.visits.set_topics(("birds", "bats"))
        verdicts = [(0.9, 0.1), (0.6, 0.7), (0.2, 0.3), (0.1, 0.2, 0.3)]
        with store.transaction():
            visits = [
                good(2 + n, verdict=Verdict(max(scores), (), scores))
                for n, scores in enumerate(verdicts)
            ]
            store.append_visits(visits)
    change(tmp_path, 'UPDATE visits SET topics = \'{"bats":"x"\' WHERE id = 4')
    with Store.open(tmp_path, "crawl") as store:
        rows = list(store.visits.iter_visits())
        assert [row.topics == "" for row in rows] == [True, False, False, False, True]
        assert rows[2].topic_scores == {"birds": 0.6, "bats": 0.7}
        assert store.visits.relevant_by_topic(0.5, "birds") == {"birds": 3, "bats": 1}
        store.visits.update_verdict(3, Verdict(0.4, (), (0.4, 0.3)))
        assert store.visits.relevant_by_topic(0.5, "birds") == {"birds": 2}


def test_a_page_has_a_label_for_each_topic_and_person(folder: Path) -> None:
    url = good(1).link.url
    with Store.open(folder, "crawl") as store:
        store.labels.add(
            [
                Label(url, 1.0, "ada"),
                Label(url, 0.0, "ada", topic="bats"),
                Label(url, 1.0, "bob", topic="bats"),
                Label(url, 0.5, "ada"),
            ]
        )
        assert {t: x.value for t, x in store.labels.labels_by_topic(url).items()} == {
            "": 0.5,
            "bats": 1.0,
        }
        assert [label.value for _, label in store.labels.effective_after()] == [0.5], (
            "bats are not followed"
        )
        store.visits.set_topics(("birds", "bats"))
        assert sorted(label.value for _, label in store.labels.effective_after()) == [0.5, 1.0]
        every = store.labels.everyone_after()
        assert sorted(label.value for _, label in every) == [0.0, 0.5, 1.0]


def test_one_topic_leaves_no_trace(folder: Path) -> None:
    with Store.open(folder, "crawl") as store:
        store.visits.set_topics(())
        assert store.get_meta("topics") is None
        store.visits.set_topics(("a", "b"))
    change(folder, "UPDATE meta SET value = '{' WHERE key = 'topics'")
    crawl(folder)
    with Store.open(folder, "read") as store:
        assert {row.topics for row in store.visits.iter_visits()} == {""}


# -- whoever reads them --------------------------------------------------------------------------


class Nothing:
    """A network on which nobody answers."""

    async def fetch(self, request: Request) -> Response:
        raise FetchTimeout(request.url, "nobody is there")

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize("lie", LIES)
def test_a_strangers_collection_is_asked_exported_and_crawled(tmp_path: Path, lie: Any) -> None:
    made = create(
        tmp_path / "c",
        seeds=["https://host1.example.org/"],
        contact="me@example.org",
        keywords=["honey"],
        crawl={"pages": 8},
    )
    small(made.folder)
    with Store.open(made.folder, "write") as store:
        store.labels.add([Label(good(1).link.url, 1.0), Label(good(2).link.url, 0.0)])
    names = [*NUMBERS, *WHOLE[:-3], *TEXTS, *ADDRESSES]
    change(made.folder, f"UPDATE visits SET {', '.join(f'{name} = ?1' for name in names)}", lie)
    change(made.folder, "UPDATE visits SET url = ?1 WHERE id = 3", lie)
    change(made.folder, "UPDATE labels SET value = ?1, at = ?1 WHERE id = 1", lie)
    change(made.folder, "UPDATE hosts SET visits = ?1 WHERE id = 1", lie)
    with Store.open(made.folder, "read") as store:
        label_questions(store, made.settings, 5)
    collection = Collection(made.folder)
    collection.status()
    collection.explain(good(1).link.url)
    assert collection.export(tmp_path / "all.csv", everything=True).rows == 4

    async def turn() -> int:
        settings = parse_settings(
            {
                "topic": {"keywords": ["honey"], "seeds": ["https://host1.example.org/"]},
                "fetch": {"contact": "me@example.org"},
                "crawl": {"patience_s": 0, "pages": 8},
            }
        )
        async with open_crawl(made.folder, settings, fetcher=Nothing()) as ring:
            return (await ring.run()).progress.visits

    assert asyncio.run(turn()) >= 5


def test_an_older_collection_gets_its_columns(folder: Path) -> None:
    with Store.open(folder, "write") as store:
        store.labels.add([Label(good(1).link.url, 1.0, "ada")])
    tables = (
        "pages", "versions", "bodies", "watched", "watch_facts", "changes", "outbox", "passes",
        "searches", "search_results", "asked_for", "letters", "heard", "gathered",
    )  # fmt: skip
    change(folder, "; ".join(f"DROP TABLE {name}" for name in tables))
    change(
        folder,
        "ALTER TABLE visits DROP COLUMN topics; ALTER TABLE labels DROP COLUMN topic; "
        "ALTER TABLE visits DROP COLUMN tongue; ALTER TABLE visits DROP COLUMN ungated; "
        "DROP INDEX visits_unproven; ALTER TABLE visits DROP COLUMN unproven; "
        "PRAGMA user_version = 2",
    )
    with pytest.raises(StoreError, match="older"):
        Store.open(folder, "read")
    with Store.open(folder, "write") as store:
        assert [row.topics for row in store.visits.iter_visits()] == [""] * 5
        assert [label.topic for _, label in store.labels.effective_after()] == [""]
        assert [(row.tongue, row.ungated) for row in store.visits.iter_visits()] == [("", None)] * 5


@given(st.text(alphabet="htps:/@[].%a1?#\\ é", max_size=30).map(lambda text: f"http://{text}"))
def test_every_address_that_passes_has_a_host(text: str) -> None:
    if is_http_url(text):
        assert host_of(text) is not None
        assert site_origin(text)
        assert path_of(text).startswith("/")
    if (url := canonical_url(text)) is not None and host_of(url):
        assert is_http_url(url), "none of ours is left out"
