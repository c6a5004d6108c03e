"""What search engines were asked, and what they answered.

Whoever asked writes the search and its results in one transaction. A crawl takes the results
that it has not taken yet from here, in the order in which they came, so that an answer which was
paid for is never lost. People who want a query asked by a crawl that runs leave it here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from honeyguide.store import sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, Row, signed
from honeyguide.types import Url
from honeyguide.url import fingerprint

TAKEN = "searches_taken"
"""The key under which a crawl notes the newest search whose results it took."""
_MOST = 1_000
"""Results that are kept of one page."""
_QUERY, _TITLE, _SNIPPET, _DETAIL = 2_000, 300, 1_000, 1_000
"""Characters that are kept of each."""


@dataclass(frozen=True, slots=True)
class Search:
    """One request to an engine."""

    at: float
    engine: str
    query: str
    """As people write it; ``seeds.query.parse`` reads it."""
    page: int = 1
    by: str = "composed"
    """``composed``, ``user``, or a person's name."""
    address: str = ""
    """The public address of the results page: no key, no format."""
    outcome: str = ""
    """'' if it answered, else what went wrong: ``down``, ``slow``, ``limited`` …"""
    detail: str = ""
    results: int = 0
    more: bool = True
    """Whether the engine says that there are further pages."""
    fresh: int = 0
    """Results that the crawl did not know; 0 until it has taken them."""
    promised: float = 0.0
    """Mean score of those before they were fetched."""
    price: float = 0.0
    id: int = 0
    """0 before it is kept."""


class Hit(NamedTuple):
    """A result as it is kept; ``seeds.engine.Result`` has the same fields."""

    url: Url
    title: str = ""
    snippet: str = ""


class Place(NamedTuple):
    """Where an address stood among the results."""

    search: Search
    place: int
    """1 is the first."""


class Worth(NamedTuple):
    """What came of a query's results so far."""

    fetched: int
    mean: float
    """Their mean verdict; what brought no page of its own counts as 0."""


class Channels(NamedTuple):
    """Relevant pages by who found them."""

    links: int
    search: int
    both: int


@dataclass(frozen=True, slots=True)
class Sums:
    """What was asked so far."""

    asked: int = 0
    failed: int = 0
    queries: int = 0
    """Different ones."""
    results: int = 0
    fresh: int = 0
    price: float = 0.0


_COLUMNS = (
    "id, at, engine, query, page, by, address, outcome, detail, results, more, fresh, promised, "
    "price"
)


class Searches:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, search: Search, results: Sequence[tuple[str, str, str]] = ()) -> int:
        """Keep a search and its results; its number."""
        results = results[:_MOST]
        with self._db.joined():
            self._db.run(
                "INSERT INTO searches(at, engine, query, page, by, address, outcome, detail, "
                "results, more, fresh, promised, price) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    search.at, clean(search.engine), clean(search.query[:_QUERY]), search.page,
                    clean(search.by), clean(search.address), search.outcome,
                    clean(search.detail[:_DETAIL]), len(results), int(search.more), search.fresh,
                    search.promised, search.price,
                ),
            )  # fmt: skip
            row = self._db.one("SELECT last_insert_rowid()")
            number = int(row[0]) if row else 0
            self._db.many(
                "INSERT INTO search_results VALUES(?, ?, ?, ?, ?, ?)",
                [
                    (number, place, url, signed(fingerprint(url)), clean(title[:_TITLE]),
                     clean(snippet[:_SNIPPET]))
                    for place, (url, title, snippet) in enumerate(results, 1)
                ],
            )  # fmt: skip
        return number

    def taken(self, number: int, fresh: int, promised: float) -> None:
        """A crawl took its results: so many were new, and promised so much."""
        with self._db.joined():
            self._db.run(
                "UPDATE searches SET fresh = ?, promised = ? WHERE id = ?",
                (fresh, promised, number),
            )

    def since(self, number: int = 0) -> Iterator[tuple[Search, list[Hit]]]:
        """Searches after that number with their results, the oldest first."""
        for search in self._stream(number):
            yield search, self.results(search.id)

    def all(self) -> list[Search]:
        """Every search, the oldest first."""
        return list(self._stream(0))

    def last(self) -> Search | None:
        """The newest search."""
        row = self._db.one(f"SELECT {_COLUMNS} FROM searches ORDER BY id DESC LIMIT 1")  # noqa: S608
        return None if row is None else _search(row)

    def results(self, number: int) -> list[Hit]:
        """The results of a search, the first first."""
        rows = self._db.all(
            "SELECT url, title, snippet FROM search_results WHERE search = ? ORDER BY place",
            (number,),
        )
        return [
            Hit(url, sound.text(title)[:_TITLE], sound.text(snippet)[:_SNIPPET])
            for url, title, snippet in rows[:_MOST]
            if sound.is_address(url)
        ]

    def places(self, url: str) -> list[Place]:
        """Which searches found this address, and where, the oldest first."""
        rows = self._db.all(
            "SELECT place, searches.* FROM search_results JOIN searches ON id = search "
            "WHERE fingerprint = ? AND url = ? ORDER BY id LIMIT 100",
            (signed(fingerprint(url)), url),
        )
        return [Place(_search(tuple(row[1:])), sound.whole(row[0])) for row in rows]

    def sums(self, since: float = 0.0) -> Sums:
        """What was asked since that time."""
        row = self._db.one(
            "SELECT count(*), coalesce(sum(outcome != ''), 0), count(DISTINCT query), "
            "coalesce(sum(results), 0), coalesce(sum(fresh), 0), coalesce(sum(price), 0.0) "
            "FROM searches WHERE at >= ?",
            (since,),
        )
        if row is None:
            return Sums()
        asked, failed, queries, results, fresh = map(sound.whole, row[:5])
        return Sums(asked, failed, queries, results, fresh, float(sound.number(row[5])))

    def want(self, query: str, by: str = "user", at: float = 0.0) -> int:
        """Leave a query for the crawl that runs; the number of the wish."""
        with self._db.joined():
            self._db.run(
                "INSERT INTO asked_for(query, by, at) VALUES(?, ?, ?)",
                (clean(query[:_QUERY]), clean(by), at),
            )
            row = self._db.one("SELECT last_insert_rowid()")
        return int(row[0]) if row else 0

    def wanted(self, since: int = 0) -> list[tuple[int, str, str]]:
        """(number, query, by) of what people wanted asked after that number."""
        rows = self._db.all(
            "SELECT id, query, by FROM asked_for WHERE id > ? ORDER BY id LIMIT 1000", (since,)
        )
        return [
            (number, query[:_QUERY], sound.text(by))
            for number, query, by in rows
            if type(query) is str and query.strip()
        ]

    def worth(self, query: str) -> Worth:
        """What came of the results of a query, as it is written here."""
        row = self._db.one(
            "SELECT count(*), avg(CASE WHEN failure IS NULL AND copy_of IS NULL THEN verdict ELSE "
            "0 END) FROM visits WHERE (failure IS NULL OR final) AND moved IS NULL AND "
            "fingerprint IN (SELECT fingerprint FROM search_results JOIN searches ON "
            "searches.id = search WHERE query = ?)",
            (query,),
        )
        return Worth(0, 0.0) if row is None else Worth(sound.whole(row[0]), sound.chance(row[1]))

    def visited(self, since: float = 0.0) -> Iterator[tuple[str, float]]:
        """(query, verdict) of the visits since that time to pages that a search had found before,
        in their order. What brought no page of its own counts as 0."""
        sql = (
            "SELECT visits.id, query, CASE WHEN failure IS NULL AND copy_of IS NULL THEN verdict "
            "ELSE 0 END FROM visits JOIN search_results AS r ON r.fingerprint = "
            "visits.fingerprint AND r.url = visits.url JOIN searches ON searches.id = search "
            "WHERE searches.at <= visits.at AND (failure IS NULL OR final) AND moved IS NULL "
            "AND visits.at >= ? AND visits.id > ? ORDER BY visits.id LIMIT ?"
        )
        # A visit that several queries found has as many rows: none may be left for the next page.
        last, size = -1, 2_000
        while rows := self._db.all(sql, (since, last, size)):
            if len(rows) == size and rows[0][0] != rows[-1][0]:
                rows = [row for row in rows if row[0] != rows[-1][0]]
            for _, query, verdict in rows:
                if type(query) is str and verdict is not None:
                    yield query, float(sound.chance(verdict))
            last = rows[-1][0]

    def channels(self) -> Channels | None:
        """Which relevant pages links led to, and which searches; None if nobody searched.

        What a search found counts as found by links, too, where a page linked to it before it was
        visited.
        """
        if self._db.one("SELECT 1 FROM search_results LIMIT 1") is None:
            return None
        row = self._db.one(
            "SELECT sum(linked), sum(found), sum(linked AND found) FROM (SELECT channel = 'link' "
            "OR (channel = 'search' AND inlinks > 1) AS linked, channel = 'search' OR EXISTS("
            "SELECT 1 FROM search_results AS r WHERE r.fingerprint = visits.fingerprint AND "
            "r.url = visits.url) AS found FROM visits WHERE relevant)"
        )
        return Channels(*(sound.whole(count) for count in row or (0, 0, 0)))

    def _stream(self, number: int) -> Iterator[Search]:
        rows = self._db.pages(
            f"SELECT {_COLUMNS} FROM searches WHERE id > max({int(number)}, ?) "  # noqa: S608
            "ORDER BY id LIMIT ?"
        )
        yield from map(_search, rows)


def _search(row: Row) -> Search:
    """As it left the database, which may be a stranger's."""
    (number, at, engine, query, page, by, address, outcome, detail, results, more, fresh,
     promised, price) = row  # fmt: skip
    return Search(
        float(sound.number(at)),
        sound.text(engine),
        sound.text(query)[:_QUERY],
        sound.whole(page),
        sound.text(by),
        sound.some_address(address) or "",
        sound.text(outcome),
        sound.text(detail)[:_DETAIL],
        sound.whole(results),
        bool(sound.whole(more)),
        sound.whole(fresh),
        float(sound.chance(promised)),
        float(sound.number(price)),
        sound.whole(number),
    )
