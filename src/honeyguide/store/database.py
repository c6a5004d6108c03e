"""The collection's SQLite database: opening, transactions, and what its failures mean.

The only file that knows apsw. Its exceptions become ours in :class:`SqliteErrorGuard` and nowhere
else.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import apsw

from honeyguide.errors import CollectionCorrupt, CollectionTooNew, DiskFull, StoreError
from honeyguide.store.collection_files import open_regular
from honeyguide.url import url_fingerprint

APPLICATION_ID = 0x484F4E59  # "HONY", so that file(1) and we know our own


def read_sql(name: str) -> str:
    """The statements in a file of this package."""
    return files(__package__).joinpath(name).read_text("utf-8")


MIGRATIONS = tuple(map(str.strip, re.split(r"-- version \d+\n", read_sql("schema.sql"))[1:]))
"""``MIGRATIONS[n]`` turns version n into version n + 1; version 0 is an empty file."""
SCHEMA_VERSION = len(MIGRATIONS)

SCHEMA_QUERY = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master"
"""Everything that a database holds, as :func:`schema_difference` wants it."""

_SQL_BEGINNINGS = {"table": ("CREATE TABLE ",), "index": ("CREATE INDEX ", "CREATE UNIQUE INDEX ")}

OpenMode = Literal["crawl", "write", "read"]
SqlRow = tuple[Any, ...]

_CHECKED_BYTES = 64_000_000
"""Databases up to this size are checked whole before a crawl adds to them (half a second)."""
_MAX_VALUE_BYTES = 600_000_000
"""Bytes of the longest value: a stranger's database must not make us build a larger one."""


class SqliteErrorGuard:
    """Turns what SQLite and the disk say into our errors; it holds nothing, so one serves all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, apsw.Error | OSError | UnicodeDecodeError | OverflowError):
            raise self._translate_error(error) from error

    def _translate_error(self, error: Exception) -> StoreError:
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full or isinstance(error, apsw.FullError):
            return DiskFull(
                f"no room left on the disk of {self.path.parent}. Nothing that was finished is "
                "lost: make room and start again"
            )
        if isinstance(
            error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError | OverflowError
        ):
            # A text that is no text, or a number that no column can hold, is damage too.
            return CollectionCorrupt(corruption_message(self.path, error))
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreError(f"{self.path} is busy: another process kept it for 10 seconds")
        if isinstance(error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError):
            return StoreError(f"{self.path} cannot be opened or written: {error}")
        return StoreError(f"{self.path}: {error}")


def corruption_message(path: Path, why: object) -> str:
    """What is lost, what is not, and what to do."""
    return (
        f"{path} is damaged ({why}). The WARC files beside it are untouched and hold every page. "
        f"To rescue the rest: sqlite3 {path.name} .recover | sqlite3 rescued.db, then keep the "
        f"damaged file and put rescued.db in its place"
    )


class Database:
    """One connection. Rows come as tuples; what to ask is the callers' business."""

    def __init__(self, path: Path, mode: OpenMode) -> None:
        self.guard = SqliteErrorGuard(path)
        self.path = path
        with self.guard:
            self.connection = _open_connection(path, mode)
        try:
            with self.guard:
                self._prepare_connection(mode)
        except BaseException:  # whatever it is, the file must not stay open
            self.connection.close(True)
            raise

    def _prepare_connection(self, mode: OpenMode) -> None:
        connection = self.connection
        version = self._read_version()
        if version == 0 and mode != "crawl":
            raise StoreError(_absent_message(self.path))
        self._check_schema(version)
        if mode == "crawl":
            size = self.path.stat().st_size
            if version and size <= _CHECKED_BYTES:
                self.check_integrity()
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        # FULL: a commit is on the disk when it returns, and not only at the next checkpoint. One
        # sync for 32 visits, or five a second, is less than a hundredth of a page's CPU time.
        connection.execute(
            "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16000;"
            "PRAGMA wal_autocheckpoint = 2000;"
            "PRAGMA journal_size_limit = 16000000"
        ).fetchall()
        if mode == "read":
            if 0 < version < SCHEMA_VERSION:
                raise StoreError(
                    f"{self.path.parent} was made by an older Honeyguide; honeyguide crawl "
                    "brings it up to date"
                )
            connection.execute("PRAGMA query_only = ON")
        elif version < SCHEMA_VERSION:
            self._migrate_schema()

    def _read_version(self) -> int:
        version = int(self.connection.pragma("user_version"))
        application = int(self.connection.pragma("application_id"))
        tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if application != APPLICATION_ID and (version or application or tables[0][0]):
            raise StoreError(f"{self.path} is a database, but not one of Honeyguide's")
        if version > SCHEMA_VERSION:
            raise CollectionTooNew(
                f"{self.path.parent} was made by a newer Honeyguide (its format is {version}, "
                f"this one reads {SCHEMA_VERSION}). Upgrade with: pip install -U honeyguide"
            )
        return version

    def _check_schema(self, version: int) -> None:
        """Before anything is asked of its tables: are they the ones we make?"""
        if version and (
            why := schema_difference(
                self.connection.execute(SCHEMA_QUERY), _expected_schema(version)
            )
        ):
            raise CollectionCorrupt(
                f"{self.path} is not a collection made by Honeyguide: it has {why}. If you got "
                "it from another person, do not use it"
            )

    def _migrate_schema(self) -> None:
        with self.transaction():
            # Asked again under the lock: another process may have been quicker.
            for number in range(self._read_version(), SCHEMA_VERSION):
                self.connection.execute(MIGRATIONS[number])
            self.connection.pragma("application_id", APPLICATION_ID)
            self.connection.pragma("user_version", SCHEMA_VERSION)

    def check_integrity(self) -> None:
        """Look at every page; raises CollectionCorrupt with the first thing found."""
        with self.guard:
            found = self.connection.execute("PRAGMA quick_check(1)").fetchall()
        if found != [("ok",)]:
            raise CollectionCorrupt(
                corruption_message(self.path, found[0][0] if found else "no answer")
            )

    @property
    def changes_made(self) -> int:
        """Grows with everything that is written through this connection."""
        return int(self.connection.total_changes())

    @property
    def in_transaction(self) -> bool:
        return bool(self.connection.in_transaction)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and alone in writing from the first statement on."""
        with self.guard:
            self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self.guard:
                self.connection.execute("COMMIT")
        except BaseException:  # an interruption rolls back as well
            # SQLite may have rolled back by itself (a full disk, an input/output error).
            if self.in_transaction:
                with self.guard:
                    self.connection.execute("ROLLBACK")
            raise

    @contextmanager
    def join_transaction(self) -> Iterator[None]:
        """Inside the transaction that is open, or else in one of its own."""
        if self.in_transaction:
            yield
        else:
            with self.transaction():
                yield

    @contextmanager
    def block_writers(self) -> Iterator[None]:
        """Nobody writes meanwhile, here or in another process: for who reads the files."""
        with self.guard:
            self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            with self.guard:
                self.connection.execute("ROLLBACK")

    def disable_checkpoints(self) -> None:
        """From now on the write-ahead log is emptied by :meth:`checkpoint` alone."""
        with self.guard:
            self.connection.execute("PRAGMA wal_autocheckpoint = 0").fetchall()

    def checkpoint(self) -> tuple[int, int]:
        """Bring the log into the database as far as readers allow, waiting for nobody.

        Says how many frames the log has, and how many of them the database has now; (-1, -1):
        another process is at it.
        """
        with self.guard:
            try:
                log, done = self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.BusyError:
                return -1, -1
        return int(log), int(done)

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> None:
        with self.guard:
            self.connection.execute(sql, values)

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for each row, all of them in one transaction."""
        with self.join_transaction(), self.guard:
            self.connection.executemany(sql, rows)

    def insert_rows(
        self, table: str, rows: Sequence[Sequence[Any]], *, replace: bool = False
    ) -> None:
        """Insert whole rows, all in one transaction; ``replace`` those with the same key."""
        if rows:
            verb = "INSERT OR REPLACE" if replace else "INSERT"
            marks = ", ".join("?" * len(rows[0]))
            self.execute_many(f"{verb} INTO {table} VALUES({marks})", rows)

    def insert(self, sql: str, values: Sequence[Any]) -> int:
        """Run an INSERT; returns the id of the new row."""
        with self.guard:
            self.connection.execute(sql, values)
            return int(self.connection.last_insert_rowid())

    def fetch_all(self, sql: str, values: Sequence[Any] = ()) -> list[SqlRow]:
        with self.guard:
            rows: list[SqlRow] = self.connection.execute(sql, values).fetchall()
        return rows

    def fetch_one(self, sql: str, values: Sequence[Any] = ()) -> SqlRow | None:
        rows = self.fetch_all(sql, values)
        return rows[0] if rows else None

    def fetch_value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row; None if there is no row."""
        row = self.fetch_one(sql, values)
        return row[0] if row else None

    def fetch_number(self, sql: str, values: Sequence[Any] = ()) -> int:
        """The first column of the first row as an integer; 0 if there is no row, or NULL."""
        return int(self.fetch_value(sql, values) or 0)

    def get_meta(self, key: str) -> str | None:
        """The value of a key in the table ``meta``; None: the key is not set."""
        value = self.fetch_value("SELECT value FROM meta WHERE key = ?", (key,))
        return None if value is None else str(value)

    def set_meta(self, key: str, value: str) -> None:
        self.insert_rows("meta", [(key, value)], replace=True)

    def iter_pages(
        self, sql: str, values: Sequence[Any] = (), size: int = 500, after: int = -1
    ) -> Iterator[SqlRow]:
        """Stream a query that ends in ``id > ? … ORDER BY id LIMIT ?``, id first in each row.

        Asked page by page, so that a slow reader never holds back SQLite's checkpoints.
        """
        last = after
        while rows := self.fetch_all(sql, (*values, last, size)):
            yield from rows
            last = rows[-1][0]

    def close(self) -> None:
        with self.guard:
            self.connection.close()


def to_int64(number: int) -> int:
    """SQLite's integers have a sign; fingerprints and digests have none."""
    return number - (1 << 64) if number >> 63 else number


def url_key(url: str) -> tuple[int, str]:
    """What rows are found by: the columns ``fingerprint``, which has an index, and ``url``."""
    return to_int64(url_fingerprint(url)), url


def schema_difference(found: Iterable[tuple[Any, ...]], ours: Iterable[tuple[Any, ...]]) -> str:
    """What a database has that ours never do, or lacks; '' if it is as we make them.

    Views, triggers and virtual tables are programs; so are the constraints of a table and the
    expressions of an index. SQLite believes the text and not the type, so we look at both.
    """
    wanted = {(row[0], row[1]): _normalised_sql(row[4]) for row in ours}
    tables = {name for kind, name in wanted if kind == "table"}
    for kind, name, table, root, sql in found:
        known = (kind, name) in wanted
        if known and wanted.pop((kind, name)) != _normalised_sql(sql):
            return f"another {kind} {name}"
        plain = root and str(sql).startswith(_SQL_BEGINNINGS.get(kind, ()))
        if not (plain or (kind == "index" and sql is None)):
            return f"a {kind} {name}"
        if kind == "index" and table in tables and not known:
            return f"an index {name}"
    return f"no {' '.join(next(iter(wanted)))}" if wanted else ""


def _normalised_sql(sql: object) -> str:
    return " ".join(str(sql or "").split())


@lru_cache(maxsize=SCHEMA_VERSION + 1)
def _expected_schema(version: int) -> tuple[SqlRow, ...]:
    """What a collection of that version holds."""
    model = apsw.Connection(":memory:")
    try:
        for step in MIGRATIONS[:version]:
            model.execute(step)
        return tuple(model.execute(SCHEMA_QUERY))
    finally:
        model.close()


def _harden_connection(connection: apsw.Connection) -> apsw.Connection:
    """Nothing that the file says of itself may run, or widen what may be done to it."""
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    ):
        connection.config(option, value)
    connection.execute("PRAGMA cell_size_check = ON")
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    return connection


def _open_connection(path: Path, mode: OpenMode) -> apsw.Connection:
    if mode != "crawl" and not path.exists():
        raise StoreError(_absent_message(path))
    flags = apsw.SQLITE_OPEN_READWRITE
    if mode == "crawl":
        os.close(open_regular(path, os.O_RDWR | os.O_CREAT))
    connection = _harden_connection(apsw.Connection(str(path), flags))
    connection.set_busy_timeout(10_000)
    if mode != "read":
        return connection
    try:
        connection.pragma("user_version")
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        # A collection on read-only media: WAL needs two files beside it that cannot be made,
        # and nobody can be writing.
        connection.close(True)
        uri = f"{path.resolve().as_uri()}?immutable=1"
        return _harden_connection(
            apsw.Connection(uri, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        )
    return connection


def _absent_message(path: Path) -> str:
    return (
        f"{path.parent} holds no collection yet: make one with honeyguide new, "
        "then start it with honeyguide crawl"
    )
