"""Searches, their results, and queries that people want asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from honeyguide.errors import CollectionCorrupt
from honeyguide.store import row_checks
from honeyguide.store.codec import replace_surrogates
from honeyguide.store.database import Database, SqlRow, to_int64, url_key
from honeyguide.types import Link, Page, Url
from honeyguide.url import url_fingerprint

MAX_RESULTS = 1_000
"""Results that are kept of one page."""
QUERY_CHARS, TITLE_CHARS, SNIPPET_CHARS, DETAIL_CHARS, NAME_CHARS = 2_000, 300, 1_000, 1_000, 200
"""Characters that are kept of each."""
_LINK_SNIPPET_CHARS = 300
"""Characters of a result's text that stand around its link."""
MAX_PRICE = 1e6
"""Highest price of one request."""
_MAX_PAGE, _MAX_TIME = 1_000, 1e11
"""Highest page number and latest time that are believed."""


@dataclass(frozen=True, slots=True)
class SearchRow:
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


class SearchResultRow(NamedTuple):
    """A result as it is kept; ``seeds.engine.Result`` has the same fields."""

    url: Url
    title: str = ""
    snippet: str = ""

    def to_link(self, source: Url | None = None, parent: float = 0.5) -> Link:
        """It stood on a page of the engine's, ``source``, which is as good as its query."""
        return Link(
            self.url,
            source,
            self.title,
            after=self.snippet[:_LINK_SNIPPET_CHARS],
            tag_path="search",
            channel="search",
            depth=1,
            parent=parent,
        )

    def to_page(self) -> Page:
        """What is known of its page before anybody fetched it: headline and snippet."""
        return Page(self.url, self.title, text=self.snippet)


class ResultPosition(NamedTuple):
    """Where an address stood among the results."""

    search: SearchRow
    place: int
    """1 is the first."""


class SearchResultStats(NamedTuple):
    """What came of a query's results so far."""

    fetched: int
    relevant: int
    mean: float
    """Their mean verdict; what brought no page of its own counts as 0."""


class RelevantByChannel(NamedTuple):
    """Relevant pages by who found them."""

    links: int
    search: int
    both: int


@dataclass(frozen=True, slots=True)
class SearchTotals:
    """What was asked so far."""

    asked: int = 0
    """Requests that were sent, without those that the budget did not allow."""
    failed: int = 0
    """Requests that were sent and not answered."""
    queries: int = 0
    """Different ones."""
    results: int = 0
    fresh: int = 0
    price: float = 0.0


SEARCH_COLUMNS = (
    f"id, at, substr(engine, 1, {NAME_CHARS}), substr(query, 1, {QUERY_CHARS}), page, "
    f"substr(by, 1, {NAME_CHARS}), substr(address, 1, {row_checks.MAX_URL_CHARS + 1}), "
    f"substr(outcome, 1, {NAME_CHARS}), substr(detail, 1, {DETAIL_CHARS}), results, more, fresh, "
    "promised, price"
)
"""Bounded in SQL: what is larger is not even read."""


def to_search_row(row: SqlRow) -> SearchRow:
    """As it left the database, which may be a stranger's."""
    (number, at, engine, query, page, by, address, outcome, detail, results, more, fresh,
     promised, price) = row  # fmt: skip
    return SearchRow(
        _bounded_number(at, _MAX_TIME),
        row_checks.text_or_empty(engine),
        row_checks.text_or_empty(query),
        min(row_checks.count_or_zero(page), _MAX_PAGE),
        row_checks.text_or_empty(by),
        row_checks.url_or_none(address) or "",
        row_checks.text_or_empty(outcome),
        row_checks.text_or_empty(detail),
        min(row_checks.count_or_zero(results), MAX_RESULTS),
        bool(row_checks.count_or_zero(more)),
        min(row_checks.count_or_zero(fresh), MAX_RESULTS),
        float(row_checks.chance_or_zero(promised)),
        _bounded_number(price, MAX_PRICE),
        row_checks.count_or_zero(number),
    )


def _bounded_number(value: object, most: float) -> float:
    """A number from 0 to that one; any other says nothing."""
    found = float(row_checks.number_or_zero(value))
    return found if 0 <= found <= most else 0.0


# -- The table of searches --
#
# Whoever asked writes the search and its results in one transaction. A crawl takes the results
# that it has not taken yet from here, in the order in which they came, so that an answer which was
# paid for is never lost. People who want a query asked by a crawl that runs leave it here as well.


TAKEN_KEY = "searches_taken"
"""The key under which a crawl notes the newest search whose results it took."""
_MAX_SEARCHES = 100_000
"""Newest searches that are listed."""
_MAX_REDIRECTS = 10_000
"""Most redirecting results whose targets are looked up."""
_MAX_REQUESTS = 20
"""Newest wishes that are read: a collection from elsewhere may hold any number of them."""
_MAX_NUMBER = 10**18
"""No search has such a number: as many as :func:`honeyguide.store.row_checks.parse_decimal` reads.
"""
_ASKABLE_SQL = "typeof(query) = 'text' AND trim(query, char(9, 10, 11, 12, 13, 32, 160)) != ''"
"""Said in SQL, so that nothing else can stand in front of what is."""


class SearchTable:
    """Writes inside the transaction that is open, or else in one of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def add_search(self, search: SearchRow, results: Sequence[tuple[str, str, str]] = ()) -> int:
        """Keep a search and its results; its number."""
        results = results[:MAX_RESULTS]
        with self._db.join_transaction():
            number = self._db.insert(
                "INSERT INTO searches(at, engine, query, page, by, address, outcome, detail, "
                "results, more, fresh, promised, price) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    search.at, replace_surrogates(search.engine[:NAME_CHARS]),
                    replace_surrogates(search.query[:QUERY_CHARS]), search.page,
                    replace_surrogates(search.by[:NAME_CHARS]), replace_surrogates(search.address),
                    search.outcome, replace_surrogates(search.detail[:DETAIL_CHARS]), len(results),
                    int(search.more), search.fresh, search.promised, search.price,
                ),
            )  # fmt: skip
            self._db.execute_many(
                "INSERT INTO search_results(search, place, fingerprint, url, title, snippet) "
                "VALUES(?, ?, ?, ?, ?, ?)",
                [
                    (number, place, *url_key(url), replace_surrogates(title[:TITLE_CHARS]),
                     replace_surrogates(snippet[:SNIPPET_CHARS]))
                    for place, (url, title, snippet) in enumerate(results, 1)
                ],
            )  # fmt: skip
        return number

    def mark_taken(self, number: int, fresh: int, promised: float) -> None:
        """A crawl took its results: so many were new, and promised so much."""
        sql = "UPDATE searches SET fresh = ?, promised = ? WHERE id = ?"
        self._db.execute_many(sql, [(fresh, promised, number)])

    def iter_since(self, number: int = 0) -> Iterator[tuple[SearchRow, list[SearchResultRow]]]:
        """Searches after that number with their results, the oldest first."""
        for search in self._iter_searches(number):
            yield search, self.results_of(search.id)

    def list_searches(self) -> list[SearchRow]:
        """Every search, the oldest first; of more than a hundred thousand the newest."""
        sql = f"SELECT id FROM searches ORDER BY id DESC LIMIT 1 OFFSET {_MAX_SEARCHES}"  # noqa: S608
        return list(self._iter_searches(self._db.fetch_number(sql)))

    def newest_id(self) -> int:
        """The number of the newest search; 0 if there is none."""
        return row_checks.count_or_zero(self._db.fetch_value("SELECT max(id) FROM searches"))

    def check_capacity(self) -> None:
        """Before anything is asked and paid for: could it be kept? Raises CollectionCorrupt.

        Numbers count upwards, and who wrote the file may have begun at the end of them.
        """
        highest = self._db.fetch_value(
            "SELECT max(coalesce(max(id), 0), coalesce((SELECT max(id) FROM asked_for), 0), "
            "coalesce((SELECT max(CAST(seq AS INTEGER)) FROM sqlite_sequence WHERE name IN "
            "('searches', 'asked_for')), 0)) FROM searches"
        )
        if highest >= _MAX_NUMBER:
            raise CollectionCorrupt(
                "this collection has no numbers left for searches, which no crawl ever uses up: "
                "it was changed by another program. No query is sent; start a new one, or set "
                'search.engine = ""'
            )

    def newest_search(self) -> SearchRow | None:
        """The newest search."""
        row = self._db.fetch_one(f"SELECT {SEARCH_COLUMNS} FROM searches ORDER BY id DESC LIMIT 1")  # noqa: S608
        return None if row is None else to_search_row(row)

    def results_of(self, number: int) -> list[SearchResultRow]:
        """The results of a search, the first first."""
        rows = self._db.fetch_all(
            "SELECT substr(url, 1, ?), substr(title, 1, ?), substr(snippet, 1, ?) FROM "
            "search_results WHERE search = ? ORDER BY place LIMIT ?",
            (row_checks.MAX_URL_CHARS + 1, TITLE_CHARS, SNIPPET_CHARS, number, MAX_RESULTS),
        )
        return [
            SearchResultRow(url, row_checks.text_or_empty(title), row_checks.text_or_empty(snippet))
            for url, title, snippet in rows
            if row_checks.is_http_url(url)
        ]

    def find_result(self, url: str) -> SearchResultRow | None:
        """What the newest search that found this address said of it; None: none found it."""
        row = self._db.fetch_one(
            "SELECT substr(title, 1, ?), substr(snippet, 1, ?) FROM search_results "
            "WHERE fingerprint = ? AND url = ? ORDER BY search DESC LIMIT 1",
            (TITLE_CHARS, SNIPPET_CHARS, *url_key(url)),
        )
        return (
            None if row is None else SearchResultRow(Url(url), *map(row_checks.text_or_empty, row))
        )

    def positions_of(self, url: str) -> list[ResultPosition]:
        """Which searches found this address, and where, the oldest first."""
        rows = self._db.fetch_all(
            f"SELECT place, {SEARCH_COLUMNS} FROM search_results JOIN searches ON id = search "  # noqa: S608
            "WHERE fingerprint = ? AND url = ? ORDER BY id LIMIT 100",
            url_key(url),
        )
        return [
            ResultPosition(to_search_row(tuple(row[1:])), row_checks.count_or_zero(row[0]))
            for row in rows
        ]

    def search_totals(self, since: float = 0.0) -> SearchTotals:
        """What was asked since that time."""
        *counts, price = self._db.fetch_all(
            # Where sum() overflows it fails; total() is a float and never does.
            "SELECT total(outcome != 'spent'), total(outcome NOT IN ('', 'spent')), "
            "count(DISTINCT CASE WHEN outcome != 'spent' THEN query END), "
            "total(max(0, min(results, ?1))), total(max(0, min(fresh, ?1))), "
            "total(CASE WHEN price BETWEEN 0 AND ?2 THEN price END) FROM searches WHERE at >= ?3",
            (MAX_RESULTS, MAX_PRICE, since),
        )[0]
        asked, failed, queries, results, fresh = map(int, counts)
        return SearchTotals(asked, failed, queries, results, fresh, price)

    def request_query(self, query: str, by: str = "user", at: float = 0.0) -> int:
        """Leave a query for the crawl that runs; the number of the wish."""
        row = replace_surrogates(query[:QUERY_CHARS]), replace_surrogates(by[:NAME_CHARS]), at
        with self._db.join_transaction():
            return self._db.insert("INSERT INTO asked_for(query, by, at) VALUES(?, ?, ?)", row)

    def requested_queries(self, since: int = 0) -> list[tuple[int, str, str]]:
        """(number, query, by) of the twenty newest that people wanted asked after that number, the
        oldest first."""
        rows = self._db.fetch_all(
            f"SELECT id, substr(query, 1, ?), substr(by, 1, ?) FROM asked_for WHERE id > ? AND "  # noqa: S608
            f"id < ? AND {_ASKABLE_SQL} ORDER BY id DESC LIMIT ?",
            (QUERY_CHARS, NAME_CHARS, since, _MAX_NUMBER, _MAX_REQUESTS),
        )
        return [
            (number, query, row_checks.text_or_empty(by)) for number, query, by in reversed(rows)
        ]

    def count_unread_requests(self, since: int = 0) -> int:
        """How many were wanted after that number besides the twenty newest."""
        sql = f"SELECT count(*) FROM asked_for WHERE id > ? AND id < ? AND {_ASKABLE_SQL}"  # noqa: S608
        return max(0, self._db.fetch_number(sql, (since, _MAX_NUMBER)) - _MAX_REQUESTS)

    def result_stats(self, numbers: Sequence[int]) -> SearchResultStats:
        """What came of the results of these searches, whenever they were visited, each address
        once and by its newest visit; where one redirects, of the page that it leads to."""
        asked = json.dumps(list(numbers))
        results = (
            "SELECT fingerprint FROM search_results WHERE search IN "
            "(SELECT value FROM json_each(?))"
        )
        moves = self._db.fetch_all(
            f"SELECT DISTINCT moved FROM visits WHERE typeof(moved) = 'text' AND "  # noqa: S608
            f"fingerprint IN ({results}) LIMIT {_MAX_REDIRECTS}",
            (asked,),
        )
        targets = [
            to_int64(url_fingerprint(url)) for (url,) in moves if row_checks.is_http_url(url)
        ]
        count, relevant, mean = self._db.fetch_all(
            "SELECT count(value), total(value IS NOT NULL AND good), avg(value) FROM (SELECT "  # noqa: S608
            "CASE WHEN own THEN verdict ELSE 0 END AS value, own AND relevant AS good FROM "
            "(SELECT verdict, relevant, failure IS NULL AND copy_of IS NULL AS own FROM visits "
            "WHERE id IN (SELECT max(id) FROM visits WHERE (failure IS NULL OR final) AND moved "
            f"IS NULL AND fingerprint IN ({results} UNION SELECT value FROM json_each(?)) "
            "GROUP BY fingerprint)))",
            (asked, json.dumps(targets)),
        )[0]
        return SearchResultStats(count, int(relevant), row_checks.chance_or_zero(mean))

    def relevant_by_channel(self) -> RelevantByChannel | None:
        """Which relevant pages links led to, and which searches; None if nobody searched.

        What a search found counts as found by links, too, where a page linked to it before it was
        visited.
        """
        if self._db.fetch_one("SELECT 1 FROM search_results LIMIT 1") is None:
            return None
        row = self._db.fetch_one(
            "SELECT sum(linked), sum(found), sum(linked AND found) FROM (SELECT channel = 'link' "
            "OR (channel = 'search' AND inlinks > 1) AS linked, channel = 'search' OR EXISTS("
            "SELECT 1 FROM search_results AS r WHERE r.fingerprint = visits.fingerprint AND "
            "r.url = visits.url) AS found FROM visits WHERE relevant)"
        )
        return RelevantByChannel(*(row_checks.count_or_zero(count) for count in row or (0, 0, 0)))

    def _iter_searches(self, number: int) -> Iterator[SearchRow]:
        rows = self._db.iter_pages(
            f"SELECT {SEARCH_COLUMNS} FROM searches WHERE id > max({int(number)}, ?) "  # noqa: S608
            "ORDER BY id LIMIT ?"
        )
        yield from map(to_search_row, rows)
