"""Keeps a collection's index in step with its journal, in the background, while somebody looks.

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
from honeyguide.store.database import signed
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.studio.filters import FAILED, OTHER, PAGE, RELEVANT, spread
from honeyguide.studio.search import NAME, Index, IndexDamaged, forget
from honeyguide.types import UNASKED
from honeyguide.url import fingerprint, host

_FACTS, _TEXTS, _AGAIN = 1000, 200, 500
"""Visits taken in one step."""
_LONG = 50_000
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
_SET = "INSERT OR REPLACE INTO state VALUES(?, ?)"


class Indexed(msgspec.Struct, frozen=True):
    """How far the index is."""

    visits: int
    """Of these …"""
    facts: int
    """… so many can be found and sorted, and"""
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
        self._known = Indexed(0, 0, 0)

    @property
    def path(self) -> Path:
        return self._folder / NAME

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5.0)

    def asked(self, wait_s: float = 0.0) -> Indexed:
        """Somebody looks: how far it is. The work goes on; so much of it is waited for."""
        with self._lock:
            self._asked = self._clock()
            if self._thread is None or not self._thread.is_alive():
                name = f"index of {self._folder.name}"
                self._thread = threading.Thread(target=self._work, name=name, daemon=True)
                self._thread.start()
        self._whole.wait(wait_s)
        return self._known

    def anew(self) -> None:
        """Throw the index away and begin again: somebody found it damaged."""
        self._whole.clear()
        forget(self.path)

    def catch_up(self) -> Indexed:
        """Everything at once, in this thread."""
        while self._step():
            pass
        return self._known

    def _work(self) -> None:
        while not self._ended.is_set() and self._clock() - self._asked < _PATIENCE_S:
            try:
                began = time.perf_counter()
                more = self._step()
                # As long a rest as the work took: pages are not to wait for the index.
                rest = min(time.perf_counter() - began, 0.2) if more else _PAUSE_S
            except IndexDamaged as error:
                _LOG.warning("the index is made anew: %s", error)
                forget(self.path)
                rest = _PAUSE_S
            except HoneyguideError as error:
                # It is busy, or not there yet; whoever looks is told, and it is tried again.
                self._known = msgspec.structs.replace(self._known, trouble=str(error))
                rest = 5 * _PAUSE_S
            self._ended.wait(rest)

    def _step(self) -> bool:
        """Some more of it; whether there is still more."""
        with Store.open(self._folder, "read") as store, closing(Index(self.path)) as index:
            if not _belongs(store, index):
                index.close()
                forget(self.path)
                return True
            before, texts = index.state("facts"), index.state("texts")
            facts = _facts(store, index, before)
            more = facts > before or texts < facts
            if facts == before and more:
                texts = _texts(store, index, texts)
            elif not more:
                _changes(store, index)
                _again(store, index)
            total = max(facts, _about(store)) if facts > before else facts
        self._known = Indexed(total, facts, texts, not more)
        (self._whole.clear if more else self._whole.set)()
        return more


def _about(store: Store) -> int:
    """How many visits there are to index: links that nobody was asked for are among them."""
    counts = store.counts()
    return counts.visits + sum(counts.failures.get(kind, 0) for kind in UNASKED)


def _belongs(store: Store, index: Index) -> bool:
    """Whether the index is of this journal, and not of one that was here before."""
    first = store.visit_at(1)
    birth = 0 if first is None else fingerprint(f"{first.url} {first.at!r}") >> 1
    known = index.state("birth")
    if known == 0 and birth:
        with index.writing() as db:
            db.execute(_SET, ("birth", birth))
        return True
    return known == birth


def _facts(store: Store, index: Index, since: int) -> int:
    rows = list(store.visits(since=since, limit=_FACTS))
    if not rows:
        return since
    with index.writing() as db:
        if index.state("facts") != since:
            return index.state("facts")  # another studio was quicker
        db.executemany(_INSERT, [_fact(row) for row in rows])
        db.execute(_SET, ("facts", rows[-1].id))
    return rows[-1].id


def _fact(row: VisitRow) -> tuple[Any, ...]:
    key = signed(fingerprint(row.url))
    return row.id, _kind(row), host(row.url), row.at, row.verdict, _tongue(row), key, None


def _kind(row: VisitRow) -> int:
    if row.has_page:
        return RELEVANT if row.relevant else PAGE
    return FAILED if row.failure else OTHER


def _tongue(row: VisitRow) -> str:
    """As heard; where nobody listened, what the page declares must do."""
    return row.tongue or row.language.partition("-")[0][:8]


def _texts(store: Store, index: Index, since: int) -> int:
    rows = list(store.visits(since=since, limit=_TEXTS))
    found = []
    for row in rows:
        if row.has_page:
            headings, text = store.text(row.id)
            body = "\n".join((row.description, *headings[:40], text))[:_LONG]
            found.append((row.id, spread(row.title), spread(body)))
    with index.writing() as db:
        if index.state("texts") != since:
            return index.state("texts")  # another studio was quicker
        db.executemany("INSERT INTO words(rowid, title, body) VALUES(?, ?, ?)", found)
        last = rows[-1].id if rows else since
        db.execute(_SET, ("texts", last))
    return last


def _again(store: Store, index: Index) -> None:
    since = index.state("again")
    rows = list(store.visits(since=since, limit=_AGAIN))
    with index.writing() as db:
        db.executemany(_UPDATE, [(r.id, _kind(r), r.verdict, _tongue(r)) for r in rows])
        db.execute(_SET, ("again", rows[-1].id if len(rows) == _AGAIN else 0))


def _changes(store: Store, index: Index) -> None:
    """When the pages changed last, as the change feed tells."""
    known = index.state("changes")
    fresh = list(takewhile(lambda row: row.id > known, store.changes.newest()))
    if fresh:
        with index.writing() as db:
            db.executemany(
                "UPDATE facts SET changed = max(coalesce(changed, 0), ?) WHERE fingerprint = ?",
                [(row.change.at, signed(fingerprint(row.change.url))) for row in fresh],
            )
            db.execute(_SET, ("changes", fresh[0].id))
