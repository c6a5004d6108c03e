"""Changes on their way to people: what is still to be told, on which channel, and what was.

Queue a change in the transaction that appends it: a crash then loses neither, or both. Each change
is queued once for a channel, however often one tries. Sending is not ours to undo, so delivery is
at least once: who is killed between sending and noting it sends again. To let receivers drop the
second copy, ``bundle`` writes down first which changes go into one message, under a key; a bundle
that was not noted as sent comes back whole and under the same key, whatever was queued since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid4

from honeyguide.store import row_checks as sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database

_LONG = 1_000
"""Characters of why it failed."""

_KEY = re.compile(r"[0-9]{10,19}-[0-9a-f]{32}").fullmatch


class Unsent(NamedTuple):
    """A change that is to be told on a channel."""

    change: int
    queued: float
    message: str
    """The key of the message that it was bundled into; '' if it was not."""
    tries: int


class Tidings(NamedTuple):
    """How it stands with a channel."""

    channel: str
    waiting: int
    sent: int
    given_up: int
    failed: float | None
    """When sending last failed, if ever …"""
    why: str
    """… and why."""


class Outbox:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def queue(
        self, changes: Sequence[int], channel: str, at: float, ready: float | None = None
    ) -> None:
        """To be told, not before ``ready``; what was queued for the channel before stays as is."""
        moment = at if ready is None else ready
        with self._db.joined():
            self._db.many(
                "INSERT OR IGNORE INTO outbox VALUES(?, ?, ?, '', 0, ?, NULL, NULL, '')",
                [(channel, change, at, moment) for change in changes],
            )

    def unsent(self, channel: str, now: float, most: int = 10_000) -> list[Unsent]:
        """What is to be told by now: bundles first, then in the order of the changes."""
        rows = self._db.all(
            "SELECT change, queued, message, tries FROM outbox INDEXED BY outbox_next "
            "WHERE channel = ? AND sent IS NULL AND next <= ? AND typeof(change) = 'integer' "
            "ORDER BY message = '', message, change LIMIT ?",
            (channel, now, most),
        )
        return [
            Unsent(int(change), sound.number(queued), _key(message), sound.whole(tries))
            for change, queued, message, tries in rows
        ]

    def bundle(self, channel: str, changes: Sequence[int]) -> str:
        """Write down, before it is sent, that these go into one message; the message's key.

        No other message has this key, of any channel or collection. Changes that are in another
        message, or told already, stay as they are; a message bundled again keeps its key.
        """
        if not changes:
            return ""
        with self._db.joined():
            sql = "SELECT message FROM outbox WHERE channel = ? AND change = ?"
            known = {row[0] for n in changes for row in self._db.all(sql, (channel, n))}
            if len(known) == 1 and (key := _key(known.pop())):
                return key
            key = f"{min(changes):010}-{uuid4().hex}"
            self._db.many(
                "UPDATE outbox SET message = ? "
                "WHERE channel = ? AND change = ? AND message = '' AND sent IS NULL",
                [(key, channel, change) for change in changes],
            )
        return key

    def sent(self, channel: str, changes: Sequence[int], at: float) -> None:
        """They were told, and will not be told again."""
        with self._db.joined():
            self._db.many(
                "UPDATE outbox SET sent = ?, tries = tries + 1, next = NULL "
                "WHERE channel = ? AND change = ? AND sent IS NULL",
                [(at, channel, change) for change in changes],
            )

    def failed(
        self, channel: str, changes: Sequence[int], at: float, why: str, next_try: float | None
    ) -> None:
        """They could not be told at that time; None: nobody tries again."""
        said = clean(why)[:_LONG]
        with self._db.joined():
            self._db.many(
                "UPDATE outbox SET tries = tries + 1, next = ?, failed = ?, why = ? "
                "WHERE channel = ? AND change = ? AND sent IS NULL",
                [(next_try, at, said, channel, change) for change in changes],
            )

    def defer(self, channel: str, changes: Sequence[int], until: float) -> None:
        """Not now (quiet hours, a digest): without counting it as a try."""
        with self._db.joined():
            self._db.many(
                "UPDATE outbox SET next = ? WHERE channel = ? AND change = ? AND sent IS NULL "
                "AND next IS NOT NULL",
                [(until, channel, change) for change in changes],
            )

    def wake_at(self, channel: str) -> float | None:
        """When there is next something to be told; None: nothing waits."""
        row = self._db.one(
            "SELECT min(next) FROM outbox INDEXED BY outbox_next "
            "WHERE channel = ? AND sent IS NULL AND typeof(change) = 'integer'",
            (channel,),
        )
        return None if row is None else sound.some_number(row[0])

    def tidings(self) -> list[Tidings]:
        """Every channel that something was queued for; a whole scan."""
        rows = self._db.all(
            "SELECT channel, total(sent IS NULL AND next IS NOT NULL), total(sent IS NOT NULL), "
            "total(sent IS NULL AND next IS NULL), max(failed), why FROM outbox "
            "GROUP BY channel ORDER BY channel"
        )
        return [
            Tidings(
                sound.text(name),
                int(waiting),
                int(sent),
                int(given_up),
                sound.some_number(failed),
                sound.text(why),
            )
            for name, waiting, sent, given_up, failed, why in rows
        ]


def _key(value: object) -> str:
    """It goes into headers, and may be a stranger's."""
    return value if isinstance(value, str) and _KEY(value) else ""
