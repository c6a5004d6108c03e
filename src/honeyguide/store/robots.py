"""Robots.txt answers that outlive a crawl, so that a restart does not ask every host again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from honeyguide.store.codec import Codec
from honeyguide.store.database import Database

_YOUNG_S = 24 * 3600.0
"""RFC 9309, section 2.4: do not use a copy older than a day."""
_MOST = 4_000_000
"""Bytes of a text: half a megabyte is read of a robots.txt, before characters are replaced."""


class RobotsRow(NamedTuple):
    origin: str
    at: float
    status: int
    text: str


class RobotsTable:
    def __init__(self, db: Database, codec: Codec) -> None:
        self._db = db
        self._codec = codec

    def save(self, origin: str, at: float, status: int, text: str) -> None:
        data = self._codec.pack(text.encode("utf-8", "replace"))
        with self._db.joined():
            self._db.run(
                "INSERT OR REPLACE INTO robots VALUES(?, ?, ?, ?)", (origin, at, status, data)
            )

    def tidy(self, now: float) -> None:
        """Forget what must not be used any more, and what claims to be from the future."""
        with self._db.joined():
            self._db.run(
                "DELETE FROM robots WHERE NOT (at > ? AND at < ?)", (now - _YOUNG_S, now + _YOUNG_S)
            )

    def young(self, now: float) -> Iterator[RobotsRow]:
        rows = self._db.all(
            "SELECT origin FROM robots WHERE at > ? AND at <= ?", (now - _YOUNG_S, now)
        )
        # Texts one at a time: half a megabyte each is allowed, and there may be thousands.
        for (origin,) in rows:
            row = self._db.one(
                "SELECT at, CAST(status AS INTEGER), data FROM robots WHERE origin = ?", (origin,)
            )
            if row is not None:
                text = self._codec.unpack(row[2], _MOST).decode("utf-8", "replace")
                yield RobotsRow(origin, row[0], row[1], text)
