"""What a collection says, read with SQL alone: the file format does not change with our names."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SHOWN = ("url", "queued", "score", "verdict", "status", "failure", "generation")
"""Columns of a visit that are kept whole; of the others a digest."""
_STORED = ("warc", "offset", "length", "request_length")
"""Where an answer lies in its archive: how well it was packed depends on the processor."""
TABLES = ("labels", "generations", "hosts", "counters", "curve", "passes", "searches",
          "search_results", "asked_for")  # fmt: skip
Row = list[Any]


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    found = sqlite3.connect(f"file:{folder / 'collection.db'}?mode=ro", uri=True)
    try:
        yield found
    finally:
        found.close()


def columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def rows(db: sqlite3.Connection, table: str, names: Sequence[str], order: str = "") -> list[Row]:
    listed = ", ".join(f'"{name}"' for name in names)
    return [list(row) for row in db.execute(f"SELECT {listed} FROM {table} ORDER BY {order or 1}")]


def digest(values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:12]


def visits(folder: Path) -> list[Row]:
    with database(folder) as db:
        return rows(db, "visits", SHOWN, "id")


def digests(folder: Path) -> dict[str, str]:
    """Of the other columns of the visits, and of all columns of other tables."""
    found = {}
    with database(folder) as db:
        for name in columns(db, "visits"):
            if name not in (*SHOWN, *_STORED):
                found[f"visits.{name}"] = digest(rows(db, "visits", [name], "id"))
        for table in TABLES:
            named = columns(db, table)
            order = ", ".join(str(n + 1) for n in range(len(named)))
            for name, values in zip(
                named, zip(*rows(db, table, named, order), strict=True), strict=False
            ):
                found[f"{table}.{name}"] = digest(values)
    return found
