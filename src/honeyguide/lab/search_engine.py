"""The lab's search engine: an index over a web, BM25, faults on demand."""

from __future__ import annotations

import json
import re
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from functools import lru_cache
from html import escape
from importlib.resources import files
from typing import Any, Literal, NamedTuple, Self, get_args
from urllib.parse import parse_qs

from xxhash import xxh3_64_intdigest

from honeyguide.errors import ConfigError
from honeyguide.fetch.http import READABLE_TYPES
from honeyguide.lab.graph import LabPageReader
from honeyguide.lab.responses import (
    ENGINE_HOST,
    NO_RESPONSE,
    LabResponder,
    LabResponse,
    ServingOptions,
    make_response,
    message_response,
)
from honeyguide.lab.web import LabWeb, without_scheme
from honeyguide.types import Page
from honeyguide.url import canonical_url

MAX_QUERY_LENGTH = 1000
"""Characters of a query that are read …"""
_MAX_TERMS = 32
"""… and terms of it, as engines do."""

_QUERY_PART = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]+")
_UNSPACED_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED_SCRIPTS}]")
_WIDE_CHARACTERS = _UNSPACED_SCRIPTS + "\u3000-\u303f\uff00-\uffef"
"""… and their stops."""
_SPACE_BETWEEN_WIDE = re.compile(f"(?<=[{_WIDE_CHARACTERS}]) (?=[{_WIDE_CHARACTERS}])")


class FtsQuery(NamedTuple):
    """A query as FTS5 takes it: every term is a quoted string, so none is read as its syntax."""

    all_terms: str = ""
    """Matches pages with all terms; '': nothing was asked for."""
    any_term: str = ""
    """Matches pages with any of them."""


def to_fts_query(text: str) -> FtsQuery:
    """Words, ``"phrases"``, ``-words`` and ``-"phrases"``; everything else is punctuation."""
    wanted: dict[str, None] = {}
    without: dict[str, None] = {}
    for sign, phrase, word in _QUERY_PART.findall(text[:MAX_QUERY_LENGTH]):
        # self-help is two words side by side, in the index as well.
        if term := " ".join(_WORD.findall(split_characters(phrase or word))):
            (without if sign else wanted)[f'"{term}"'] = None
    if not wanted:
        return FtsQuery()  # what is not wanted does not say what is
    terms, barred = list(wanted)[:_MAX_TERMS], list(without)[:_MAX_TERMS]
    tail = f" NOT ({' OR '.join(barred)})" if barred else ""
    return FtsQuery(f"({' AND '.join(terms)}){tail}", f"({' OR '.join(terms)}){tail}")


def split_characters(text: str) -> str:
    """The same with every character of such a script a word of its own, for the tokenizer."""
    return _UNSPACED_CHARACTER.sub(r" \g<0> ", text)


def join_characters(text: str) -> str:
    """The text again, for people."""
    return _SPACE_BETWEEN_WIDE.sub("", " ".join(text.split()))


# --------------------------------------------------------------------------------------------------
# What a search engine knows of a lab's web: titles and main texts in an index, best match first.
#
# SQLite's FTS5 with its tokenizer ``unicode61``, and every character of a script without spaces
# made a word of its own. The tokenizer ``trigram`` would find Chinese as well, but nothing shorter
# than three characters, and *art* in *heart*; a word index ranks as people expect of an engine.
# --------------------------------------------------------------------------------------------------


MAX_INDEXED_PAGES = 50_000
"""Pages that an engine knows, unless it is told otherwise."""
RESULTS_PER_PAGE = 10
"""Results on a page."""
_MAX_RESULTS = 1000
"""Results that can be turned to at all, as with real engines."""
_ENOUGH_HITS = 10
"""Fewer pages with all the words, and pages with some of them follow."""
_MAX_TITLE, _MAX_TEXT = 300, 20_000
"""Characters of a page's title and text that are kept."""
_PROGRESS_STEP = 200
"""Pages between two words about progress."""

IndexProgress = Callable[[int, int], None]
"""Told how many addresses were looked at, and of how many."""


class LabSearchHit(NamedTuple):
    url: str
    title: str
    snippet: str
    """Words around those that were asked for."""
    score: float
    """BM25; the better, the larger."""


class LabSearchIndex:
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
    def from_responder(
        cls,
        desk: LabResponder,
        *,
        most: int = MAX_INDEXED_PAGES,
        reach: float = 1.0,
        progress: IndexProgress = lambda _n, _of: None,
    ) -> Self:
        """Of a web as the desk serves it: pages that answer, may be asked for and be indexed.

        ``reach`` is the share of the web that the engine knows. Which pages these are follows
        from their addresses, and a wider reach knows all that a narrower one does.
        """
        if not 0 < reach <= 1:
            raise ConfigError(f"the engine's reach must lie above 0 and be at most 1, not {reach}")
        index = cls()
        index._rows.execute("BEGIN")
        for page in _indexable_pages(desk, most, reach, progress):
            index.add(page)
        index._rows.execute("INSERT INTO pages(pages) VALUES ('optimize')")
        index._rows.execute("COMMIT")
        return index

    def add(self, page: Page) -> None:
        row = (
            page.url,
            split_characters(page.title[:_MAX_TITLE]),
            split_characters(page.text[:_MAX_TEXT]),
        )
        self._rows.execute("INSERT INTO pages VALUES (?, ?, ?)", row)
        self.urls[page.url] = None

    def __len__(self) -> int:
        return len(self.urls)

    def search(self, text: str, page: int = 1) -> tuple[list[LabSearchHit], int]:
        """A page of results, and how many there are on all pages."""
        query = to_fts_query(text)
        if not query.all_terms:
            return [], 0
        found = self._matching_rows(query.all_terms)
        if len(found) < _ENOUGH_HITS:
            known = set(found)
            found += [row for row in self._matching_rows(query.any_term) if row not in known]
        found = found[:_MAX_RESULTS]
        first = (max(1, page) - 1) * RESULTS_PER_PAGE
        return self._read_hits(found[first : first + RESULTS_PER_PAGE], query.any_term), len(found)

    def _matching_rows(self, query: str) -> list[int]:
        # A word of the title counts as four of the text.
        rows = self._rows.execute(
            "SELECT rowid FROM pages WHERE pages MATCH ?"
            " ORDER BY bm25(pages, 0, 4, 1), rowid LIMIT ?",
            (query, _MAX_RESULTS),
        )
        return [row for (row,) in rows]

    def _read_hits(self, rows: list[int], query: str) -> list[LabSearchHit]:
        found = self._rows.execute(
            "SELECT rowid, url, title, snippet(pages, 2, '', '', ' … ', 30),"
            " bm25(pages, 0, 4, 1) FROM pages WHERE pages MATCH ?"
            " AND rowid IN (SELECT value FROM json_each(?))",
            (query, json.dumps(rows)),
        )
        known = {
            row: LabSearchHit(url, join_characters(title), join_characters(text), round(-score, 4))
            for row, url, title, text, score in found
        }
        return [known[row] for row in rows]


def _indexable_pages(
    desk: LabResponder, most: int, reach: float, progress: IndexProgress
) -> Iterator[Page]:
    web, reader = desk.web, LabPageReader(desk)
    total, count = len(web), 0
    # A web too large for the index is known in part, evenly, not by its first hosts.
    share = min(reach, most / max(1, total))
    for number, url in enumerate(web.page_urls()):
        if number % _PROGRESS_STEP == 0:
            progress(number, total)
        key = without_scheme(url)
        if xxh3_64_intdigest(key.encode()) >= share * 2.0**64:
            continue
        known = canonical_url("http://" + key)  # as the lab serves it
        if known is None or not reader.is_allowed(known):
            continue
        answer = reader.response_for(known)
        page = reader.parse_page(answer) if answer.media_type in READABLE_TYPES else None
        if page is not None and page.index and (page.title or page.text):
            yield page
            count += 1
            if count >= most:
                break
    progress(total, total)


# --------------------------------------------------------------------------------------------------
# A search engine's bad days: what a client must survive, on demand.
# --------------------------------------------------------------------------------------------------


EngineFault = Literal["", "down", "slow", "limited", "garbage", "html", "million", "hostile"]
ENGINE_FAULTS: tuple[str, ...] = get_args(EngineFault)[1:]

JSON_HEADERS = (("Content-Type", "application/json"),)
_LIMITED_HEADERS = (*JSON_HEADERS, ("Retry-After", "5"))
SLOW_S = 300.0
"""Longer than a client waits."""
_MILLION = 1_000_000

GoodAnswer = Callable[[], dict[str, Any]]
"""What the engine would have said."""


def check_fault(fault: str) -> EngineFault:
    if fault and fault not in ENGINE_FAULTS:
        raise ConfigError(f"the engine knows no fault {fault!r}; choose {', '.join(ENGINE_FAULTS)}")
    return fault  # type: ignore[return-value]  # it is one of them


def faulty_response(fault: EngineFault, number: int, good: GoodAnswer) -> LabResponse | None:
    """The answer to the request of that number, counted from 0; None: this one goes well."""
    match fault:
        case "down":
            return NO_RESPONSE
        case "slow":
            return make_response(200, JSON_HEADERS, _encode_json(good()))._replace(wait_s=SLOW_S)
        case "limited":  # every third request is answered
            if number % 3 == 0:
                return None
            return make_response(429, _LIMITED_HEADERS, b'{"error": "Too Many Requests"}')
        case "garbage":
            garbage = _garbage_bodies()
            return make_response(200, JSON_HEADERS, garbage[number % len(garbage)])
        case "html":  # with SearXNG, what a proxy or a login page in front of it says
            return message_response(200, "Please prove that you are no machine.")
        case "million":
            return _million_results()
        case "hostile":
            facts = good()
            facts["results"] = [*_hostile_results(), *facts["results"]]
            return make_response(200, JSON_HEADERS, _encode_json(facts))
    return None


def _encode_json(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts).encode()


@lru_cache(maxsize=1)
def _garbage_bodies() -> tuple[bytes, ...]:
    """Each broken in its own way: not JSON, cut short, of another shape, too deep, not text."""
    return (
        b"",
        b'{"query": "a", "results": [{"url": "http://www.h1.exa',
        b'{"results": 7}',
        b'["results"]',
        b"null",
        b'{"results": [7, null, "http://www.h1.example/", [], {"url": 3}, {"link": "x"}]}',
        b"[" * 100_000,
        b'{"results": ' + b"9" * 20_000 + b"}",
        bytes(range(256)) * 8,
        b'{"results": [{"url": "\\ud800", "title": {"a": 1}, "content": [[]]}]}',
    )


@lru_cache(maxsize=1)
def _million_results() -> LabResponse:
    """A million results on one page: some forty megabytes, which gzip makes small."""
    rows = ",".join(
        f'{{"url":"http://www.h{n % 997}.example/{n}","title":"{n}"}}' for n in range(_MILLION)
    )
    return make_response(200, JSON_HEADERS, f'{{"results":[{rows}]}}'.encode())


def _hostile_results() -> list[dict[str, Any]]:
    """Results that would do harm where they were believed."""
    known = files("honeyguide.lab").joinpath("hostile_results.json").read_text("utf-8")
    results: list[dict[str, Any]] = json.loads(known)
    where = "http://www.h1.example/"
    results.insert(6, {"url": where + "x" * 100_000, "title": "long address", "content": ""})
    return [*results, {"url": where + "4", "title": "t" * 200_000, "content": "c " * 200_000}]


# --------------------------------------------------------------------------------------------------
# A search engine over a lab's web. It speaks SearXNG's JSON, so that our own client is what runs.
#
# It stands at ``http://search.lab/search`` beside the web. It answers everybody at once and has
# no part in robots.txt, politeness and failures of the web.
# --------------------------------------------------------------------------------------------------


LAB_ENGINE_URL = f"http://{ENGINE_HOST}/search"
"""What goes into ``[search] url``."""
_ENGINE_ROBOTS = b"User-agent: *\nDisallow: /\n"
_TEXT_HEADERS = (("Content-Type", "text/plain; charset=utf-8"),)
_HTML_HEADERS = (("Content-Type", "text/html; charset=utf-8"),)
_MAX_PAGE_NUMBER = 10_000
"""Nobody turns more pages than that."""


class LabSearchEngine:
    """Answers ``search.lab/search?q=…&format=json&pageno=…`` out of an index."""

    def __init__(self, index: LabSearchIndex, *, latency_s: float = 0.0, fault: str = "") -> None:
        """``latency_s``: how long it thinks; ``fault``: how it misbehaves."""
        self.index = index
        self._latency_s = latency_s
        self._fault: EngineFault = check_fault(fault)
        self._asked = 0

    def fresh_copy(self) -> Self:
        other = copy(self)  # the index is shared
        other._asked = 0
        return other

    def respond(self, key: str) -> LabResponse:
        """The answer for ``search.lab/path?query``."""
        answer = self._make_answer(key.partition("/")[2])
        return answer._replace(wait_s=self._latency_s) if answer.wait_s is None else answer

    def _make_answer(self, rest: str) -> LabResponse:
        path, _, query = rest.partition("?")
        if path == "robots.txt":
            return make_response(200, _TEXT_HEADERS, _ENGINE_ROBOTS)
        if path not in ("", "search"):
            return message_response(404, f"The lab's engine answers at {LAB_ENGINE_URL}")
        fields = _query_fields(query)
        text, page = fields.get("q", ""), _page_number(fields.get("pageno", "1"))
        kind = fields.get("format", "html")
        if kind not in ("json", "html"):
            return message_response(403, "The lab's engine answers in JSON and HTML.")
        if not text.strip():
            if kind == "html":
                return make_response(200, _HTML_HEADERS, _html_form(""))
            return make_response(400, JSON_HEADERS, b'{"error": "No query"}')
        number, self._asked = self._asked, self._asked + 1
        faulty = faulty_response(self._fault, number, lambda: self._results_json(text, page))
        if faulty is not None:
            return faulty
        facts = self._results_json(text, page)
        if kind == "json":
            return make_response(200, JSON_HEADERS, json.dumps(facts, ensure_ascii=False).encode())
        return make_response(200, _HTML_HEADERS, _html_page(facts))

    def _results_json(self, text: str, page: int) -> dict[str, Any]:
        hits, total = self.index.search(text, page)
        first = (page - 1) * RESULTS_PER_PAGE + 1
        return {
            "query": text,
            "number_of_results": total,
            "results": [
                {
                    "url": hit.url,
                    "title": hit.title,
                    "content": hit.snippet,
                    "engine": "lab",
                    "engines": ["lab"],
                    "positions": [place],
                    "score": hit.score,
                    "category": "general",
                }
                for place, hit in enumerate(hits, first)
            ],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }


def make_lab_engine(
    web: LabWeb,
    serving: ServingOptions | None = None,
    *,
    reach: float = 1.0,
    latency_s: float = 0.0,
    fault: str = "",
    progress: IndexProgress = lambda _n, _of: None,
) -> LabSearchEngine:
    """An engine that knows the web as it is served, or a share of it (``reach``)."""
    check_fault(fault)
    calm = replace(serving or ServingOptions(), error_rate=0.0)
    index = LabSearchIndex.from_responder(LabResponder(web, calm), reach=reach, progress=progress)
    return LabSearchEngine(index, latency_s=latency_s, fault=fault)


def _query_fields(query: str) -> dict[str, str]:
    try:
        found = parse_qs(query, max_num_fields=50)
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def _page_number(text: str) -> int:
    return min(_MAX_PAGE_NUMBER, max(1, int(text))) if text.isdecimal() and len(text) < 9 else 1


def _html_page(facts: dict[str, Any]) -> bytes:
    items = "".join(map(_html_item, facts["results"]))
    count = f"<p>{facts['number_of_results']} results</p>"
    return _html_form(facts["query"], f"{count}<ol>{items}</ol>" if items else "<p>Nothing.</p>")


def _html_item(result: dict[str, Any]) -> str:
    url, title = escape(result["url"]), escape(result["title"] or result["url"])
    return f'<li><a href="{url}">{title}</a><p>{escape(result["content"])}</p></li>'


def _html_form(text: str, below: str = "") -> bytes:
    return (
        "<!DOCTYPE html><title>The lab's engine</title>"
        f'<form action="/search"><input name="q" value="{escape(text)}"><button>Search</button>'
        f"</form>{below}\n"
    ).encode()
