"""The power goes: what a commit refers to must be on the disk before the commit is."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import Store
from tests.unit.store_visits import good, warc_files


def test_answers_are_synced_before_their_transaction_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, int, bool]] = []
    fsync = os.fsync

    with Store.open(tmp_path, "crawl") as store:

        def noted(fd: int) -> None:
            path = Path(f"/dev/fd/{fd}").resolve()
            synced.append((path.name, os.fstat(fd).st_size, store.database.in_transaction))
            fsync(fd)

        monkeypatch.setattr("os.fsync", noted)
        with store.transaction():
            store.append_visits([good(0)])
        [file] = warc_files(tmp_path)
        first = file.stat().st_size
        names = [name for name, _, _ in synced]
        assert names == ["warc", tmp_path.name, file.name], "names first, then what they name"
        assert synced[-1] == (file.name, first, True)
        synced.clear()
        with store.transaction():
            store.append_visits([good(1)])
        assert synced == [(file.name, file.stat().st_size, True)]
        synced.clear()
        with store.transaction():
            store.set_meta("no", "answer")
        assert synced == [], "nothing to sync but the database"


def test_a_folder_that_could_not_be_synced_is_synced_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync
    folders: list[str] = []

    def noted(fd: int) -> None:
        path = Path(f"/dev/fd/{fd}").resolve()
        if path.is_dir():
            folders.append(path.name)
        if len(folders) == 1:
            raise OSError(errno.EIO, "Input/output error")
        fsync(fd)

    monkeypatch.setattr("os.fsync", noted)
    with Store.open(tmp_path, "crawl") as store:

        def append() -> None:
            with store.transaction():
                store.append_visits([good(0)])

        with pytest.raises(StoreError, match="Input/output"):
            append()
        append()
        assert store.counter.read_counts().visits == 1
    assert folders == ["warc", "warc", tmp_path.name]


def test_a_collection_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Store.open(tmp_path / "link", "crawl") as store, store.transaction():
        store.append_visits([good(0)])
    assert warc_files(tmp_path / "real")


def test_a_commit_is_on_the_disk_when_it_returns(tmp_path: Path) -> None:
    full = 2
    with Store.open(tmp_path, "crawl") as store:
        assert store.database.connection.pragma("synchronous") == full
        with Store.open(tmp_path, "write") as other:
            assert other.database.connection.pragma("synchronous") == full


@pytest.mark.parametrize("scraps", [b"\0\0\0\0\0\0", b"99\n456\n", b"12\0\0\n", b""])
def test_a_lock_with_scraps_of_a_power_cut_opens(tmp_path: Path, scraps: bytes) -> None:
    Store.open(tmp_path, "crawl").close()
    (tmp_path / "lock").write_bytes(scraps)
    Store.open(tmp_path, "crawl").close()
    assert int((tmp_path / "lock").read_text()) == os.getpid()


def test_a_lock_that_is_none_of_ours_is_left_alone(tmp_path: Path) -> None:
    Store.open(tmp_path, "crawl").close()
    (tmp_path / "lock").write_text("my only copy")
    with pytest.raises(CollectionCorrupt, match="not a lock of Honeyguide"):
        Store.open(tmp_path, "crawl")
    assert (tmp_path / "lock").read_text() == "my only copy"
