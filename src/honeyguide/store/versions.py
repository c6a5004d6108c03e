"""Every version of a page: when it was seen, and what it was, back to the first.

A version is a row; its body lies in ``bodies``, once for all versions that are equal, whenever and
wherever they were seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import row_checks as sound
from honeyguide.store.bodies import MOST, Bodies, digest
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, Row, signed
from honeyguide.types import Url
from honeyguide.url import fingerprint

_DAY = 86_400.0
_WEEK = 7 * _DAY
_LONG = 256
"""Characters of a content type."""
_PAGES = 100
"""Pages that are thinned out in one transaction."""

_PAGE = "(SELECT id FROM pages WHERE fingerprint = ? AND url = ?)"
_BODY = f"SELECT body FROM versions WHERE page = {_PAGE} AND number = ?"  # noqa: S608
_SELECT = (
    "SELECT v.number, v.at, v.seen, v.status, v.content_type, b.size, length(b.data), b.digest "  # noqa: S608
    f"FROM versions v LEFT JOIN bodies b ON b.id = v.body WHERE v.page = {_PAGE} "
)


class VersionRow(NamedTuple):
    number: int
    """From 1; a number that was thinned out does not come back."""
    at: float
    """When it was first seen …"""
    last_seen: float
    """… and when it was last found unchanged."""
    status: int
    content_type: str
    size: int
    """Bytes of the body …"""
    stored: int
    """… and what they take on the disk, shared with versions that are equal."""
    digest: str
    """Of the body, in hexadecimal digits (BLAKE2b, 128 bits)."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Which versions of a page stay; all of them, unless it says otherwise. The newest always does.

    >>> Retention(days=30)   # all of the last 30 days, one a week before that
    Retention(last=0, days=30)
    """

    last: int = 0
    """No more than so many of the newest; 0: any number."""
    days: float = 0
    """All that are so young, and of older ones the last of each week; 0: all."""

    def dropped(self, versions: Sequence[tuple[int, float]], now: float) -> list[int]:
        """Of (number, time) from the oldest to the newest: the numbers that go."""
        going: list[int] = []
        newest = len(versions) - 1
        for place, (number, at) in enumerate(versions[:-1]):
            surplus = 0 < self.last <= newest - place
            old = self.days > 0 and at < now - self.days * _DAY
            if surplus or (old and at // _WEEK == versions[place + 1][1] // _WEEK):
                going.append(number)
        return going


class Versions:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._bodies = Bodies(db)

    def add(
        self, url: Url, body: bytes, at: float, content_type: str = "text/html", status: int = 200
    ) -> int:
        """Keep what was seen. The number of the new version; of the newest if nothing changed."""
        body = body[:MOST]
        key = digest(body)
        with self._db.joined():
            page = self._page(url)
            last = self._db.one(
                "SELECT v.number, v.body, b.digest, v.status FROM versions v LEFT JOIN bodies b "
                "ON b.id = v.body WHERE v.page = ? ORDER BY v.number DESC LIMIT 1",
                (page,),
            )
            if last is not None and last[2:] == (key, status):
                self._see(page, last[0], at)
                return sound.whole(last[0])
            number = 1 if last is None else sound.whole(last[0]) + 1
            held = self._bodies.add(key, body, None if last is None else sound.some_whole(last[1]))
            self._db.run(
                "INSERT INTO versions VALUES(?, ?, ?, ?, ?, ?, ?)",
                (page, number, at, at, status, clean(content_type)[:_LONG], held),
            )
        return number

    def seen(self, url: Url, at: float) -> None:
        """The newest version was found unchanged."""
        with self._db.joined():
            self._db.run(
                "UPDATE versions SET seen = max(seen, ?) WHERE (page, number) = "  # noqa: S608
                f"(SELECT page, max(number) FROM versions WHERE page = {_PAGE})",
                (at, *_named(url)),
            )

    def body(self, url: Url, number: int) -> bytes:
        values = (*_named(url), number)
        try:
            return self._bodies.get(values, f"({_BODY})")
        except CollectionCorrupt as error:
            if self._db.one(_BODY, values) is None:
                raise StoreError(f"there is no version {number} of {url}") from None
            raise error

    def history(self, url: Url) -> list[VersionRow]:
        """The versions that are kept, oldest first."""
        rows = self._db.all(_SELECT + "ORDER BY v.number", _named(url))
        return [_row(row) for row in rows]

    def latest(self, url: Url) -> VersionRow | None:
        row = self._db.one(_SELECT + "ORDER BY v.number DESC LIMIT 1", _named(url))
        return None if row is None else _row(row)

    def thin(self, rule: Retention, now: float) -> int:
        """Let go what the rule does not keep, and bodies that nobody has any more.

        How many versions went. Their room is used again; the file does not shrink.
        """
        if rule == Retention():
            return 0
        pages = self._db.pages(
            "SELECT page FROM versions WHERE page > ? GROUP BY page HAVING count(*) > 1 "
            "ORDER BY page LIMIT ?"
        )
        gone = 0
        while batch := list(islice(pages, _PAGES)):
            with self._db.joined():
                gone += sum(self._thin(page, rule, now) for (page,) in batch)
        return gone

    def totals(self) -> tuple[int, int, int]:
        """Different bodies, their bytes, and the bytes they take on the disk; a whole scan."""
        return self._bodies.totals()

    def _thin(self, page: int, rule: Retention, now: float) -> int:
        rows = self._db.all(
            "SELECT number, at, body FROM versions WHERE page = ? ORDER BY number", (page,)
        )
        dropped = rule.dropped([(number, sound.number(at)) for number, at, _ in rows], now)
        if dropped:
            self._db.many(
                "DELETE FROM versions WHERE page = ? AND number = ?",
                [(page, number) for number in dropped],
            )
            going = set(dropped)
            self._bodies.sweep({body for number, _, body in rows if number in going})
        return len(dropped)

    def _page(self, url: Url) -> int:
        """The number of a page, a new one if need be."""
        row = self._db.one(_PAGE[1:-1], _named(url))
        if row is None:
            with self._db.guard:
                self._db.connection.execute(
                    "INSERT INTO pages(fingerprint, url) VALUES(?, ?)", _named(url)
                )
                return int(self._db.connection.last_insert_rowid())
        return int(row[0])

    def _see(self, page: int, number: int, at: float) -> None:
        self._db.run(
            "UPDATE versions SET seen = max(seen, ?) WHERE page = ? AND number = ?",
            (at, page, number),
        )


def _named(url: Url) -> tuple[int, str]:
    return signed(fingerprint(url)), url


def _row(row: Row) -> VersionRow:
    number, at, seen, status, content_type, size, stored, key = row
    return VersionRow(
        sound.whole(number),
        float(sound.number(at)),
        float(sound.number(seen)),
        sound.whole(status),
        sound.text(content_type),
        sound.whole(size),
        sound.whole(stored),
        key.hex() if isinstance(key, bytes) and len(key) == 16 else "",
    )
