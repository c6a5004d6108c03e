"""What shards and their collection exchange: link batches, visits and hosts.

A link batch is stored in the transaction of the pages that its links stand on, until its receiver
has committed it. Batches to one shard are numbered without gaps and received in that order, so that
a repeated batch is recognised by its number.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from honeyguide.store.counters import CountedVisit, VisitCounter
from honeyguide.store.database import Database
from honeyguide.store.row_checks import parse_decimal
from honeyguide.types import UNREQUESTED
from honeyguide.url import domain_of, host_of


class ShardMessageTable:
    """Link batches between shards: the tables ``letters`` (sent) and ``heard`` (received)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def last_number(self, shard: int) -> int:
        """The number of the last batch that was ever written to this shard."""
        sql = "SELECT max(number) FROM letters WHERE shard = ?"
        dropped = parse_decimal(self._db.get_meta(f"letters to {shard}") or "") or 0
        return max(self._db.fetch_number(sql, (shard,)), dropped)

    def add_message(self, shard: int, number: int, data: bytes) -> None:
        """Store a batch, inside a transaction."""
        self._db.execute("INSERT INTO letters VALUES(?, ?, ?)", (shard, number, data))

    def messages_after(self, shard: int, number: int, most: int) -> list[tuple[int, bytes]]:
        """The next batches to this shard, in order."""
        found = self._db.fetch_all(
            "SELECT number, data FROM letters WHERE shard = ? AND number > ? "
            "ORDER BY number LIMIT ?",
            (shard, number, most),
        )
        return [(int(number), bytes(data)) for number, data in found]

    def delete_until(self, shard: int, number: int) -> None:
        """These are where they belong; that they were written is remembered."""
        self._db.execute("DELETE FROM letters WHERE shard = ? AND number <= ?", (shard, number))
        self._db.set_meta(f"letters to {shard}", str(number))

    def received_numbers(self) -> dict[int, int]:
        """The number of the last batch that was received from each shard."""
        return {int(shard): int(n) for shard, n in self._db.fetch_all("SELECT * FROM heard")}

    def mark_received(self, shard: int, number: int) -> None:
        self._db.execute("INSERT OR REPLACE INTO heard VALUES(?, ?)", (shard, number))

    def iter_messages(self) -> Iterator[tuple[int, int, bytes]]:
        """Every stored batch: its shard, its number and its data."""
        for shard, number, data in self._db.fetch_all(
            "SELECT * FROM letters ORDER BY shard, number"
        ):
            yield int(shard), int(number), bytes(data)


# --------------------------------------------------------------------------------------------------
# Visits on their way from a shard's journal into the collection's: a small database as bytes.
#
# Rows go from table to table inside SQLite, so that no visit becomes an object on the way. A parcel
# holds the visits after a number, and what belongs to them; the collection remembers which it took
# (``gathered``), so that one that comes twice changes nothing.
# --------------------------------------------------------------------------------------------------


_VISIT_COLUMNS = (
    "SELECT name FROM pragma_table_info('visits') WHERE name NOT IN ('id', 'host', 'warc')"
)
_VISIT_TABLES = {"texts": "data", "sketches": "keys", "signatures": "data"}
"""Tables with one row a visit, under its number."""


_MAX_BATCH_BYTES = 64_000_000
"""Bytes of texts in one batch, unless a single page has more."""


class VisitTransferBatch(NamedTuple):
    first: int
    last: int
    """Numbers of the visits in it, in the shard's own journal."""
    data: bytes


class ImportedVisits(NamedTuple):
    first: int
    last: int
    """Numbers that the visits have now."""


class ShardSync:
    """Takes visits out of a shard's journal and into the collection's, and moves what else a split
    or a merge of shards moves. Owns the table ``gathered``.
    """

    def __init__(self, db: Database, counter: VisitCounter) -> None:
        self._db = db
        self._counter = counter

    def pack_visits(self, after: int, most: int) -> VisitTransferBatch | None:
        """The next visits of this journal, committed all of them; None if there are none."""
        found = self._db.fetch_one(
            "SELECT min(id), max(id) FROM (SELECT id FROM visits WHERE id > ? ORDER BY id LIMIT ?)",
            (after, most),
        )
        if found is None or found[0] is None:
            return None
        first, last = int(found[0]), int(found[1])
        heavy = self._db.fetch_one(
            "SELECT min(visit) FROM "
            "(SELECT visit, sum(length(data)) OVER (ORDER BY visit) AS total FROM texts "
            "WHERE visit BETWEEN ? AND ?) WHERE total > ?",
            (first, last, _MAX_BATCH_BYTES),
        )
        if heavy is not None and heavy[0] is not None:
            last = max(first, int(heavy[0]) - 1)
        between = f"BETWEEN {first} AND {last}"
        with _attached_database(self._db, None):
            self._db.execute(
                "CREATE TABLE parcel.visits AS SELECT visits.*, hosts.name AS host_name, "  # noqa: S608
                "warcs.name AS warc_name FROM main.visits "
                "JOIN main.hosts ON hosts.id = visits.host "
                f"LEFT JOIN main.warcs ON warcs.id = visits.warc WHERE visits.id {between}"
            )
            for table in _VISIT_TABLES:
                self._db.execute(
                    f"CREATE TABLE parcel.{table} AS SELECT * FROM main.{table} "  # noqa: S608
                    f"WHERE visit {between}"
                )
            self._db.execute("CREATE TABLE parcel.warcs AS SELECT name, length FROM main.warcs")
            with self._db.guard:
                data = self._db.connection.serialize("parcel")
        return VisitTransferBatch(first, last, data)

    def import_visits(self, shard: int, parcel: VisitTransferBatch) -> ImportedVisits | None:
        """Import a batch of visits in a transaction of its own; None if it was imported before."""
        with _attached_database(self._db, parcel.data), self._db.transaction():
            known = self.synced_until(shard)
            if parcel.last <= known:
                return None
            if parcel.first <= known:
                # Asked for twice, and the second answer tells more than the first.
                parcel = _drop_known(self._db, parcel, known)
            base = self._db.fetch_number("SELECT max(id) FROM main.visits") + 1
            shift = base - parcel.first
            _insert_names(self._db)
            _insert_visits(self._db, shard, parcel.first, shift)
            for table, column in _VISIT_TABLES.items():
                self._db.execute(
                    f"INSERT INTO main.{table}(visit, {column}) "  # noqa: S608
                    f"SELECT visit + ?, {column} FROM parcel.{table}",
                    (shift,),
                )
            self._db.execute(
                "INSERT INTO gathered VALUES(?, ?, ?, ?)", (shard, parcel.first, parcel.last, base)
            )
            self._counter.add(list(_counted_visits(self._db)))
        return ImportedVisits(base, parcel.last + shift)

    def synced_until(self, shard: int) -> int:
        """The number of the shard's last visit that the collection has."""
        return self._db.fetch_number("SELECT max(last) FROM gathered WHERE shard = ?", (shard,))

    def copy_hosts(self, of: Database, ours: Callable[[str], bool]) -> None:
        """What a shard takes of its collection: the rows of its hosts. Inside a transaction."""
        rows = of.fetch_all("SELECT id, name, visits, relevant, failures FROM hosts")
        hosts = [row for row in rows if ours(str(row[1]))]
        self._db.insert_rows("hosts", hosts)
        for each in hosts:
            visits = of.fetch_all("SELECT * FROM visits WHERE host = ?", each[:1])
            self._db.insert_rows("visits", visits)
            for table in ("sketches", "signatures"):
                found = of.fetch_all(
                    f"SELECT {table}.* FROM {table}, visits "  # noqa: S608
                    f"WHERE visits.host = ? AND {table}.visit = visits.id",
                    each[:1],
                )
                self._db.insert_rows(table, found)
        self._db.execute(
            "INSERT INTO counters SELECT 'visits', '', coalesce(sum(visits), 0) FROM hosts "
            "UNION ALL SELECT 'relevant', '', coalesce(sum(relevant), 0) FROM hosts "
            "UNION ALL SELECT 'pages', '', count(*) FROM visits WHERE has_page"
        )
        self._db.insert_rows("warcs", of.fetch_all("SELECT * FROM warcs"))
        sql = "SELECT key, visit FROM payloads WHERE visit IN (SELECT id FROM visits)"
        self._db.insert_rows("payloads", of.fetch_all(sql))
        robots = of.fetch_all("SELECT * FROM robots")
        self._db.insert_rows("robots", [row for row in robots if ours(host_of(f"{row[0]}/"))])

    def begin_sync(self, newest: Sequence[int]) -> None:
        """From now on visits come from shards; those that they inherited have their old numbers."""
        self._db.execute("DELETE FROM gathered")
        rows = [(shard, 1, last, 1) for shard, last in enumerate(newest) if last]
        self._db.insert_rows("gathered", rows)

    def begin_shard_sync(self, shard: int, newest: int) -> None:
        """The same for one shard that is made anew."""
        self._db.execute("DELETE FROM gathered WHERE shard = ?", (shard,))
        if newest:
            self._db.execute("INSERT INTO gathered VALUES(?, 1, ?, 1)", (shard, newest))

    def adopt_shard(self, shard: Database, number: int) -> None:
        """Take over what else a shard knows: robots.txt files, and who holds a payload."""
        self._db.insert_rows("robots", shard.fetch_all("SELECT * FROM robots"), replace=True)
        ranges = self._db.fetch_all(
            "SELECT first, last, base FROM gathered WHERE shard = ?", (number,)
        )
        for first, last, base in ranges:
            held = shard.fetch_all(
                "SELECT key, visit FROM payloads WHERE visit BETWEEN ? AND ?", (first, last)
            )
            rows = [(key, base + visit - first) for key, visit in held]
            self._db.insert_rows("payloads", rows, replace=True)

    def forget_sync(self) -> None:
        self._db.execute("DELETE FROM gathered")


def _drop_known(db: Database, parcel: VisitTransferBatch, known: int) -> VisitTransferBatch:
    """Without the visits that are known."""
    db.execute("DELETE FROM parcel.visits WHERE id <= ?", (known,))
    for table in _VISIT_TABLES:
        db.execute(f"DELETE FROM parcel.{table} WHERE visit <= ?", (known,))  # noqa: S608
    row = db.fetch_one("SELECT min(id) FROM parcel.visits")
    return parcel._replace(first=int(row[0]) if row else known + 1)


def _insert_names(db: Database) -> None:
    """Hosts and WARC files that are new here."""
    db.execute(
        "INSERT OR IGNORE INTO main.hosts(name, visits, relevant, failures) "
        "SELECT DISTINCT host_name, 0, 0, 0 FROM parcel.visits ORDER BY id"
    )
    db.execute("INSERT OR IGNORE INTO main.warcs(name, length) SELECT name, 0 FROM parcel.warcs")
    db.execute(
        "UPDATE main.warcs SET length = max(length, (SELECT length FROM parcel.warcs AS told "
        "WHERE told.name = warcs.name)) WHERE name IN (SELECT name FROM parcel.warcs)"
    )


def _insert_visits(db: Database, shard: int, first: int, shift: int) -> None:
    names = [name for (name,) in db.fetch_all(_VISIT_COLUMNS) if name != "payload_of"]
    columns = ", ".join(f"told.{name}" for name in names)
    db.execute(
        f"INSERT INTO main.visits(id, host, warc, payload_of, {', '.join(names)}) "  # noqa: S608
        "SELECT told.id + :shift, hosts.id, warcs.id, "
        "CASE WHEN told.payload_of >= :first THEN told.payload_of + :shift ELSE "
        "(SELECT base + told.payload_of - first FROM gathered "
        "WHERE shard = :shard AND told.payload_of BETWEEN first AND last) END, "
        f"{columns} FROM parcel.visits AS told "
        "JOIN main.hosts ON hosts.name = told.host_name "
        "LEFT JOIN main.warcs ON warcs.name = told.warc_name ORDER BY told.id",
        {"shift": shift, "first": first, "shard": shard},
    )


def _counted_visits(db: Database) -> Iterator[CountedVisit]:
    rows = db.fetch_all(
        "SELECT hosts.id, told.failure, told.status, told.relevant, told.generation, "
        "told.has_page, told.tongue, told.size, told.copy_of FROM parcel.visits AS told "
        "JOIN main.hosts ON hosts.name = told.host_name ORDER BY told.id"
    )
    for host, failure, status, relevant, generation, page, language, size, copy in rows:
        asked = failure is None or status is not None or failure not in UNREQUESTED
        yield CountedVisit(
            host, asked, bool(relevant), failure, generation, bool(page),
            language, size, copy is not None,
        )  # fmt: skip


@contextmanager
def _attached_database(db: Database, data: bytes | None) -> Iterator[None]:
    """A database in memory beside ours, for as long as this takes."""
    db.execute("ATTACH ':memory:' AS parcel")
    try:
        if data is not None:
            with db.guard:
                db.connection.deserialize("parcel", data)
        yield
    finally:
        db.execute("DETACH parcel")


# --------------------------------------------------------------------------------------------------
# The folders of a collection's shards, and which host lives in which.
# --------------------------------------------------------------------------------------------------


SHARDS_FOLDER = "shards"
SHARDS_KEY = "shards"
SUFFIXES_KEY = "suffixes"
"""The list of public suffixes that says what a domain is."""
SPLIT_KEY = "split"
"""Shards and their collection know each other by it."""


def shard_of(name: str, shards: int) -> int:
    """The shard that a host lives in: by its registrable domain, the same for ever."""
    return xxh3_64_intdigest(domain_of(name).encode()) % shards


def shard_folder(collection: Path, shard: int) -> Path:
    return collection / SHARDS_FOLDER / f"{shard:03d}"


def mismatch_message(folder: Path) -> str:
    """What is said of a shard that does not fit its collection, and what to do."""
    return (
        f"{folder} belongs to another collection, or to an older state of this one. Put the right "
        "one in its place; or move it away, and continue without the links that waited there: "
        f"honeyguide crawl {shlex.quote(str(folder.parents[1]))} --without-lost-shards"
    )
