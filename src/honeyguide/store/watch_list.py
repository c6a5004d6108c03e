"""The watch list: watched pages, and facts that a watch stores about hosts and pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

from honeyguide.errors import StoreError
from honeyguide.store import row_checks
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.database import Database, SqlRow, url_key
from honeyguide.types import Url
from honeyguide.url import host_of

if TYPE_CHECKING:
    from honeyguide.store.labels import EffectiveLabels
    from honeyguide.store.visits import VisitRow, VisitTable

_MAX_VALUE_CHARS = 1_000_000
"""Characters of a value."""


class WatchFacts:
    """Whoever reads a value looks whether it is what he wrote: it may be a stranger's."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def set(self, kind: str, name: str, value: Any) -> None:
        """Remember a value; None: forget it."""
        with self._db.join_transaction():
            if value is None:
                sql = "DELETE FROM watch_facts WHERE kind = ? AND name = ?"
                self._db.execute(sql, (kind, replace_surrogates(name)))
                return
            text = json.dumps(value, separators=(",", ":"), allow_nan=False)
            if len(text) > _MAX_VALUE_CHARS:
                raise StoreError(f"what is to be remembered of {kind} {name!r:.200} is too long")
            self._db.insert_rows(
                "watch_facts", [(kind, replace_surrogates(name), text)], replace=True
            )

    def get(self, kind: str, name: str) -> Any:
        """The value; None if there is none, or it is damaged."""
        sql = "SELECT value FROM watch_facts WHERE kind = ? AND name = ?"
        text = self._db.fetch_value(sql, (kind, replace_surrogates(name)))
        if not isinstance(text, str) or len(text) > _MAX_VALUE_CHARS:
            return None
        try:
            return json.loads(text, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None


# -- Rows --


WatchedState = Literal["watched", "paused", "removed", "gone"]
"""A removed page stays in the list, so that the crawl does not enter it again."""
WatchSource = Literal["crawl", "user", "import", "config"]

WATCHED_STATES: frozenset[str] = frozenset(get_args(WatchedState))
_WATCH_SOURCES = frozenset(get_args(WatchSource))
_NOTE_CHARS = 4096
"""Characters of a validator or a note."""
_MASKS_CHARS = 200_000
"""Characters of a page's masks."""
_BLOB_BYTES = 4096
"""Bytes of a digest or a posterior."""
_MAX_WEIGHT = 1e6


class WatchedRow(NamedTuple):
    """A page of the list."""

    id: int
    url: Url
    edited: int
    """The number of the last word of people, or of the crawl, on it."""
    added: float
    by: WatchSource
    weight: float
    """How much it matters beside the others."""
    state: WatchedState
    visited: float | None = None
    """Last attempt."""
    succeeded: float | None = None
    """Last answer that could be compared."""
    changed: float | None = None
    """Last change that counted."""
    due: float | None = None
    """When the schedule planned the next visit; only for display."""
    etag: str = ""
    modified: str = ""
    """Validators as the server sent them."""
    digest: bytes = b""
    """Of the body as it was last seen."""
    rate: bytes = b""
    """What is known of its rate of change, packed by whoever estimates it."""
    visits: int = 0
    changes: int = 0
    failures: int = 0
    """In a row."""
    masks: str = ""
    """What differs on it at every visit, as JSON."""
    note: str = ""

    @property
    def host(self) -> str:
        return host_of(self.url)


def clean_note(text: str) -> str:
    return replace_surrogates(text)[:_NOTE_CHARS]


def clean_validator(text: str) -> str:
    """Half a validator is none."""
    return replace_surrogates(text) if len(text) <= _NOTE_CHARS else ""


def clean_weight(value: Any) -> float:
    """A weight from 0 to the heaviest; 1 for what is no number."""
    known = type(value) in (int, float) and value == value
    return float(min(max(value, 0.0), _MAX_WEIGHT)) if known else 1.0


def _checked_state(value: Any) -> str:
    # Whatever it means: we do not ask a site for it.
    return value if type(value) is str and value in WATCHED_STATES else "paused"


def _checked_source(value: Any) -> str:
    return value if type(value) is str and value in _WATCH_SOURCES else "import"


def _checked_weight(value: Any) -> float:
    return value if type(value) is float and 0 <= value <= _MAX_WEIGHT else clean_weight(value)


def checked_blob(value: Any) -> bytes:
    return value if type(value) is bytes and len(value) <= _BLOB_BYTES else b""


def checked_masks(value: Any) -> str:
    return value if type(value) is str and len(value) <= _MASKS_CHARS else ""


_FIELD_CHECKS: dict[str, row_checks.ValueCheck] = {
    "url": row_checks.as_it_is,  # looked at before
    "by": _checked_source,
    "weight": _checked_weight,
    "state": _checked_state,
    "masks": checked_masks,
}
_ROW_CHECKER = row_checks.RowChecker(WatchedRow, _FIELD_CHECKS, checked_blob)


def to_watched_row(row: SqlRow) -> WatchedRow | None:
    """None if it has no address."""
    return WatchedRow._make(_ROW_CHECKER(row)) if row_checks.is_http_url(row[1]) else None


# -- The table --
#
# Two may write: the watch, which saves what its visits brought, and people, who add, pause and
# weigh. Every word of theirs gets a number (``edited``), by which the watch learns of it; what it
# saves of a page never undoes a word that it has not heard yet.


_WATCHED_COLUMNS = ", ".join(WatchedRow._fields)
_EDITED_PLACE = WatchedRow._fields.index("edited")
_SAVED_COLUMNS = (
    "visited", "succeeded", "changed", "due", "etag", "modified", "digest", "rate", "visits",
    "changes", "failures",
)  # fmt: skip
"""What only the watch knows; beside it the state and masks, unless somebody spoke meanwhile."""
_SAVE_SQL = (
    f"UPDATE watched SET {', '.join(f'{name} = ?' for name in _SAVED_COLUMNS)}, "  # noqa: S608
    "state = CASE WHEN edited = ? THEN ? ELSE state END, "
    "masks = CASE WHEN edited = ? THEN ? ELSE masks END WHERE id = ?"
)
_NEXT_EDIT = "(SELECT coalesce(max(edited), 0) + 1 FROM watched)"
_WATCHED_SQL = f"SELECT {_WATCHED_COLUMNS} FROM watched WHERE "  # noqa: S608


class EditedPages(NamedTuple):
    rows: list[WatchedRow]
    last: int
    """The number of the last word that was looked at."""


class WatchTotals(NamedTuple):
    """What a watch has done so far."""

    pages: int
    """Pages on the list, in any state."""
    watched: int
    """Pages that are visited."""
    visits: int
    last: float | None
    """When the last visit was."""


_TOTALS_CHECKER = row_checks.RowChecker(WatchTotals, {})


class WatchListTable:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database, visits: VisitTable) -> None:
        self._db = db
        self._visits = visits

    def add_pages(
        self, urls: Iterable[Url], by: WatchSource, at: float, weight: float = 1.0, note: str = ""
    ) -> int:
        """Put pages on the list; how many were not watched before.

        People can bring back what was paused, removed or gone; the crawl cannot.
        """
        count = 0
        weight, note = clean_weight(weight), clean_note(note)
        with self._db.join_transaction():
            for url in urls:
                known = self.find_row(url)
                if known is None:
                    self._db.execute(
                        "INSERT INTO watched(fingerprint, url, host, edited, added, by, weight, "
                        "state, etag, modified, digest, rate, visits, changes, failures, masks, "
                        f"note) VALUES(?, ?, ?, {_NEXT_EDIT}, ?, ?, ?, 'watched', '', '', x'', "
                        "x'', 0, 0, 0, '', ?)",
                        (*url_key(url), host_of(url), at, by, weight, note),
                    )
                elif by == "crawl":
                    continue
                else:
                    self.edit_page(url, state="watched", weight=weight, note=note or None, by=by)
                count += known is None or known.state != "watched"
        return count

    def edit_page(
        self,
        url: Url,
        *,
        state: WatchedState | None = None,
        weight: float | None = None,
        note: str | None = None,
        masks: str | None = None,
        by: WatchSource | None = None,
    ) -> bool:
        """What people say of a page; False if it is not on the list."""
        values: dict[str, Any] = {
            "state": state,
            "weight": None if weight is None else clean_weight(weight),
            "note": None if note is None else clean_note(note),
            "masks": None if masks is None else checked_masks(replace_surrogates(masks)),
            "failures": 0 if state == "watched" else None,
            "by": by,
        }
        values = {name: value for name, value in values.items() if value is not None}
        sets = "".join(f"{name} = ?, " for name in values)
        with self._db.join_transaction(), self._db.guard:
            self._db.connection.execute(
                f"UPDATE watched SET {sets} edited = {_NEXT_EDIT} "  # noqa: S608
                "WHERE fingerprint = ? AND url = ?",
                (*values.values(), *url_key(url)),
            )
            return bool(self._db.connection.changes())

    def save_rows(self, rows: Sequence[WatchedRow]) -> None:
        """What visits brought, for many pages at once."""
        self._db.execute_many(_SAVE_SQL, [_saved_values(row) for row in rows])

    def find_row(self, url: Url) -> WatchedRow | None:
        row = self._db.fetch_one(_WATCHED_SQL + "fingerprint = ? AND url = ?", url_key(url))
        return None if row is None else to_watched_row(row)

    def iter_rows(
        self, state: WatchedState | None = "watched", host: str | None = None, after: int = -1
    ) -> Iterator[WatchedRow]:
        """Pages of the list with a number above ``after``, read a few hundred at a time."""
        wanted = {"state": state, "host": host}
        filters = {name: value for name, value in wanted.items() if value is not None}
        where = "".join(f"{name} = ? AND " for name in filters)
        sql = f"{_WATCHED_SQL}{where}id > ? ORDER BY id LIMIT ?"
        rows = self._db.iter_pages(sql, tuple(filters.values()), after=after)
        return (found for row in rows if (found := to_watched_row(row)))

    def edited_after(self, after: int, most: int = 1000) -> EditedPages:
        """Pages of which something was said after that number, the earliest first."""
        sql = _WATCHED_SQL + "typeof(edited) = 'integer' AND edited > ? ORDER BY edited LIMIT ?"
        raw = self._db.fetch_all(sql, (after, most))
        last = row_checks.count_or_zero(raw[-1][_EDITED_PLACE]) if raw else after
        return EditedPages([found for row in raw if (found := to_watched_row(row))], last)

    def pages_to_enter(
        self, since: int, labels: EffectiveLabels, threshold: float = 0.5
    ) -> Iterator[VisitRow]:
        """Relevant pages that are not on the list, of visits with an id above ``since``.

        What people said goes first, also of earlier visits. Exact copies of other pages' texts
        are left out: the others are watched. Near copies are other pages here.
        """
        done: set[Url] = set()
        found = self._visits.iter_visits(copies_from=threshold, page=True, since=since)
        praised = (
            row
            for url in labels.relevant_urls()
            for row in self._visits.attempts_at(url)
            if row.has_page
        )
        for row in chain(found, praised):
            wanted = labels.is_relevant(row.as_original(threshold))
            if row.url in done or row.copy_exact or not wanted:
                continue
            if not self.find_row(row.url):
                done.add(row.url)
                yield row

    def pages_to_leave(self, labels: EffectiveLabels) -> Iterator[WatchedRow]:
        """Pages that the crawl entered and a person now calls irrelevant."""
        for url in labels.labelled_urls():
            row = self.find_row(url)
            if row is not None and row.by == "crawl" and row.state == "watched":
                pages = [visit for visit in self._visits.attempts_at(url) if visit.has_page]
                if pages and not labels.is_relevant(pages[-1]):
                    yield row

    def visit_totals(self) -> WatchTotals:
        """All visits to all pages; a whole scan."""
        # Where sum() overflows it fails; total() is a float and never does.
        row = self._db.fetch_all(
            "SELECT count(*), CAST(total(state = 'watched') AS INTEGER), "
            "CAST(total(visits) AS INTEGER), max(visited) FROM watched"
        )[0]
        return WatchTotals._make(_TOTALS_CHECKER(row))

    def count_by_state(self) -> dict[WatchedState, int]:
        """Pages by their state; a whole scan."""
        rows = self._db.fetch_all("SELECT state, count(*) FROM watched GROUP BY state")
        return {cast("WatchedState", state): int(n) for state, n in rows if state in WATCHED_STATES}


def _saved_values(row: WatchedRow) -> SqlRow:
    return (
        *(row.visited, row.succeeded, row.changed, row.due),
        *(clean_validator(row.etag), clean_validator(row.modified), checked_blob(row.digest)),
        *(checked_blob(row.rate), row.visits, row.changes, row.failures),
        *(row.edited, row.state, row.edited, checked_masks(replace_surrogates(row.masks)), row.id),
    )
