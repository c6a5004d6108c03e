"""The frontier's log in the collection's database."""

from __future__ import annotations

from collections.abc import Iterator

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store.database import Database


class DiskLog:
    """Implements :class:`honeyguide.protocols.Log`; entries live and die with the transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, index: bytes, text: bytes) -> int:
        connection = self._db.connection
        with self._db.guard:
            connection.execute("INSERT INTO frontier_index(data) VALUES(?)", (index,))
            entry = int(connection.last_insert_rowid())
            connection.execute("INSERT INTO frontier_text VALUES(?, ?)", (entry, text))
        return entry

    def text(self, entry: int) -> bytes:
        row = self._db.one("SELECT data FROM frontier_text WHERE entry = ?", (entry,))
        if row is None:
            raise StoreError(f"the frontier's log has no entry {entry}")
        return _blob(entry, row[0])

    def holds(self, entry: int) -> bool:
        found = self._db.one("SELECT 1 FROM frontier_index WHERE entry = ?", (entry,))
        return found is not None

    def clear(self) -> None:
        """Forget everything, inside a transaction: it is written anew."""
        self._db.run("DELETE FROM frontier_index")
        self._db.run("DELETE FROM frontier_text")

    def scan(self) -> Iterator[tuple[int, bytes]]:
        pages = self._db.pages(
            "SELECT entry, data FROM frontier_index WHERE entry > ? ORDER BY entry LIMIT ?",
            size=100,
        )
        for entry, data in pages:
            yield entry, _blob(entry, data)


def _blob(entry: int, data: object) -> bytes:
    # SQLite lets any column hold anything, and bytes(n) would make n zeros of a number.
    if not isinstance(data, bytes):
        raise CollectionCorrupt(f"entry {entry} of the frontier's log is damaged")
    return data
