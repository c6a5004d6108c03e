"""The change feed of watched pages, and the outbox of notifications about changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, TypedDict, Unpack, cast, get_args
from uuid import uuid4

import msgspec

from honeyguide.change import Change, ChangeKind, PageEdit
from honeyguide.errors import CollectionCorrupt
from honeyguide.store import row_checks
from honeyguide.store.codec import TextCodec, replace_surrogates
from honeyguide.store.database import Database, SqlRow, url_key
from honeyguide.types import Url
from honeyguide.url import host_of

_MAX_EDITS = 500
_BLOCK_CHARS = 4_000
"""Characters of a block's text."""
_TOTAL_CHARS = 500_000
"""Characters of all texts of a change."""
_PATH_CHARS = 500
_MAX_LINKS = 1_000
"""Links that were added; and as many that were removed."""
_LINK_CHARS = 2_048
_MAX_DETAIL_BYTES = 16_000_000


class ChangeDetails(NamedTuple):
    edits: tuple[PageEdit, ...] = ()
    added: tuple[Url, ...] = ()
    removed: tuple[Url, ...] = ()


_DETAILS_DECODER = msgspec.msgpack.Decoder(ChangeDetails)
_DECODE_ERRORS = (CollectionCorrupt, msgspec.MsgspecError, UnicodeError, RecursionError)


def pack_details(codec: TextCodec, change: Change) -> bytes:
    """b'' where there is nothing."""
    details = ChangeDetails(
        _bounded_edits(change.edits),
        _bounded_links(change.links_added),
        _bounded_links(change.links_removed),
    )
    return codec.pack(msgspec.msgpack.encode(details)) if any(details) else b""


def unpack_details(codec: TextCodec, data: object) -> ChangeDetails:
    """Nothing where they are damaged: the change itself still says when and of what kind."""
    if not data:
        return ChangeDetails()
    try:
        found = _DETAILS_DECODER.decode(codec.unpack(data, _MAX_DETAIL_BYTES))
    except _DECODE_ERRORS:
        return ChangeDetails()
    return ChangeDetails(
        tuple(
            edit._replace(weight=row_checks.chance_or_zero(edit.weight))
            for edit in found.edits[:_MAX_EDITS]
        ),
        tuple(url for url in found.added[:_MAX_LINKS] if row_checks.is_http_url(url)),
        tuple(url for url in found.removed[:_MAX_LINKS] if row_checks.is_http_url(url)),
    )


def _bounded_edits(edits: Sequence[PageEdit]) -> tuple[PageEdit, ...]:
    """In their order; where there are too many, those that count most."""
    kept: dict[int, PageEdit] = {}
    room = _TOTAL_CHARS
    for place in sorted(range(len(edits)), key=lambda n: -edits[n].weight)[:_MAX_EDITS]:
        edit = edits[place]
        path = replace_surrogates(edit.path[:_PATH_CHARS])
        short = edit._replace(path=path, old=_cut_text(edit.old), new=_cut_text(edit.new))
        room -= len(short.old) + len(short.new)
        if room < 0:
            break
        kept[place] = short
    return tuple(kept[place] for place in sorted(kept))


def _cut_text(text: str) -> str:
    return replace_surrogates(text if len(text) <= _BLOCK_CHARS else text[: _BLOCK_CHARS - 1] + "…")


def _bounded_links(urls: Sequence[Url]) -> tuple[Url, ...]:
    return tuple(url for url in urls[:_MAX_LINKS] if len(url) <= _LINK_CHARS)


# -- The feed --
#
# A change's number never comes back, even when old ones are forgotten: receivers of notifications
# can tell by it what they had already.


_CHANGE_KINDS: frozenset[str] = frozenset(get_args(ChangeKind))
_DETAIL_CHARS = 4096
"""Characters of a detail."""
_ROWS_AT_ONCE = 100
_CHANGE_COLUMNS = "id, url, at, since, kinds, significance, masked, detail, old, new, seen, edits"


class ChangeRow(NamedTuple):
    """A change as it lies in the feed."""

    id: int
    change: Change
    old: int | None
    """Number of the version before the change; it may be thinned out by now."""
    new: int | None
    """Number of the version after the change; None where a page is gone."""
    seen: float | None
    """When a person marked it as seen."""


class SignificanceCount(NamedTuple):
    """Changes of the same kinds and weight."""

    kinds: tuple[ChangeKind, ...]
    hundredths: int
    """Of significance, rounded down."""
    changes: int


class ChangeFilters(TypedDict, total=False):
    """Which changes are wanted."""

    since: float | None
    kinds: Collection[ChangeKind]
    """Any of them will do."""
    significance: float
    """The least."""
    url: Url | None
    host: str | None
    unseen: bool


class ChangeFeed:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database, codec: TextCodec) -> None:
        self._db = db
        self._codec = codec

    def __len__(self) -> int:
        return self._db.fetch_number("SELECT count(*) FROM changes")

    def append(self, change: Change, old: int | None = None, new: int | None = None) -> int:
        """Its number. Append in the transaction that stores the version."""
        row = (
            *(*url_key(change.url), host_of(change.url)),
            *(change.at, change.since, f" {' '.join(change.kinds)} "),
            min(1.0, max(0.0, change.significance)),
            *(change.masked, replace_surrogates(change.detail)[:_DETAIL_CHARS], old, new),
            pack_details(self._codec, change),
        )
        with self._db.join_transaction():
            return self._db.insert(
                "INSERT INTO changes(fingerprint, url, host, at, since, kinds, significance, "
                "masked, detail, old, new, edits) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def iter_newest(
        self,
        *,
        words: Sequence[str] = (),
        before: int | None = None,
        limit: int | None = None,
        **filters: Unpack[ChangeFilters],
    ) -> Iterator[ChangeRow]:
        """Changes that pass every filter given, newest first.

        All ``words`` are among the words that differ; ``before`` is a change's number, to go on
        from.
        """
        where, values = _where_clause(filters)
        sought = [word.casefold() for word in words]
        count = 0
        for row in self._iter_rows(where, values, before):
            if limit is not None and count >= limit:
                return
            if not sought or _mentions_words(row.change, sought):
                count += 1
                yield row

    def count_matching(self, *, beyond: int = 0, **filters: Unpack[ChangeFilters]) -> int:
        """How many pass every filter given, of those with a number above ``beyond``."""
        where, values = _where_clause(filters)
        sql = f"SELECT count(*) FROM changes WHERE id > ?{where}"  # noqa: S608 - names of our own
        return self._db.fetch_number(sql, (beyond, *values))

    def get_change(self, number: int) -> ChangeRow | None:
        row = self._db.fetch_one(f"SELECT {_CHANGE_COLUMNS} FROM changes WHERE id = ?", (number,))  # noqa: S608
        return None if row is None else self._to_change_row(row)

    def count_by_significance(self, since: float, until: float) -> list[SignificanceCount]:
        """How many changes there were of each combination of kinds and each hundredth of
        significance, in that time."""
        # Without the index of times: a scan is quicker than so many lookups.
        rows = self._db.fetch_all(
            "SELECT kinds, CAST(significance * 100 + 1e-9 AS INTEGER), count(*) FROM changes "
            "WHERE +at >= ? AND +at < ? GROUP BY 1, 2",
            (since, until),
        )
        return [
            SignificanceCount(_known_kinds(kinds), min(100, max(0, part)), n)
            for kinds, part, n in rows
        ]

    def mark_seen(self, numbers: Sequence[int], at: float | None) -> None:
        """Mark as seen at that time; None: as not seen yet."""
        rows = [(at, number) for number in numbers]
        self._db.execute_many("UPDATE changes SET seen = ? WHERE id = ?", rows)

    def _iter_rows(self, where: str, values: list[Any], before: int | None) -> Iterator[ChangeRow]:
        """Page by page, so that a slow reader never holds back SQLite's checkpoints."""
        sql = f"SELECT {_CHANGE_COLUMNS} FROM changes WHERE id < ?{where} ORDER BY id DESC LIMIT ?"  # noqa: S608
        last = (1 << 63) - 1 if before is None else before
        while rows := self._db.fetch_all(sql, (last, *values, _ROWS_AT_ONCE)):
            for row in rows:
                if (found := self._to_change_row(row)) is not None:
                    yield found
            last = rows[-1][0]

    def _to_change_row(self, row: SqlRow) -> ChangeRow | None:
        """With what cannot be true left out; None if it has no address."""
        number, url, at, since, kinds, significance, masked, detail, old, new, seen, edits = row
        if not row_checks.is_http_url(url):
            return None
        details: ChangeDetails = unpack_details(self._codec, edits)
        change = Change(
            url=url,
            at=float(row_checks.number_or_zero(at)),
            kinds=_known_kinds(kinds),
            significance=float(row_checks.chance_or_zero(significance)),
            since=float(row_checks.number_or_zero(since)),
            edits=details.edits,
            links_added=details.added,
            links_removed=details.removed,
            masked=row_checks.count_or_zero(masked),
            detail=row_checks.text_or_empty(detail)[:_DETAIL_CHARS],
        )
        numbers = row_checks.int_or_none(old), row_checks.int_or_none(new)
        return ChangeRow(number, change, *numbers, row_checks.number_or_none(seen))


def _known_kinds(kinds: Any) -> tuple[ChangeKind, ...]:
    """As they are kept, with blanks around each; what is none is left out."""
    found = [
        kind
        for kind in row_checks.text_or_empty(kinds)[:_DETAIL_CHARS].split()
        if kind in _CHANGE_KINDS
    ]
    return cast("tuple[ChangeKind, ...]", tuple(dict.fromkeys(found)))


def _where_clause(filters: ChangeFilters) -> tuple[str, list[Any]]:
    single = {
        "at >= ?": filters.get("since"),
        "significance >= ?": filters.get("significance") or None,
        "host = ?": filters.get("host"),
    }
    chosen: dict[str, Sequence[Any]] = {
        sql: (value,) for sql, value in single.items() if value is not None
    }
    if kinds := filters.get("kinds"):
        any_kind = " OR ".join(["instr(kinds, ?)"] * len(kinds))
        chosen[f"({any_kind})"] = [f" {kind} " for kind in kinds]
    if (url := filters.get("url")) is not None:
        chosen["fingerprint = ? AND url = ?"] = url_key(url)
    if filters.get("unseen"):
        chosen["seen IS NULL"] = ()
    values = [value for bound in chosen.values() for value in bound]
    return "".join(f" AND {sql}" for sql in chosen), values


def _mentions_words(change: Change, words: Sequence[str]) -> bool:
    texts = [text for edit in change.edits for text in (edit.old, edit.new)]
    text = "\n".join((*texts, change.detail)).casefold()
    return all(word in text for word in words)


# -- The outbox --
#
# Queue a change in the transaction that appends it: a crash then loses neither, or both. Each
# change is queued once for a channel, however often one tries. Sending is not ours to undo, so
# delivery is at least once: who is killed between sending and noting it sends again. To let
# receivers drop the second copy, ``bundle`` writes down first which changes go into one message,
# under a key; a bundle that was not noted as sent comes back whole and under the same key, whatever
# was queued since.


_REASON_CHARS = 1_000
"""Characters of why it failed."""

_MESSAGE_KEY = re.compile(r"[0-9]{10,19}-[0-9a-f]{32}").fullmatch


class UnsentChange(NamedTuple):
    """A change that is still to be sent on a channel."""

    change: int
    message: str
    """The key of the message that it was bundled into; '' if it was not."""
    tries: int


class OutboxStatus(NamedTuple):
    """How it stands with a channel."""

    channel: str
    waiting: int
    sent: int
    given_up: int
    failed: float | None
    """When sending last failed; None: never."""
    why: str
    """Reason of the last failure."""


_STATUS_CHECKER = row_checks.RowChecker(OutboxStatus, {})


class NotificationOutbox:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def queue_changes(
        self, changes: Sequence[int], channel: str, at: float, ready: float | None = None
    ) -> None:
        """Queue changes to be sent, not before ``ready``; what is queued already stays as it is."""
        moment = at if ready is None else ready
        self._db.execute_many(
            "INSERT OR IGNORE INTO outbox VALUES(?, ?, ?, '', 0, ?, NULL, NULL, '')",
            [(channel, change, at, moment) for change in changes],
        )

    def list_unsent(self, channel: str, now: float, most: int = 10_000) -> list[UnsentChange]:
        """What may be sent by now: bundles first, then in the order of the changes."""
        rows = self._db.fetch_all(
            "SELECT change, message, tries FROM outbox INDEXED BY outbox_next "
            "WHERE channel = ? AND sent IS NULL AND next <= ? AND typeof(change) = 'integer' "
            "ORDER BY message = '', message, change LIMIT ?",
            (channel, now, most),
        )
        return [
            UnsentChange(int(change), _checked_key(message), row_checks.count_or_zero(tries))
            for change, message, tries in rows
        ]

    def bundle_changes(self, channel: str, changes: Sequence[int]) -> str:
        """Write down, before it is sent, that these go into one message; the message's key.

        No other message has this key, of any channel or collection. Changes that are in another
        message, or told already, stay as they are; a message bundled again keeps its key.
        """
        if not changes:
            return ""
        with self._db.join_transaction():
            sql = "SELECT message FROM outbox WHERE channel = ? AND change = ?"
            known = {row[0] for n in changes for row in self._db.fetch_all(sql, (channel, n))}
            if len(known) == 1 and (key := _checked_key(known.pop())):
                return key
            key = f"{min(changes):010}-{uuid4().hex}"
            self._db.execute_many(
                "UPDATE outbox SET message = ? "
                "WHERE channel = ? AND change = ? AND message = '' AND sent IS NULL",
                [(key, channel, change) for change in changes],
            )
        return key

    def mark_sent(self, channel: str, changes: Sequence[int], at: float) -> None:
        """Mark changes as sent; they are not sent again."""
        self._db.execute_many(
            "UPDATE outbox SET sent = ?, tries = tries + 1, next = NULL "
            "WHERE channel = ? AND change = ? AND sent IS NULL",
            [(at, channel, change) for change in changes],
        )

    def mark_failed(
        self, channel: str, changes: Sequence[int], at: float, why: str, next_try: float | None
    ) -> None:
        """Mark a failed attempt; ``next_try`` None: there is no further attempt."""
        reason = replace_surrogates(why)[:_REASON_CHARS]
        self._db.execute_many(
            "UPDATE outbox SET tries = tries + 1, next = ?, failed = ?, why = ? "
            "WHERE channel = ? AND change = ? AND sent IS NULL",
            [(next_try, at, reason, channel, change) for change in changes],
        )

    def defer_changes(self, channel: str, changes: Sequence[int], until: float) -> None:
        """Not now (quiet hours, a digest): without counting it as a try."""
        self._db.execute_many(
            "UPDATE outbox SET next = ? WHERE channel = ? AND change = ? AND sent IS NULL "
            "AND next IS NOT NULL",
            [(until, channel, change) for change in changes],
        )

    def channel_status(self) -> list[OutboxStatus]:
        """Every channel that something was queued for; a whole scan."""
        rows = self._db.fetch_all(
            "SELECT channel, sum(sent IS NULL AND next IS NOT NULL), sum(sent IS NOT NULL), "
            "sum(sent IS NULL AND next IS NULL), max(failed), why FROM outbox "
            "GROUP BY channel ORDER BY channel"
        )
        return [OutboxStatus._make(_STATUS_CHECKER(row)) for row in rows]


def _checked_key(value: object) -> str:
    """It goes into headers, and may be a stranger's."""
    return value if isinstance(value, str) and _MESSAGE_KEY(value) else ""
