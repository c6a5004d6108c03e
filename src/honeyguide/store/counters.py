"""Counters of visits, kept up to date while the journal grows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast, get_args

from honeyguide.run_status import harvest_rate
from honeyguide.store import row_checks
from honeyguide.store.database import Database, read_sql
from honeyguide.types import FailureKind, Url, Visit
from honeyguide.url import host_of

_FINE_VISITS = 500
_CURVE_STEP = 50
"""The curve keeps each of the first 500 visits, then every 50th."""
_KNOWN_HOSTS = 50_000
_HOST_CHARS = 255
"""Characters of a host's name; none that is longer can be asked."""
_FAILURE_KINDS = frozenset(get_args(FailureKind))


class HostRow(NamedTuple):
    host: str
    visits: int
    relevant: int
    failures: int


class GenerationCount(NamedTuple):
    visits: int
    relevant: int


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    visits: int = 0
    pages: int = 0
    relevant: int = 0
    copies: int = 0
    bytes: int = 0
    """Payloads as sent."""
    hosts: int = 0
    labels: int = 0
    first: float | None = None
    last: float | None = None
    failures: dict[str, int] = field(default_factory=dict)
    """By kind; an attempt that is tried again counts too, and what robots.txt forbade."""
    generations: dict[int, GenerationCount] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    """Relevant pages of each topic, where there are several and somebody asked."""
    tongues: dict[str, int] = field(default_factory=dict)
    """Pages by detected language, the most frequent first."""

    @property
    def harvest_rate(self) -> float:
        """Relevant visits ÷ visits."""
        return harvest_rate(self.relevant, self.visits)


class CountedVisit(NamedTuple):
    """What counts of a visit that was just appended."""

    host: int
    asked: bool
    relevant: bool
    failure: str | None
    generation: int
    page: bool
    tongue: str
    size: int
    """Bytes of the payload as sent."""
    copy: bool

    @classmethod
    def from_visit(cls, visit: Visit, relevant: bool, host: int) -> CountedVisit:
        page, response, failure = visit.page, visit.response, visit.failure
        return cls(
            host,
            visit.was_requested,
            relevant,
            None if failure is None else failure.kind,
            visit.generation,
            page is not None,
            "" if page is None else page.detected_language,
            0 if response is None else len(response.payload),
            visit.duplicate is not None,
        )


class _RelevanceChange(NamedTuple):
    number: int
    host: str
    generation: int
    more: int
    """1, or -1."""


class VisitCounter:
    """Keeps ``hosts``, ``counters`` and ``curve`` in the transaction that appends visits."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._hosts: dict[str, int] = {}

    def host_number(self, url: Url) -> int:
        """The number of its host, a new one if need be."""
        name = host_of(url)
        number = self._hosts.get(name)
        if number is None:
            number = self._db.fetch_value("SELECT id FROM hosts WHERE name = ?", (name,))
            if number is None:
                number = self._db.insert("INSERT INTO hosts VALUES(NULL, ?, 0, 0, 0)", (name,))
            if len(self._hosts) >= _KNOWN_HOSTS:
                self._hosts.clear()
            self._hosts[name] = number
        return number

    def rollback(self) -> None:
        """Some of the hosts known here may not be on disk."""
        self._hosts.clear()

    def add(self, batch: Sequence[CountedVisit]) -> None:
        """Count a batch; what nobody was asked for (``Visit.was_requested``) counts as a failure
        only."""
        visits, so_far = self._so_far("visits"), self._so_far("relevant")
        counter: Counter[tuple[str, str]] = Counter()
        points: list[tuple[int, int]] = []
        for each in batch:
            if each.failure is not None:
                counter["failure", each.failure] += 1
            if not each.asked:
                continue
            visits += 1
            generation = str(each.generation)
            counter["visits", ""] += 1
            counter["generation", generation] += 1
            if each.page:
                counter["pages", ""] += 1
                if each.tongue:
                    counter["tongue", each.tongue] += 1
            if each.size:
                counter["bytes", ""] += each.size
            if each.copy:
                counter["copies", ""] += 1
            if each.relevant:
                so_far += 1
                counter["relevant", ""] += 1
                counter["relevant", generation] += 1
            if visits <= _FINE_VISITS or visits % _CURVE_STEP == 0:
                points.append((visits, so_far))
        self._db.execute_many(
            "INSERT INTO counters VALUES(?, ?, ?) "
            "ON CONFLICT DO UPDATE SET value = value + excluded.value",
            [(name, part, value) for (name, part), value in counter.items()],
        )
        self._db.execute_many(
            "UPDATE hosts SET visits = visits + ?, relevant = relevant + ?, "
            "failures = failures + ? WHERE id = ?",
            [(each.asked, each.relevant, each.failure is not None, each.host) for each in batch],
        )
        self._db.insert_rows("curve", points, replace=True)

    def recount_relevant(self, threshold: float) -> None:
        """Count anew what is relevant, by another threshold, and what is in which language;
        verdicts stay as they are."""
        self._db.execute(
            "UPDATE visits SET relevant = typeof(verdict) IN ('real', 'integer') "
            "AND verdict BETWEEN ? AND 1 AND copy_of IS NULL AND NOT unproven "
            "WHERE verdict IS NOT NULL",
            (threshold,),
        )
        self._recount()

    def discount_copies(self) -> None:
        """Take copies out of the relevant pages, but for those that a person labelled."""
        self._db.execute(
            "UPDATE visits SET relevant = 0 WHERE relevant AND copy_of IS NOT NULL "
            "AND NOT EXISTS (SELECT 1 FROM labels WHERE labels.url = visits.url "
            "AND labels.fingerprint = visits.fingerprint AND NOT replaced)"
        )
        if self._db.connection.changes():
            self._recount()

    def _recount(self) -> None:
        """Count anew what the visits say."""
        self._db.execute(read_sql("recount.sql"))
        rows = self._db.fetch_all(
            f"SELECT relevant FROM visits WHERE {row_checks.REQUESTED_SQL} ORDER BY id"  # noqa: S608
        )
        found = 0
        points = []
        for number, (relevant,) in enumerate(rows, 1):
            found += bool(relevant)
            if number <= _FINE_VISITS or number % _CURVE_STEP == 0:
                points.append((number, found))
        self._db.insert_rows("curve", points)

    def mark_relevant(self, relevant: Mapping[int, bool]) -> dict[str, int]:
        """Call the pages of these visits relevant, or not, inside a transaction; every number kept
        beside the journal follows. How many relevant pages more, or less, each host has."""
        changes = [
            _RelevanceChange(number, host_of(url), generation, 1 if relevant[number] else -1)
            for number in sorted(relevant)
            for before, url, generation in self._db.fetch_all(
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
        self._db.execute_many(
            "UPDATE visits SET relevant = ? WHERE id = ?", [(c.more > 0, c.number) for c in changes]
        )
        self._db.execute_many(
            "INSERT INTO counters VALUES('relevant', ?, ?) "
            "ON CONFLICT DO UPDATE SET value = value + excluded.value",
            list(parts.items()),
        )
        self._db.execute_many(
            "UPDATE hosts SET relevant = relevant + ? WHERE name = ?",
            [(more, name) for name, more in hosts.items()],
        )
        self._adjust_curve(changes)
        return {name: more for name, more in hosts.items() if more}

    def _adjust_curve(self, changes: list[_RelevanceChange]) -> None:
        """The curve's points are visits that somebody was asked for: find each one's place."""
        last = place = 0
        for change in changes:
            place += self._db.fetch_number(
                "SELECT count(*) FROM visits WHERE id > ? AND id <= ? "  # noqa: S608
                f"AND {row_checks.REQUESTED_SQL}",
                (last, change.number),
            )
            last = change.number
            self._db.execute(
                "UPDATE curve SET relevant = relevant + ? WHERE visits >= ?", (change.more, place)
            )

    def _read_time(self, sql: str) -> float | None:
        return row_checks.number_or_none(self._db.fetch_value(sql))

    def _so_far(self, name: str) -> int:
        return self._db.fetch_number(
            "SELECT CAST(value AS INTEGER) FROM counters WHERE name = ? AND part = ''", (name,)
        )

    def read_counts(self) -> CollectionCounts:
        rows = self._db.fetch_all(
            "SELECT CAST(name AS TEXT), CAST(part AS TEXT), CAST(value AS INTEGER) FROM counters"
        )
        values = {(name, part): value for name, part, value in rows}
        visits, pages, relevant, copies, size = (
            values.get((name, ""), 0) for name in ("visits", "pages", "relevant", "copies", "bytes")
        )
        return CollectionCounts(
            *(visits, pages, relevant, copies, size),
            hosts=self._db.fetch_number("SELECT count(*) FROM hosts"),
            labels=self._db.fetch_number("SELECT count(*) FROM labels WHERE NOT replaced"),
            first=self._read_time("SELECT at FROM visits ORDER BY id LIMIT 1"),
            last=self._read_time("SELECT at FROM visits ORDER BY id DESC LIMIT 1"),
            failures={
                part: n
                for (name, part), n in values.items()
                if name == "failure" and part in _FAILURE_KINDS
            },
            generations={
                int(part): GenerationCount(n, values.get(("relevant", part), 0))
                for (name, part), n in sorted(values.items())
                if name == "generation" and part.isdecimal() and len(part) < 19
            },
            tongues={
                part: _any_number(n)
                for (name, part), n in sorted(
                    values.items(), key=lambda item: -_any_number(item[1])
                )
                if name == "tongue" and row_checks.is_language_code(part)
            },
        )

    def harvest_curve(self, most: int = 500) -> list[tuple[int, int]]:
        """Visits and how many of them were relevant, at no more than ``most`` points."""
        points = cast(
            "list[tuple[int, int]]",
            self._db.fetch_all(
                "SELECT visits, CAST(relevant AS INTEGER) FROM curve ORDER BY visits"
            ),
        )
        total, relevant = self._so_far("visits"), self._so_far("relevant")
        points = _spread_evenly(points, total, most - 1)
        if total and (not points or points[-1][0] != total):
            points.append((total, relevant))
        return points

    def top_hosts(self, limit: int = 100) -> list[HostRow]:
        """The hosts visited most."""
        rows = self._db.fetch_all(
            "SELECT name, visits, relevant, failures FROM hosts WHERE length(name) <= ? "
            "ORDER BY visits DESC, name LIMIT ?",
            (_HOST_CHARS, limit),
        )
        return [
            HostRow(name, *map(_any_number, numbers))
            for name, *numbers in rows
            if row_checks.text_or_empty(name).isprintable() and name
        ]


def _any_number(value: Any) -> int:
    """A number as it is, however large; what is none counts nothing."""
    return cast("int", row_checks.number_or_zero(value, 0))


def _spread_evenly(points: list[tuple[int, int]], total: int, most: int) -> list[tuple[int, int]]:
    """Some of the points, as evenly spread over the visits as they allow."""
    if len(points) <= most:
        return points
    kept: list[tuple[int, int]] = []
    step = total / most
    due = step
    for point in points:
        if point[0] >= due:
            kept.append(point)
            due = max(due + step, point[0] + step / 2)
    return kept[-most:]
