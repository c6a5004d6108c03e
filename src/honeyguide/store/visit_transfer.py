"""Visits on their way from a shard's journal into the collection's: a small database as bytes.

Rows go from table to table inside SQLite, so that no visit becomes an object on the way. A parcel
holds the visits after a number, and what belongs to them; the collection remembers which it took
(``gathered``), so that one that comes twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from honeyguide.store.counts import Counted, Tally
from honeyguide.store.database import Database
from honeyguide.types import UNASKED

_VISITS = "SELECT name FROM pragma_table_info('visits') WHERE name NOT IN ('id', 'host', 'warc')"
_BELONGINGS = {"texts": "data", "sketches": "keys", "signatures": "data"}
"""Tables with one row a visit, under its number."""


_HEAVY = 64_000_000
"""Bytes of texts in one parcel, unless a single page has more."""


class Parcel(NamedTuple):
    first: int
    last: int
    """Numbers of the visits in it, in the shard's own journal."""
    data: bytes


class Taken(NamedTuple):
    first: int
    last: int
    """Numbers that the visits have now."""


def pack(db: Database, after: int, most: int) -> Parcel | None:
    """The next visits of this journal, committed all of them; None if there are none."""
    found = db.one(
        "SELECT min(id), max(id) FROM (SELECT id FROM visits WHERE id > ? ORDER BY id LIMIT ?)",
        (after, most),
    )
    if found is None or found[0] is None:
        return None
    first, last = int(found[0]), int(found[1])
    heavy = db.one(
        "SELECT min(visit) FROM (SELECT visit, sum(length(data)) OVER (ORDER BY visit) AS total "
        "FROM texts WHERE visit BETWEEN ? AND ?) WHERE total > ?",
        (first, last, _HEAVY),
    )
    if heavy is not None and heavy[0] is not None:
        last = max(first, int(heavy[0]) - 1)
    between = f"BETWEEN {first} AND {last}"
    with _attached(db, None):
        db.run(
            "CREATE TABLE parcel.visits AS SELECT visits.*, hosts.name AS host_name, "  # noqa: S608
            "warcs.name AS warc_name FROM main.visits JOIN main.hosts ON hosts.id = visits.host "
            f"LEFT JOIN main.warcs ON warcs.id = visits.warc WHERE visits.id {between}"
        )
        for table in _BELONGINGS:
            db.run(
                f"CREATE TABLE parcel.{table} AS SELECT * FROM main.{table} "  # noqa: S608
                f"WHERE visit {between}"
            )
        db.run("CREATE TABLE parcel.warcs AS SELECT name, length FROM main.warcs")
        with db.guard:
            data = db.connection.serialize("parcel")
    return Parcel(first, last, data)


def take(db: Database, tally: Tally, shard: int, parcel: Parcel) -> Taken | None:
    """Take a parcel in, in a transaction of its own; None if it was taken before."""
    with _attached(db, parcel.data), db.transaction():
        known = gathered(db, shard)
        if parcel.last <= known:
            return None
        if parcel.first <= known:
            # Asked for twice, and the second answer tells more than the first.
            parcel = _shortened(db, parcel, known)
        row = db.one("SELECT coalesce(max(id), 0) FROM main.visits")
        base = (int(row[0]) if row else 0) + 1
        shift = base - parcel.first
        _names(db)
        _rows(db, shard, parcel.first, shift)
        for table, column in _BELONGINGS.items():
            db.run(
                f"INSERT INTO main.{table}(visit, {column}) "  # noqa: S608
                f"SELECT visit + ?, {column} FROM parcel.{table}",
                (shift,),
            )
        db.run("INSERT INTO gathered VALUES(?, ?, ?, ?)", (shard, parcel.first, parcel.last, base))
        tally.add(list(_counted(db)))
    return Taken(base, parcel.last + shift)


def _shortened(db: Database, parcel: Parcel, known: int) -> Parcel:
    """Without the visits that are known."""
    db.run("DELETE FROM parcel.visits WHERE id <= ?", (known,))
    for table in _BELONGINGS:
        db.run(f"DELETE FROM parcel.{table} WHERE visit <= ?", (known,))  # noqa: S608
    row = db.one("SELECT min(id) FROM parcel.visits")
    return parcel._replace(first=int(row[0]) if row else known + 1)


def gathered(db: Database, shard: int) -> int:
    """The number of the shard's last visit that the collection has."""
    row = db.one("SELECT max(last) FROM gathered WHERE shard = ?", (shard,))
    return int(row[0]) if row and row[0] is not None else 0


def _names(db: Database) -> None:
    """Hosts and WARC files that are new here."""
    db.run(
        "INSERT OR IGNORE INTO main.hosts(name, visits, relevant, failures) "
        "SELECT DISTINCT host_name, 0, 0, 0 FROM parcel.visits ORDER BY id"
    )
    db.run("INSERT OR IGNORE INTO main.warcs(name, length) SELECT name, 0 FROM parcel.warcs")
    db.run(
        "UPDATE main.warcs SET length = max(length, (SELECT length FROM parcel.warcs AS told "
        "WHERE told.name = warcs.name)) WHERE name IN (SELECT name FROM parcel.warcs)"
    )


def _rows(db: Database, shard: int, first: int, shift: int) -> None:
    names = [name for (name,) in db.all(_VISITS) if name != "payload_of"]
    said = ", ".join(f"told.{name}" for name in names)
    db.run(
        f"INSERT INTO main.visits(id, host, warc, payload_of, {', '.join(names)}) "  # noqa: S608
        "SELECT told.id + :shift, hosts.id, warcs.id, "
        "CASE WHEN told.payload_of >= :first THEN told.payload_of + :shift ELSE "
        "(SELECT base + told.payload_of - first FROM gathered "
        "WHERE shard = :shard AND told.payload_of BETWEEN first AND last) END, "
        f"{said} FROM parcel.visits AS told "
        "JOIN main.hosts ON hosts.name = told.host_name "
        "LEFT JOIN main.warcs ON warcs.name = told.warc_name ORDER BY told.id",
        {"shift": shift, "first": first, "shard": shard},
    )


def _counted(db: Database) -> Iterator[Counted]:
    rows = db.all(
        "SELECT hosts.id, told.failure, told.status, told.relevant, told.generation, "
        "told.has_page, told.tongue, told.size, told.copy_of FROM parcel.visits AS told "
        "JOIN main.hosts ON hosts.name = told.host_name ORDER BY told.id"
    )
    for host, failure, status, relevant, generation, page, tongue, size, copy in rows:
        asked = failure is None or status is not None or failure not in UNASKED
        yield Counted(
            host, asked, bool(relevant), failure, generation, bool(page),
            tongue, size, copy is not None,
        )  # fmt: skip


@contextmanager
def _attached(db: Database, data: bytes | None) -> Iterator[None]:
    """A database in memory beside ours, for as long as this takes."""
    db.run("ATTACH ':memory:' AS parcel")
    try:
        if data is not None:
            with db.guard:
                db.connection.deserialize("parcel", data)
        yield
    finally:
        db.run("DETACH parcel")
