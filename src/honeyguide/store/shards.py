"""What a collection knows of its shards, and what goes over when it is split or put together."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_64_intdigest

from honeyguide.store.database import Database
from honeyguide.store.frontier_log import DiskLog
from honeyguide.store.row_checks import decimal
from honeyguide.types import Url
from honeyguide.url import domain, host

if TYPE_CHECKING:
    from honeyguide.store.store import Store

FOLDER = "shards"
KEY = "shards"
SUFFIXES = "suffixes"
"""The list of public suffixes that says what a domain is."""
MARK = "split"
"""Shards and their collection know each other by it."""


def shard_of(name: str, shards: int) -> int:
    """The shard that a host lives in: by its registrable domain, the same for ever."""
    return xxh3_64_intdigest(domain(name).encode()) % shards


def folder_of(collection: Path, shard: int) -> Path:
    return collection / FOLDER / f"{shard:03d}"


@contextmanager
def log_for(store: Store, url: Url) -> Iterator[DiskLog]:
    """The frontier's log in which this address would wait: the collection's, or a shard's."""
    path = folder_of(store.folder, shard_of(host(url), count(store))) / "collection.db"
    if count(store) == 1 or not path.is_file():
        yield store.log
        return
    db = Database(path, "read")
    try:
        yield DiskLog(db)
    finally:
        db.close()


def strange(folder: Path) -> str:
    """What is said of a shard that does not fit its collection, and what to do."""
    return (
        f"{folder} belongs to another collection, or to an older state of this one. Put the right "
        f"one in its place; or move it away, and go on without what waited there: "
        f"honeyguide crawl {shlex.quote(str(folder.parents[1]))} --without-lost-shards"
    )


def count(store: Store) -> int:
    """How many shards a collection has; 1: it is its own only one."""
    return max(decimal(store.meta(KEY) or "") or 1, 1)


def inherit(db: Database, of: Database, ours: Callable[[str], bool]) -> None:
    """What a shard takes of its collection: the rows of its hosts. Inside a transaction."""
    rows = of.all("SELECT id, name, visits, relevant, failures FROM hosts")
    hosts = [row for row in rows if ours(str(row[1]))]
    db.many("INSERT INTO hosts VALUES(?, ?, ?, ?, ?)", hosts)
    names = [name for (name,) in db.all("SELECT name FROM pragma_table_info('visits')")]
    marks = ", ".join("?" * len(names))
    for each in hosts:
        visits = of.all(f"SELECT {', '.join(names)} FROM visits WHERE host = ?", each[:1])  # noqa: S608
        db.many(f"INSERT INTO visits VALUES({marks})", visits)
        for table in ("sketches", "signatures"):
            found = of.all(
                f"SELECT {table}.* FROM {table}, visits "  # noqa: S608
                f"WHERE visits.host = ? AND {table}.visit = visits.id",
                each[:1],
            )
            db.many(f"INSERT INTO {table} VALUES(?, ?)", found)
    db.run(
        "INSERT INTO counters SELECT 'visits', '', coalesce(sum(visits), 0) FROM hosts "
        "UNION ALL SELECT 'relevant', '', coalesce(sum(relevant), 0) FROM hosts "
        "UNION ALL SELECT 'pages', '', count(*) FROM visits WHERE has_page"
    )
    db.many("INSERT INTO warcs VALUES(?, ?, ?)", of.all("SELECT * FROM warcs"))
    db.many(
        "INSERT INTO payloads VALUES(?, ?)",
        of.all(
            "SELECT key, visit FROM payloads WHERE visit IN (SELECT id FROM visits)",
        ),
    )
    for origin, *rest in of.all("SELECT * FROM robots"):
        if ours(host(f"{origin}/")):
            db.run("INSERT INTO robots VALUES(?, ?, ?, ?)", (origin, *rest))


def begin(db: Database, newest: Sequence[int]) -> None:
    """From now on visits come from shards; those that they inherited have their old numbers."""
    db.run("DELETE FROM gathered")
    rows = [(shard, 1, last, 1) for shard, last in enumerate(newest) if last]
    db.many("INSERT INTO gathered VALUES(?, ?, ?, ?)", rows)


def begin_one(db: Database, shard: int, newest: int) -> None:
    """The same for one shard that begins anew."""
    db.run("DELETE FROM gathered WHERE shard = ?", (shard,))
    if newest:
        db.run("INSERT INTO gathered VALUES(?, 1, ?, 1)", (shard, newest))


def adopt(db: Database, shard: Database, number: int) -> None:
    """Into the collection what else a shard knows: robots.txt files, and who holds a payload."""
    db.many("INSERT OR REPLACE INTO robots VALUES(?, ?, ?, ?)", shard.all("SELECT * FROM robots"))
    ranges = db.all("SELECT first, last, base FROM gathered WHERE shard = ?", (number,))
    for first, last, base in ranges:
        held = shard.all(
            "SELECT key, visit FROM payloads WHERE visit BETWEEN ? AND ?", (first, last)
        )
        rows = [(key, base + visit - first) for key, visit in held]
        db.many("INSERT OR REPLACE INTO payloads VALUES(?, ?)", rows)


def forget(db: Database) -> None:
    db.run("DELETE FROM gathered")
