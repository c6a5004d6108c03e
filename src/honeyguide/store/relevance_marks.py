"""Call single visits relevant, or not, after they were counted: a person spoke, or we learned.

Every number that is kept beside the journal follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from honeyguide.store.database import Database
from honeyguide.types import UNASKED
from honeyguide.url import host

_ASKED = ", ".join("?" * len(UNASKED))


class _Change(NamedTuple):
    number: int
    host: str
    generation: int
    more: int
    """1, or -1."""


def mark(db: Database, relevant: Mapping[int, bool]) -> dict[str, int]:
    """Pages by the numbers of their visits, inside a transaction. How many relevant pages more, or
    less, each host has."""
    changes = [
        _Change(number, host(url), generation, 1 if relevant[number] else -1)
        for number in sorted(relevant)
        for before, url, generation in db.all(
            "SELECT relevant, url, generation FROM visits WHERE id = ? AND has_page", (number,)
        )
        if bool(before) != relevant[number]
    ]
    hosts: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for change in changes:
        hosts[change.host] += change.more
        parts[""] += change.more
        parts[str(change.generation)] += change.more
    db.many(
        "UPDATE visits SET relevant = ? WHERE id = ?", [(c.more > 0, c.number) for c in changes]
    )
    db.many(
        "INSERT INTO counters VALUES('relevant', ?, ?) "
        "ON CONFLICT DO UPDATE SET value = value + excluded.value",
        list(parts.items()),
    )
    db.many(
        "UPDATE hosts SET relevant = relevant + ? WHERE name = ?",
        [(more, name) for name, more in hosts.items()],
    )
    _bend(db, changes)
    return {name: more for name, more in hosts.items() if more}


def _bend(db: Database, changes: list[_Change]) -> None:
    """The curve's points are visits that somebody was asked for: find each one's place."""
    last = place = 0
    for change in changes:
        row = db.one(
            "SELECT count(*) FROM visits WHERE id > ? AND id <= ? AND (failure IS NULL "  # noqa: S608
            f"OR status IS NOT NULL OR failure NOT IN ({_ASKED}))",
            (last, change.number, *UNASKED),
        )
        last, place = change.number, place + int(row[0] if row else 0)
        db.run("UPDATE curve SET relevant = relevant + ? WHERE visits >= ?", (change.more, place))
