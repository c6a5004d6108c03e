"""Killed, full, damaged: what was finished is still there."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from honeyguide.errors import CollectionCorrupt, DiskFull
from honeyguide.store import Store
from tests.unit.store_visits import good, records, warc_files

CRAWL = """
import sys
from pathlib import Path
from honeyguide.config.settings import StoreSettings
from honeyguide.store import Store
from tests.unit.store_visits import good
with Store.open(Path(sys.argv[1]), "crawl", StoreSettings(warc_mb=1)) as store:
    number = store.counter.read_counts().visits
    print("started", flush=True)
    while True:
        with store.transaction():
            batch = [good(number + i) for i in range(5)]
            ids = store.append_visits(batch)
            store.frontier_log.append(str(ids[-1]).encode(), b"links")
        number += 5
"""


def test_kill_at_any_instant_loses_nothing_finished(tmp_path: Path) -> None:
    chance = random.Random(11)
    root = Path(__file__).parents[2]
    finished = 0
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", CRAWL, str(tmp_path)], stdout=subprocess.PIPE, cwd=root
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        # Real time, for once: the instant of the kill must not depend on what the child does.
        time.sleep(chance.uniform(0.0, 0.25))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

        with Store.open(tmp_path, "read") as store:
            before = store.counter.read_counts().visits
        with Store.open(tmp_path, "crawl") as store:
            assert store.warc_archive.warnings == []
            store.database.check_integrity()
            counts = store.counter.read_counts()
            assert counts.visits == before >= finished
            assert counts.visits % 5 == 0
            rows = list(store.visits.iter_visits())
            assert [row.id for row in rows] == list(range(1, counts.visits + 1))
            assert [row.url for row in rows] == [good(n).link.url for n in range(counts.visits)]
            entries = [int(index) for _, index in store.frontier_log.scan_entries()]
            assert entries == list(range(5, counts.visits + 1, 5))
            finished = counts.visits
    found = [
        target
        for path in warc_files(tmp_path)
        for kind, target, _ in records(path)
        if kind == "response"
    ]
    assert found == [good(n).link.url for n in range(finished)]
    assert finished > 0


def made(folder: Path, visits: int = 200) -> Path:
    with Store.open(folder, "crawl") as store, store.transaction():
        store.append_visits([good(n) for n in range(visits)])
    return folder / "collection.db"


def test_a_damaged_page_is_told_and_the_warc_untouched(tmp_path: Path) -> None:
    path = made(tmp_path)
    [archive] = warc_files(tmp_path)
    before = archive.read_bytes()
    size = path.stat().st_size
    with path.open("r+b") as file:
        # Behind what the file says of its tables: without that it is no database at all.
        for place in range(size // 4096 // 2, size // 4096, 2):
            file.seek(place * 4096)
            file.write(os.urandom(4096))
    with pytest.raises(CollectionCorrupt, match=r"WARC files.*\.recover"):
        Store.open(tmp_path, "crawl")
    with Store.open(tmp_path, "read") as store, pytest.raises(CollectionCorrupt):
        store.database.check_integrity()
    with Store.open(tmp_path, "read") as store, pytest.raises(CollectionCorrupt):
        _ = [store.visits.page_text(row.id) for row in store.visits.iter_visits()]
    assert archive.read_bytes() == before


def test_a_damaged_text_is_told(tmp_path: Path) -> None:
    path = made(tmp_path, 3)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE texts SET data = x'00112233' WHERE visit = 2")
    connection.execute("UPDATE visits SET reasons = '{' WHERE id = 3")
    connection.close()
    with Store.open(tmp_path, "read") as store:
        assert store.visits.page_text(1)[1]
        with pytest.raises(CollectionCorrupt):
            store.visits.page_text(2)
        row = store.visits.visit_by_id(3)
        assert row is not None
        with pytest.raises(CollectionCorrupt):
            _ = row.verdict_reasons


def test_a_half_written_header_is_told(tmp_path: Path) -> None:
    path = made(tmp_path, 3)
    with path.open("r+b") as file:
        file.write(os.urandom(100))
    for mode in ("read", "write", "crawl"):
        with pytest.raises(CollectionCorrupt, match="damaged"):
            Store.open(tmp_path, mode)  # type: ignore[arg-type]


def test_a_full_disk_loses_nothing_finished(tmp_path: Path) -> None:
    made(tmp_path, 20)
    [archive] = warc_files(tmp_path)
    with Store.open(tmp_path, "crawl") as store:
        pages = store.database.connection.pragma("page_count")
        store.database.connection.pragma("max_page_count", pages + 5)

        def fill() -> None:
            for batch in range(20, 2000, 20):
                with store.transaction():
                    store.append_visits([good(batch + i) for i in range(20)])

        with pytest.raises(DiskFull, match="make room"):
            fill()
        finished = store.counter.read_counts().visits
        assert finished % 20 == 0
        assert len(list(records(archive))) == 1 + 2 * finished
        store.database.connection.pragma("max_page_count", pages + 5000)
        with store.transaction():
            store.append_visits([good(5000)])
        assert store.counter.read_counts().visits == finished + 1
    with Store.open(tmp_path, "read") as store:
        store.database.check_integrity()
        assert len(list(store.visits.iter_visits())) == finished + 1


def test_a_disk_that_fills_while_a_warc_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, 5)
    [archive] = warc_files(tmp_path)
    before = archive.read_bytes()
    write = os.pwrite

    def short(fd: int, data: bytes, offset: int) -> int:
        if offset > len(before):
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data[:100], offset)

    with Store.open(tmp_path, "crawl") as store:
        with monkeypatch.context() as patch:
            patch.setattr("os.pwrite", short)

            def fill() -> None:
                with store.transaction():
                    store.append_visits([good(6)])

            with pytest.raises(DiskFull):
                fill()
        assert archive.read_bytes() == before
        assert store.counter.read_counts().visits == 5
        fill()
        assert store.counter.read_counts().visits == 6
    assert len(list(records(archive))) == 13
