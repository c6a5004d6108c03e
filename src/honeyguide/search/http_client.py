"""The HTTP client of search engines: monthly quota, pacing, retries and redaction of keys."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlencode

from msgspec import Raw

from honeyguide.errors import ConfigError, FetchError, SearchError, SearchFailure
from honeyguide.fetch.decode import to_printable
from honeyguide.fetch.ip_policy import is_loopback_host
from honeyguide.net.polite_fetch import RequestPacer
from honeyguide.net.politeness import MAX_WAIT_S, parse_retry_after
from honeyguide.protocols import Fetcher
from honeyguide.search.credentials import ApiKey
from honeyguide.search.engine import (
    MAX_ANSWER_BYTES,
    clean_text,
    field_at,
    parse_json_answer,
    text_value,
)
from honeyguide.store.collection_files import xdg_folder
from honeyguide.types import Request, Response, Url
from honeyguide.url import authority_of, canonical_url, host_of

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
        self,
        path: Path,
        origin: str,
        key: ApiKey,
        per_month: int,
        clock: Callable[[], float],
        *,
        most_cost: float = 0.0,
        table: str = "search",
    ) -> None:
        """``most_cost``: most that a month may cost; 0: no limit. ``table``: of topic.toml, where
        these limits stand."""
        self.path = path
        self.per_month = per_month
        self.most_cost = most_cost
        self._table = table
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
                if self.most_cost and before.cost + price > self.most_cost:
                    raise SearchError("spent", self._too_dear_message(before), _until_next(now))
                file.execute(
                    "INSERT INTO spending VALUES (?, ?, ?, 1, ?) ON CONFLICT DO UPDATE SET "
                    "requests = requests + 1, cost = cost + excluded.cost",
                    (month, self._origin, account, price),
                )
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            # TypeError and ValueError: a damaged file may hold anything where a number was.
            raise SearchError("spent", self._unusable_message(error), float("inf")) from None
        return MonthlyUsage(month, before.requests + 1, before.cost + price)

    def correct_cost(self, month: str, difference: float) -> None:
        """The last request of that month cost so much more than was counted, or less; raises
        SearchError if that cannot be kept."""
        try:
            with self._locked_file() as file:
                account, _ = self._read_usage(file, month)
                file.execute(
                    "UPDATE spending SET cost = max(0, cost + ?) "
                    "WHERE (month, origin, account) = (?, ?, ?)",
                    (difference, month, self._origin, account),
                )
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            raise SearchError("spent", self._unusable_message(error), float("inf")) from None

    def current_usage(self) -> MonthlyUsage:
        """This month's account; raises ConfigError if it cannot be kept."""
        month = _month_of(self._clock())
        try:
            with self._locked_file() as file:
                return self._read_usage(file, month)[1]
        except (sqlite3.Error, OSError, TypeError, ValueError) as error:
            raise ConfigError(f"{self._table}.per_month: {self._unusable_message(error)}") from None

    def _read_usage(self, file: sqlite3.Connection, month: str) -> tuple[str, MonthlyUsage]:
        file.execute("INSERT OR IGNORE INTO salt VALUES (1, ?)", (os.urandom(16),))
        (salt,) = file.execute("SELECT salt FROM salt").fetchone()
        account = self._key.account_hash(bytes(salt))
        row = file.execute(
            "SELECT requests, cost FROM spending WHERE (month, origin, account) = (?, ?, ?)",
            (month, self._origin, account),
        ).fetchone()
        requests, cost = row or (0, 0.0)
        return account, MonthlyUsage(month, int(requests), float(cost))

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
            f"and {self._table}.per_month allows {self.per_month}. Raise it, or wait for the next "
            "month"
        )

    def _too_dear_message(self, spent: MonthlyUsage) -> str:
        return (
            f"{spent.cost:.4f} was spent in {spent.month}, by all collections together, and one "
            f"more request may pass the {self.most_cost:g} of {self._table}.most_cost. Raise it, "
            "or wait for the next month"
        )

    def _unusable_message(self, error: Exception) -> str:
        return (
            f"requests cannot be counted in {self.path} ({error}), so that none is made. Make it "
            "writable; if it is damaged, move it away, and counting starts again"
        )


def state_file() -> Path:
    """Where the account lies: in the user's state folder, outside every collection."""
    return xdg_folder("XDG_STATE_HOME", ".local/state") / "spending.sqlite"


def _month_of(now: float) -> str:
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m")


def _until_next(now: float) -> float:
    at = datetime.fromtimestamp(now, UTC)
    year, month = (at.year + 1, 1) if at.month == 12 else (at.year, at.month + 1)
    return datetime(year, month, 1, tzinfo=UTC).timestamp() - now


# -- URLs of engines --

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*").fullmatch
_log = logging.getLogger(__name__)


def check_engine_url(text: str, key: ApiKey, example: str, table: str = "search") -> Url:
    """The canonical form of the ``url`` in that table of topic.toml; raises ConfigError."""
    url = canonical_url(text)
    if url is None or not host_of(url):
        shown = key.redact(text)
        raise ConfigError(
            f"{table}.url: {shown!r} is not a web address; write one such as {example}"
        )
    if "@" in authority_of(url):
        instead = (
            'Set search.header to "Authorization", and keep the words "Basic …" as the key'
            if table == "search"
            else f"Keep it as the key that {table}.key_env names"
        )
        raise ConfigError(
            f"{table}.url: a user name or password has no place in the address. {instead}"
        )
    return url


def warn_unencrypted_key(place: str, *, proxied: bool, table: str = "search") -> None:
    """Say that a key goes through networks that others can listen to. Through a proxy, also what
    is meant for this machine does."""
    if place.startswith("http:") and (proxied or not is_loopback_host(host_of(f"{place}/"))):
        via = " through fetch.proxy" if proxied else ""
        _log.warning("%s.url: the key goes to %s unencrypted%s; use https://", table, place, via)


def url_with_parameters(base: str, parameters: dict[str, str | int]) -> Url:
    """The address with these parameters behind those it has."""
    url = canonical_url(f"{base}{'&' if '?' in base else '?'}{urlencode(parameters)}")
    assert url is not None, "parameters cannot spoil an address"
    return url


def engine_language(code: str) -> str:
    """The language to tell the engine, or ''."""
    if code and not _LANGUAGE(code):
        raise ConfigError(f"search.language: {code!r} is not a language code, such as en or tr")
    return code.replace("_", "-")


# -- The client --
#
# Every engine asks through one, plug-ins included, so that limits and secrets are kept in one
# place.
#
#     =========================  ========  ==============================================
#     what happens               kind      what then
#     =========================  ========  ==============================================
#     no connection, 5xx         down      two more tries, then later
#     no answer in time          slow      two more tries, then later
#     429                        limited   not before Retry-After, else later
#     5xx with Retry-After       down      not before then
#     400, 414, 422              refused   another query may do; after three in a row, no
#     402                        spent     no more in this run
#     redirects to other hosts   refused   another query may do; after three in a row, no
#     other 4xx, redirects       refused   no more in this run
#     no JSON, too large         garbage   another query may do; after three in a row, later
#     =========================  ========  ==============================================
#
# Later: after 60 s, twice as long with every further failure, a day at most.


Headers = tuple[tuple[str, str], ...]
WaitReader = Callable[[Response, float], float | None]
"""How many seconds an answer asks us to wait, if it says so."""

BACKOFF: Final = (2.0, 8.0)
"""Seconds before the second and the third try."""
FIRST_WAIT_S: Final = 60.0
"""Seconds before asking again makes sense where nobody says; doubles with every failure."""
MAX_USELESS_ANSWERS: Final = 3
"""So many useless answers in a row, and it is not the questions."""
_QUERY_STATUSES = frozenset({400, 414, 422})
"""Statuses that may be about this question only."""
_FAILURE_KINDS: Mapping[str, SearchFailure] = {
    "timeout": "slow",
    "protocol": "garbage",
    "too_large": "garbage",
    "forbidden": "refused",
}
_ERROR_FIELDS = ("error.detail", "error.message", "message", "detail", "error")
"""Where engines say in their answers what is wrong."""
_MAX_DETAIL = 300
TOO_LARGE_TEXT: Final = "it is too large"
"""How the detail begins where an answer passes the limit."""
_INLINE_BYTES = 200_000
"""Bytes of an answer that are read at once; larger ones, beside the crawl. Small ones take no time,
also in the lab, where time is simulated."""


def retry_after(response: Response, now: float) -> float | None:
    return parse_retry_after(response.header("retry-after"), now)


Answer = TypeVar("Answer")


async def _parse_body(body: bytes, read: Callable[[Raw], Answer]) -> Answer | SearchError:
    if len(body) <= _INLINE_BYTES:
        return _try_parse(body, read)
    return await asyncio.to_thread(_try_parse, body, read)


def _try_parse(body: bytes, read: Callable[[Raw], Answer]) -> Answer | SearchError:
    try:
        return read(parse_json_answer(body))
    except SearchError as error:
        return error


class EngineHttpClient:
    """One engine's line. ``price`` is of one request; ``spending`` keeps the month's account.
    ``backoff``: seconds before each further try when nobody answers."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Callable[[], float],
        *,
        key: ApiKey | None = None,
        per_minute: float = 0.0,
        price: float = 0.0,
        spending: MonthlyQuota | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        backoff: Sequence[float] = BACKOFF,
    ) -> None:
        self.key = key or ApiKey()
        self._backoff = backoff
        self.price = price
        self.spending = spending
        self._fetcher = fetcher
        self._clock = clock
        self._sleep = sleep
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._pacer = RequestPacer(clock, sleep)
        self._closed: tuple[float, SearchError] | None = None
        self._failures = self._streak = 0
        self._turn = asyncio.Lock()

    async def fetch_results(
        self,
        url: Url,
        read: Callable[[Raw], Answer],
        headers: Headers = (),
        *,
        hints: Mapping[int, str] | None = None,
        read_wait: WaitReader = retry_after,
        body: bytes = b"",
    ) -> Answer:
        """What ``read`` finds in the JSON at that address; ``body`` is sent there, by POST.

        ``hints`` say what a status means with this engine, and how to mend it. Raises SearchError,
        whose detail never holds the key.
        """
        request = Request(url, limit=MAX_ANSWER_BYTES, any_type=True, headers=headers, body=body)
        async with self._turn:
            self._check_open()
            got = await self._fetch_with_retries(request, hints or {}, read_wait)
            outcome = got if isinstance(got, SearchError) else await _parse_body(got, read)
            # Raised here, outside every except: an error that led to it would know the address,
            # and the address may hold the key.
            if isinstance(outcome, SearchError):
                raise self._note_failure(outcome)
            self._failures = self._streak = 0
            return outcome

    def _check_open(self) -> None:
        """Not before the engine said, nor once it refused for good."""
        if self._closed is None:
            return
        until, error = self._closed
        left = until - self._clock()
        # A clock set back must not make it longer than was told; a second is for rounding.
        if 0 < left <= error.wait + 1.0:
            raise SearchError(error.kind, error.detail, min(left, error.wait))
        self._closed = None

    async def _fetch_with_retries(
        self, request: Request, hints: Mapping[int, str], read_wait: WaitReader
    ) -> bytes | SearchError:
        for pause in (*self._backoff, None):
            outcome = await self._fetch_once(request, hints, read_wait)
            if isinstance(outcome, bytes) or pause is None:
                return outcome
            if outcome.kind not in ("down", "slow") or outcome.wait:
                return outcome
            await self._sleep(pause)
        raise AssertionError("the last try has no pause")

    async def _fetch_once(
        self, request: Request, hints: Mapping[int, str], read_wait: WaitReader
    ) -> bytes | SearchError:
        await self._pacer.wait_turn(host_of(request.url))
        self._pacer.delay_host(host_of(request.url), self._gap)
        if self.spending is not None:
            try:
                await asyncio.to_thread(self.spending.count_request, self.price)
            except SearchError as error:
                return error
        try:
            response = await self._fetcher.fetch(request)
        except FetchError as error:
            kind = _FAILURE_KINDS.get(error.kind, "down")
            if kind == "refused":
                hint = "if it is yours: honeyguide queries allow NAME"
                return SearchError(kind, f"{error.detail}; {hint}", float("inf"))
            large = error.kind == "too_large"
            return SearchError(kind, f"{TOO_LARGE_TEXT}: {error.detail}" if large else error.detail)
        if 200 <= response.status < 300:
            return response.body
        return self._status_error(response, hints, read_wait)

    def _status_error(
        self, response: Response, hints: Mapping[int, str], read_wait: WaitReader
    ) -> SearchError:
        status = response.status
        detail = f"it answered {status}"
        if words := hints.get(status, "") or self._error_words(response):
            detail = f"{detail}: {words}"
        wait = read_wait(response, self._clock())
        if status == 429:
            return SearchError("limited", detail, 0.0 if wait is None else max(1.0, wait))
        if status >= 500 or status == 408:
            return SearchError("down", detail, wait or 0.0)
        if status == 402:
            return SearchError("spent", detail, float("inf"))
        if 300 <= status < 400:
            target = canonical_url(response.header("location"), response.url)
            where = f" to {to_printable(host_of(target))}" if target else ""
            detail = (
                f"it redirects{where}, and redirects are not followed with a key; write the "
                "final address"
            )
            # Some send certain questions elsewhere: that is no word about the others.
            if target and host_of(target) != host_of(response.url):
                return SearchError("refused", detail)
        question = status in _QUERY_STATUSES
        return SearchError("refused", detail, 0.0 if question else float("inf"))

    def _error_words(self, response: Response) -> str:
        """What the engine says about it. Of a key that it refuses it may say anything."""
        if response.status in (401, 403) or not response.media_type.endswith("json"):
            return ""
        if len(response.body) > _INLINE_BYTES:
            return ""
        try:
            answer = parse_json_answer(response.body)
        except SearchError:
            return ""
        found = (text_value(field_at(answer, place)) for place in _ERROR_FIELDS)
        return clean_text(next(filter(None, found), ""), _MAX_DETAIL, self.key.redact)

    def _note_failure(self, error: SearchError) -> SearchError:
        """The failure without the key, and with what it means for later questions."""
        wait = error.wait
        self._failures += 1
        self._streak = self._streak + 1 if error.kind in ("refused", "garbage") else 0
        lasting = self._streak >= MAX_USELESS_ANSWERS
        if lasting and error.kind == "refused":
            wait = float("inf")
        elif not wait and (lasting or error.kind in ("down", "slow", "limited")):
            wait = min(MAX_WAIT_S, FIRST_WAIT_S * 2.0 ** min(20, self._failures - 1))
        noted = SearchError(error.kind, self.key.redact(error.detail), wait)
        if wait:
            self._closed = (self._clock() + wait, noted)
        return noted
