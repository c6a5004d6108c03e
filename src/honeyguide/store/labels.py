"""People's judgements. A later one replaces the same person's earlier one, of the same topic, and
keeps it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from honeyguide.errors import StoreError
from honeyguide.store import sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, signed
from honeyguide.types import Label, Url
from honeyguide.url import fingerprint

_COLUMNS = "url, value, by, at, topic"


class Labels:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, labels: Iterable[Label]) -> None:
        with self._db.joined():
            for label in labels:
                if not 0 <= label.value <= 1:
                    raise StoreError(f"a label lies between 0 and 1, not at {label.value}")
                key = signed(fingerprint(label.url))
                by = clean(label.by)
                self._db.run(
                    "UPDATE labels SET replaced = 1 "
                    "WHERE fingerprint = ? AND url = ? AND by = ? AND topic = ?",
                    (key, label.url, by, label.topic),
                )
                self._db.run(
                    "INSERT INTO labels(url, fingerprint, value, by, at, topic) "
                    "VALUES(?, ?, ?, ?, ?, ?)",
                    (label.url, key, label.value, by, label.at, label.topic),
                )

    def after(self, number: int = 0) -> list[tuple[int, Label]]:
        """Labels in force, given after that number. A changed mind has a new number."""
        rows = self._db.all(
            f"SELECT id, {_COLUMNS} FROM labels WHERE id > ? AND NOT replaced ORDER BY id",  # noqa: S608
            (number,),
        )
        return [(row[0], Label(*said)) for row in rows if (said := sound.label(row[1:]))]

    def of(self, url: str) -> Label | None:
        """The newest label in force, whoever gave it."""
        return next(reversed(self.history(url)), None)

    def about(self, url: str) -> dict[str, Label]:
        """The newest label in force for each topic, whoever gave it."""
        return {label.topic: label for label in self.history(url)}

    def history(self, url: str) -> list[Label]:
        """Every label this address was ever given, oldest first."""
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM labels WHERE fingerprint = ? AND url = ? ORDER BY id",  # noqa: S608
            (signed(fingerprint(url)), url),
        )
        return [Label(*said) for row in rows if (said := sound.label(row))]


def contradictions(
    labels: Sequence[tuple[int, Label]], after: int = 0
) -> list[tuple[Label, Label]]:
    """Labels in force given after that number, each with the newest earlier one, of somebody
    else, that says the opposite of the same page and topic."""
    earlier: dict[tuple[Url, str], list[Label]] = {}
    found = []
    for number, label in labels:
        others = earlier.setdefault((label.url, label.topic), [])
        if number > after:
            for other in reversed(others):
                if other.by != label.by and (other.value >= 0.5) != (label.value >= 0.5):
                    found.append((label, other))
                    break
        others.append(label)
    return found
