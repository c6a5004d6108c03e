"""Keeps a collection's search index in step with its journal, in a background thread.

First the facts of all visits, which takes seconds, then the words of their pages, then what
changed. A verdict may change after its visit was indexed (a new generation, another threshold),
so what is indexed is looked at again, round after round; until its turn comes, a page may be
found under its old verdict.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from honeyguide.errors import HoneyguideError
from honeyguide.store.database import to_int64
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.studio.search_index import (
    FAILED,
    INDEX_FILE,
    OTHER,
    PAGE,
    RELEVANT,
    IndexDamaged,
    SearchIndex,
    delete_index,
    space_characters,
)
from honeyguide.types import UNREQUESTED
from honeyguide.url import host_of, url_fingerprint

_FACTS_AT_ONCE, _TEXTS_AT_ONCE, _VERDICTS_AT_ONCE = 1000, 200, 500
"""Visits taken in one step."""
_TEXT_CHARS = 50_000
"""Characters of a text whose words are found."""
_PAUSE_S = 1.0
_PATIENCE_S = 120.0
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
        while not self._ended.is_set() and self._clock() - self._asked < _PATIENCE_S:
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
        with Store.open(self._folder, "read") as store, closing(SearchIndex(self.path)) as index:
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
    key = to_int64(url_fingerprint(row.url))
    return (
        row.id,
        _visit_kind(row),
        host_of(row.url),
        row.at,
        row.verdict,
        _visit_language(row),
        key,
        None,
    )


def _visit_kind(row: VisitRow) -> int:
    if row.has_page:
        return RELEVANT if row.relevant else PAGE
    return FAILED if row.failure else OTHER


def _visit_language(row: VisitRow) -> str:
    """As heard; where nobody listened, what the page declares must do."""
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
