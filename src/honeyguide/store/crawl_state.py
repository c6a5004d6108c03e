"""The frontier's log in the collection's database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store.codec import TextCodec
from honeyguide.store.database import Database


class SqliteFrontierLog:
    """Implements :class:`honeyguide.protocols.FrontierLog`; entries live and die with the
    transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, index: bytes, text: bytes) -> int:
        connection = self._db.connection
        with self._db.guard:
            connection.execute("INSERT INTO frontier_index(data) VALUES(?)", (index,))
            entry = int(connection.last_insert_rowid())
            connection.execute("INSERT INTO frontier_text VALUES(?, ?)", (entry, text))
        return entry

    def read_text(self, entry: int) -> bytes:
        row = self._db.fetch_one("SELECT data FROM frontier_text WHERE entry = ?", (entry,))
        if row is None:
            raise StoreError(f"the frontier's log has no entry {entry}")
        return _checked_bytes(entry, row[0])

    def has_entry(self, entry: int) -> bool:
        found = self._db.fetch_one("SELECT 1 FROM frontier_index WHERE entry = ?", (entry,))
        return found is not None

    def clear(self) -> None:
        """Forget everything, inside a transaction: it is written anew."""
        self._db.execute("DELETE FROM frontier_index")
        self._db.execute("DELETE FROM frontier_text")

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        pages = self._db.iter_pages(
            "SELECT entry, data FROM frontier_index WHERE entry > ? ORDER BY entry LIMIT ?",
            size=100,
        )
        for entry, data in pages:
            yield entry, _checked_bytes(entry, data)


def _checked_bytes(entry: int, data: object) -> bytes:
    # SQLite lets any column hold anything, and bytes(n) would make n zeros of a number.
    if not isinstance(data, bytes):
        raise CollectionCorrupt(f"entry {entry} of the frontier's log is damaged")
    return data


# --------------------------------------------------------------------------------------------------
# Robots.txt answers that outlive a crawl, so that a restart does not ask every host again.
# --------------------------------------------------------------------------------------------------


_MAX_AGE_S = 24 * 3600.0
"""RFC 9309, section 2.4: do not use a copy older than a day."""
_MAX_ROBOTS_BYTES = 4_000_000
"""Bytes of a text: half a megabyte is read of a robots.txt, before characters are replaced."""


class RobotsRow(NamedTuple):
    origin: str
    at: float
    status: int
    text: str


class RobotsTable:
    def __init__(self, db: Database, codec: TextCodec) -> None:
        self._db = db
        self._codec = codec

    def save_robots(self, origin: str, at: float, status: int, text: str) -> None:
        data = self._codec.pack(text.encode("utf-8", "replace"))
        with self._db.join_transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO robots VALUES(?, ?, ?, ?)", (origin, at, status, data)
            )

    def delete_expired(self, now: float) -> None:
        """Forget what must not be used any more, and what claims to be from the future."""
        with self._db.join_transaction():
            self._db.execute(
                "DELETE FROM robots WHERE NOT (at > ? AND at < ?)",
                (now - _MAX_AGE_S, now + _MAX_AGE_S),
            )

    def iter_fresh(self, now: float) -> Iterator[RobotsRow]:
        rows = self._db.fetch_all(
            "SELECT origin FROM robots WHERE at > ? AND at <= ?", (now - _MAX_AGE_S, now)
        )
        # Texts one at a time: half a megabyte each is allowed, and there may be thousands.
        for (origin,) in rows:
            row = self._db.fetch_one(
                "SELECT at, CAST(status AS INTEGER), data FROM robots WHERE origin = ?", (origin,)
            )
            if row is not None:
                text = self._codec.unpack(row[2], _MAX_ROBOTS_BYTES).decode("utf-8", "replace")
                yield RobotsRow(origin, row[0], row[1], text)
