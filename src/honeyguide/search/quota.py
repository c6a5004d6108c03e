"""What was asked of paid engines this month, counted for all collections of a user together.

A request is counted before it leaves, in one transaction, so that several crawls at once cannot
spend more than the budget; one that never left is counted all the same.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from honeyguide.errors import ConfigError, SearchError
from honeyguide.search.api_keys import ApiKey

_LOCK_WAIT_S = 10.0
"""Seconds to wait while another process counts."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS salt (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), "
    "salt BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS spending (month TEXT NOT NULL, origin TEXT NOT NULL, "
    "account TEXT NOT NULL, requests INTEGER NOT NULL, cost REAL NOT NULL, "
    "PRIMARY KEY (month, origin, account)) WITHOUT ROWID",
)


class MonthlyUsage(NamedTuple):
    """What one key was used for in one month."""

    month: str
    """In universal time: ``2026-03``."""
    requests: int = 0
    cost: float = 0.0


class MonthlyQuota:
    """The account of one server and key, in a file that all processes share. The bill is one,
    however the settings call the engine."""

    def __init__(
        self, path: Path, origin: str, key: ApiKey, per_month: int, clock: Callable[[], float]
    ) -> None:
        self.path = path
        self.per_month = per_month
        self._origin = origin
        self._key = key
        self._clock = clock

    def count_request(self, price: float) -> MonthlyUsage:
        """Count one request that is about to leave; raises SearchError if it must not."""
        now = self._clock()
        month = _month_of(now)
        try:
            with self._locked_file() as file:
                account, before = self._read_usage(file, month)
                if self.per_month and before.requests >= self.per_month:
                    raise SearchError("spent", self._used_up_message(before), _until_next(now))
                file.execute(
                    "INSERT INTO spending VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET "
                    "requests = requests + 1, cost = cost + excluded.cost",
                    (month, self._origin, account, price),
                )
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            # TypeError and ValueError: a damaged file may hold anything where a number was.
            raise SearchError("spent", self._unusable_message(error), float("inf")) from None
        return MonthlyUsage(month, before.requests + 1, before.cost + price)

    def current_usage(self) -> MonthlyUsage:
        """This month's account; raises ConfigError if it cannot be kept."""
        month = _month_of(self._clock())
        try:
            with self._locked_file() as file:
                return self._read_usage(file, month)[1]
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            raise ConfigError(f"search.per_month: {self._unusable_message(error)}") from None

    def _read_usage(self, file: sqlite3.Connection, month: str) -> tuple[str, MonthlyUsage]:
        file.execute("INSERT OR IGNORE INTO salt VALUES (1, ?)", (os.urandom(16),))
        (salt,) = file.execute("SELECT salt FROM salt").fetchone()
        account = self._key.account_hash(bytes(salt))
        row = file.execute(
            "SELECT requests, cost FROM spending WHERE (month, origin, account) = (?, ?, ?)",
            (month, self._origin, account),
        ).fetchone()
        return account, MonthlyUsage(month, int(row[0]), float(row[1])) if row else MonthlyUsage(
            month
        )

    @contextmanager
    def _locked_file(self) -> Iterator[sqlite3.Connection]:
        """The file, locked; what is done in between is kept whole or not at all."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=_LOCK_WAIT_S, isolation_level=None)
        with closing(connection):
            # Without this, a power cut could take back what an engine has already charged for.
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                connection.execute(table)
            yield connection
            connection.execute("COMMIT")

    def _used_up_message(self, spent: MonthlyUsage) -> str:
        return (
            f"{spent.requests} requests were made in {spent.month}, by all collections together, "
            f"and search.per_month allows {self.per_month}. Raise it, or wait for the next month"
        )

    def _unusable_message(self, error: Exception) -> str:
        return (
            f"requests cannot be counted in {self.path} ({error}), so that none is made. Make it "
            "writable; if it is damaged, move it away, and counting starts again"
        )


def state_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where the account lies: in the user's state folder, outside every collection."""
    variables = os.environ if environ is None else environ
    told = variables.get("XDG_STATE_HOME", "")
    # The XDG standard has relative paths ignored.
    home = Path(told) if told.startswith("/") else Path.home() / ".local" / "state"
    return home / "honeyguide" / "spending.sqlite"


def _month_of(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m")


def _until_next(now: float) -> float:
    at = datetime.fromtimestamp(now, UTC)
    year, month = (at.year + 1, 1) if at.month == 12 else (at.year, at.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp() - now
