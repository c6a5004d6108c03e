"""The studio's own index of a collection: ``search.db`` beside it, for filters and words.

The journal is made to be appended to; looking through it by score, host, language or words would
read all of it. The index has a row of facts for each visit and the words of each page (SQLite's
FTS5, without a copy of the texts). It holds nothing that the journal does not: one that is damaged,
old or of another collection is thrown away and made anew (:mod:`honeyguide.studio.indexing`).
"""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from honeyguide.errors import CollectionCorrupt, ConfigError, StoreError
from honeyguide.studio.filters import Hit, Sort, Wish, select, ways, where

NAME = "search.db"
COUNTED = 10_000
"""Nobody needs to know how many more there are."""
_RARE = 5_000
_ORDERED = {"best": "facts_verdict", "worst": "facts_verdict", "changed": "facts_changed"}
"""Indexes that are in the order wanted; the newest are in that of the table."""
_PATIENCE_S = 3.0
"""A query that takes longer is ended."""
_APPLICATION = 0x484F4E53  # "HONS"
_VERSION = 1
_SCHEMA = """
CREATE TABLE state(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE facts(
  visit INTEGER PRIMARY KEY, kind INTEGER NOT NULL, host TEXT NOT NULL, at REAL NOT NULL,
  verdict REAL, tongue TEXT NOT NULL, fingerprint INTEGER NOT NULL, changed REAL
);
CREATE INDEX facts_kind ON facts(kind);
CREATE INDEX facts_host ON facts(host);
CREATE INDEX facts_at ON facts(at);
CREATE INDEX facts_verdict ON facts(verdict);
CREATE INDEX facts_tongue ON facts(tongue);
CREATE INDEX facts_fingerprint ON facts(fingerprint);
CREATE INDEX facts_changed ON facts(changed) WHERE changed IS NOT NULL;
CREATE VIRTUAL TABLE words USING fts5(
  title, body, content='', prefix='3', tokenize="unicode61 remove_diacritics 2"
);
"""
_SHAPE = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"


class IndexDamaged(CollectionCorrupt):
    """It is to be thrown away."""


class Index:
    """One connection. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        """Opened as it is, or made anew where it cannot be used."""
        _plain(path)
        with _told(path):
            self._db = _open(path)
        self._path = path

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else writes meanwhile."""
        with _told(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:  # an interruption rolls back as well
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def state(self, key: str) -> int:
        with _told(self._path):
            row = self._db.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row and isinstance(row[0], int) else 0

    def find(self, wish: Wish, sort: Sort, limit: int, after: Hit | None = None) -> list[Hit]:
        """The next so many visits in that order."""
        sql, values = select(wish, sort, after, self._way(wish, sort))
        with _told(self._path), self._patience():
            rows = self._db.execute(f"{sql} LIMIT ?", (*values, limit)).fetchall()
        return [Hit(visit, 0.0 if key is None else key) for visit, key in rows]

    def count(self, wish: Wish) -> int:
        """How many there are, up to :data:`COUNTED` and one more."""
        source, condition, values = where(wish, self._way(wish, "newest"))
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {condition} LIMIT ?)"  # noqa: S608
        with _told(self._path), self._patience():
            return int(self._db.execute(sql, (*values, COUNTED + 1)).fetchone()[0])

    def _way(self, wish: Wish, sort: Sort) -> str:
        """The short way: by what is rare, and sort it; else in the order wanted, until enough is
        found. SQLite would guess, and take a common language for a rare one."""
        if wish.words or wish.among is not None or wish.changed:
            return "facts"  # it has its way
        rarest, chosen = _RARE, ""
        for index, condition, values in ways(wish):
            inner = f"SELECT 1 FROM facts INDEXED BY {index} WHERE {condition} LIMIT {_RARE + 1}"  # noqa: S608
            with _told(self._path):
                sql = f"SELECT count(*) FROM ({inner})"  # noqa: S608
                count = int(self._db.execute(sql, values).fetchone()[0])
            if count <= rarest:
                rarest, chosen = count, index
        chosen = chosen or _ORDERED.get(sort, "")
        return f"facts INDEXED BY {chosen}" if chosen else "facts NOT INDEXED"

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Whatever was asked for, it ends after a while."""
        until = time.monotonic() + _PATIENCE_S
        self._db.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        try:
            yield
        finally:
            self._db.set_progress_handler(None, 0)


def _open(path: Path) -> sqlite3.Connection:
    try:
        return _ours(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise
        forget(path)
        return _ours(path)


def _ours(path: Path) -> sqlite3.Connection:
    """A connection to an index that is as we make them."""
    db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        found = db.execute(_SHAPE).fetchall()
        if not found:
            _make(db)
        elif found != _shape() or db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            raise sqlite3.DatabaseError("it is not an index of ours")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:  # whatever it is, the file must not stay open
        db.close()
        raise
    return db


def _make(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    if not db.execute(_SHAPE).fetchall():  # another process may have been quicker
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
    db.execute("COMMIT")


@lru_cache(maxsize=1)
def _shape() -> list[Any]:
    """What an index of this version holds: a table of a stranger's could hold a program."""
    with closing(sqlite3.connect(":memory:")) as model:
        for statement in _SCHEMA.split(";\n"):
            model.execute(statement)
        return model.execute(_SHAPE).fetchall()


def forget(path: Path) -> None:
    """Throw an index away; the next one to open it makes a new one."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
        with suppress(OSError):
            (path.parent / name).unlink()


def _plain(path: Path) -> None:
    """A link in a folder that somebody sent us could lead to any file of ours."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm", f"{path.name}-journal"):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG((path.parent / name).lstat().st_mode):
                raise CollectionCorrupt(f"{path.parent / name} is a link, or no plain file")


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """What SQLite says, in our words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise ConfigError("that takes too long: ask for rarer words, or for less") from error
        if "malformed" in str(error) or "no such" in str(error):
            raise IndexDamaged(f"{path} is damaged: {error}") from error
        raise StoreError(f"{path} cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise IndexDamaged(f"{path} is damaged: {error}") from error
