"""A collection may come from a stranger: none of its files leads us out of it."""

from __future__ import annotations

import gzip
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from honeyguide.errors import CollectionCorrupt
from honeyguide.store import Store, warc
from honeyguide.store.collection_files import lock_holder
from honeyguide.store.warc import warc_path
from tests.unit.store_visits import change, crawl, small, warc_files

PRECIOUS = b"my precious data\n" * 1000
MODES = ("crawl", "write", "read")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "important.txt"
    path.parent.mkdir()
    path.write_bytes(PRECIOUS)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small(tmp_path / "collection")


@pytest.mark.parametrize("length", [0, 5])
def test_a_file_of_another_name_is_not_cut_or_written(
    folder: Path, precious: Path, length: int
) -> None:
    for name in ("../../home/important.txt", str(precious), "../../home/new"):
        change(folder, "INSERT OR REPLACE INTO warcs VALUES(99, ?, ?)", name, length)
        with pytest.raises(CollectionCorrupt, match="a name that Honeyguide does not give"):
            crawl(folder)
    assert precious.read_bytes() == PRECIOUS
    assert os.listdir(precious.parent) == ["important.txt"]


def test_a_file_of_another_name_is_not_read(folder: Path, precious: Path) -> None:
    change(folder, "UPDATE warcs SET name = ?", str(precious))
    change(folder, "UPDATE visits SET offset = 0, length = 100")
    with Store.open(folder, "read") as store:
        [row] = store.visits.iter_visits(limit=1)
        with pytest.raises(CollectionCorrupt, match="a name that Honeyguide does not give"):
            store.warc_record(row)


@pytest.mark.parametrize(
    "name",
    [
        "", ".", "..", "/etc/passwd", "../x.warc.gz", "honeyguide-20260101000000-00001.warc",
        "honeyguide-20260101000000-00001.warc.gz\n", "honeyguide-20260101000000-1.warc.gz",
        "x/honeyguide-20260101000000-00001.warc.gz", "honeyguide-٢0260101000000-00001.warc.gz",
        b"honeyguide-20260101000000-00001.warc.gz", None, 7,
    ],
)  # fmt: skip
def test_names_that_are_not_ours(name: object) -> None:
    with pytest.raises(CollectionCorrupt):
        warc_path(Path("/c/warc"), name)


def test_names_that_are_ours() -> None:
    for name in (
        "honeyguide-20260101000000-00001.warc.gz",
        "honeyguide-20260101000000-123456.warc.gz",
    ):
        assert warc_path(Path("/c/warc"), name) == Path("/c/warc") / name


def test_a_link_among_the_warc_files_is_not_followed(folder: Path, precious: Path) -> None:
    [path] = warc_files(folder)
    path.unlink()
    path.symlink_to(precious)
    with pytest.raises(CollectionCorrupt, match="link"):
        crawl(folder)
    with Store.open(folder, "read") as store:
        [row] = store.visits.iter_visits(limit=1)
        with pytest.raises(CollectionCorrupt, match="link"):
            store.warc_record(row)
    assert precious.read_bytes() == PRECIOUS


def test_a_link_that_leads_nowhere_makes_no_file(folder: Path, precious: Path) -> None:
    change(folder, "INSERT INTO warcs VALUES(99, 'honeyguide-20260101000000-00099.warc.gz', 0)")
    (folder / "warc" / "honeyguide-20260101000000-00099.warc.gz").symlink_to(
        precious.parent / "new"
    )
    with pytest.raises(CollectionCorrupt, match="link"):
        crawl(folder)
    assert not (precious.parent / "new").exists()


def test_a_pipe_among_the_warc_files_does_not_hang(folder: Path) -> None:
    [path] = warc_files(folder)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(CollectionCorrupt, match="not a plain file"):
        crawl(folder)


@pytest.mark.parametrize("length", [-1, "x", b"x", 1e300])
def test_a_warc_file_of_an_odd_length(folder: Path, length: object) -> None:
    change(folder, "UPDATE warcs SET length = ?", length)
    with pytest.raises(CollectionCorrupt):
        crawl(folder)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name", ["warc", "lock", "collection.db", "collection.db-wal", "collection.db-shm"]
)
def test_no_part_of_a_collection_is_a_link(
    folder: Path, precious: Path, tmp_path: Path, name: str, mode: Any
) -> None:
    part, away = folder / name, tmp_path / "away"
    if part.exists():
        part.rename(away)
    part.symlink_to(away if away.exists() else precious)
    with pytest.raises(CollectionCorrupt, match="link"):
        Store.open(folder, mode)
    assert precious.read_bytes() == PRECIOUS


def test_a_collection_may_itself_be_reached_by_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(folder)
    crawl(tmp_path / "shortcut")
    with Store.open(folder, "read") as store:
        assert store.counter.read_counts().visits == 6


def test_a_lock_is_not_overwritten_unless_it_is_one(folder: Path, precious: Path) -> None:
    lock = folder / "lock"
    lock.write_text("not a number")
    with pytest.raises(CollectionCorrupt, match="not a lock of Honeyguide"):
        crawl(folder)
    assert lock.read_text() == "not a number"
    lock.write_text("1" * 1000)
    with pytest.raises(CollectionCorrupt):
        crawl(folder)
    lock.unlink()
    lock.symlink_to(precious)
    with pytest.raises(CollectionCorrupt, match="link"):
        lock_holder(lock)
    for text in ("", "\n", "123\n"):
        lock.unlink()
        lock.write_text(text)
        crawl(folder)


def test_a_journal_that_names_a_file_to_delete(folder: Path, precious: Path) -> None:
    """SQLite deletes the file that a rollback journal names as its superior."""
    name = str(precious).encode()
    tail = name + struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    (folder / "collection.db-journal").write_bytes(b"\0" * 512 + tail)
    for mode in MODES:
        with pytest.raises(CollectionCorrupt, match="journal"):
            Store.open(folder, mode)  # type: ignore[arg-type]


def test_what_is_no_record_is_not_read_or_copied(folder: Path) -> None:
    [path] = warc_files(folder)
    other = gzip.compress(b"TOP SECRET")
    with path.open("ab") as file:
        size = file.tell()
        file.write(other + b"no gzip at all")
    for offset, length in ((size, len(other)), (size + len(other), 14), (size - 1, 5)):
        for act in (warc.read_raw_record, warc.read_record):
            with pytest.raises(CollectionCorrupt):
                act(path, offset, length)


def test_records_are_copied_as_they_are(folder: Path) -> None:
    [path] = warc_files(folder)
    data = path.read_bytes()
    with Store.open(folder, "read") as store:
        row = list(store.visits.iter_visits())[2]
    assert row.offset is not None
    one = warc.read_raw_record(path, row.offset, row.length)
    assert one == data[row.offset : row.offset + row.length]
    assert warc.read_raw_record(path, row.offset, 0) == b""
    assert warc.read_raw_record(path, len(data) - 5, 6) == b"", "cut short"
    assert warc.read_raw_record(path.with_name("gone"), 0, 6) == b""
    with pytest.raises(CollectionCorrupt, match="no whole record"):
        warc.read_record(path, row.offset, row.length + row.request_length)


@pytest.mark.parametrize(
    "numbers", [(-1, 5), (0, -5), ("0", 5), (0, None), (0, 1 << 62), (1 << 62, 5), (0.5, 5)]
)
def test_odd_places_of_records(folder: Path, numbers: Any) -> None:
    [path] = warc_files(folder)
    with pytest.raises(CollectionCorrupt):
        warc.read_record(path, *numbers)


def test_a_record_that_lies_about_its_length(tmp_path: Path) -> None:
    for size in ("9" * 5000, "-1", "٣", ""):
        data = gzip.compress(f"WARC/1.1\r\nContent-Length: {size}\r\n\r\nabc\r\n\r\n".encode())
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(CollectionCorrupt):
            warc.read_record(tmp_path / "x", 0, len(data))
