"""The studio's index: damaged, foreign or bent, it is thrown away and made anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honeyguide.errors import CollectionCorrupt
from honeyguide.studio import collection
from honeyguide.studio.collection import VisitsQuery
from honeyguide.studio.routes import RequestContext
from honeyguide.studio.search_index import INDEX_FILE, Indexer, SearchIndex
from tests.unit.store_visits import bad, good
from tests.unit.studio_here import here, keep


@pytest.fixture
def bees(tmp_path: Path) -> Iterator[RequestContext]:
    """Thirty pages and five failures; indexed."""
    visits = [good(n) for n in range(30)] + [bad(n) for n in range(40, 45)]
    known = here(keep(tmp_path / "bees", visits))
    Indexer(known.collection_folder).catch_up()
    yield known
    known.shared.close()


def found(known: RequestContext, **query: Any) -> list[int]:
    return [row.visit for row in collection.list_visits(known, VisitsQuery(**query)).rows]


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_index_is_made_anew(bees: RequestContext, damage: bytes) -> None:
    Indexer(bees.collection_folder).catch_up()
    path = bees.collection_folder / INDEX_FILE
    for beside in bees.collection_folder.glob(f"{INDEX_FILE}-*"):
        beside.unlink()
    path.write_bytes(damage)
    assert Indexer(bees.collection_folder).catch_up().texts == 35
    assert len(found(bees, words="page")) == 30


def test_an_index_that_is_half_destroyed_heals(bees: RequestContext) -> None:
    Indexer(bees.collection_folder).catch_up()
    with sqlite3.connect(bees.collection_folder / INDEX_FILE) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole = (bees.collection_folder / INDEX_FILE).read_bytes()
    (bees.collection_folder / INDEX_FILE).write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    collection.list_visits(bees, VisitsQuery(words="page"))
    Indexer(bees.collection_folder).catch_up()
    assert len(found(bees, words="page")) == 30


def test_an_index_of_another_collection_is_not_believed(
    bees: RequestContext, tmp_path: Path
) -> None:
    other = keep(tmp_path / "other", [good(1, text="nothing but wasps")])
    Indexer(other).catch_up()
    (bees.collection_folder / INDEX_FILE).write_bytes((other / INDEX_FILE).read_bytes())
    Indexer(bees.collection_folder).catch_up()
    assert found(bees, words="wasps") == []
    assert len(found(bees, limit=200)) == 30


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more(x)",
    ],
)
def test_an_index_with_a_program_in_it_is_thrown_away(bees: RequestContext, sql: str) -> None:
    Indexer(bees.collection_folder).catch_up()
    with sqlite3.connect(bees.collection_folder / INDEX_FILE) as db:
        db.execute(sql)
    db.close()
    Indexer(bees.collection_folder).catch_up()
    with sqlite3.connect(bees.collection_folder / INDEX_FILE) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    assert not names & {"t", "v", "more"}


def test_an_index_that_is_a_link_is_refused(bees: RequestContext, tmp_path: Path) -> None:
    (bees.collection_folder / INDEX_FILE).unlink()
    (bees.collection_folder / INDEX_FILE).symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(CollectionCorrupt, match="link"):
        SearchIndex(bees.collection_folder / INDEX_FILE)
    assert not (tmp_path / "elsewhere.db").exists()
