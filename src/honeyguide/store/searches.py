"""What search engines were asked, and what they answered.

Whoever asked writes the search and its results in one transaction. A crawl takes the results
that it has not taken yet from here, in the order in which they came, so that an answer which was
paid for is never lost. People who want a query asked by a crawl that runs leave it here as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from honeyguide.errors import CollectionCorrupt
from honeyguide.store import row_checks as sound
from honeyguide.store.codec import clean
from honeyguide.store.database import Database, signed
from honeyguide.store.search_rows import (
    COLUMNS,
    DEAREST,
    DETAIL,
    MOST,
    NAME,
    QUERY,
    SNIPPET,
    TITLE,
    search_of,
)
from honeyguide.store.search_rows import Channels as Channels
from honeyguide.store.search_rows import Hit as Hit
from honeyguide.store.search_rows import Place as Place
from honeyguide.store.search_rows import Search as Search
from honeyguide.store.search_rows import Sums as Sums
from honeyguide.store.search_rows import Worth as Worth
from honeyguide.url import fingerprint

TAKEN = "searches_taken"
"""The key under which a crawl notes the newest search whose results it took."""
_SEARCHES = 100_000
"""Newest searches that are told of."""
_MOVED = 10_000
"""Results that redirect, of which is told where they lead."""
_WISHES = 20
"""Newest wishes that are heard: a collection from elsewhere may hold any number of them."""
_NUMBERS = 10**18
"""No search has such a number: as many as :func:`honeyguide.store.row_checks.decimal` reads."""
_ASKABLE = "typeof(query) = 'text' AND trim(query, char(9, 10, 11, 12, 13, 32, 160)) != ''"
"""Said in SQL, so that nothing else can stand in front of what is."""


class Searches:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, search: Search, results: Sequence[tuple[str, str, str]] = ()) -> int:
        """Keep a search and its results; its number."""
        results = results[:MOST]
        with self._db.joined():
            self._db.run(
                "INSERT INTO searches(at, engine, query, page, by, address, outcome, detail, "
                "results, more, fresh, promised, price) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    search.at, clean(search.engine[:NAME]), clean(search.query[:QUERY]),
                    search.page, clean(search.by[:NAME]), clean(search.address), search.outcome,
                    clean(search.detail[:DETAIL]), len(results), int(search.more), search.fresh,
                    search.promised, search.price,
                ),
            )  # fmt: skip
            row = self._db.one("SELECT last_insert_rowid()")
            number = int(row[0]) if row else 0
            self._db.many(
                "INSERT INTO search_results VALUES(?, ?, ?, ?, ?, ?)",
                [
                    (number, place, url, signed(fingerprint(url)), clean(title[:TITLE]),
                     clean(snippet[:SNIPPET]))
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
        """Every search, the oldest first; of more than a hundred thousand the newest."""
        row = self._db.one(
            f"SELECT id FROM searches ORDER BY id DESC LIMIT 1 OFFSET {_SEARCHES}"  # noqa: S608
        )
        return list(self._stream(row[0] if row else 0))

    def newest(self) -> int:
        """The number of the newest search; 0 if there is none."""
        row = self._db.one("SELECT max(id) FROM searches")
        return sound.whole(row[0]) if row else 0

    def check(self) -> None:
        """Before anything is asked and paid for: could it be kept? Raises CollectionCorrupt.

        Numbers count upwards, and who wrote the file may have begun at the end of them.
        """
        row = self._db.one(
            "SELECT max(coalesce(max(id), 0), coalesce((SELECT max(id) FROM asked_for), 0), "
            "coalesce((SELECT max(CAST(seq AS INTEGER)) FROM sqlite_sequence WHERE name IN "
            "('searches', 'asked_for')), 0)) FROM searches"
        )
        if row is not None and row[0] >= _NUMBERS:
            raise CollectionCorrupt(
                "this collection has no numbers left for searches, which no crawl ever uses up: "
                "somebody has changed it. Nothing is asked; begin a new collection, or set "
                'search.engine = ""'
            )

    def last(self) -> Search | None:
        """The newest search."""
        row = self._db.one(f"SELECT {COLUMNS} FROM searches ORDER BY id DESC LIMIT 1")  # noqa: S608
        return None if row is None else search_of(row)

    def results(self, number: int) -> list[Hit]:
        """The results of a search, the first first."""
        rows = self._db.all(
            "SELECT substr(url, 1, ?), substr(title, 1, ?), substr(snippet, 1, ?) FROM "
            "search_results WHERE search = ? ORDER BY place LIMIT ?",
            (sound.LONGEST + 1, TITLE, SNIPPET, number, MOST),
        )
        return [
            Hit(url, sound.text(title), sound.text(snippet))
            for url, title, snippet in rows
            if sound.is_address(url)
        ]

    def places(self, url: str) -> list[Place]:
        """Which searches found this address, and where, the oldest first."""
        rows = self._db.all(
            f"SELECT place, {COLUMNS} FROM search_results JOIN searches ON id = search "  # noqa: S608
            "WHERE fingerprint = ? AND url = ? ORDER BY id LIMIT 100",
            (signed(fingerprint(url)), url),
        )
        return [Place(search_of(tuple(row[1:])), sound.whole(row[0])) for row in rows]

    def sums(self, since: float = 0.0) -> Sums:
        """What was asked since that time."""
        row = self._db.one(
            # Where sum() overflows it fails; total() is a float and never does.
            "SELECT total(outcome != 'spent'), total(outcome NOT IN ('', 'spent')), "
            "count(DISTINCT CASE WHEN outcome != 'spent' THEN query END), "
            "total(max(0, min(results, ?1))), total(max(0, min(fresh, ?1))), "
            "total(CASE WHEN price BETWEEN 0 AND ?2 THEN price END) FROM searches WHERE at >= ?3",
            (MOST, DEAREST, since),
        )
        if row is None:
            return Sums()
        asked, failed, queries, results, fresh = map(int, row[:5])
        return Sums(asked, failed, queries, results, fresh, row[5])

    def want(self, query: str, by: str = "user", at: float = 0.0) -> int:
        """Leave a query for the crawl that runs; the number of the wish."""
        with self._db.joined():
            self._db.run(
                "INSERT INTO asked_for(query, by, at) VALUES(?, ?, ?)",
                (clean(query[:QUERY]), clean(by[:NAME]), at),
            )
            row = self._db.one("SELECT last_insert_rowid()")
        return int(row[0]) if row else 0

    def wanted(self, since: int = 0) -> list[tuple[int, str, str]]:
        """(number, query, by) of the twenty newest that people wanted asked after that number, the
        oldest first."""
        rows = self._db.all(
            f"SELECT id, substr(query, 1, ?), substr(by, 1, ?) FROM asked_for WHERE id > ? AND "  # noqa: S608
            f"id < ? AND {_ASKABLE} ORDER BY id DESC LIMIT ?",
            (QUERY, NAME, since, _NUMBERS, _WISHES),
        )
        return [(number, query, sound.text(by)) for number, query, by in reversed(rows)]

    def unheard(self, since: int = 0) -> int:
        """How many were wanted after that number besides the twenty newest."""
        row = self._db.one(
            f"SELECT count(*) FROM asked_for WHERE id > ? AND id < ? AND {_ASKABLE}",  # noqa: S608
            (since, _NUMBERS),
        )
        return max(0, row[0] - _WISHES) if row else 0

    def worth(self, numbers: Sequence[int]) -> Worth:
        """What came of the results of these searches, whenever they were visited, each address
        once and by its newest visit; where one redirects, of the page that it leads to."""
        asked = json.dumps(list(numbers))
        results = (
            "SELECT fingerprint FROM search_results WHERE search IN "
            "(SELECT value FROM json_each(?))"
        )
        moves = self._db.all(
            f"SELECT DISTINCT moved FROM visits WHERE typeof(moved) = 'text' AND "  # noqa: S608
            f"fingerprint IN ({results}) LIMIT {_MOVED}",
            (asked,),
        )
        targets = [signed(fingerprint(url)) for (url,) in moves if sound.is_address(url)]
        row = self._db.one(
            "SELECT count(value), total(value IS NOT NULL AND good), avg(value) FROM (SELECT "  # noqa: S608
            "CASE WHEN own THEN verdict ELSE 0 END AS value, own AND relevant AS good FROM "
            "(SELECT verdict, relevant, failure IS NULL AND copy_of IS NULL AS own FROM visits "
            "WHERE id IN (SELECT max(id) FROM visits WHERE (failure IS NULL OR final) AND moved "
            f"IS NULL AND fingerprint IN ({results} UNION SELECT value FROM json_each(?)) "
            "GROUP BY fingerprint)))",
            (asked, json.dumps(targets)),
        )
        if row is None:
            return Worth(0, 0, 0.0)
        return Worth(sound.whole(row[0]), int(row[1]), sound.chance(row[2]))

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
            f"SELECT {COLUMNS} FROM searches WHERE id > max({int(number)}, ?) "  # noqa: S608
            "ORDER BY id LIMIT ?"
        )
        yield from map(search_of, rows)
