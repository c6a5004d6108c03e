from __future__ import annotations

import os
import stat
from pathlib import Path

import apsw
import pytest

from honeyguide.errors import CollectionLocked, CollectionTooNew, StoreError
from honeyguide.store import Store, database
from tests.unit.store_visits import good


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_missing_collection_is_not_made_by_looking(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "none"
    with pytest.raises(StoreError, match="honeyguide new"):
        Store.open(folder, mode)  # type: ignore[arg-type]
    assert not folder.exists()
    (tmp_path / "collection.db").touch()
    with pytest.raises(StoreError, match="honeyguide new"):
        Store.open(tmp_path, mode)  # type: ignore[arg-type]


def test_one_crawl_at_a_time_and_readers_beside_it(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        with store.transaction():
            store.append_visits([good(1)])
        with pytest.raises(CollectionLocked, match=str(os.getpid())):
            Store.open(tmp_path, "crawl")
        with Store.open(tmp_path, "read") as reader:
            assert reader.counter.read_counts().visits == 1
            with store.transaction():
                store.append_visits([good(2)])
                assert reader.counter.read_counts().visits == 1
            assert reader.counter.read_counts().visits == 2
            with pytest.raises(StoreError):
                reader.set_meta("a", "b")
    with Store.open(tmp_path, "crawl") as store:
        assert store.counter.read_counts().visits == 2


def test_a_lock_left_behind_by_a_dead_process_does_not_hold(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304\n")
    with Store.open(tmp_path, "crawl"):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_failed_opening_frees_the_lock(tmp_path: Path) -> None:
    (tmp_path / "collection.db").write_bytes(b"not a database at all" * 100)
    for _ in range(2):
        with pytest.raises(StoreError, match="damaged"):
            Store.open(tmp_path, "crawl")


@pytest.mark.parametrize("mode", ["crawl", "read", "write"])
def test_a_newer_collection_is_left_alone(tmp_path: Path, mode: str) -> None:
    with Store.open(tmp_path, "crawl"):
        pass
    connection = apsw.Connection(str(tmp_path / "collection.db"))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(CollectionTooNew, match="pip install -U honeyguide"):
        Store.open(tmp_path, mode)  # type: ignore[arg-type]


def test_an_older_collection_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(tmp_path, "crawl") as store:
        store.set_meta("kept", "yes")
    monkeypatch.setattr(database, "SCHEMA_VERSION", len(database.MIGRATIONS) + 1)
    steps = (*database.MIGRATIONS, "CREATE TABLE added(x); INSERT INTO added VALUES(1)")
    monkeypatch.setattr(database, "MIGRATIONS", steps)
    with pytest.raises(StoreError, match="older Honeyguide"):
        Store.open(tmp_path, "read")
    for mode in ("write", "crawl", "read"):
        with Store.open(tmp_path, mode) as store:  # type: ignore[arg-type]
            assert store.get_meta("kept") == "yes"
            assert store.database.fetch_all("SELECT x FROM added") == [(1,)]


def test_somebody_elses_database_is_left_alone(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "collection.db"))
    connection.execute("CREATE TABLE mine(x)")
    connection.close()
    with pytest.raises(StoreError, match="not one of Honeyguide's"):
        Store.open(tmp_path, "crawl")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_collection_on_read_only_media_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "collection"
    with Store.open(folder, "crawl") as store, store.transaction():
        store.append_visits([good(1)])
    (folder / "collection.db").chmod(stat.S_IRUSR)
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with Store.open(folder, "read") as store:
            assert store.counter.read_counts().visits == 1
    finally:
        folder.chmod(stat.S_IRWXU)


def test_a_clean_close_leaves_only_the_collection(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store, store.transaction():
        store.append_visits([good(1)])
    with Store.open(tmp_path, "read") as store:
        assert store.counter.read_counts().visits == 1
    assert {path.name for path in tmp_path.iterdir()} == {"collection.db", "lock", "warc"}


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="exists"):
        Store.open(tmp_path / "file", "crawl")
