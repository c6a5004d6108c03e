"""People's judgements. A later one replaces the same person's earlier one, of the same topic, and
keeps it. Everybody's word stays; what counts of a page is what most say of it, and of a tie the
newest.

Beside the labels are the passes: pages of which a person who was asked would not say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, cast, get_args

from honeyguide.errors import StoreError
from honeyguide.store import row_checks as sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, signed
from honeyguide.types import Label, Url
from honeyguide.url import fingerprint

Pass = Literal["unsure", "skip"]
"""A person looked and cannot say, or did not want to look."""

_COLUMNS = "url, value, by, at, topic"
_IN_FORCE, _REPLACED, _TAKEN_BACK = 0, 1, 2
_HERS = "fingerprint = ? AND url = ? AND by = ? AND topic = ?"
_NEXT = "(SELECT max(id) + 1 FROM labels)"
_PASSES = frozenset(get_args(Pass))


class Undone(NamedTuple):
    """What was taken back, and what the person says of the page now."""

    was: Label | Pass
    now: Label | None


class Labels:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, labels: Iterable[Label]) -> None:
        with self._db.joined():
            for label in labels:
                if not 0 <= label.value <= 1:
                    raise StoreError(f"a label lies between 0 and 1, not at {label.value}")
                key = signed(fingerprint(label.url))
                hers = (key, label.url, clean(label.by), label.topic)
                self._db.run(
                    f"UPDATE labels SET replaced = 1 WHERE {_HERS} AND NOT replaced",  # noqa: S608
                    hers,
                )
                self._db.run(f"DELETE FROM passes WHERE {_HERS}", hers)  # noqa: S608
                self._db.run(
                    "INSERT INTO labels(url, fingerprint, value, by, at, topic) "
                    "VALUES(?, ?, ?, ?, ?, ?)",
                    (label.url, key, label.value, hers[2], label.at, label.topic),
                )

    def pass_over(self, url: Url, by: str, word: Pass, at: float, topic: str = "") -> None:
        """This person was asked and gave no label; what they said of it before stays."""
        row = (signed(fingerprint(url)), url, clean(by), topic, word, at)
        with self._db.joined():
            self._db.run("INSERT OR REPLACE INTO passes VALUES(?, ?, ?, ?, ?, ?)", row)

    def passes(self, by: str | None = None) -> list[tuple[Url, str, Pass]]:
        """(address, person, word) of the pages that were passed over, by one or by anybody."""
        rows = self._db.all(
            "SELECT url, by, word FROM passes WHERE ?1 IS NULL OR by = ?1",
            (None if by is None else clean(by),),
        )
        return [
            (url, sound.text(who), cast("Pass", word))
            for url, who, word in rows
            if sound.is_address(url) and word in _PASSES
        ]

    def undo(self, url: Url, by: str, topic: str = "") -> Undone | None:
        """Take back this person's last word on a page; what they said before it is in force again.
        None: they said nothing.

        What is taken back or restored gets a new number, by which a crawl that runs hears of it.
        """
        hers = (signed(fingerprint(url)), url, clean(by), topic)
        with self._db.joined():
            label = self._hers(hers, _IN_FORCE)
            passed = self._db.one(f"SELECT word FROM passes WHERE {_HERS}", hers)  # noqa: S608
            if passed is not None:
                self._db.run(f"DELETE FROM passes WHERE {_HERS}", hers)  # noqa: S608
                word = passed[0] if passed[0] in _PASSES else "skip"
                return Undone(cast("Pass", word), label and label[1])
            if label is None:
                return None
            self._renumber(label[0], _TAKEN_BACK)
            earlier = self._hers(hers, _REPLACED)
            if earlier is not None:
                self._renumber(earlier[0], _IN_FORCE)
        return Undone(label[1], earlier and earlier[1])

    def after(self, number: int = 0) -> list[tuple[int, Label]]:
        """What counts of each page and topic of which something was said after that number. A
        changed mind has a new number."""
        rows = self._db.all(
            f"SELECT id, replaced, {_COLUMNS} FROM labels WHERE replaced != 1 AND fingerprint IN "  # noqa: S608
            "(SELECT fingerprint FROM labels WHERE id > ? AND replaced != 1) ORDER BY id",
            (number,),
        )
        pages: dict[tuple[Url, str], list[Label]] = {}
        newest: dict[tuple[Url, str], int] = {}
        for row in rows:
            if (said := sound.label(row[2:])) is not None:
                label = Label(*said)
                key = label.url, label.topic
                newest[key] = row[0]
                words = pages.setdefault(key, [])
                if not row[1]:
                    words.append(label)
        found = [(newest[key], counting(words)) for key, words in pages.items() if words]
        return sorted((one for one in found if one[0] > number), key=lambda one: one[0])

    def until(self, number: int) -> list[Label]:
        """What counted of each page and topic when that number was given; without what was taken
        back since."""
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM labels WHERE id <= ? AND replaced != 2 ORDER BY id",  # noqa: S608
            (number,),
        )
        pages: dict[tuple[Url, str], dict[str, Label]] = {}
        for row in rows:
            if (said := sound.label(row)) is not None:
                label = Label(*said)
                words = pages.setdefault((label.url, label.topic), {})
                words.pop(label.by, None)  # the newest last
                words[label.by] = label
        return [counting(list(words.values())) for words in pages.values()]

    def everyone(self, after: int = 0) -> list[tuple[int, Label]]:
        """Everybody's label in force, given after that number."""
        rows = self._db.all(
            f"SELECT id, {_COLUMNS} FROM labels WHERE id > ? AND NOT replaced ORDER BY id",  # noqa: S608
            (after,),
        )
        return [(row[0], Label(*said)) for row in rows if (said := sound.label(row[1:]))]

    def taken_back(self) -> list[Url]:
        """Pages of which somebody took a label back."""
        rows = self._db.all("SELECT DISTINCT url FROM labels WHERE replaced = 2")
        return [url for (url,) in rows if sound.is_address(url)]

    def of(self, url: str) -> Label | None:
        """The newest of the labels that count."""
        return max(self.about(url).values(), key=lambda label: label.at, default=None)

    def about(self, url: str) -> dict[str, Label]:
        """The label that counts for each topic."""
        topics: dict[str, list[Label]] = {}
        for label in self._of(url, "NOT replaced"):
            topics.setdefault(label.topic, []).append(label)
        return {topic: counting(words) for topic, words in topics.items()}

    def history(self, url: str) -> list[Label]:
        """Every label this address was ever given, and that was not taken back, oldest first."""
        return self._of(url, "replaced != 2")

    def _of(self, url: str, which: str) -> list[Label]:
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM labels WHERE fingerprint = ? AND url = ? AND {which} "  # noqa: S608
            "ORDER BY id",
            (signed(fingerprint(url)), url),
        )
        return [Label(*said) for row in rows if (said := sound.label(row))]

    def _hers(self, hers: tuple[int, str, str, str], state: int) -> tuple[int, Label] | None:
        """The newest label of a person in this state."""
        row = self._db.one(
            f"SELECT id, {_COLUMNS} FROM labels WHERE {_HERS} AND replaced = ? "  # noqa: S608
            "ORDER BY id DESC LIMIT 1",
            (*hers, state),
        )
        said = None if row is None else sound.label(row[1:])
        return None if row is None or said is None else (row[0], Label(*said))

    def _renumber(self, number: int, state: int) -> None:
        self._db.run(
            f"UPDATE labels SET id = {_NEXT}, replaced = ? WHERE id = ?",  # noqa: S608
            (state, number),
        )


def counting(words: Sequence[Label]) -> Label:
    """Of the labels of one page, the oldest first, the one that counts: the newest of those that
    say what most say; the newest of all where as many say the one as the other."""
    good = sum(label.value >= 0.5 for label in words)
    if 2 * good == len(words):
        return words[-1]
    return next(w for w in reversed(words) if (w.value >= 0.5) == (2 * good > len(words)))


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
