"""The watch list: who enters and leaves, what is known of each page, and who may say it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from honeyguide.errors import StoreError
from honeyguide.store import Store
from honeyguide.store.labels import EffectiveLabels, TopicSelection
from honeyguide.store.watch_list import WatchedState
from honeyguide.types import DuplicateOf, Label, Url, Verdict
from tests.unit.store_visits import bad, change, good

NOW = 1_700_000_000.0
LIES = ["x", b"\xff", 1e300, -1e300, 9e999, 2**62, -7]


def url(n: int) -> Url:
    return Url(f"https://host{n % 3}.example.org/{n}")


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path, "crawl") as store:
        yield store


def test_a_page_is_on_the_list_once(store: Store) -> None:
    assert store.watched.add_pages([url(1), url(2), url(1)], "crawl", NOW, 0.5) == 2
    row = store.watched.find_row(url(1))
    assert row is not None
    assert (row.id, row.by, row.added, row.weight, row.state) == (1, "crawl", NOW, 0.5, "watched")
    assert (row.visited, row.due, row.etag, row.digest, row.masks) == (None, None, "", b"", "")
    assert row.host == "host1.example.org"
    assert store.watched.find_row(url(9)) is None


def test_people_bring_pages_back_and_the_crawl_does_not(store: Store) -> None:
    store.watched.add_pages([url(1)], "crawl", NOW)
    states: tuple[WatchedState, ...] = ("removed", "paused")
    for state in states:
        assert store.watched.edit_page(url(1), state=state)
        assert store.watched.add_pages([url(1)], "crawl", NOW) == 0
        assert list(store.watched.iter_rows()) == []
        assert store.watched.add_pages([url(1)], "user", NOW, 2.0, "mine") == 1
        [row] = store.watched.iter_rows()
        assert (row.weight, row.note, row.by) == (2.0, "mine", "user")
        assert store.watched.add_pages([url(1)], "import", NOW) == 0, "it was watched before"
    assert store.watched.edit_page(url(1), state="paused")
    assert store.watched.count_by_state() == {"paused": 1}
    assert store.watched.edit_page(url(1), state="watched")
    assert not store.watched.edit_page(url(7), state="paused")
    assert not store.watched.edit_page(url(7), weight=3)


def test_visits_are_saved_in_groups(store: Store) -> None:
    store.watched.add_pages(map(url, range(10)), "config", NOW)
    rows = [
        row._replace(
            visited=NOW + 1,
            succeeded=NOW + 2,
            changed=NOW + 3,
            due=NOW + 4,
            etag='"e\ud800"',
            modified="Mon",
            digest=b"d" * 16,
            rate=bytes(128),
            visits=5,
            changes=2,
            failures=1,
            masks='{"a":1}',
            state="gone",
        )
        for row in store.watched.iter_rows()
    ]
    with store.transaction():
        store.watched.save_rows(rows)
    found = list(store.watched.iter_rows("gone"))
    assert found == [row._replace(etag='"e?"') for row in rows]


def test_half_a_validator_is_none(store: Store) -> None:
    store.watched.add_pages([url(1)], "user", NOW, note="n" * 9999)
    [row] = store.watched.iter_rows()
    assert row.note == "n" * 4096
    long = row._replace(etag="e" * 5000, digest=bytes(9999), rate=bytes(9999), masks="m" * 300_000)
    store.watched.save_rows([long])
    assert store.watched.find_row(url(1)) == row


def test_what_is_saved_never_undoes_a_word_of_people(store: Store) -> None:
    store.watched.add_pages([url(1), url(2)], "crawl", NOW)
    one, two = store.watched.iter_rows()
    assert [row.url for row in store.watched.edited_after(0).rows] == [url(1), url(2)]
    heard = store.watched.edited_after(0).last
    assert store.watched.edited_after(heard).rows == []
    with Store.open(store.folder, "write") as person:
        person.watched.edit_page(url(1), state="paused")
        person.watched.edit_page(url(1), masks="[]", weight=9, note="why")
    store.watched.save_rows(
        [row._replace(state="gone", masks="old", visits=1, note="?") for row in (one, two)]
    )
    news = store.watched.edited_after(heard).rows
    assert [(r.url, r.state, r.masks, r.weight, r.visits) for r in news] == [
        (url(1), "paused", "[]", 9.0, 1)
    ]
    row = store.watched.find_row(url(2))
    assert row is not None
    assert (row.state, row.masks, row.note) == ("gone", "old", "")
    store.watched.save_rows([news[0]._replace(state="watched")])
    assert store.watched.count_by_state() == {"gone": 1, "watched": 1}, "now that it heard"


def test_edits_come_in_their_order_and_in_parts(store: Store) -> None:
    store.watched.add_pages(map(url, range(5)), "crawl", NOW)
    store.watched.edit_page(url(0), state="paused")
    first = store.watched.edited_after(0, most=3).rows
    assert [row.url for row in first] == [url(1), url(2), url(3)]
    assert [row.url for row in store.watched.edited_after(first[-1].edited).rows] == [
        url(4),
        url(0),
    ]


def test_the_list_is_read_by_state_and_host(store: Store) -> None:
    store.watched.add_pages(map(url, range(6)), "crawl", NOW)
    store.watched.edit_page(url(3), state="paused")
    hosts = store.watched.iter_rows(host="host0.example.org")
    assert [row.url for row in hosts] == [url(0)]
    assert [row.url for row in store.watched.iter_rows(None, "host0.example.org")] == [
        url(0),
        url(3),
    ]
    assert [row.url for row in store.watched.iter_rows("paused")] == [url(3)]
    assert len(list(store.watched.iter_rows(None))) == 6


def test_a_long_list_takes_little_memory(store: Store) -> None:
    store.watched.add_pages(
        (Url(f"https://h{n % 99}.org/{n}") for n in range(5_000)), "import", NOW
    )
    tracemalloc.start()
    assert sum(1 for _ in store.watched.iter_rows()) == 5_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000_000


# -- who enters, who leaves --------------------------------------------------------------------


def said(store: Store, topics: TopicSelection | None = None) -> EffectiveLabels:
    return EffectiveLabels(store.labels.effective_after(), topics)


def test_relevant_pages_enter_once(store: Store) -> None:
    with store.transaction():
        store.append_visits([good(1), good(2, 0.1), bad(3), good(1), good(4), good(5)])
        store.append_visits(
            [
                good(6, duplicate=DuplicateOf(url(4), exact=True)),
                good(7, duplicate=DuplicateOf(url(4), False)),
            ]
        )
    store.watched.add_pages([url(4)], "user", NOW)
    store.watched.edit_page(url(4), state="removed")
    found = list(store.watched.pages_to_enter(0, said(store)))
    assert [row.url for row in found] == [url(1), url(5), url(7)]
    assert [row.url for row in store.watched.pages_to_enter(6, said(store))] == [url(7)]
    store.watched.add_pages((row.url for row in found), "crawl", NOW)
    assert list(store.watched.pages_to_enter(0, said(store))) == []


def test_people_overrule_verdicts(store: Store) -> None:
    with store.transaction():
        store.append_visits([good(1), good(2, 0.1), good(3), bad(4)])
    store.watched.add_pages([url(3)], "crawl", NOW)
    store.labels.add([Label(url(1), 0.0), Label(url(2), 1.0), Label(url(3), 0.0)])
    store.labels.add([Label(bad(4).link.url, 1.0)])
    words = said(store)
    # Also of visits before the last time one looked.
    for since in (0, 99):
        assert [row.url for row in store.watched.pages_to_enter(since, words)] == [url(2)]
    assert [row.url for row in store.watched.pages_to_leave(words)] == [url(3)]
    store.watched.add_pages([url(3)], "user", NOW)
    store.watched.edit_page(url(3), state="removed")
    assert list(store.watched.pages_to_leave(words)) == []


def test_what_a_person_added_does_not_leave_by_itself(store: Store) -> None:
    with store.transaction():
        store.append_visits([good(1)])
    store.watched.add_pages([url(1)], "user", NOW)
    store.labels.add([Label(url(1), 0.0)])
    assert list(store.watched.pages_to_leave(said(store))) == []


def test_several_topics(store: Store) -> None:
    store.visits.set_topics(("birds", "bats"))
    with store.transaction():
        store.append_visits([good(n, verdict=Verdict(0.9, (), (0.9, 0.2))) for n in (1, 2)])
    store.labels.add([Label(url(1), 0.0), Label(url(2), 0.0), Label(url(2), 1.0, topic="bats")])
    words = said(store, TopicSelection(("birds", "bats"), 0.5))
    assert [row.url for row in store.watched.pages_to_enter(0, words)] == [url(2)]


# -- strangers, and facts ----------------------------------------------------------------------


@pytest.mark.parametrize("lie", LIES)
def test_rows_are_of_the_kinds_they_claim(tmp_path: Path, lie: object) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.watched.add_pages(map(url, range(3)), "crawl", NOW)
    names = [
        *("host", "edited", "added", "by", "weight", "state", "visited", "succeeded", "changed"),
        *("due", "etag", "modified", "digest", "rate", "visits", "changes", "failures", "masks"),
        "note",
    ]
    change(tmp_path, f"UPDATE watched SET {', '.join(f'{name} = ?1' for name in names)}", lie)
    with Store.open(tmp_path, "crawl") as store:
        rows = list(store.watched.iter_rows(None))
        assert len(rows) == 3
        for row in rows:
            assert row.state == "paused", "what we do not understand is not visited"
            assert row.by == "import"
            assert 0 <= row.weight <= 1e6
            assert min(row.edited, row.visits, row.changes, row.failures) >= 0
            assert row.host.startswith("host")
            assert all(isinstance(t, str) for t in (row.etag, row.modified, row.masks, row.note))
            assert isinstance(row.rate, bytes)
            for moment in (row.visited, row.succeeded, row.changed, row.due, row.added):
                assert moment is None or abs(moment) <= 1e300
        store.watched.save_rows(rows)
        store.watched.add_pages([url(0), url(7)], "user", NOW)
        assert store.watched.count_by_state()["watched"] == 2


def test_rows_without_an_address_are_left_out(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.watched.add_pages(map(url, range(3)), "crawl", NOW)
    change(tmp_path, "UPDATE watched SET url = 'file:///etc/passwd' WHERE id = 2")
    with Store.open(tmp_path, "read") as store:
        assert [row.id for row in store.watched.iter_rows()] == [1, 3]
        assert len(store.watched.edited_after(0).rows) == 2


def test_facts(store: Store) -> None:
    facts = store.watch_facts
    with store.transaction():
        for n in range(5):
            facts.set("host", f"h{n:03}.org", {"masks": [n], "ş": 0.5})
    facts.set("prior", "h1.org", [1, 2])
    facts.set("host", "h001.org", None)
    assert facts.get("host", "h002.org") == {"masks": [2], "ş": 0.5}
    assert facts.get("host", "h001.org") is None
    with pytest.raises(StoreError, match="too long"):
        facts.set("host", "x", "y" * 1_000_001)


@pytest.mark.parametrize("lie", [*LIES, "[" * 100_000, "{", '"' + "x" * 1_100_000 + '"'])
def test_facts_of_a_stranger(tmp_path: Path, lie: object) -> None:
    with Store.open(tmp_path, "crawl") as store:
        for name in "abc":
            store.watch_facts.set("host", name, 1)
    change(tmp_path, "UPDATE watch_facts SET value = ? WHERE name = 'b'", lie)
    change(tmp_path, "UPDATE watch_facts SET name = ? WHERE name = 'c'", b"\xff")
    with Store.open(tmp_path, "read") as store:
        assert store.watch_facts.get("host", "a") == 1
        value = store.watch_facts.get("host", "b")
        assert value is None or isinstance(value, int | float)
