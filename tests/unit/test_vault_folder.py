from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from honeyguide.cluster.object_store import FolderStore
from honeyguide.cluster.replicator import open_object_store
from honeyguide.errors import ClusterError, ConfigError, StorageUnreachable


@pytest.fixture
def folder(tmp_path: Path) -> FolderStore:
    (tmp_path / "vault").mkdir()
    return FolderStore(tmp_path / "vault")


def test_what_is_made_is_never_made_again(folder: FolderStore) -> None:
    assert folder.create("shard-0001/log/0000000001", b"first")
    assert not folder.create("shard-0001/log/0000000001", b"second")
    assert folder.read("shard-0001/log/0000000001") == b"first"
    assert folder.read("shard-0001/log/0000000002") is None
    assert folder.read("other/log/x") is None
    folder.delete("shard-0001/log/0000000001")
    folder.delete("shard-0001/log/0000000001")
    assert folder.list_names("shard-0001/") == []


def test_names_are_listed_in_order_and_without_what_is_half_written(folder: FolderStore) -> None:
    for name in ("a/log/2", "a/log/1", "a/warc/x.gz", "ab/log/3"):
        folder.create(name, b"")
    (folder.path / "a" / "log" / ".0123").write_bytes(b"half")
    assert folder.list_names("a/") == ["a/log/1", "a/log/2", "a/warc/x.gz"]
    assert folder.list_names("none/") == []


def test_nothing_is_left_behind(folder: FolderStore) -> None:
    folder.create("a/1", b"x")
    folder.create("a/1", b"y")
    folder.read("a/2")
    assert os.listdir(folder.path / "a") == ["1"]


def test_of_many_at_once_one_succeeds(folder: FolderStore) -> None:
    made: list[bytes] = []

    def work(data: bytes) -> None:
        for number in range(20):
            if folder.create(f"log/{number:02}", data * 1000):
                made.append(bytes([number]) + data)

    threads = [threading.Thread(target=work, args=(bytes([65 + n]),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 20
    for each in made:
        assert folder.read(f"log/{each[0]:02}") == each[1:] * 1000


def test_files_of_any_size_come_and_go_in_pieces(folder: FolderStore, tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(os.urandom(3_000_001))
    assert folder.upload("warc/a.warc.gz", path)
    assert not folder.upload("warc/a.warc.gz", path)
    chunks = folder.read_chunks("warc/a.warc.gz")
    assert chunks is not None
    assert b"".join(chunks) == path.read_bytes()
    assert folder.read_chunks("warc/b.warc.gz") is None


@pytest.mark.parametrize(
    "name", ["", "/a", "../a", "a/../b", "a//b", "a/", ".a", "a/.b", "a\0b", "a\nb", "ä", "a" * 200]
)
def test_no_name_leads_out(folder: FolderStore, name: str) -> None:
    for work in (folder.read, folder.delete, folder.read_chunks, lambda n: folder.create(n, b"")):
        with pytest.raises(ClusterError, match="not a valid name"):
            work(name)  # type: ignore[operator]
    assert os.listdir(folder.path) == []


def test_a_strangers_links_are_not_followed(folder: FolderStore, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("mine")
    (folder.path / "shard").symlink_to(secret)
    (folder.path / "log").mkdir()
    (folder.path / "log" / "1").symlink_to(secret / "key")
    (folder.path / "log" / "2").symlink_to(secret / "new")
    os.mkfifo(folder.path / "log" / "3")
    for work in (folder.read, folder.read_chunks):
        for name in ("shard/key", "log/1", "log/2", "log/3"):
            with pytest.raises(ClusterError, match="another program put it there"):
                work(name)
    with pytest.raises(ClusterError, match="another program"):
        folder.create("shard/x", b"y")
    with pytest.raises(ClusterError, match="another program"):
        folder.list_names("shard/")
    assert not folder.create("log/1", b"y")
    assert not folder.create("log/2", b"y")
    folder.delete("log/1")
    assert os.listdir(secret) == ["key"]
    assert (secret / "key").read_text() == "mine"


def test_what_the_disk_says_is_told_as_unknown(folder: FolderStore) -> None:
    (folder.path / "log").mkdir()
    folder.path.rename(folder.path.with_name("away"))
    with pytest.raises(StorageUnreachable):
        folder.create("log/1", b"x")


def test_the_place_is_checked_with_a_fix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_object_store(str(tmp_path)), FolderStore)
    with pytest.raises(ConfigError, match="make it, or mount it"):
        open_object_store(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="s3://"):
        open_object_store("ftp://there/x")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(ConfigError, match="writable"):
        open_object_store(str(tmp_path))


def test_a_storage_that_replaces_what_exists_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def create(folder: FolderStore, name: str, data: bytes) -> bool:
        (folder.path / "probe").mkdir(exist_ok=True)
        (folder.path / name).write_bytes(data)
        return True

    monkeypatch.setattr(FolderStore, "create", create)
    with pytest.raises(ConfigError, match="replaces what exists"):
        open_object_store(str(tmp_path))


def test_a_bucket_without_its_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "honeyguide.cluster.bucket", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigError, match=r"honeyguide\[cluster\]"):
        open_object_store("s3://crawls/birds")
