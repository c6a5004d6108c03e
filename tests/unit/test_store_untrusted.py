"""A collection may come from a stranger: its database runs nothing, and cannot break us."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import Store
from tests.unit.store_visits import change, crawl, good, small

MODES = ("crawl", "write", "read")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small(tmp_path / "collection")


ENDLESS = (
    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) "
    "SELECT 'a' AS name, 'b' AS part, count(*) AS value FROM r"
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "sql",
    [
        f"ALTER TABLE counters RENAME TO c2; CREATE VIEW counters AS {ENDLESS}",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON visits BEGIN DELETE FROM labels; END",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
        "DROP TABLE curve",
        "ALTER TABLE warcs ADD COLUMN more",
        "CREATE INDEX i ON visits(length(hex(zeroblob(100000))))",
        "DROP TABLE meta; CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL "
        "CHECK(length(hex(zeroblob(100000))) > 1)) WITHOUT ROWID",
        "DROP TABLE curve; CREATE TABLE curve(visits INTEGER PRIMARY KEY, "
        "relevant INTEGER GENERATED ALWAYS AS (length(zeroblob(100000))))",
        "PRAGMA writable_schema = ON; INSERT INTO sqlite_master VALUES('table', 'x', 'x', 5, "
        "'CREATE TRIGGER x AFTER INSERT ON visits BEGIN DELETE FROM labels; END')",
    ],
)
def test_only_tables_of_ours(folder: Path, sql: str, mode: Any) -> None:
    change(folder, sql)
    with pytest.raises(CollectionCorrupt, match=r"not a collection made by Honeyguide|malformed"):
        Store.open(folder, mode)


def test_what_a_rescue_leaves_behind_does_no_harm(folder: Path) -> None:
    change(folder, "CREATE TABLE lost_and_found(rootpgno INTEGER, pgno INTEGER, c0, c1)")
    change(folder, "ANALYZE")
    crawl(folder)
    with Store.open(folder, "read") as store:
        assert store.counter.read_counts().visits == 6


def test_a_database_is_opened_warily(folder: Path) -> None:
    for mode in MODES:
        with Store.open(folder, mode) as store:  # type: ignore[arg-type]
            connection = store.database.connection
            assert connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
            assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1) == 0
            assert connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, -1) == 0
            assert connection.pragma("trusted_schema") == 0
            assert connection.pragma("cell_size_check") == 1


def test_odd_numbers_are_returned(folder: Path) -> None:
    change(folder, "UPDATE visits SET at = 1e300, started = 9e999, score = -1e300")
    change(folder, "UPDATE counters SET value = 9e999 WHERE name = 'bytes'")
    change(folder, "UPDATE counters SET value = 'x' WHERE name = 'pages'")
    change(folder, "INSERT INTO counters VALUES('generation', 'x', 1)")
    change(folder, "UPDATE curve SET relevant = 'x'")
    change(folder, "UPDATE hosts SET visits = 1e300")
    with Store.open(folder, "read") as store:
        counts = store.counter.read_counts()
        assert (counts.first, counts.last, counts.pages) == (1e300, 1e300, 0)
        assert counts.bytes > 0
        assert [row.at for row in store.visits.iter_visits()] == [1e300] * 5
        assert len(store.counter.harvest_curve()) == 5
        assert store.counter.top_hosts()[0].visits == 1e300


@pytest.mark.parametrize("reasons", ["[[1]]", "{", "[" * 100_000, b"\xff", 7, '[["x", 1e999]]'])
def test_damaged_reasons(folder: Path, reasons: object) -> None:
    change(folder, "UPDATE visits SET reasons = ?", reasons)
    with Store.open(folder, "read") as store:
        [row] = store.visits.iter_visits(limit=1)
        with pytest.raises(CollectionCorrupt):
            _ = row.verdict_reasons


def test_texts_that_are_none(folder: Path) -> None:
    change(folder, "UPDATE meta SET value = CAST(x'ff' AS TEXT)")
    with Store.open(folder, "read") as store, pytest.raises(CollectionCorrupt):
        store.get_meta("sketches")


def test_damaged_sketches(folder: Path) -> None:
    change(folder, "UPDATE sketches SET keys = 'short'")
    with Store.open(folder, "read") as store, pytest.raises(CollectionCorrupt):
        store.duplicates.find_duplicate(good(1).link.url, "a text of some words")


@pytest.mark.parametrize("data", [7, 0.5, "text"])
def test_entries_of_the_frontiers_log_are_bytes(folder: Path, data: object) -> None:
    change(folder, "INSERT INTO frontier_index VALUES(1, ?)", data)
    change(folder, "INSERT INTO frontier_text VALUES(1, ?)", data)
    with Store.open(folder, "read") as store:
        with pytest.raises(CollectionCorrupt):
            store.frontier_log.read_text(1)
        with pytest.raises(CollectionCorrupt):
            list(store.frontier_log.scan_entries())


def test_the_last_number_of_a_warc_file(folder: Path) -> None:
    name = "honeyguide-20260101000000-00099.warc.gz"
    change(folder, "INSERT INTO warcs VALUES(9223372036854775807, ?, 2000000000)", name)
    with pytest.raises(StoreError):
        crawl(folder)


def test_robots_older_than_a_day_are_forgotten(folder: Path) -> None:
    now = 1_700_000_000.0
    with Store.open(folder, "crawl") as store:
        for hours in (0, 23, 25, -23, -25):
            store.robots.save_robots(f"http://h{hours}.org", now - hours * 3600, 200, "x")
    change(folder, "INSERT INTO robots VALUES('http://odd.org', 'x', 200, x'00')")
    with Store.open(folder, "read", clock=lambda: now) as store:
        assert len(store.database.fetch_all("SELECT origin FROM robots")) == 6, (
            "readers change nothing"
        )
    with Store.open(folder, "crawl", clock=lambda: now) as store:
        kept = {origin for (origin,) in store.database.fetch_all("SELECT origin FROM robots")}
    assert kept == {"http://h0.org", "http://h23.org", "http://h-23.org"}
