"""The watch list: pages to come back to, and what is known of each from coming back.

Two may write: the watch, which saves what its visits brought, and people, who add, pause and
weigh. Every word of theirs gets a number (``edited``), by which the watch learns of it; what it
saves of a page never undoes a word that it has not heard yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

from honeyguide.store import row_checks as sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, Row, signed
from honeyguide.store.effective_labels import Said
from honeyguide.store.visits import VisitRow, Visits
from honeyguide.store.watched_rows import (
    STATES,
    Source,
    State,
    WatchedRow,
    blob_of,
    masks_of,
    note_of,
    row_of,
    validator_of,
    weighed,
)
from honeyguide.types import Url
from honeyguide.url import fingerprint, host

_COLUMNS = ", ".join(WatchedRow._fields)
_EDITED = WatchedRow._fields.index("edited")
_SAVED = (
    "visited", "succeeded", "changed", "due", "etag", "modified", "digest", "rate", "visits",
    "changes", "failures",
)  # fmt: skip
"""What only the watch knows; beside it the state and masks, unless somebody spoke meanwhile."""
_SAVE = (
    f"UPDATE watched SET {', '.join(f'{name} = ?' for name in _SAVED)}, "  # noqa: S608
    "state = CASE WHEN edited = ? THEN ? ELSE state END, "
    "masks = CASE WHEN edited = ? THEN ? ELSE masks END WHERE id = ?"
)
_NEXT = "(SELECT coalesce(max(edited), 0) + 1 FROM watched)"
_SELECT = f"SELECT {_COLUMNS} FROM watched WHERE "  # noqa: S608


class Edited(NamedTuple):
    rows: list[WatchedRow]
    last: int
    """The number of the last word that was looked at."""


class Walked(NamedTuple):
    """What a watch has done so far."""

    pages: int
    """On the list, in whatever state …"""
    watched: int
    """… and those that are visited."""
    visits: int
    last: float | None
    """When the last visit was."""


class Watched:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database, visits: Visits) -> None:
        self._db = db
        self._visits = visits

    def add(
        self, urls: Iterable[Url], by: Source, at: float, weight: float = 1.0, note: str = ""
    ) -> int:
        """Put pages on the list; how many were not watched before.

        People can bring back what was paused, removed or gone; the crawl cannot.
        """
        count = 0
        weight, note = weighed(weight), note_of(note)
        with self._db.joined():
            for url in urls:
                known = self.find(url)
                if known is None:
                    self._db.run(
                        "INSERT INTO watched(url, fingerprint, host, edited, added, by, weight, "
                        "state, etag, modified, digest, rate, visits, changes, failures, masks, "
                        f"note) VALUES(?, ?, ?, {_NEXT}, ?, ?, ?, 'watched', '', '', x'', x'', "
                        "0, 0, 0, '', ?)",
                        (url, signed(fingerprint(url)), host(url), at, by, weight, note),
                    )
                elif by == "crawl":
                    continue
                else:
                    self.alter(url, state="watched", weight=weight, note=note or None, by=by)
                count += known is None or known.state != "watched"
        return count

    def pause(self, url: Url) -> bool:
        return self.alter(url, state="paused")

    def resume(self, url: Url) -> bool:
        return self.alter(url, state="watched")

    def remove(self, url: Url) -> bool:
        return self.alter(url, state="removed")

    def alter(
        self,
        url: Url,
        *,
        state: State | None = None,
        weight: float | None = None,
        note: str | None = None,
        masks: str | None = None,
        by: Source | None = None,
    ) -> bool:
        """What people say of a page; False if it is not on the list."""
        said: dict[str, Any] = {
            "state": state,
            "weight": None if weight is None else weighed(weight),
            "note": None if note is None else note_of(note),
            "masks": None if masks is None else masks_of(clean(masks)),
            "failures": 0 if state == "watched" else None,
            "by": by,
        }
        said = {name: value for name, value in said.items() if value is not None}
        sets = "".join(f"{name} = ?, " for name in said)
        with self._db.joined(), self._db.guard:
            self._db.connection.execute(
                f"UPDATE watched SET {sets} edited = {_NEXT} WHERE fingerprint = ? AND url = ?",  # noqa: S608
                (*said.values(), signed(fingerprint(url)), url),
            )
            return bool(self._db.connection.changes())

    def save(self, rows: Sequence[WatchedRow]) -> None:
        """What visits brought, for many pages at once."""
        with self._db.joined():
            self._db.many(_SAVE, [_saved(row) for row in rows])

    def find(self, url: Url) -> WatchedRow | None:
        where = "fingerprint = ? AND url = ?"
        row = self._db.one(_SELECT + where, (signed(fingerprint(url)), url))
        return None if row is None else row_of(row)

    def at(self, number: int) -> WatchedRow | None:
        row = self._db.one(_SELECT + "id = ?", (number,))
        return None if row is None else row_of(row)

    def each(
        self, state: State | None = "watched", host: str | None = None
    ) -> Iterator[WatchedRow]:
        """Pages of the list, one after another: a hundred thousand take little memory."""
        given = {"state": state, "host": host}
        wanted = {name: value for name, value in given.items() if value is not None}
        where = "".join(f"{name} = ? AND " for name in wanted)
        sql = f"{_SELECT}{where}id > ? ORDER BY id LIMIT ?"
        values = tuple(wanted.values())
        return (found for row in self._db.pages(sql, values) if (found := row_of(row)))

    def some(
        self, state: State | None, host: str | None, after: int, most: int
    ) -> list[WatchedRow]:
        """So many pages of the list with a number above ``after``."""
        given = {"state": state, "host": host}
        wanted = {name: value for name, value in given.items() if value is not None}
        where = "".join(f"{name} = ? AND " for name in wanted)
        sql = f"{_SELECT}{where}id > ? ORDER BY id LIMIT ?"
        rows = self._db.all(sql, (*wanted.values(), after, most))
        return [found for row in rows if (found := row_of(row))]

    def edited(self, after: int, most: int = 1000) -> Edited:
        """Pages of which something was said after that number, the earliest first."""
        sql = _SELECT + "typeof(edited) = 'integer' AND edited > ? ORDER BY edited LIMIT ?"
        raw = self._db.all(sql, (after, most))
        last = sound.whole(raw[-1][_EDITED]) if raw else after
        return Edited([found for row in raw if (found := row_of(row))], last)

    def enter(self, since: int, said: Said, *, copies: bool = False) -> Iterator[VisitRow]:
        """Relevant pages that are not on the list, of visits with an id above ``since``.

        What people said goes first, also of earlier visits. Exact copies of other pages' texts
        are left out: the others are watched.
        """
        done: set[Url] = set()
        praised = (row for url in said.praised() for row in self._visits.of(url) if row.has_page)
        for row in chain(self._visits.stream(relevant=True, page=True, since=since), praised):
            copy = row.copy_exact and not copies
            if row.url not in done and not copy and said.relevant(row) and not self.find(row.url):
                done.add(row.url)
                yield row

    def leave(self, said: Said) -> Iterator[WatchedRow]:
        """Pages that the crawl entered and a person now calls irrelevant."""
        for url in said.urls():
            row = self.find(url)
            if row is not None and row.by == "crawl" and row.state == "watched":
                pages = [visit for visit in self._visits.of(url) if visit.has_page]
                if pages and not said.relevant(pages[-1]):
                    yield row

    def walked(self) -> Walked:
        """All visits to all pages; a whole scan."""
        sql = "SELECT count(*), total(state = 'watched'), total(visits), max(visited) FROM watched"
        pages, watched, visits, last = self._db.one(sql) or (0, 0, 0, None)
        return Walked(
            sound.whole(pages),
            int(sound.number(watched)),
            int(sound.number(visits)),
            sound.some_number(last),
        )

    def counts(self) -> dict[State, int]:
        """Pages by their state; a whole scan."""
        rows = self._db.all("SELECT state, count(*) FROM watched GROUP BY state")
        return {cast("State", state): int(n) for state, n in rows if state in STATES}


def _saved(row: WatchedRow) -> Row:
    return (
        *(row.visited, row.succeeded, row.changed, row.due),
        *(validator_of(row.etag), validator_of(row.modified), blob_of(row.digest)),
        *(blob_of(row.rate), row.visits, row.changes, row.failures),
        *(row.edited, row.state, row.edited, masks_of(clean(row.masks)), row.id),
    )
