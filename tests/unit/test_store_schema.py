"""Collections made by older versions become new ones, and lose nothing."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import Store
from honeyguide.store.database import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from honeyguide.types import Label
from tests.unit.store_visits import change, good

PUBLISHED = ("d9af792c3e1011e8", "2f4cbca4d8553366", "2ceabb0fc83d9ebc")
"""Of steps that collections out there have taken."""


def older(folder: Path, version: int) -> Path:
    """A collection as it was made when that version was the newest, with a visit and a label."""
    folder.mkdir()
    with Store.open(folder / "model", "crawl") as store:
        with store.transaction():
            store.append_visits([good(1)])
        store.labels.add([Label(good(1).link.url, 1.0, "ada")])
    old = apsw.Connection(str(folder / "collection.db"))
    for step in MIGRATIONS[:version]:
        old.execute(step)
    old.execute("ATTACH ? AS model", (str(folder / "model" / "collection.db"),))
    for table in ("visits", "labels", "texts", "hosts", "counters", "meta"):
        names = ", ".join(row[1] for row in old.execute(f"PRAGMA main.table_info({table})"))
        old.execute(f"INSERT INTO main.{table}({names}) SELECT {names} FROM model.{table}")
    old.pragma("application_id", APPLICATION_ID)
    old.pragma("user_version", version)
    old.close()
    return folder


def test_steps_that_were_published_do_not_change() -> None:
    assert len(MIGRATIONS) == SCHEMA_VERSION == 9
    for step, known in zip(MIGRATIONS, PUBLISHED, strict=False):
        assert sha256(step.encode()).hexdigest()[:16] == known


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
@pytest.mark.parametrize("mode", ["crawl", "write"])
def test_an_older_collection_becomes_a_new_one(tmp_path: Path, version: int, mode: str) -> None:
    folder = older(tmp_path / "c", version)
    with pytest.raises(StoreError, match="older Honeyguide"):
        Store.open(folder, "read")
    with Store.open(folder, mode) as store:  # type: ignore[arg-type]
        store.database.check_integrity()
        assert [row.url for row in store.visits.iter_visits()] == [good(1).link.url]
        assert [label.by for _, label in store.labels.effective_after()] == ["ada"]
        assert store.versions.list_versions(good(1).link.url) == []
        assert store.watched.add_pages([good(1).link.url], "crawl", 1.0) == 1
        assert store.versions.add_version(good(1).link.url, b"body", 1.0) == 1
    with Store.open(folder, "read") as store:
        assert store.versions.read_body(good(1).link.url, 1) == b"body"
        assert len(list(store.watched.iter_rows())) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE changes(x)",
        "CREATE TABLE outbox(x CHECK(length(hex(zeroblob(100000))) > 1))",
        "CREATE VIEW versions AS SELECT 1",
    ],
)
def test_a_stranger_cannot_make_our_tables_before_us(tmp_path: Path, sql: str) -> None:
    folder = older(tmp_path / "c", 3)
    change(folder, sql)
    with pytest.raises(StoreError, match=r"already exists|not a collection"):
        Store.open(folder, "crawl")


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE bodies",
        "CREATE INDEX i ON changes(length(hex(zeroblob(100000))))",
        "ALTER TABLE watched ADD COLUMN more",
        "CREATE TRIGGER t AFTER INSERT ON outbox BEGIN DELETE FROM changes; END",
    ],
)
def test_only_tables_of_ours(tmp_path: Path, sql: str) -> None:
    with Store.open(tmp_path, "crawl"):
        pass
    change(tmp_path, sql)
    with pytest.raises(CollectionCorrupt, match="not a collection made by Honeyguide"):
        Store.open(tmp_path, "read")
