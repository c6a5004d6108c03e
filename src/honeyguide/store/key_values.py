"""What a watch remembers of hosts, patterns and other names: JSON values, each under a kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from honeyguide.errors import StoreError
from honeyguide.store.codec import clean
from honeyguide.store.database import Database

_LONGEST = 1_000_000
"""Characters of a value."""
_AT_ONCE = 200


class Facts:
    """Whoever reads a value looks whether it is what he wrote: it may be a stranger's."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def set(self, kind: str, name: str, value: Any) -> None:
        """Remember a value; None: forget it."""
        with self._db.joined():
            if value is None:
                sql = "DELETE FROM watch_facts WHERE kind = ? AND name = ?"
                self._db.run(sql, (kind, clean(name)))
                return
            text = json.dumps(value, separators=(",", ":"), allow_nan=False)
            if len(text) > _LONGEST:
                raise StoreError(f"what is to be remembered of {kind} {name!r:.200} is too long")
            sql = "INSERT OR REPLACE INTO watch_facts VALUES(?, ?, ?)"
            self._db.run(sql, (kind, clean(name), text))

    def get(self, kind: str, name: str) -> Any:
        """The value; None if there is none, or it is damaged."""
        sql = "SELECT value FROM watch_facts WHERE kind = ? AND name = ?"
        row = self._db.one(sql, (kind, clean(name)))
        return None if row is None else _read(row[0])

    def all(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Names and values of a kind, in the order of the names."""
        sql = (
            "SELECT name, value FROM watch_facts WHERE kind = ? AND name > ? ORDER BY name LIMIT ?"
        )
        last = ""
        while rows := self._db.all(sql, (kind, last, _AT_ONCE)):
            for name, text in rows:
                value = _read(text)
                if isinstance(name, str) and value is not None:
                    yield name, value
            last = rows[-1][0]


def _read(text: object) -> Any:
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
