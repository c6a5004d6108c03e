"""A collection on disk: everything that outlives the process passes through here.

Each part of the store owns its tables and is a public attribute of it. The store opens the parts
together, and has the methods that need several of them, or a transaction over all.
"""

from __future__ import annotations

import hmac
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

from honeyguide.config.settings import StoreSettings
from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store import collection_files
from honeyguide.store.change_feed import ChangeFeed, NotificationOutbox
from honeyguide.store.codec import TextCodec
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.counters import CountedVisit, VisitCounter
from honeyguide.store.database import Database, OpenMode, SqliteErrorGuard
from honeyguide.store.duplicates import DuplicateIndex, TextSketcher
from honeyguide.store.generations import GenerationTable
from honeyguide.store.labels import LabelTable
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.searches import SearchTable
from honeyguide.store.shards import (
    SHARDS_KEY,
    ShardMessageTable,
    ShardSync,
    shard_folder,
    shard_of,
)
from honeyguide.store.versions import VersionTable
from honeyguide.store.visits import VisitRow, VisitTable
from honeyguide.store.warc import NO_LOCATION, WarcArchive, WarcFolder
from honeyguide.store.watch_list import WatchFacts, WatchListTable
from honeyguide.types import Response, Url, Visit
from honeyguide.url import host_of

_USUAL_THRESHOLD = 0.5
_MAX_ROBOTS_AGE_S = 24 * 3600.0
"""RFC 9309, section 2.4: do not use a copy older than a day."""
_MAX_ROBOTS_BYTES = 4_000_000
"""Bytes of a text: half a megabyte is read of a robots.txt, before characters are replaced."""


_COPIES_KEY = "copies"
"""Set once the relevant pages were counted without copies."""


class Store:
    """Use :meth:`open`. One thread, one store; other threads and processes open their own."""

    def __init__(self, folder: Path, db: Database, archive: WarcArchive, words: bool) -> None:
        codec = TextCodec()
        self.folder = folder
        self.frontier_log = SqliteFrontierLog(db)
        self.database = db
        self._closing = ExitStack()
        self._crawling = False
        self.visits = VisitTable(db, codec, words)
        self.counter = VisitCounter(db)
        self.duplicates = DuplicateIndex(db, TextSketcher(), near=words)
        self.warc_archive = archive
        self.labels = LabelTable(db, self.visits)
        self.robots = RobotsTable(db, codec)
        self.generations = GenerationTable(db)
        self.versions = VersionTable(db)
        self.watched = WatchListTable(db, self.visits)
        self.changes = ChangeFeed(db, codec)
        self.outbox = NotificationOutbox(db)
        self.watch_facts = WatchFacts(db)
        self.searches = SearchTable(db)
        self.shard_messages = ShardMessageTable(db)
        self.shard_sync = ShardSync(db, self.counter)

    @classmethod
    def open(
        cls,
        folder: Path,
        mode: OpenMode,
        settings: StoreSettings | None = None,
        clock: Callable[[], float] = time.time,
        *,
        words: bool = True,
        shelf: WarcFolder | None = None,
    ) -> Self:
        """Open a collection to crawl (one process at a time), to label, or to read.

        Without ``words`` no texts are kept, and only equal ones are found to be copies. ``shelf``:
        where WARC files lie, if not in the collection's own folder.
        """
        with ExitStack() as closing:
            with SqliteErrorGuard(folder):
                collection_files.check_folder(folder)
            if mode == "crawl":
                with SqliteErrorGuard(folder / "lock"):
                    folder.mkdir(0o700, parents=True, exist_ok=True)
                    lock = CollectionLock(folder / "lock")
                closing.callback(lock.close)
            db = Database(folder / "collection.db", mode)
            closing.callback(db.close)
            # Only the process that holds the lock may touch WARC files.
            settings = settings or StoreSettings()
            chosen = settings if mode == "crawl" else replace(settings, warc=False)
            archive = WarcArchive(db, chosen, clock, shelf or WarcFolder(folder / "warc"))
            store = cls(folder, db, archive, words)
            store._crawling = mode == "crawl"
            if store._crawling:
                closing.callback(store.warc_archive.close)
                store.warc_archive.recover()
                store.duplicates.drop_old_signatures()
                store.robots.delete_expired(clock())
            store._closing = closing.pop_all()
        return store

    def close(self) -> None:
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def free_mb(self) -> float:
        """Room left on the collection's disk."""
        with self.database.guard:
            return shutil.disk_usage(self.folder).free / 1e6

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Visits, links and everything else in it: all on disk, or none."""
        if self.database.in_transaction:
            raise StoreError("a transaction is already open")
        self.warc_archive.prepare_file()
        try:
            with self.database.transaction():
                yield
                self.warc_archive.flush()
        except BaseException:  # an interruption rolls back as well
            self.duplicates.rollback()
            self.counter.rollback()
            self.warc_archive.rollback()
            raise
        self.duplicates.commit()
        self.warc_archive.commit()

    def append_visits(self, visits: Sequence[Visit]) -> list[int]:
        """Journal visits, inside a transaction; the numbers of their rows."""
        if not (self._crawling and self.database.in_transaction):
            raise StoreError("visits are appended inside a transaction of a store opened to crawl")
        done: list[CountedVisit] = []
        numbers: list[int] = []
        threshold = self.threshold
        for visit in visits:
            relevant = visit.is_relevant(threshold)
            response, page, url = visit.response, visit.page, visit.link.url
            place = NO_LOCATION if response is None else self.warc_archive.add_response(response)
            text = None if page is None else self.duplicates.text_digest(url, page.text)
            host = self.counter.host_number(url)
            number = self.visits.add_visit(visit, host, relevant, text, place)
            if response is not None:
                self.warc_archive.remember_payload(place, number, len(response.payload))
            if page is not None:
                self.duplicates.add(number, url)
            numbers.append(number)
            done.append(CountedVisit.from_visit(visit, relevant, host))
        self.counter.add(done)
        return numbers

    @property
    def shard_count(self) -> int:
        """How many shards the collection has; 1: it is its own only one."""
        return max(parse_decimal(self.get_meta(SHARDS_KEY) or "") or 1, 1)

    @contextmanager
    def frontier_log_for(self, url: Url) -> Iterator[SqliteFrontierLog]:
        """The frontier's log in which this address would wait: the collection's, or a shard's."""
        shards = self.shard_count
        path = shard_folder(self.folder, shard_of(host_of(url), shards)) / "collection.db"
        if shards == 1 or not path.is_file():
            yield self.frontier_log
            return
        db = Database(path, "read")
        try:
            yield SqliteFrontierLog(db)
        finally:
            db.close()

    def warc_record(self, row: VisitRow) -> tuple[dict[str, str], bytes] | None:
        """The headers and the block of a visit's WARC record; None if there is none."""
        if row.warc is None or row.offset is None:
            return None
        return self.warc_archive.read_record(row.warc, row.offset, row.length)

    def archived_response(self, row: VisitRow) -> Response | None:
        """What was answered to a visit, from its WARC record, with a body that is still coded
        (``payload``); None if it was not kept. Raises StoreError."""
        original = row if row.payload_of is None else self.visits.visit_by_id(row.payload_of)
        found = self.warc_record(original) if original is not None else None
        if found is None:
            return None
        head, _, payload = found[1].partition(b"\r\n\r\n")
        lines = (line.partition(": ") for line in head.decode("latin-1").split("\r\n")[1:])
        headers = tuple((name, value) for name, _, value in lines if name)
        at = row.at if row.started is None else row.started
        return Response(row.url, row.status or 200, headers, payload, b"", b"", b"", "", at, 0.0)

    @property
    def threshold(self) -> float:
        """The least verdict of a relevant page."""
        try:
            found = float(self.get_meta("threshold") or _USUAL_THRESHOLD)
        except ValueError:
            return _USUAL_THRESHOLD
        return found if 0 < found <= 1 else _USUAL_THRESHOLD

    def set_threshold(self, threshold: float) -> None:
        """Call relevant what reaches this, inside a transaction; count anew if that is new, or if
        copies counted as relevant."""
        if threshold != self.threshold:
            self.counter.recount_relevant(threshold)
        elif self.get_meta("threshold") is not None and self.get_meta(_COPIES_KEY) is None:
            self.counter.discount_copies()
        self.set_meta("threshold", repr(threshold))
        self.set_meta(_COPIES_KEY, "apart")

    def get_meta(self, key: str) -> str | None:
        return self.database.get_meta(key)

    def set_meta(self, key: str, value: str) -> None:
        self.database.set_meta(key, value)


def open_existing_store(folder: Path, mode: OpenMode) -> Store:
    """A StoreError that says what to do if there is none yet."""
    if not (folder / "collection.db").exists():
        place = shlex.quote(str(folder))
        name = folder.resolve().name
        raise StoreError(f"{name} is not crawled yet; run: honeyguide crawl {place}")
    return Store.open(folder, mode)


# --------------------------------------------------------------------------------------------------
# What else a crawl needs to go on: the log of its frontier, and robots.txt answers, so that a
# restart does not ask every host again.
# --------------------------------------------------------------------------------------------------


class SqliteFrontierLog:
    """Implements :class:`honeyguide.protocols.FrontierLog`; entries live and die with the
    transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def append(self, index: bytes, text: bytes) -> int:
        entry = self._db.insert("INSERT INTO frontier_index(data) VALUES(?)", (index,))
        self._db.execute("INSERT INTO frontier_text VALUES(?, ?)", (entry, text))
        return entry

    def read_text(self, entry: int) -> bytes:
        row = self._db.fetch_one("SELECT data FROM frontier_text WHERE entry = ?", (entry,))
        if row is None:
            raise StoreError(f"the frontier's log has no entry {entry}")
        return _checked_bytes(entry, row[0])

    def has_entry(self, entry: int) -> bool:
        sql = "SELECT 1 FROM frontier_index WHERE entry = ?"
        return self._db.fetch_one(sql, (entry,)) is not None

    def clear(self) -> None:
        """Forget everything, inside a transaction: it is written anew."""
        self._db.execute("DELETE FROM frontier_index")
        self._db.execute("DELETE FROM frontier_text")

    def scan_entries(self) -> Iterator[tuple[int, bytes]]:
        pages = self._db.iter_pages(
            "SELECT entry, data FROM frontier_index WHERE entry > ? ORDER BY entry LIMIT ?",
            size=100,
        )
        for entry, data in pages:
            yield entry, _checked_bytes(entry, data)


def _checked_bytes(entry: int, data: object) -> bytes:
    # SQLite lets any column hold anything, and bytes(n) would make n zeros of a number.
    if not isinstance(data, bytes):
        raise CollectionCorrupt(f"entry {entry} of the frontier's log is damaged")
    return data


class RobotsRow(NamedTuple):
    origin: str
    at: float
    status: int
    text: str


class RobotsTable:
    """The robots.txt files that this user fetched on this machine.

    Each row is signed: in a collection of a stranger, one that allows everything would switch off
    the wishes of a site. A row with another signature counts as not there, and is fetched again.
    """

    def __init__(self, db: Database, codec: TextCodec) -> None:
        self._db = db
        self._codec = codec

    def save_robots(self, origin: str, at: float, status: int, text: str) -> None:
        data = self._codec.pack(text.encode("utf-8", "replace"))
        signed = _sign_robots(origin, float(at), status, data) + data
        self._db.insert_rows("robots", [(origin, at, status, signed)], replace=True)

    def delete_expired(self, now: float) -> None:
        """Forget what must not be used any more, and what claims to be from the future."""
        with self._db.join_transaction():
            self._db.execute(
                "DELETE FROM robots WHERE NOT (at > ? AND at < ?)",
                (now - _MAX_ROBOTS_AGE_S, now + _MAX_ROBOTS_AGE_S),
            )

    def iter_fresh(self, now: float) -> Iterator[RobotsRow]:
        rows = self._db.fetch_all(
            "SELECT origin FROM robots WHERE at > ? AND at <= ?", (now - _MAX_ROBOTS_AGE_S, now)
        )
        # Texts one at a time: half a megabyte each is allowed, and there may be thousands.
        for (origin,) in rows:
            row = self._db.fetch_one(
                "SELECT at, CAST(status AS INTEGER), data FROM robots WHERE origin = ?", (origin,)
            )
            if row is None or not isinstance(row[2], bytes):
                continue
            mark, data = row[2][:_MARK_BYTES], row[2][_MARK_BYTES:]
            if hmac.compare_digest(mark, _sign_robots(origin, row[0], row[1], data)):
                text = self._codec.unpack(data, _MAX_ROBOTS_BYTES).decode("utf-8", "replace")
                yield RobotsRow(origin, row[0], row[1], text)


_MARK_BYTES = 32


def _sign_robots(origin: str, at: float, status: int, data: bytes) -> bytes:
    told = f"{origin}\n{at!r}\n{status!r}\n".encode("utf-8", "replace")
    return hmac.digest(collection_files.machine_secret(), told + data, "sha256")
