"""Vaults, databases and clocks for the tests of what outlives a machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from honeyguide.cluster.object_store import FolderStore
from honeyguide.errors import StorageUnreachable
from honeyguide.store.database import Database


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shaky(FolderStore):
    """A folder whose answers get lost when told to: before the work is done, or after."""

    def __init__(self, path: Path) -> None:
        path.mkdir(exist_ok=True)
        super().__init__(path)
        self.lose_before = 0
        self.lose_after = 0

    def create(self, name: str, data: bytes) -> bool:
        if self.lose_before:
            self.lose_before -= 1
            raise StorageUnreachable("lost")
        made = super().create(name, data)
        if self.lose_after:
            self.lose_after -= 1
            raise StorageUnreachable("lost")
        return made


@contextmanager
def opened(folder: Path) -> Iterator[Database]:
    folder.mkdir(exist_ok=True)
    database = Database(folder / "collection.db", "crawl")
    try:
        yield database
    finally:
        database.close()


def put(database: Database, key: str, size: int) -> None:
    with database.transaction():
        database.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, key * size))


def dump(database: Database) -> list[object]:
    """Everything in it."""
    tables = database.fetch_all(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY 1"
    )
    return [*tables, *(database.fetch_all(f'SELECT * FROM "{name}"') for name, _ in tables)]


def saved(folder: Path) -> list[object]:
    database = Database(folder / "collection.db", "read")
    try:
        database.check_integrity()
        return dump(database)
    finally:
        database.close()
