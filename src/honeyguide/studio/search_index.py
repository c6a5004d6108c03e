"""The studio's search index of a collection: filters, words, their SQL, and its upkeep.

A background thread keeps the index in step with the journal: first the facts of all visits, which
takes seconds, then the words of their pages, then what changed. A verdict may change after its
visit was indexed (a new generation, another threshold), so indexed visits are checked again, round
after round; until then, a page may be found under its old verdict.
"""

from __future__ import annotations

import json
import logging
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from honeyguide.errors import CollectionCorrupt, ConfigError, HoneyguideError, StoreError
from honeyguide.store.database import to_int64
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import UNREQUESTED
from honeyguide.url import host_of, url_fingerprint

FAILED, OTHER, PAGE, RELEVANT = range(4)
"""Kinds of visits: brought nothing, no page (a redirect, a sitemap), a page, a relevant page."""

Sort = Literal["newest", "oldest", "best", "worst", "match", "changed"]
"""By time, by verdict, by how well the words match, or by the last change."""

_MAX_MATCHES = 10_000
"""Of the visits that match, so many of the newest are put in order by how well they do."""
_MAX_TERMS = 16
_MIN_PREFIX = 3
"""Letters that a word must have before it may go on: what begins with one letter is everything."""
_PIECES = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_UNSPACED = re.compile(
    "([\u0e01-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af])"
)
"""Scripts without blanks between words: each character is a word here, and a word a phrase."""


class IndexFilter(NamedTuple):
    """What somebody wants to see."""

    words: str = ""
    least: float | None = None
    """Lowest verdict."""
    most: float | None = None
    """Highest verdict."""
    host: str = ""
    language: str = ""
    since: float | None = None
    until: float | None = None
    kinds: tuple[int, ...] = ()
    changed: bool = False
    only_pages: Sequence[int] | None = None
    """Only pages with these fingerprints."""
    without_pages: Sequence[int] | None = None
    """Only pages without these fingerprints."""


class IndexHit(NamedTuple):
    visit: int
    key: float
    """What it was sorted by: where the next page of results goes on."""


def space_characters(text: str) -> str:
    """With blanks around each character of a script that has none."""
    return _UNSPACED.sub(r" \1 ", text)


def parse_phrases(words: str) -> list[tuple[bool, str, bool]]:
    """What a person typed: (wanted or not, a word or a phrase, whether it may go on)."""
    found = []
    for minus, quoted, bare in _PIECES.findall(words)[:_MAX_TERMS]:
        longer = bare.endswith("*") and len(bare) > _MIN_PREFIX
        phrase = (quoted or bare.rstrip("*")).strip('"')
        if re.search(r"\w", phrase):
            found.append((not minus, phrase, longer))
    return found


def fts_expression(words: str) -> str:
    """The same as FTS5 wants it; whatever was typed, it is no syntax error."""
    wanted: list[str] = []
    unwanted: list[str] = []
    for good, phrase, longer in parse_phrases(words):
        term = " ".join(space_characters(phrase).replace('"', " ").replace("\0", " ").split())
        (wanted if good else unwanted).append(f'"{term}"' + ("*" if longer else ""))
    if not wanted:
        raise ConfigError("give at least one word that the pages should contain")
    return " AND ".join(wanted) + "".join(f" NOT {term}" for term in unwanted)


def narrowing_indexes(wish: IndexFilter) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Indexes by which it can be narrowed down, each with its condition and values."""
    if wish.kinds:
        yield "facts_kind", f"kind IN ({', '.join('?' * len(wish.kinds))})", wish.kinds
    if wish.host:
        yield "facts_host", "host = ?", (wish.host,)
    if wish.language:
        yield "facts_tongue", "tongue = ?", (wish.language,)
    if wish.since is not None or wish.until is not None:
        yield "facts_at", "at BETWEEN ? AND ?", (wish.since or 0.0, wish.until or 1e300)
    if wish.least is not None or wish.most is not None:
        bounds = wish.least or 0.0, 1.0 if wish.most is None else wish.most
        yield "facts_verdict", "verdict BETWEEN ? AND ?", bounds


def where_clause(wish: IndexFilter, source: str = "facts") -> tuple[str, str, list[Any]]:
    """Where to look, the condition, and its values."""
    parts, values = ["1"], list[Any]()
    if wish.words:
        source = "words CROSS JOIN facts ON facts.visit = words.rowid"
        parts.append("words MATCH ?")
        values.append(fts_expression(wish.words))
    elif wish.only_pages is not None:
        # Few pages are labelled: from their names to their visits is the short way.
        source = (
            "(SELECT DISTINCT value FROM json_each(?)) AS said "
            "CROSS JOIN facts ON facts.fingerprint = said.value"
        )
        values.append(json.dumps(list(wish.only_pages)))
        wish = wish._replace(only_pages=None)
    elif wish.changed:
        source = "facts INDEXED BY facts_changed"
    if wish.kinds:
        parts.append(f"kind IN ({', '.join('?' * len(wish.kinds))})")
        values += wish.kinds
    for condition, value in (
        ("verdict >= ?", wish.least),
        ("verdict <= ?", wish.most),
        ("host = ?", wish.host or None),
        ("tongue = ?", wish.language or None),
        ("at >= ?", wish.since),
        ("at < ?", wish.until),
        ("fingerprint IN (SELECT value FROM json_each(?))", wish.only_pages),
        ("fingerprint NOT IN (SELECT value FROM json_each(?))", wish.without_pages),
    ):
        if value is not None:
            parts.append(condition)
            values.append(value if isinstance(value, float | str) else json.dumps(list(value)))
    if wish.changed:
        parts.append("changed IS NOT NULL")
    return source, " AND ".join(parts), values


def select_statement(
    wish: IndexFilter, sort: Sort, after: IndexHit | None, source: str = "facts"
) -> tuple[str, list[Any]]:
    source, condition, values = where_clause(wish, source)
    number = "words.rowid" if wish.words else "visit"
    if sort == "match" and wish.words:
        inner = (
            f"SELECT visit, bm25(words, 4.0, 1.0) AS key FROM {source} WHERE {condition} "  # noqa: S608
            f"ORDER BY words.rowid DESC LIMIT {_MAX_MATCHES}"
        )
        beyond = "WHERE (key, -visit) > (?, ?) " if after else ""
        values += [after.key, -after.visit] if after else []
        return f"SELECT visit, key FROM ({inner}) {beyond}ORDER BY key, visit DESC", values  # noqa: S608
    if sort in ("best", "worst", "changed"):
        column = "changed" if sort == "changed" else "verdict"
        sign, way = (">", "ASC") if sort == "worst" else ("<", "DESC")
        condition += f" AND {column} IS NOT NULL"
        if after:
            condition += f" AND ({column}, visit) {sign} (?, ?)"
            values += [after.key, after.visit]
        order = f"{column} {way}, visit {way}"
        return f"SELECT visit, {column} FROM {source} WHERE {condition} ORDER BY {order}", values  # noqa: S608
    sign, way = (">", "ASC") if sort == "oldest" else ("<", "DESC")
    if after:
        condition += f" AND {number} {sign} ?"
        values.append(after.visit)
    return f"SELECT visit, 0.0 FROM {source} WHERE {condition} ORDER BY {number} {way}", values  # noqa: S608


# -- The index --
#
# The journal is made to be appended to; looking through it by score, host, language or words would
# read all of it. The index has a row of facts for each visit and the words of each page (SQLite's
# FTS5, without a copy of the texts). It holds nothing that the journal does not: one that is
# damaged, old or of another collection is thrown away and built again
# (:class:`Indexer`).


INDEX_FILE = "search.db"
MAX_COUNTED = 10_000
"""Nobody needs to know how many more there are."""
_RARE = 5_000
_ORDERED_INDEXES = {"best": "facts_verdict", "worst": "facts_verdict", "changed": "facts_changed"}
"""Indexes that are in the order wanted; the newest are in that of the table."""
_PATIENCE_S = 3.0
"""A query that takes longer is ended."""
_APPLICATION_ID = 0x484F4E53  # "HONS"
_VERSION = 1
_SCHEMA = resources.files("honeyguide.studio").joinpath("search_index.sql").read_text("utf-8")
_SELECT_SCHEMA = "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"


class IndexDamaged(CollectionCorrupt):
    """It is to be thrown away."""


class SearchIndex:
    """One connection. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        """Opened as it is, or made anew where it cannot be used."""
        _check_plain_files(path)
        with _translate_errors(path):
            self._db = _open_or_recreate(path)
        self._path = path

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> SearchIndex:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and nobody else writes meanwhile."""
        with _translate_errors(self._path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:  # an interruption rolls back as well
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def state_value(self, key: str) -> int:
        with _translate_errors(self._path):
            row = self._db.execute("SELECT value FROM state WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row and isinstance(row[0], int) else 0

    def find_hits(
        self, wish: IndexFilter, sort: Sort, limit: int, after: IndexHit | None = None
    ) -> list[IndexHit]:
        """The next so many visits in that order."""
        sql, values = select_statement(wish, sort, after, self._choose_source(wish, sort))
        with _translate_errors(self._path), self._time_limit():
            rows = self._db.execute(f"{sql} LIMIT ?", (*values, limit)).fetchall()
        return [IndexHit(visit, 0.0 if key is None else key) for visit, key in rows]

    def count_hits(self, wish: IndexFilter) -> int:
        """How many there are, up to :data:`MAX_COUNTED` and one more."""
        source, condition, values = where_clause(wish, self._choose_source(wish, "newest"))
        sql = f"SELECT count(*) FROM (SELECT 1 FROM {source} WHERE {condition} LIMIT ?)"  # noqa: S608
        with _translate_errors(self._path), self._time_limit():
            return int(self._db.execute(sql, (*values, MAX_COUNTED + 1)).fetchone()[0])

    def _choose_source(self, wish: IndexFilter, sort: Sort) -> str:
        """The short way: by what is rare, and sort it; else in the order wanted, until enough is
        found. SQLite would guess, and take a common language for a rare one."""
        if wish.words or wish.only_pages is not None or wish.changed:
            return "facts"  # it has its way
        rarest, chosen = _RARE, ""
        for index, condition, values in narrowing_indexes(wish):
            inner = f"SELECT 1 FROM facts INDEXED BY {index} WHERE {condition} LIMIT {_RARE + 1}"  # noqa: S608
            with _translate_errors(self._path):
                sql = f"SELECT count(*) FROM ({inner})"  # noqa: S608
                count = int(self._db.execute(sql, values).fetchone()[0])
            if count <= rarest:
                rarest, chosen = count, index
        chosen = chosen or _ORDERED_INDEXES.get(sort, "")
        return f"facts INDEXED BY {chosen}" if chosen else "facts NOT INDEXED"

    @contextmanager
    def _time_limit(self) -> Iterator[None]:
        """Whatever was asked for, it ends after a while."""
        until = time.monotonic() + _PATIENCE_S
        self._db.set_progress_handler(lambda: time.monotonic() > until, 10_000)
        try:
            yield
        finally:
            self._db.set_progress_handler(None, 0)


def _open_or_recreate(path: Path) -> sqlite3.Connection:
    try:
        return _connect_checked(path)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
            raise
        delete_index(path)
        return _connect_checked(path)


def _connect_checked(path: Path) -> sqlite3.Connection:
    """A connection to an index that is as we make them."""
    db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
        found = db.execute(_SELECT_SCHEMA).fetchall()
        if not found:
            path.chmod(0o600)
            _create_tables(db)
        version = db.execute("PRAGMA user_version").fetchone()
        if found and (found != _expected_schema() or version != (_VERSION,)):
            raise sqlite3.DatabaseError("it is not an index made by Honeyguide")
        db.execute("PRAGMA synchronous = NORMAL")
    except BaseException:  # whatever it is, the file must not stay open
        db.close()
        raise
    return db


def _create_tables(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    if not db.execute(_SELECT_SCHEMA).fetchall():  # another process may have been quicker
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_VERSION}")
    db.execute("COMMIT")


@lru_cache(maxsize=1)
def _expected_schema() -> list[Any]:
    """What an index of this version holds: a table of a stranger's could hold a program."""
    with closing(sqlite3.connect(":memory:")) as model:
        for statement in _SCHEMA.split(";\n"):
            model.execute(statement)
        return model.execute(_SELECT_SCHEMA).fetchall()


def _index_files(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in ("", "-wal", "-shm", "-journal")]


def delete_index(path: Path) -> None:
    """Throw an index away; the next one to open it makes a new one."""
    for file in _index_files(path):
        with suppress(OSError):
            file.unlink()


def _check_plain_files(path: Path) -> None:
    """A link in a folder that somebody sent us could lead to any file of ours."""
    for file in _index_files(path):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(file.lstat().st_mode):
                raise CollectionCorrupt(f"{file} is a link, or no plain file")


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """What SQLite says, in our words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "interrupted" in str(error):
            raise ConfigError("that takes too long: use rarer words or narrower filters") from error
        if "malformed" in str(error) or "no such" in str(error):
            raise IndexDamaged(f"{path} is damaged: {error}") from error
        raise StoreError(f"{path} cannot be used: {error}") from error
    except sqlite3.Error as error:
        raise IndexDamaged(f"{path} is damaged: {error}") from error


# -- Upkeep --


_FACTS_AT_ONCE, _TEXTS_AT_ONCE, _VERDICTS_AT_ONCE = 1000, 200, 500
"""Visits taken in one step."""
_TEXT_CHARS = 50_000
"""Characters of a text whose words are found."""
_PAUSE_S = 1.0
_IDLE_S = 120.0
"""So long after somebody last looked, the work goes on."""
_LOG = logging.getLogger(__name__)
_INSERT = "INSERT OR REPLACE INTO facts VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
_UPDATE = (
    "UPDATE facts SET kind = ?2, verdict = ?3, tongue = ?4 WHERE visit = ?1 "
    "AND (kind, verdict, tongue) IS NOT (?2, ?3, ?4)"
)
_SET_STATE = "INSERT OR REPLACE INTO state VALUES(?, ?)"


class SearchIndexProgress(msgspec.Struct, frozen=True):
    """How far the index is."""

    visits: int
    """Number of visits to index."""
    facts: int
    """Visits that can be filtered and sorted."""
    texts: int
    """of so many the words as well."""
    done: bool = False
    """Nothing is left to do."""
    trouble: str = ""


class Indexer:
    """One for each collection: a thread that works while somebody asks."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._whole = threading.Event()
        """Set while nothing is left to do."""
        self._thread: threading.Thread | None = None
        self._asked = clock()
        self._known = SearchIndexProgress(0, 0, 0)

    @property
    def path(self) -> Path:
        return self._folder / INDEX_FILE

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def keep_running(self, wait_s: float = 0.0) -> SearchIndexProgress:
        """Somebody looks: how far it is. The work goes on; so much of it is waited for."""
        with self._lock:
            self._asked = self._clock()
            if self._thread is None or not self._thread.is_alive():
                name = f"index of {self._folder.name}"
                self._thread = threading.Thread(target=self._work_loop, name=name, daemon=True)
                self._thread.start()
        self._whole.wait(wait_s)
        return self._known

    def rebuild_index(self) -> None:
        """Throw the index away and begin again: somebody found it damaged."""
        self._whole.clear()
        delete_index(self.path)

    def catch_up(self) -> SearchIndexProgress:
        """Everything at once, in this thread."""
        while self._index_some():
            pass
        return self._known

    def _work_loop(self) -> None:
        while not self._ended.is_set() and self._clock() - self._asked < _IDLE_S:
            try:
                began = time.perf_counter()
                more = self._index_some()
                # As long a rest as the work took: pages are not to wait for the index.
                rest = min(time.perf_counter() - began, 0.2) if more else _PAUSE_S
            except IndexDamaged as error:
                _LOG.warning("the index is built again: %s", error)
                delete_index(self.path)
                rest = _PAUSE_S
            except HoneyguideError as error:
                # It is busy, or not there yet; whoever looks is told, and it is tried again.
                self._known = msgspec.structs.replace(self._known, trouble=str(error))
                rest = 5 * _PAUSE_S
            self._ended.wait(rest)

    def _index_some(self) -> bool:
        """Some more of it; whether there is still more."""
        with Store.open(self._folder, "read") as store, SearchIndex(self.path) as index:
            if not _is_of_journal(store, index):
                index.close()
                delete_index(self.path)
                return True
            before, texts = index.state_value("facts"), index.state_value("texts")
            facts = _index_facts(store, index, before)
            more = facts > before or texts < facts
            if facts == before and more:
                texts = _index_texts(store, index, texts)
            elif not more:
                _index_changes(store, index)
                _refresh_verdicts(store, index)
            total = max(facts, _visits_to_index(store)) if facts > before else facts
        self._known = SearchIndexProgress(total, facts, texts, not more)
        (self._whole.clear if more else self._whole.set)()
        return more


def _visits_to_index(store: Store) -> int:
    """How many visits there are to index: links that nobody was asked for are among them."""
    counts = store.counter.read_counts()
    return counts.visits + sum(counts.failures.get(kind, 0) for kind in UNREQUESTED)


def _is_of_journal(store: Store, index: SearchIndex) -> bool:
    """Whether the index is of this journal, and not of one that was here before."""
    first = store.visits.visit_by_id(1)
    birth = 0 if first is None else url_fingerprint(f"{first.url} {first.at!r}") >> 1
    known = index.state_value("birth")
    if known == 0 and birth:
        with index.write_transaction() as db:
            db.execute(_SET_STATE, ("birth", birth))
        return True
    return known == birth


def _index_facts(store: Store, index: SearchIndex, since: int) -> int:
    rows = list(store.visits.iter_visits(since=since, limit=_FACTS_AT_ONCE))
    if not rows:
        return since
    with index.write_transaction() as db:
        if index.state_value("facts") != since:
            return index.state_value("facts")  # another studio was quicker
        db.executemany(_INSERT, [_fact_row(row) for row in rows])
        db.execute(_SET_STATE, ("facts", rows[-1].id))
    return rows[-1].id


def _fact_row(row: VisitRow) -> tuple[Any, ...]:
    key, host = to_int64(url_fingerprint(row.url)), host_of(row.url)
    kind, language = _visit_kind(row), _visit_language(row)
    return row.id, kind, host, row.at, row.verdict, language, key, None


def _visit_kind(row: VisitRow) -> int:
    if row.has_page:
        return RELEVANT if row.relevant else PAGE
    return FAILED if row.failure else OTHER


def _visit_language(row: VisitRow) -> str:
    """The detected language, else the declared one."""
    return row.tongue or row.language.partition("-")[0][:8]


def _index_texts(store: Store, index: SearchIndex, since: int) -> int:
    rows = list(store.visits.iter_visits(since=since, limit=_TEXTS_AT_ONCE))
    found = []
    for row in rows:
        if row.has_page:
            headings, text = store.visits.page_text(row.id)
            body = "\n".join((row.description, *headings[:40], text))[:_TEXT_CHARS]
            found.append((row.id, space_characters(row.title), space_characters(body)))
    with index.write_transaction() as db:
        if index.state_value("texts") != since:
            return index.state_value("texts")  # another studio was quicker
        db.executemany("INSERT INTO words(rowid, title, body) VALUES(?, ?, ?)", found)
        last = rows[-1].id if rows else since
        db.execute(_SET_STATE, ("texts", last))
    return last


def _refresh_verdicts(store: Store, index: SearchIndex) -> None:
    since = index.state_value("again")
    rows = list(store.visits.iter_visits(since=since, limit=_VERDICTS_AT_ONCE))
    with index.write_transaction() as db:
        db.executemany(
            _UPDATE, [(r.id, _visit_kind(r), r.verdict, _visit_language(r)) for r in rows]
        )
        db.execute(_SET_STATE, ("again", rows[-1].id if len(rows) == _VERDICTS_AT_ONCE else 0))


def _index_changes(store: Store, index: SearchIndex) -> None:
    """When the pages changed last, as the change feed tells."""
    known = index.state_value("changes")
    fresh = list(takewhile(lambda row: row.id > known, store.changes.iter_newest()))
    if fresh:
        with index.write_transaction() as db:
            db.executemany(
                "UPDATE facts SET changed = max(coalesce(changed, 0), ?) WHERE fingerprint = ?",
                [(row.change.at, to_int64(url_fingerprint(row.change.url))) for row in fresh],
            )
            db.execute(_SET_STATE, ("changes", fresh[0].id))
