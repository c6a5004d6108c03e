"""The studio's index: damaged, foreign or bent, it is thrown away and made anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honeyguide.errors import CollectionCorrupt
from honeyguide.studio import collection
from honeyguide.studio.collection import Asked
from honeyguide.studio.context import Here
from honeyguide.studio.indexing import Indexer
from honeyguide.studio.search import NAME, Index
from tests.unit.store_visits import bad, good
from tests.unit.studio_here import here, keep


@pytest.fixture
def bees(tmp_path: Path) -> Iterator[Here]:
    """Thirty pages and five failures; indexed."""
    visits = [good(n) for n in range(30)] + [bad(n) for n in range(40, 45)]
    known = here(keep(tmp_path / "bees", visits))
    Indexer(known.place).catch_up()
    yield known
    known.shared.close()


def found(known: Here, **query: Any) -> list[int]:
    return [row.visit for row in collection.visits(known, Asked(**query)).rows]


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_index_is_made_anew(bees: Here, damage: bytes) -> None:
    Indexer(bees.place).catch_up()
    path = bees.place / NAME
    for beside in bees.place.glob(f"{NAME}-*"):
        beside.unlink()
    path.write_bytes(damage)
    assert Indexer(bees.place).catch_up().texts == 35
    assert len(found(bees, words="page")) == 30


def test_an_index_that_is_half_destroyed_heals(bees: Here) -> None:
    Indexer(bees.place).catch_up()
    with sqlite3.connect(bees.place / NAME) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole = (bees.place / NAME).read_bytes()
    (bees.place / NAME).write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    collection.visits(bees, Asked(words="page"))
    Indexer(bees.place).catch_up()
    assert len(found(bees, words="page")) == 30


def test_an_index_of_another_collection_is_not_believed(bees: Here, tmp_path: Path) -> None:
    other = keep(tmp_path / "other", [good(1, text="nothing but wasps")])
    Indexer(other).catch_up()
    (bees.place / NAME).write_bytes((other / NAME).read_bytes())
    Indexer(bees.place).catch_up()
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
def test_an_index_with_a_program_in_it_is_thrown_away(bees: Here, sql: str) -> None:
    Indexer(bees.place).catch_up()
    with sqlite3.connect(bees.place / NAME) as db:
        db.execute(sql)
    db.close()
    Indexer(bees.place).catch_up()
    with sqlite3.connect(bees.place / NAME) as db:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    assert not names & {"t", "v", "more"}


def test_an_index_that_is_a_link_is_refused(bees: Here, tmp_path: Path) -> None:
    (bees.place / NAME).unlink()
    (bees.place / NAME).symlink_to(tmp_path / "elsewhere.db")
    with pytest.raises(CollectionCorrupt, match="link"):
        Index(bees.place / NAME)
    assert not (tmp_path / "elsewhere.db").exists()
