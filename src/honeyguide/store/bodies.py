"""Bodies of versions, each stored once: under its digest, as it differs from an earlier one.

A body's base was always there before it and has a smaller number, so chains end; every sixteenth
body of a chain stands alone. What is read back is held to its digest.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from honeyguide.errors import CollectionCorrupt
from honeyguide.store import delta
from honeyguide.store import row_checks as sound
from honeyguide.store.database import Database, Row

MOST = 64_000_000
"""Bytes kept of a body; the rest of a longer one is cut off."""
_KEYFRAME = 16
"""Every body so far from the last that stands alone stands alone again."""
_LONGEST = 64
"""Bodies in a chain: ours have sixteen, a stranger's may have any number. Also in _CHAIN."""
_POOR = 4
"""A delta that is more than this part of its body may not be worth its base."""
_RECENT = 8_000_000
"""Bytes of bodies kept in memory: who compares two versions is about to store the newer."""

_CHAIN = (
    "WITH RECURSIVE chain(id, base) AS (SELECT id, base FROM bodies WHERE id = {} "
    "UNION ALL SELECT b.id, b.base FROM chain JOIN bodies b ON b.id = chain.base "
    "WHERE b.id < chain.id LIMIT 64) "
    "SELECT b.id, b.base, b.digest, b.data FROM chain JOIN bodies b ON b.id = chain.id "
    "ORDER BY b.id DESC"
)


class _Base(NamedTuple):
    id: int
    depth: int
    body: bytes


def digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).digest()


class Bodies:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._recent: OrderedDict[bytes, bytes] = OrderedDict()
        """By their digests: numbers may stand for something else after a rollback."""
        self._held = 0

    def add(self, key: bytes, body: bytes, before: int | None) -> int:
        """Keep a body, as it differs from the one with the number ``before``. Its number."""
        known = self._db.one("SELECT id FROM bodies WHERE digest = ?", (key,))
        if known is not None:
            return int(known[0])
        base, depth, data = _packed(body, None if before is None else self._base(before))
        with self._db.guard:
            self._db.connection.execute(
                "INSERT INTO bodies(digest, size, base, depth, data) VALUES(?, ?, ?, ?, ?)",
                (key, len(body), base, depth, data),
            )
            number = int(self._db.connection.last_insert_rowid())
        self._remember(key, body)
        return number

    def get(self, values: Sequence[Any], which: str = "?") -> bytes:
        """The body whose number the expression ``which`` says.

        One statement, so that a reader sees a chain whole while somebody thins it out.
        """
        return self._decoded(self._db.all(_CHAIN.format(which), values))

    def sweep(self, numbers: Iterable[Any]) -> None:
        """Of these bodies, let go those that no version has; what was based on them stays.

        The newest goes first, so that only living bodies are based on one that goes.
        """
        dead = {
            number
            for number in numbers
            if isinstance(number, int)
            and self._db.one("SELECT 1 FROM versions WHERE body = ? LIMIT 1", (number,)) is None
        }
        for number in sorted(dead, reverse=True):
            children = self._db.all("SELECT id FROM bodies WHERE base = ?", (number,))
            try:
                for (child,) in children:
                    self._rebase(child, self._living(number, dead))
            except CollectionCorrupt:
                continue  # what cannot be read cannot be written anew: leave it all as it is
            self._db.run("DELETE FROM bodies WHERE id = ?", (number,))

    def totals(self) -> tuple[int, int, int]:
        """Bodies, their bytes, and the bytes they take; a whole scan."""
        row = self._db.one("SELECT count(*), total(size), total(length(data)) FROM bodies")
        return (0, 0, 0) if row is None else (int(row[0]), int(row[1]), int(row[2]))

    def _living(self, number: int, dead: set[int]) -> int | None:
        """The nearest base that stays."""
        for _ in range(_LONGEST):
            row = self._db.one("SELECT base FROM bodies WHERE id = ? AND base < id", (number,))
            if row is None or row[0] not in dead:
                return None if row is None else row[0]
            number = row[0]
        return None

    def _rebase(self, number: int, onto: int | None) -> None:
        base = None if onto is None else self._base(onto)
        packed = _packed(self.get((number,)), base)
        self._db.run(
            "UPDATE bodies SET base = ?, depth = ?, data = ? WHERE id = ?", (*packed, number)
        )

    def _base(self, number: int) -> _Base | None:
        """A body to start from; None if it is at the end of its chain, or damaged."""
        row = self._db.one("SELECT depth, digest FROM bodies WHERE id = ?", (number,))
        if row is None or (depth := sound.whole(row[0])) + 1 >= _KEYFRAME:
            return None
        known = self._recent.get(row[1]) if isinstance(row[1], bytes) else None
        try:
            return _Base(number, depth, self.get((number,)) if known is None else known)
        except CollectionCorrupt:
            return None  # an old version that is lost must not cost us the new one

    def _decoded(self, chain: list[Row]) -> bytes:
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
            body = delta.unpack(data, body, MOST)
        assert body is not None
        key = chain[0][2]
        if deltas:
            if digest(body) != key:
                raise CollectionCorrupt("a stored version is damaged: it is not what was stored")
            self._remember(key, body)
        return body

    def _remember(self, key: bytes, body: bytes) -> None:
        if len(body) * 4 > _RECENT or key in self._recent:
            return
        self._recent[key] = body
        self._held += len(body)
        while self._held > _RECENT:
            self._held -= len(self._recent.popitem(last=False)[1])


def _packed(body: bytes, base: _Base | None) -> tuple[int | None, int, bytes]:
    """Number of its base, distance from the one that stands alone, and the bytes."""
    if base is None or not delta.helps(base.body, body):
        return None, 0, delta.pack(body)
    data = delta.pack(body, base.body)
    if len(data) * _POOR > len(body):
        alone = delta.pack(body)
        if len(alone) < 1.2 * len(data):
            return None, 0, alone
    return base.id, base.depth + 1, data
