"""What lies on disk is its owner's alone, whatever the umask says."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.cluster.shard_node import _machine_folder
from honeyguide.store.store import Store
from honeyguide.studio.search_index import INDEX_FILE, SearchIndex
from tests.unit.store_visits import good


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_a_collection_is_its_owners_alone(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    create(folder, seeds=["https://e.org/"], contact="a@e.org", keywords=["bee"])
    with Store.open(folder, "crawl") as store:
        with store.transaction():
            store.append_visits([good(1)])
        with closing(SearchIndex(folder / INDEX_FILE)):
            found = modes(folder)
    (archive,) = (folder / "warc").iterdir()
    files = ("topic.toml", "lock", "collection.db", "collection.db-wal", "search.db", archive.name)
    folders = {"bees", "warc", "examples", "good", "bad"} & found.keys()
    assert {found.pop(name) for name in folders} == {0o700}
    assert {found[name] for name in files} == {0o600}
    assert set(found.values()) == {0o600}


def test_shards_of_a_machine_lie_where_nobody_else_can_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    mine = _machine_folder()
    assert mine == _machine_folder(), "what is left in it is found again"
    assert modes(tmp_path)[mine.name] == 0o700
    mine.chmod(0o777)
    (tmp_path / "strangers").mkdir()
    open_to_others = _machine_folder()
    mine.rmdir()
    mine.symlink_to(tmp_path / "strangers")
    linked = _machine_folder()
    for other in (open_to_others, linked):
        assert other not in (mine, tmp_path / "strangers")
        assert modes(tmp_path)[other.name] == 0o700
