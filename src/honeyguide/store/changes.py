"""The change feed: what differed whenever a page was revisited, for people to look through.

A change's number never comes back, even when old ones are forgotten: receivers of notifications
can tell by it what they had already.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, cast, get_args

from honeyguide.change import Change, ChangeKind
from honeyguide.store import row_checks as sound
from honeyguide.store.codec import Codec, clean
from honeyguide.store.database import Database, Row, signed
from honeyguide.store.edits import Details, pack_details, unpack_details
from honeyguide.types import Url
from honeyguide.url import fingerprint, host

_KINDS: frozenset[str] = frozenset(get_args(ChangeKind))
_LONG = 4096
"""Characters of a detail."""
_AT_ONCE = 100
_COLUMNS = "id, url, at, since, kinds, significance, masked, detail, old, new, seen, edits"


class ChangeRow(NamedTuple):
    """A change as it lies in the feed."""

    id: int
    change: Change
    old: int | None
    """Numbers of the versions; one of them may be thinned out by now …"""
    new: int | None
    """… and there is none where a page is gone, or new."""
    seen: float | None
    """When a person marked it as seen."""


class Weighed(NamedTuple):
    """Changes of the same kinds and weight."""

    kinds: tuple[ChangeKind, ...]
    hundredths: int
    """Of significance, rounded down."""
    changes: int


class Changes:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database, codec: Codec) -> None:
        self._db = db
        self._codec = codec

    def __len__(self) -> int:
        row = self._db.one("SELECT count(*) FROM changes")
        return int(row[0]) if row else 0

    def append(self, change: Change, old: int | None = None, new: int | None = None) -> int:
        """Its number. Append in the transaction that stores the version."""
        row = (
            *(change.url, signed(fingerprint(change.url)), host(change.url)),
            *(change.at, change.since, f" {' '.join(change.kinds)} "),
            min(1.0, max(0.0, change.significance)),
            *(change.masked, clean(change.detail)[:_LONG], old, new),
            pack_details(self._codec, change),
        )
        with self._db.joined(), self._db.guard:
            self._db.connection.execute(
                "INSERT INTO changes(url, fingerprint, host, at, since, kinds, significance, "
                "masked, detail, old, new, edits) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            return int(self._db.connection.last_insert_rowid())

    def newest(
        self,
        *,
        since: float | None = None,
        until: float | None = None,
        kinds: Collection[ChangeKind] = (),
        significance: float = 0.0,
        url: Url | None = None,
        host: str | None = None,
        words: Sequence[str] = (),
        unseen: bool = False,
        before: int | None = None,
        limit: int | None = None,
    ) -> Iterator[ChangeRow]:
        """Changes that pass every filter given, newest first.

        ``since`` and ``until`` are times (until: not included), ``kinds`` any of which will do,
        ``words`` all of which are among the words that differ; ``before`` is a change's number, to
        go on from.
        """
        where, values = _filters(since, until, kinds, significance, url, host)
        if unseen:
            where += " AND seen IS NULL"
        sought = [word.casefold() for word in words]
        count = 0
        for row in self._down(where, values, before):
            if limit is not None and count >= limit:
                return
            if not sought or _mentions(row.change, sought):
                count += 1
                yield row

    def count(
        self,
        *,
        since: float | None = None,
        kinds: Collection[ChangeKind] = (),
        significance: float = 0.0,
        url: Url | None = None,
        host: str | None = None,
        unseen: bool = False,
        beyond: int = 0,
    ) -> int:
        """How many pass every filter given, of those with a number above ``beyond``."""
        where, values = _filters(since, None, kinds, significance, url, host)
        where += " AND seen IS NULL" if unseen else ""
        sql = f"SELECT count(*) FROM changes WHERE id > ?{where}"  # noqa: S608 - names of our own
        row = self._db.one(sql, (beyond, *values))
        return int(row[0]) if row else 0

    def one(self, number: int) -> ChangeRow | None:
        row = self._db.one(f"SELECT {_COLUMNS} FROM changes WHERE id = ?", (number,))  # noqa: S608
        return None if row is None else self._row(row)

    def weighed(self, since: float, until: float) -> list[Weighed]:
        """How many changes there were of each combination of kinds and each hundredth of
        significance, in that time."""
        # Without the index of times: a scan is quicker than so many lookups.
        rows = self._db.all(
            "SELECT kinds, CAST(significance * 100 + 1e-9 AS INTEGER), count(*) FROM changes "
            "WHERE +at >= ? AND +at < ? GROUP BY 1, 2",
            (since, until),
        )
        return [Weighed(_known(kinds), min(100, max(0, part)), n) for kinds, part, n in rows]

    def saw(self, numbers: Sequence[int], at: float | None) -> None:
        """Mark as seen at that time; None: as not seen yet."""
        with self._db.joined():
            self._db.many("UPDATE changes SET seen = ? WHERE id = ?", [(at, n) for n in numbers])

    def forget(self, before: float) -> int:
        """Let go changes from before that time that nobody has to be told of any more."""
        told = (
            "FROM changes WHERE at < ? AND NOT EXISTS (SELECT 1 FROM outbox WHERE "
            "change = changes.id AND sent IS NULL AND next IS NOT NULL)"
        )
        with self._db.joined(), self._db.guard:
            also = f"DELETE FROM outbox WHERE change IN (SELECT id {told})"  # noqa: S608
            self._db.connection.execute(also, (before,))
            self._db.connection.execute(f"DELETE {told}", (before,))
            return int(self._db.connection.changes())

    def _down(self, where: str, values: list[Any], before: int | None) -> Iterator[ChangeRow]:
        """Page by page, so that a slow reader never holds back SQLite's checkpoints."""
        sql = f"SELECT {_COLUMNS} FROM changes WHERE id < ?{where} ORDER BY id DESC LIMIT ?"  # noqa: S608
        last = (1 << 63) - 1 if before is None else before
        while rows := self._db.all(sql, (last, *values, _AT_ONCE)):
            for row in rows:
                if (found := self._row(row)) is not None:
                    yield found
            last = rows[-1][0]

    def _row(self, row: Row) -> ChangeRow | None:
        """With what cannot be true left out; None if it has no address."""
        number, url, at, since, kinds, significance, masked, detail, old, new, seen, edits = row
        if not sound.is_address(url):
            return None
        details: Details = unpack_details(self._codec, edits)
        change = Change(
            url=url,
            at=float(sound.number(at)),
            kinds=_known(kinds),
            significance=float(sound.chance(significance)),
            since=float(sound.number(since)),
            edits=details.edits,
            links_added=details.added,
            links_removed=details.removed,
            masked=sound.whole(masked),
            detail=sound.text(detail)[:_LONG],
        )
        numbers = sound.some_whole(old), sound.some_whole(new)
        return ChangeRow(number, change, *numbers, sound.some_number(seen))


def _known(kinds: Any) -> tuple[ChangeKind, ...]:
    """As they are kept, with blanks around each; what is none is left out."""
    found = [kind for kind in sound.text(kinds)[:_LONG].split() if kind in _KINDS]
    return cast("tuple[ChangeKind, ...]", tuple(dict.fromkeys(found)))


def _filters(
    since: float | None,
    until: float | None,
    kinds: Collection[ChangeKind],
    significance: float,
    url: Url | None,
    host: str | None,
) -> tuple[str, list[Any]]:
    where: list[str] = []
    values: list[Any] = []
    if since is not None:
        where.append("at >= ?")
        values.append(since)
    if until is not None:
        where.append("at < ?")
        values.append(until)
    if kinds:
        where.append("(" + " OR ".join(["instr(kinds, ?)"] * len(kinds)) + ")")
        values.extend(f" {kind} " for kind in kinds)
    if significance > 0:
        where.append("significance >= ?")
        values.append(significance)
    if url is not None:
        where.append("fingerprint = ? AND url = ?")
        values.extend((signed(fingerprint(url)), url))
    if host is not None:
        where.append("host = ?")
        values.append(host)
    return "".join(f" AND {each}" for each in where), values


def _mentions(change: Change, words: Sequence[str]) -> bool:
    texts = [text for edit in change.edits for text in (edit.old, edit.new)]
    said = "\n".join((*texts, change.detail)).casefold()
    return all(word in said for word in words)
