"""What a search engine knows of a lab's web: titles and main texts in an index, best match first.

SQLite's FTS5 with its tokenizer ``unicode61``, and every character of a script without spaces
made a word of its own. The tokenizer ``trigram`` would find Chinese as well, but nothing shorter
than three characters, and *art* in *heart*; a word index ranks as people expect of an engine.
"""

from __future__ import annotations

import json
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from typing import NamedTuple, Self

from xxhash import xxh3_64_intdigest

from honeyguide.errors import ConfigError
from honeyguide.fetch.http import READABLE
from honeyguide.lab.engine_query import asked, spaced, unspaced
from honeyguide.lab.page_reader import Reader
from honeyguide.lab.responses import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.types import Page
from honeyguide.url import canonical

MOST = 50_000
"""Pages that an engine knows, unless it is told otherwise."""
SHOWN = 10
"""Results on a page."""
_DEEPEST = 1000
"""Results that can be turned to at all, as with real engines."""
_ENOUGH = 10
"""Fewer pages with all the words, and pages with some of them follow."""
_TITLE, _LONGEST = 300, 20_000
"""Characters of a page's title and text that are kept."""
_EVERY = 200
"""Pages between two words about progress."""

Progress = Callable[[int, int], None]
"""Told how many addresses were looked at, and of how many."""


class Hit(NamedTuple):
    url: str
    title: str
    snippet: str
    """Words around those that were asked for."""
    score: float
    """BM25; the better, the larger."""


class Index:
    """Pages by their words. The same pages in the same order give the same answers."""

    def __init__(self) -> None:
        # No name: a database of its own that goes to disk only where memory is short.
        # A served index is built in one thread and asked in another, never in both at once.
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # Newer Pythons complain of a connection that nobody closed.
        self.close = weakref.finalize(self, self._rows.close)
        try:
            self._rows.execute(
                "CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, text,"
                " tokenize = 'unicode61 remove_diacritics 2')"
            )
        except sqlite3.OperationalError as error:
            raise ConfigError(f"this Python's SQLite cannot index text (FTS5): {error}") from error
        self.urls: dict[str, None] = {}
        """What it knows, in order."""

    @classmethod
    def over(
        cls,
        desk: Desk,
        *,
        most: int = MOST,
        reach: float = 1.0,
        progress: Progress = lambda _n, _of: None,
    ) -> Self:
        """Of a web as the desk serves it: pages that answer, may be asked for and be indexed.

        ``reach`` is the share of the web that the engine knows. Which pages these are follows
        from their addresses, and a wider reach knows all that a narrower one does.
        """
        if not 0 < reach <= 1:
            raise ConfigError(f"the engine's reach must lie above 0 and be at most 1, not {reach}")
        index = cls()
        index._rows.execute("BEGIN")
        for page in _pages(desk, most, reach, progress):
            index.add(page)
        index._rows.execute("INSERT INTO pages(pages) VALUES ('optimize')")
        index._rows.execute("COMMIT")
        return index

    def add(self, page: Page) -> None:
        row = (page.url, spaced(page.title[:_TITLE]), spaced(page.text[:_LONGEST]))
        self._rows.execute("INSERT INTO pages VALUES (?, ?, ?)", row)
        self.urls[page.url] = None

    def __len__(self) -> int:
        return len(self.urls)

    def search(self, text: str, page: int = 1) -> tuple[list[Hit], int]:
        """A page of results, and how many there are on all pages."""
        query = asked(text)
        if not query.every:
            return [], 0
        found = self._matching(query.every)
        if len(found) < _ENOUGH:
            known = set(found)
            found += [row for row in self._matching(query.some) if row not in known]
        found = found[:_DEEPEST]
        first = (max(1, page) - 1) * SHOWN
        return self._hits(found[first : first + SHOWN], query.some), len(found)

    def _matching(self, query: str) -> list[int]:
        # A word of the title counts as four of the text.
        rows = self._rows.execute(
            "SELECT rowid FROM pages WHERE pages MATCH ?"
            " ORDER BY bm25(pages, 0, 4, 1), rowid LIMIT ?",
            (query, _DEEPEST),
        )
        return [row for (row,) in rows]

    def _hits(self, rows: list[int], query: str) -> list[Hit]:
        found = self._rows.execute(
            "SELECT rowid, url, title, snippet(pages, 2, '', '', ' … ', 30),"
            " bm25(pages, 0, 4, 1) FROM pages WHERE pages MATCH ?"
            " AND rowid IN (SELECT value FROM json_each(?))",
            (query, json.dumps(rows)),
        )
        known = {
            row: Hit(url, unspaced(title), unspaced(text), round(-score, 4))
            for row, url, title, text, score in found
        }
        return [known[row] for row in rows]


def _pages(desk: Desk, most: int, reach: float, progress: Progress) -> Iterator[Page]:
    web, reader = desk.web, Reader(desk)
    total, count = len(web), 0
    # A web too large for the index is known in part, evenly, not by its first hosts.
    share = min(reach, most / max(1, total))
    for number, url in enumerate(web.urls()):
        if number % _EVERY == 0:
            progress(number, total)
        key = without_scheme(url)
        if xxh3_64_intdigest(key.encode()) >= share * 2.0**64:
            continue
        known = canonical("http://" + key)  # as the lab serves it
        if known is None or not reader.may(known):
            continue
        answer = reader.answer(known)
        page = reader.page(answer) if answer.media_type in READABLE else None
        if page is not None and page.index and (page.title or page.text):
            yield page
            count += 1
            if count >= most:
                break
    progress(total, total)
