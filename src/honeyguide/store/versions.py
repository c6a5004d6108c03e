"""Every version of a watched page. Bodies are stored once, as zstd deltas."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, NamedTuple

import zstandard

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import row_checks
from honeyguide.store.codec import replace_surrogates, unpack_frame
from honeyguide.store.database import Database, SqlRow, url_key
from honeyguide.types import Url

_ZSTD_LEVEL = 3
_MIN_BASE_BYTES = 64
"""Bytes of a body that is no help as a dictionary."""
_MAX_DELTA_BYTES = 16_000_000
"""Bytes of a body for which the tables would take too much memory."""
_MAX_TABLE_LOG = 22


def pack_delta(body: bytes, base: bytes | None = None) -> bytes:
    """The body alone, or as it differs from ``base``."""
    if base is None:
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    log = min(_MAX_TABLE_LOG, max(12, len(base).bit_length() - 2))
    parameters = zstandard.ZstdCompressionParameters.from_level(
        _ZSTD_LEVEL,
        source_size=len(body),
        dict_size=len(base),
        window_log=max(10, (len(base) + len(body)).bit_length()),
        hash_log=log,
        chain_log=log,
    )
    compressor = zstandard.ZstdCompressor(
        compression_params=parameters, dict_data=_raw_dictionary(base)
    )
    return compressor.compress(body)


def unpack_delta(data: object, base: bytes | None, most: int) -> bytes:
    """What was packed, with the same ``base``; never more than ``most`` bytes."""
    dictionary = None if base is None else _raw_dictionary(base)
    return unpack_frame(data, zstandard.ZstdDecompressor(dict_data=dictionary), most, "version")


def _raw_dictionary(base: bytes) -> zstandard.ZstdCompressionDict:
    # Raw content: a page that begins like a trained dictionary must not be read as one.
    return zstandard.ZstdCompressionDict(base, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


# -- Bodies --
#
# A body's base was always there before it and has a smaller number, so chains end; every sixteenth
# body of a chain stands alone. What is read back is held to its digest.


MAX_BODY_BYTES = 64_000_000
"""Bytes kept of a body; the rest of a longer one is cut off."""
_KEYFRAME_EVERY = 16
"""Every body so far from the last that stands alone stands alone again."""
_MAX_CHAIN = 64
"""Bodies in a chain: ours have sixteen, a stranger's may have any number. Also in _CHAIN."""
_POOR_DELTA = 4
"""A delta that is more than this part of its body may not be worth its base."""
_CACHE_BYTES = 8_000_000
"""Bytes of bodies kept in memory: who compares two versions is about to store the newer."""

_CHAIN_SQL = (
    "WITH RECURSIVE chain(id, base) AS (SELECT id, base FROM bodies WHERE id = {} "
    "UNION ALL SELECT b.id, b.base FROM chain JOIN bodies b ON b.id = chain.base "
    "WHERE b.id < chain.id LIMIT 64) "
    "SELECT b.id, b.base, b.digest, b.data FROM chain JOIN bodies b ON b.id = chain.id "
    "ORDER BY b.id DESC"
)


class _BaseBody(NamedTuple):
    id: int
    depth: int
    body: bytes


def body_digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()


class BodyStore:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._recent: OrderedDict[bytes, bytes] = OrderedDict()
        """By their digests: numbers may stand for something else after a rollback."""
        self._held = 0

    def add(self, key: bytes, body: bytes, before: int | None) -> int:
        """Keep a body, as it differs from the one with the number ``before``. Its number."""
        known = self._db.fetch_one("SELECT id FROM bodies WHERE digest = ?", (key,))
        if known is not None:
            return int(known[0])
        base, depth, data = _pack_against(body, None if before is None else self._load_base(before))
        number = self._db.insert(
            "INSERT INTO bodies(digest, size, base, depth, data) VALUES(?, ?, ?, ?, ?)",
            (key, len(body), base, depth, data),
        )
        self._cache_body(key, body)
        return number

    def get(self, values: Sequence[Any], which: str = "?") -> bytes:
        """The body whose number the expression ``which`` says.

        One statement, so that a reader sees a chain whole while somebody thins it out.
        """
        return self._decode_chain(self._db.fetch_all(_CHAIN_SQL.format(which), values))

    def delete_unused(self, numbers: Iterable[Any]) -> None:
        """Of these bodies, let go those that no version has; what was based on them stays.

        The newest goes first, so that only living bodies are based on one that goes.
        """
        dead = {
            number
            for number in numbers
            if isinstance(number, int)
            and self._db.fetch_one("SELECT 1 FROM versions WHERE body = ? LIMIT 1", (number,))
            is None
        }
        for number in sorted(dead, reverse=True):
            children = self._db.fetch_all("SELECT id FROM bodies WHERE base = ?", (number,))
            try:
                for (child,) in children:
                    self._rebase_body(child, self._nearest_living_base(number, dead))
            except CollectionCorrupt:
                continue  # what cannot be read cannot be written anew: leave it all as it is
            self._db.execute("DELETE FROM bodies WHERE id = ?", (number,))

    def _nearest_living_base(self, number: int, dead: set[int]) -> int | None:
        """The nearest base that stays."""
        for _ in range(_MAX_CHAIN):
            row = self._db.fetch_one(
                "SELECT base FROM bodies WHERE id = ? AND base < id", (number,)
            )
            if row is None or row[0] not in dead:
                return None if row is None else row[0]
            number = row[0]
        return None

    def _rebase_body(self, number: int, onto: int | None) -> None:
        base = None if onto is None else self._load_base(onto)
        packed = _pack_against(self.get((number,)), base)
        self._db.execute(
            "UPDATE bodies SET base = ?, depth = ?, data = ? WHERE id = ?", (*packed, number)
        )

    def _load_base(self, number: int) -> _BaseBody | None:
        """A body to start from; None if it is at the end of its chain, or damaged."""
        row = self._db.fetch_one("SELECT depth, digest FROM bodies WHERE id = ?", (number,))
        if row is None or (depth := row_checks.count_or_zero(row[0])) + 1 >= _KEYFRAME_EVERY:
            return None
        known = self._recent.get(row[1]) if isinstance(row[1], bytes) else None
        try:
            return _BaseBody(number, depth, self.get((number,)) if known is None else known)
        except CollectionCorrupt:
            return None  # an old version that is lost must not cost us the new one

    def _decode_chain(self, chain: list[SqlRow]) -> bytes:
        """The body that a chain begins with."""
        body: bytes | None = None
        deltas: list[object] = []
        wanted = chain[0][0] if chain else None
        for number, base, key, data in chain:
            if number != wanted:
                break
            body = self._recent.get(key) if isinstance(key, bytes) else None
            if body is not None:
                wanted = None
                break
            deltas.append(data)
            wanted = base
        if not chain or wanted is not None:
            raise CollectionCorrupt("a stored version is damaged: what it is based on is missing")
        for data in reversed(deltas):
            body = unpack_delta(data, body, MAX_BODY_BYTES)
        assert body is not None
        key = chain[0][2]
        if deltas:
            if body_digest(body) != key:
                raise CollectionCorrupt("a stored version is damaged: it is not what was stored")
            self._cache_body(key, body)
        return body

    def _cache_body(self, key: bytes, body: bytes) -> None:
        if len(body) * 4 > _CACHE_BYTES or key in self._recent:
            return
        self._recent[key] = body
        self._held += len(body)
        while self._held > _CACHE_BYTES:
            self._held -= len(self._recent.popitem(last=False)[1])


def _pack_against(body: bytes, base: _BaseBody | None) -> tuple[int | None, int, bytes]:
    """Number of its base, distance from the one that stands alone, and the bytes."""
    if base is None or len(base.body) < _MIN_BASE_BYTES:
        return None, 0, pack_delta(body)
    if max(len(base.body), len(body)) > _MAX_DELTA_BYTES:
        return None, 0, pack_delta(body)
    data = pack_delta(body, base.body)
    if len(data) * _POOR_DELTA > len(body):
        alone = pack_delta(body)
        if len(alone) < 1.2 * len(data):
            return None, 0, alone
    return base.id, base.depth + 1, data


# -- Versions --
#
# A version is a row; its body lies in ``bodies``, once for all versions that are equal, whenever
# and wherever they were seen.


_DAY_S = 86_400.0
_WEEK_S = 7 * _DAY_S
_CONTENT_TYPE_CHARS = 256
"""Characters of a content type."""
_PAGES_AT_ONCE = 100
"""Pages that are thinned out in one transaction."""

_PAGE_SQL = "(SELECT id FROM pages WHERE fingerprint = ? AND url = ?)"
_BODY_SQL = f"SELECT body FROM versions WHERE page = {_PAGE_SQL} AND number = ?"  # noqa: S608
_VERSIONS_SQL = (
    "SELECT v.number, v.at, v.seen, v.status, v.content_type, b.size, length(b.data), "  # noqa: S608
    "iif(length(b.digest) = 16, lower(hex(b.digest)), '') "
    f"FROM versions v LEFT JOIN bodies b ON b.id = v.body WHERE v.page = {_PAGE_SQL} "
)


class VersionRow(NamedTuple):
    number: int
    """From 1; a number that was thinned out does not come back."""
    at: float
    """When it was first seen."""
    last_seen: float
    """When it was last found unchanged."""
    status: int
    content_type: str
    size: int
    """Bytes of the body."""
    stored: int
    """Bytes of the body on disk, shared with equal versions."""
    digest: str
    """Of the body, in hexadecimal digits (BLAKE2b, 128 bits)."""


_ROW_CHECKER = row_checks.RowChecker(VersionRow, {})


@dataclass(frozen=True, slots=True)
class Retention:
    """Which versions of a page stay; all of them, unless it says otherwise. The newest always does.

    >>> Retention(days=30)   # all of the last 30 days, one a week before that
    Retention(last=0, days=30)
    """

    last: int = 0
    """No more than so many of the newest; 0: any number."""
    days: float = 0
    """All that are so young, and of older ones the last of each week; 0: all."""

    def versions_to_drop(self, versions: Sequence[tuple[int, float]], now: float) -> list[int]:
        """Of (number, time) from the oldest to the newest: the numbers that go."""
        going: list[int] = []
        newest = len(versions) - 1
        for place, (number, at) in enumerate(versions[:-1]):
            surplus = 0 < self.last <= newest - place
            old = self.days > 0 and at < now - self.days * _DAY_S
            if surplus or (old and at // _WEEK_S == versions[place + 1][1] // _WEEK_S):
                going.append(number)
        return going


class VersionTable:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._bodies = BodyStore(db)

    def add_version(
        self, url: Url, body: bytes, at: float, content_type: str = "text/html", status: int = 200
    ) -> int:
        """Keep what was seen. The number of the new version; of the newest if nothing changed."""
        body = body[:MAX_BODY_BYTES]
        key, kind = body_digest(body), replace_surrogates(content_type)[:_CONTENT_TYPE_CHARS]
        with self._db.join_transaction():
            page = self._page_number(url)
            last = self._db.fetch_one(
                "SELECT v.number, v.body, b.digest, v.status FROM versions v LEFT JOIN bodies b "
                "ON b.id = v.body WHERE v.page = ? ORDER BY v.number DESC LIMIT 1",
                (page,),
            )
            if last is not None and last[2:] == (key, status):
                sql = "UPDATE versions SET seen = max(seen, ?) WHERE page = ? AND number = ?"
                self._db.execute(sql, (at, page, last[0]))
                return row_checks.count_or_zero(last[0])
            number = 1 if last is None else row_checks.count_or_zero(last[0]) + 1
            held = self._bodies.add(
                key, body, None if last is None else row_checks.int_or_none(last[1])
            )
            self._db.execute(
                "INSERT INTO versions VALUES(?, ?, ?, ?, ?, ?, ?)",
                (page, number, at, at, status, kind, held),
            )
        return number

    def mark_unchanged(self, url: Url, at: float) -> None:
        """The newest version was found unchanged."""
        with self._db.join_transaction():
            self._db.execute(
                "UPDATE versions SET seen = max(seen, ?) WHERE (page, number) = "  # noqa: S608
                f"(SELECT page, max(number) FROM versions WHERE page = {_PAGE_SQL})",
                (at, *url_key(url)),
            )

    def read_body(self, url: Url, number: int) -> bytes:
        values = (*url_key(url), number)
        try:
            return self._bodies.get(values, f"({_BODY_SQL})")
        except CollectionCorrupt as error:
            if self._db.fetch_one(_BODY_SQL, values) is None:
                raise StoreError(f"there is no version {number} of {url}") from None
            raise error

    def list_versions(self, url: Url) -> list[VersionRow]:
        """The versions that are kept, oldest first."""
        rows = self._db.fetch_all(_VERSIONS_SQL + "ORDER BY v.number", url_key(url))
        return [VersionRow._make(_ROW_CHECKER(row)) for row in rows]

    def latest_version(self, url: Url) -> VersionRow | None:
        row = self._db.fetch_one(_VERSIONS_SQL + "ORDER BY v.number DESC LIMIT 1", url_key(url))
        return None if row is None else VersionRow._make(_ROW_CHECKER(row))

    def thin_out(self, rule: Retention, now: float) -> int:
        """Let go what the rule does not keep, and bodies that nobody has any more.

        How many versions went. Their room is used again; the file does not shrink.
        """
        if rule == Retention():
            return 0
        pages = self._db.iter_pages(
            "SELECT page FROM versions WHERE page > ? GROUP BY page HAVING count(*) > 1 "
            "ORDER BY page LIMIT ?"
        )
        gone = 0
        while batch := list(islice(pages, _PAGES_AT_ONCE)):
            with self._db.join_transaction():
                gone += sum(self._thin_page(page, rule, now) for (page,) in batch)
        return gone

    def _thin_page(self, page: int, rule: Retention, now: float) -> int:
        rows = self._db.fetch_all(
            "SELECT number, at, body FROM versions WHERE page = ? ORDER BY number", (page,)
        )
        dropped = rule.versions_to_drop(
            [(number, row_checks.number_or_zero(at)) for number, at, _ in rows], now
        )
        if dropped:
            self._db.execute_many(
                "DELETE FROM versions WHERE page = ? AND number = ?",
                [(page, number) for number in dropped],
            )
            going = set(dropped)
            self._bodies.delete_unused({body for number, _, body in rows if number in going})
        return len(dropped)

    def _page_number(self, url: Url) -> int:
        """The number of a page, a new one if need be."""
        if (number := self._db.fetch_value(_PAGE_SQL[1:-1], url_key(url))) is not None:
            return int(number)
        return self._db.insert("INSERT INTO pages(fingerprint, url) VALUES(?, ?)", url_key(url))
