"""Letters between shards: what was written to others, and what was heard from them.

A letter is kept in the transaction of the pages that it tells of, until the shard that it is for
has committed it. Letters to one shard are numbered without gaps, and are heard in that order: a
letter that comes twice is known by its number.
"""

from __future__ import annotations

from collections.abc import Iterator

from honeyguide.store.database import Database


class Letters:
    """Owns the tables ``letters`` and ``heard``."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def newest(self, shard: int) -> int:
        """The number of the last letter to this shard that was ever written."""
        row = self._db.one("SELECT max(number) FROM letters WHERE shard = ?", (shard,))
        kept = int(row[0]) if row and row[0] is not None else 0
        return max(kept, self._number(f"letters to {shard}"))

    def put(self, shard: int, number: int, data: bytes) -> None:
        """Keep a letter, inside a transaction."""
        self._db.run("INSERT INTO letters VALUES(?, ?, ?)", (shard, number, data))

    def after(self, shard: int, number: int, most: int) -> list[tuple[int, bytes]]:
        """The next letters to this shard, in order."""
        found = self._db.all(
            "SELECT number, data FROM letters WHERE shard = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (shard, number, most),
        )
        return [(int(number), bytes(data)) for number, data in found]

    def drop(self, shard: int, number: int) -> None:
        """These are where they belong; that they were written is remembered."""
        self._db.run("DELETE FROM letters WHERE shard = ? AND number <= ?", (shard, number))
        values = (f"letters to {shard}", str(number))
        self._db.run("INSERT OR REPLACE INTO meta VALUES(?, ?)", values)

    def heard(self) -> dict[int, int]:
        """Of each shard, the number of its last letter that was taken in."""
        return {int(shard): int(n) for shard, n in self._db.all("SELECT * FROM heard")}

    def hear(self, shard: int, number: int) -> None:
        self._db.run("INSERT OR REPLACE INTO heard VALUES(?, ?)", (shard, number))

    def all(self) -> Iterator[tuple[int, int, bytes]]:
        """Every letter that is kept: for whom, its number, and what it says."""
        for shard, number, data in self._db.all("SELECT * FROM letters ORDER BY shard, number"):
            yield int(shard), int(number), bytes(data)

    def _number(self, key: str) -> int:
        row = self._db.one("SELECT value FROM meta WHERE key = ?", (key,))
        return int(row[0]) if row and str(row[0]).isdecimal() else 0
