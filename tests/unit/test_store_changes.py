"""The change feed and the outbox: found again, told once, and lost in no crash."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.store import Store
from honeyguide.store.change_feed import UnsentChange
from honeyguide.types import Url
from tests.unit.store_visits import change as stranger

NOW = 1_700_000_000.0


def made(n: int, *kinds: ChangeKind, **more: Any) -> Change:
    values: dict[str, Any] = {
        "significance": n / 10,
        "since": NOW - 5,
        "edits": (
            PageEdit("changed", "div/p", f"old {n}", f"Yeni fiyat {n}", 0.5),
            PageEdit("data", "offers.price", "1", "2"),
        ),
        "links_added": (Url(f"https://example.org/new/{n}"),),
        "links_removed": (Url("https://example.org/old"),),
        "masked": n,
        "detail": f"detail {n}",
        **more,
    }
    url = Url(f"https://host{n % 3}.example.org/{n}")
    return Change(url, NOW + n, kinds or ("content", "links"), **values)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(tmp_path, "crawl") as store:
        yield store


def test_a_change_comes_back_as_it_was(store: Store) -> None:
    number = store.changes.append(made(3), 4, 5)
    row = store.changes.get_change(number)
    assert row is not None
    assert row == (number, made(3), 4, 5, None)
    bare = Change(Url("https://e.org/"), NOW, ("gone",))
    row = store.changes.get_change(store.changes.append(bare))
    assert row is not None
    assert (row.change, row.old, row.new) == (bare, None, None)
    assert store.changes.get_change(99) is None


def test_the_feed_is_newest_first_and_filtered(store: Store) -> None:
    with store.transaction():
        for n in range(10):
            kinds: tuple[ChangeKind, ...] = (("content", "links"), ("gone",), ("minor",))[n % 3]
            store.changes.append(made(n, *kinds))

    def found(**filters: Any) -> list[int]:
        return [row.id - 1 for row in store.changes.iter_newest(**filters)]

    assert found() == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert found(limit=2) == [9, 8]
    assert found(limit=0) == []
    assert found(before=9, limit=2) == [7, 6]
    assert found(since=NOW + 3) == [9, 8, 7, 6, 5, 4, 3]
    assert found(kinds=["links"]) == [9, 6, 3, 0]
    assert found(kinds=["gone", "minor"], significance=0.5) == [8, 7, 5]
    assert found(kinds=["link"]) == []
    assert found(url=made(4).url) == [4]
    assert found(host="host2.example.org") == [8, 5, 2]
    assert found(words=["YENI", "fiyat 7"]) == [7]
    assert found(words=["yeni", "nowhere"]) == []
    assert found(words=["detail 3"], host="host0.example.org") == [3]
    store.changes.mark_seen([10, 9], NOW)
    assert found(unseen=True, limit=2) == [7, 6]
    store.changes.mark_seen([10], None)
    assert found(unseen=True, limit=2) == [9, 7]


def test_a_long_feed_is_read_in_parts(store: Store) -> None:
    with store.transaction():
        for n in range(250):
            store.changes.append(made(n, significance=0.5))
    assert [row.id for row in store.changes.iter_newest()] == list(range(250, 0, -1))


def test_what_is_kept_of_a_huge_change_is_bounded(store: Store) -> None:
    path, text = "p" * 9_999, "x" * 50_000
    edits = tuple(PageEdit("added", path, "", text, n / 2e5) for n in range(100_000))
    links = tuple(Url(f"https://example.org/{n}") for n in range(5_000))
    huge = made(1, edits=edits, links_added=(*links, Url("https://e.org/" + "x" * 9_999)))
    row = store.changes.get_change(store.changes.append(huge))
    assert row is not None
    kept = row.change.edits
    assert sum(len(edit.new) for edit in kept) == 500_000
    assert [edit.weight for edit in kept] == [edit.weight for edit in edits[-125:]]
    assert all(len(edit.new) == 4_000 and edit.new.endswith("…") for edit in kept)
    assert row.change.links_added == links[:1_000]
    short = tuple(PageEdit("moved", "p", weight=-n) for n in range(700))
    row = store.changes.get_change(store.changes.append(made(1, edits=short)))
    assert row is not None
    assert len(row.change.edits) == 500


def test_odd_changes_are_kept(store: Store) -> None:
    odd = made(1, significance=float("nan"), edits=(PageEdit("added", "\ud800", "", "a\ud800\0b"),))
    row = store.changes.get_change(store.changes.append(odd))
    assert row is not None
    assert row.change.significance == 0.0
    assert row.change.edits == (PageEdit("added", "?", "", "a?\0b"),)


def test_numbers_do_not_come_back(store: Store) -> None:
    for n in range(3):
        store.changes.append(made(n))
    with store.transaction():
        store.database.execute("DELETE FROM changes")
    assert store.changes.append(made(1)) == 4


# -- the outbox --------------------------------------------------------------------------------


def test_each_change_is_told_once_on_each_channel(store: Store) -> None:
    box = store.outbox
    box.queue_changes([1, 2, 3], "mail", NOW)
    box.queue_changes([3, 4], "mail", NOW + 1)
    box.queue_changes([2], "hook", NOW)
    assert box.list_unsent("mail", NOW - 1) == []
    assert [one.change for one in box.list_unsent("mail", NOW + 1)] == [1, 2, 3, 4]
    assert box.list_unsent("hook", NOW) == [UnsentChange(2, "", 0)]
    box.mark_sent("mail", [1, 2, 3], NOW + 2)
    assert [one.change for one in box.list_unsent("mail", NOW + 9)] == [4]
    box.queue_changes([1, 2, 3, 4], "mail", NOW + 3)
    box.mark_failed("mail", [1], NOW, "late", NOW)
    box.defer_changes("mail", [1], NOW)
    assert [one.change for one in box.list_unsent("mail", NOW + 9)] == [4], "told is told"
    assert [one.change for one in box.list_unsent("hook", NOW + 9)] == [2]


def next_try(store: Store, channel: str) -> object:
    sql = "SELECT min(next) FROM outbox WHERE channel = ? AND sent IS NULL"
    return store.database.fetch_value(sql, (channel,))


def test_failures_wait_and_are_given_up(store: Store) -> None:
    box = store.outbox
    assert next_try(store, "mail") is None
    box.queue_changes([1, 2], "mail", NOW, ready=NOW + 5)
    assert next_try(store, "mail") == NOW + 5
    box.mark_failed("mail", [1], NOW + 6, "refused\ud800" + "x" * 9_999, NOW + 60)
    assert [one.change for one in box.list_unsent("mail", NOW + 59)] == [2]
    box.defer_changes("mail", [2], NOW + 100)
    assert next_try(store, "mail") == NOW + 60
    assert box.list_unsent("mail", NOW + 60) == [UnsentChange(1, "", 1)]
    box.mark_failed("mail", [1], NOW + 61, "gone", None)
    assert [one.change for one in box.list_unsent("mail", NOW + 1e6)] == [2]
    box.defer_changes("mail", [1], NOW)
    box.mark_sent("mail", [2], NOW + 100)
    assert box.list_unsent("mail", NOW + 1e6) == []
    assert box.channel_status() == [("mail", 0, 1, 1, NOW + 61, "gone")]


def test_a_message_that_was_not_noted_comes_back_the_same(store: Store) -> None:
    box = store.outbox
    box.queue_changes([5, 6, 7], "mail", NOW)
    key = box.bundle_changes("mail", [7, 5])
    # Killed while sending. Meanwhile others were queued.
    box.queue_changes([1, 8], "mail", NOW)
    found = box.list_unsent("mail", NOW)
    assert [(one.change, one.message) for one in found] == [
        (5, key), (7, key), (1, ""), (6, ""), (8, ""),
    ]  # fmt: skip
    assert box.bundle_changes("mail", [5, 7]) == key
    other = box.bundle_changes("mail", [1, 6, 8])
    assert other != key
    box.bundle_changes("mail", [1, 5])
    assert {one.message for one in box.list_unsent("mail", NOW)} == {key, other}, "once and for all"
    assert box.bundle_changes("mail", []) == ""
    box.queue_changes([5, 7], "hook", NOW)
    assert box.bundle_changes("hook", [5, 7]) not in (key, other), (
        "another message, to somebody else"
    )


# -- strangers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lie", ["x", b"\xff", 1e300, -1e300, 9e999, 2**62, -7])
def test_rows_are_of_the_kinds_they_claim(tmp_path: Path, lie: object) -> None:
    with Store.open(tmp_path, "crawl") as store:
        for n in range(3):
            store.outbox.queue_changes([store.changes.append(made(n))], "mail", NOW)
    names = ["at", "since", "kinds", "significance", "masked", "detail", "old", "new", "seen"]
    stranger(
        tmp_path, f"UPDATE changes SET {', '.join(f'{n} = ?1' for n in (*names, 'edits'))}", lie
    )
    stranger(tmp_path, "UPDATE changes SET url = 'x' WHERE id = 2")
    stranger(tmp_path, "UPDATE outbox SET queued = ?1, message = ?1, tries = ?1, why = ?1", lie)
    with Store.open(tmp_path, "crawl") as store:
        rows = list(store.changes.iter_newest())
        assert [row.id for row in rows] == [3, 1]
        for row in rows:
            assert row.change.kinds == row.change.edits == ()
            assert row.change.significance == 0.0
            assert abs(row.change.at) <= 1e300
            assert row.change.masked >= 0
        for one in store.outbox.list_unsent("mail", NOW):
            assert one.message == "", "it goes into headers"
            assert one.tries >= 0
        store.outbox.channel_status()
        store.outbox.mark_sent("mail", [1], NOW)


def test_what_is_no_change_is_not_to_be_told(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.outbox.queue_changes([1], "mail", NOW)
    stranger(tmp_path, "UPDATE outbox SET change = 'x'")
    with Store.open(tmp_path, "read") as store:
        assert store.outbox.list_unsent("mail", NOW) == []


@pytest.mark.parametrize(
    "edits",
    [
        b"plain",
        zstandard.ZstdCompressor().compress(bytes(50_000_000)),
        zstandard.ZstdCompressor().compress(b"\x93" * 100_000),
        zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(((("what",),), (), ()))),
        zstandard.ZstdCompressor().compress(
            msgspec.msgpack.encode(((("added", "p", "", "x", "heavy"),), (), ()))
        ),
    ],
)
def test_damaged_edits_cost_only_themselves(tmp_path: Path, edits: bytes) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.changes.append(made(1))
    stranger(tmp_path, "UPDATE changes SET edits = ?", edits)
    with Store.open(tmp_path, "read") as store:
        [row] = store.changes.iter_newest()
        assert row.change.kinds == ("content", "links")
        assert row.change.edits == row.change.links_added == ()


def test_links_and_weights_of_a_stranger(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.changes.append(made(1))
    lies = ((("added", "p", "", "x", 7e300),), ("javascript:x", "https://e.org/"), ("file:///",))
    data = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(lies))
    stranger(tmp_path, "UPDATE changes SET edits = ?", data)
    with Store.open(tmp_path, "read") as store:
        [row] = store.changes.iter_newest()
        assert row.change.edits == (PageEdit("added", "p", "", "x", 0.0),)
        assert row.change.links_added == ("https://e.org/",)
        assert row.change.links_removed == ()


# -- killed ------------------------------------------------------------------------------------

WATCH = """
import sys
from pathlib import Path
from honeyguide.store import Store
from honeyguide.change import Change, PageEdit
from honeyguide.types import Url
told = open(sys.argv[2], "a", buffering=1)
with Store.open(Path(sys.argv[1]), "crawl") as store:
    print("started", flush=True)
    url = Url("https://example.org/")
    body = b"<p>" + b" ".join(b"word%d" % (n * n % 997) for n in range(2000))
    while True:
        latest = store.versions.latest_version(url)
        number = latest.number if latest else 0
        with store.transaction():
            new = store.versions.add_version(url, body + b"%d" % number, float(number))
            change = Change(url, float(number), ("content",), 0.5, edits=(PageEdit("added", "p"),))
            store.outbox.queue_changes([store.changes.append(change, number, new)], "mail", 0.0)
        bundles = {}
        for one in store.outbox.list_unsent("mail", 1.0):
            bundles.setdefault(one.message, []).append(one.change)
        for key, changes in bundles.items():
            key = key or store.outbox.bundle_changes("mail", changes)
            told.write(f"{key} {' '.join(map(str, changes))}\\n")
            store.outbox.mark_sent("mail", changes, 1.0)
"""


def test_kill_at_any_instant_loses_no_version_and_tells_nothing_anew(tmp_path: Path) -> None:
    chance = random.Random(7)
    folder, told = tmp_path / "c", tmp_path / "told"
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WATCH, str(folder), str(told)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        # Real time, for once: the instant of the kill must not depend on what the child does.
        time.sleep(chance.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

    messages = [line.split() for line in told.read_text().splitlines()]
    with Store.open(folder, "crawl") as store:
        store.database.check_integrity()
        versions = [row.number for row in store.versions.list_versions(Url("https://example.org/"))]
        rows = list(store.changes.iter_newest())
        assert versions == list(range(1, len(versions) + 1))
        assert [row.new for row in reversed(rows)] == versions, "a change for every version"
        waiting = {one.change for one in store.outbox.list_unsent("mail", 1.0)}
        queued = {row[0] for row in store.database.fetch_all("SELECT change FROM outbox")}
        assert queued == {row.id for row in rows}, "each is told, or will be"
        assert store.versions.read_body(Url("https://example.org/"), versions[-1])
    # Whoever got a message twice can tell by its key, and it says the same.
    contents: dict[str, list[str]] = {}
    for key, *changes in messages:
        assert contents.setdefault(key, changes) == changes
    once = [number for changes in contents.values() for number in map(int, changes)]
    assert len(once) == len(set(once)), "no change is in two messages"
    assert queued - waiting <= set(once)
    assert len(messages) - len(contents) <= 5, "at most what was in flight at each kill"
    assert len(versions) > 5
