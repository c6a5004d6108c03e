from __future__ import annotations

import struct
import sys
from contextlib import closing
from pathlib import Path
from subprocess import PIPE, Popen

import apsw
import pytest

from honeyguide.cluster import database_changes
from honeyguide.cluster.replicator import ShardReplicator, rebuild_database
from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store.database import Database
from tests.unit.vaults import Shaky, dump, opened, put, saved


@pytest.fixture
def vault(tmp_path: Path) -> Shaky:
    return Shaky(tmp_path / "vault")


def restored(vault: Shaky, folder: Path) -> list[object]:
    rebuild_database(vault, 0, folder)
    return saved(folder)


def test_a_reader_that_stays_holds_nothing_up(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        owner.save(database)
        put(database, "a", 5000)
        with closing(Database(tmp_path / "a" / "collection.db", "read")) as reader:
            reader.connection.execute("BEGIN")
            told = dump(reader)
            for key in "bcd":
                put(database, key, 5000)
                done = owner.save(database)
                assert not done.whole
                assert done.pages < 12
                assert dump(reader) == told
                assert restored(vault, tmp_path / "b") == dump(database)
            reader.connection.execute("COMMIT")
        put(database, "e", 5000)
        assert not owner.save(database).whole
        put(database, "f", 5000)
        assert not owner.save(database).whole
        assert restored(vault, tmp_path / "b") == dump(database)
        assert database_changes.read_wal_index(tmp_path / "a" / "collection.db-shm").frames < 10


@pytest.mark.parametrize("mode", ["PASSIVE", "RESTART", "TRUNCATE"])
@pytest.mark.parametrize("writes", [1, 3])
def test_another_process_that_writes_and_empties_the_log_is_noticed(
    vault: Shaky, tmp_path: Path, mode: str, writes: int
) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        owner.save(database)
        for round in range(6):
            put(database, f"ours{round}", 3000)
            if round % 2:
                owner.save(database)
            with closing(Database(tmp_path / "a" / "collection.db", "write")) as other:
                for number in range(writes):
                    put(other, f"theirs{round}-{number}", 3000)
                    other.connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
            owner.save(database)
            assert restored(vault, tmp_path / "b") == dump(database)


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX, 1, 121)  # SQLite's lock for who empties the log
print("held", flush=True)
sys.stdin.read()
"""


def test_another_process_that_is_emptying_the_log_right_now(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        owner.save(database)
        index = tmp_path / "a" / "collection.db-shm"
        command = [sys.executable, "-c", HOLD, index]
        with Popen(command, stdin=PIPE, stdout=PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            for key in "ab":
                put(database, key, 3000)
                assert database.checkpoint() == (-1, -1)
                assert not owner.save(database).whole
                assert restored(vault, tmp_path / "b") == dump(database)
        put(database, "c", 3000)
        assert not owner.save(database).whole
        assert restored(vault, tmp_path / "b") == dump(database)


def test_what_was_rolled_back_is_not_saved(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        database.connection.execute("PRAGMA cache_size = 5").fetchall()  # it spills into the log
        owner.save(database)
        for number in range(3):
            put(database, f"kept{number}", 2000)
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO meta VALUES('gone', ?)", ("x" * 2_000_000,))
            database.execute("INSERT INTO meta VALUES('more', ?)", ("x" * 2_000_000,))
            database.execute("ROLLBACK")
            done = owner.save(database)
            assert not done.whole
            assert done.pages < 20
        assert restored(vault, tmp_path / "b") == dump(database)


def test_a_database_that_shrinks(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        put(database, "large", 100_000)
        owner.save(database)
        database.execute("DELETE FROM meta")
        database.execute("VACUUM")
        assert not owner.save(database).whole
        told = dump(database)
    assert restored(vault, tmp_path / "b") == told
    sizes = [(tmp_path / name / "collection.db").stat().st_size for name in "ab"]
    assert sizes[0] == sizes[1] < 300_000


def test_a_database_opened_anew_is_saved_whole(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        owner.save(database)
    with opened(tmp_path / "a") as database:
        put(database, "unseen", 1000)
    with opened(tmp_path / "a") as database:
        assert owner.save(database).whole
        assert restored(vault, tmp_path / "b") == dump(database)


def test_a_restored_file_that_somebody_touched_is_saved_whole(vault: Shaky, tmp_path: Path) -> None:
    with opened(tmp_path / "a") as database:
        ShardReplicator.claim(vault, 0, "first").save(database)
    owner = ShardReplicator.claim(vault, 0, "second")
    owner.restore(tmp_path / "b")
    with opened(tmp_path / "b") as other:
        put(other, "unseen", 1000)
    with opened(tmp_path / "b") as database:
        assert owner.save(database).whole
        told = dump(database)
    assert restored(vault, tmp_path / "c") == told


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
def test_checksums_are_sqlites_own(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "x.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}; PRAGMA journal_mode = WAL").fetchall()
        connection.execute("CREATE TABLE t(x)")
        log, index = tmp_path / "x.db-wal", tmp_path / "x.db-shm"
        for number in range(50):
            connection.execute("INSERT INTO t VALUES(randomblob(?))", (number * 40,))
            if number == 20:
                early = database_changes.read_wal_index(index)
        now = database_changes.read_wal_index(index)
        found = database_changes.read_wal(log, page_size, now, None)
        assert found.end.frames == now.frames > 50
        assert found.pages == connection.execute("PRAGMA page_count").fetchall()[0][0]
        data = log.read_bytes()
        last = 32 + (now.frames - 1) * (page_size + 24)
        assert found.end.sums == struct.unpack_from(">2I", data, last + 16)
        # In two steps it is the same.
        half = database_changes.read_wal(log, page_size, early, None)
        rest = database_changes.read_wal(log, page_size, now, half.end)
        assert half.offsets | rest.offsets == found.offsets
        assert rest.end == found.end
        for at in (40, last + 30, len(data) - 1, 5):
            log.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
            with pytest.raises(CollectionCorrupt):
                database_changes.read_wal(log, page_size, now, None)
        log.write_bytes(data[: last + 100])
        with pytest.raises(CollectionCorrupt):
            database_changes.read_wal(log, page_size, now, None)
        log.write_bytes(data)


def test_a_link_in_the_place_of_the_log_is_not_read(vault: Shaky, tmp_path: Path) -> None:
    owner = ShardReplicator.claim(vault, 0, "first")
    with opened(tmp_path / "a") as database:
        put(database, "x", 10)
        log = tmp_path / "a" / "collection.db-wal"
        log.rename(tmp_path / "log")
        log.symlink_to(tmp_path / "log")
        with pytest.raises(StoreError, match="link"):
            owner.save(database)
