"""A collection on disk: everything that outlives the process passes through here.

The store keeps; it never decides. Its parts each own their tables; this class opens them
together and puts what belongs together into one transaction.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from honeyguide.config.settings import StoreSettings
from honeyguide.errors import StoreError
from honeyguide.store import collection_files, shards, warc
from honeyguide.store.change_feed import ChangeFeed, NotificationOutbox
from honeyguide.store.codec import TextCodec
from honeyguide.store.collection_files import CollectionLock
from honeyguide.store.counters import (
    CollectionCounts,
    CountedVisit,
    HostRow,
    VisitCounter,
    update_relevance,
)
from honeyguide.store.crawl_state import RobotsRow, RobotsTable, SqliteFrontierLog
from honeyguide.store.database import Database, OpenMode, SqliteErrorGuard
from honeyguide.store.duplicates import DuplicateIndex, TextSketcher
from honeyguide.store.generations import GenerationRow, GenerationTable, StrategyFinder
from honeyguide.store.labels import LabelTable
from honeyguide.store.searches import SearchTable
from honeyguide.store.shards import ImportedVisits, ShardMessageTable, VisitTransferBatch
from honeyguide.store.versions import VersionTable
from honeyguide.store.visits import VisitRow, VisitTable
from honeyguide.store.warc_archive import NO_LOCATION, WarcArchive, WarcFolder, warc_path
from honeyguide.store.watch_list import WatchFacts, WatchListTable
from honeyguide.types import DuplicateOf, Label, Page, Response, Url, Verdict, Visit


class Store:
    """Use :meth:`open`. One thread, one store; other threads and processes open their own."""

    def __init__(
        self,
        folder: Path,
        db: Database,
        settings: StoreSettings,
        clock: Callable[[], float],
        closing: ExitStack,
        words: bool = True,
        shelf: WarcFolder | None = None,
    ) -> None:
        codec = TextCodec()
        shelf = shelf or WarcFolder(folder / "warc")
        self.folder = folder
        self.log = SqliteFrontierLog(db)
        self._db = db
        self._closing = closing
        self._crawling = False
        self._visits = VisitTable(db, codec, words)
        self._tally = VisitCounter(db)
        self._copies = DuplicateIndex(db, TextSketcher(), near=words)
        self._shelf = shelf.folder
        self._archive = WarcArchive(db, settings, clock, shelf)
        self.people = LabelTable(db)
        self._robots = RobotsTable(db, codec)
        self._generations = GenerationTable(db)
        self.versions = VersionTable(db)
        self.watched = WatchListTable(db, self._visits)
        self.changes = ChangeFeed(db, codec)
        self.outbox = NotificationOutbox(db)
        self.facts = WatchFacts(db)
        self.searches = SearchTable(db)
        self.letters = ShardMessageTable(db)

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
                    folder.mkdir(parents=True, exist_ok=True)
                    lock = CollectionLock(folder / "lock")
                closing.callback(lock.close)
            db = Database(folder / "collection.db", mode)
            closing.callback(db.close)
            # Only the process that holds the lock may touch WARC files.
            settings = settings or StoreSettings()
            chosen = settings if mode == "crawl" else replace(settings, warc=False)
            store = cls(folder, db, chosen, clock, closing, words, shelf)
            store._crawling = mode == "crawl"
            if store._crawling:
                closing.callback(store._archive.close)
                store._archive.recover()
                store._copies.drop_old_signatures()
                store._robots.delete_expired(clock())
            store._closing = closing.pop_all()
        return store

    def close(self) -> None:
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def database(self) -> Database:
        """For who copies it as a whole."""
        return self._db

    @property
    def changes_made(self) -> int:
        """Grows with everything that is written through this store."""
        return int(self._db.connection.total_changes())

    @property
    def warc_archive(self) -> WarcArchive:
        """Its WARC files, for who brings them to safety."""
        return self._archive

    @property
    def warnings(self) -> list[str]:
        """What was found wrong, and lived with, on opening."""
        return list(self._archive.warnings)

    def free_mb(self) -> float:
        """Room left on the collection's disk."""
        with self._db.guard:
            return shutil.disk_usage(self.folder).free / 1e6

    def check_database(self) -> None:
        """Read the whole database; raises CollectionCorrupt."""
        self._db.check_integrity()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Visits, links and everything else in it: all on disk, or none."""
        if self._db.in_transaction:
            raise StoreError("a transaction is already open")
        self._archive.prepare_file()
        try:
            with self._db.transaction():
                yield
                self._archive.flush()
        except BaseException:  # an interruption rolls back as well
            self._copies.rollback()
            self._tally.rollback()
            self._archive.rollback()
            raise
        self._copies.commit()
        self._archive.commit()

    def archive_response(self, answer: Response, since: float | None = None) -> None:
        """Keep a revisit's answer in the WARC files, inside a transaction: whole, or, if nothing is
        new ``since`` the answer of that time, as a revisit record."""
        if since is None:
            self._archive.add_response(answer, whole=True)
        else:
            self._archive.add_revisit(answer, since)

    def append_visits(self, visits: Sequence[Visit], threshold: float = 0.5) -> list[int]:
        """Journal visits, inside a transaction; the numbers of their rows."""
        if not (self._crawling and self._db.in_transaction):
            raise StoreError("visits are appended inside a transaction of a store opened to crawl")
        done: list[CountedVisit] = []
        numbers: list[int] = []
        for visit in visits:
            relevant = visit.verdict is not None and visit.verdict.score >= threshold
            response, page, url = visit.response, visit.page, visit.link.url
            place = NO_LOCATION if response is None else self._archive.add_response(response)
            text = None if page is None else self._copies.text_digest(url, page.text)
            host = self._tally.host_number(url)
            number = self._visits.add_visit(visit, host, relevant, text, place)
            if response is not None:
                self._archive.remember_payload(place, number, len(response.payload))
            if page is not None:
                self._copies.add(number, url)
            numbers.append(number)
            done.append(CountedVisit.from_visit(visit, relevant, host))
        self._tally.add(done)
        return numbers

    def next_visit_batch(self, after: int, most: int) -> VisitTransferBatch | None:
        """The next visits after that number, for the collection that this is a shard of."""
        return shards.pack_visits(self._db, after, most)

    def import_visit_batch(self, shard: int, told: VisitTransferBatch) -> ImportedVisits | None:
        """Visits that a shard made; None if they are known already."""
        return shards.import_visits(self._db, self._tally, shard, told)

    @property
    def shard_count(self) -> int:
        """How many shards the collection has; 1: it is its own only one."""
        return shards.count_shards(self)

    def inherit_hosts(self, of: Store, ours: Callable[[str], bool]) -> None:
        """A new shard takes over what a collection knows of these hosts."""
        shards.copy_hosts(self._db, of._db, ours)

    def begin_sync(self, newest: Sequence[int]) -> None:
        """Visits come from shards from now on, of each those after this; inside a transaction."""
        shards.begin_sync(self._db, newest)

    def begin_shard_sync(self, shard: int, newest: int) -> None:
        """The same for one shard that begins anew."""
        shards.begin_shard_sync(self._db, shard, newest)

    def adopt_shard(self, shard: Store, number: int) -> None:
        """What a shard knows besides its visits and links, when it is no more."""
        shards.adopt_shard(self._db, shard._db, number)

    def forget_shards(self) -> None:
        shards.forget_sync(self._db)

    def last_visit_id(self) -> int:
        """The number of the last visit in the journal."""
        return self._db.fetch_number("SELECT max(id) FROM visits")

    def last_synced_visit(self, shard: int) -> int:
        """The number of the last visit that was taken from this shard."""
        return shards.synced_until(self._db, shard)

    def forget_texts(self, until: int) -> None:
        """The collection has the texts of these visits: a shard need not keep them."""
        with self._db.join_transaction():
            self._db.execute("DELETE FROM texts WHERE visit <= ?", (until,))

    def set_threshold(self, threshold: float) -> None:
        """Call relevant what reaches this; if it was another threshold before, count anew."""
        with self.transaction():
            if self.get_meta("threshold") not in (None, repr(threshold)):
                self._tally.recount_relevant(threshold)
            self.set_meta("threshold", repr(threshold))

    def find_duplicate(self, url: Url, text: str) -> DuplicateOf | None:
        """Was this text seen before, at another address? Ask before appending the visit."""
        return self._copies.find_duplicate(url, text)

    def counts(self) -> CollectionCounts:
        return self._tally.read_counts()

    def harvest_curve(self, most: int = 500) -> list[tuple[int, int]]:
        """Points of (visits, relevant among them), at most so many."""
        return self._tally.harvest_curve(most)

    def top_hosts(self, limit: int = 100) -> list[HostRow]:
        return self._tally.top_hosts(limit)

    def count_responses(self) -> tuple[int, dict[int, int]]:
        """How many redirects there were, and how many refusals by HTTP status."""
        return self._visits.count_responses()

    def iter_outcomes(self, since: int = 0) -> Iterator[tuple[bool, str, str, int]]:
        """Of each visit after that number: relevant, host if it was, channel and inlinks."""
        return self._visits.iter_outcomes(since)

    def attempts_at(self, url: str) -> list[VisitRow]:
        """Every attempt at this address, oldest first."""
        return self._visits.attempts_at(url)

    def visit_by_id(self, number: int) -> VisitRow | None:
        return self._visits.visit_by_id(number)

    def visits(
        self,
        *,
        relevant: bool | None = None,
        host: str | None = None,
        page: bool | None = None,
        since: int = 0,
        limit: int | None = None,
    ) -> Iterator[VisitRow]:
        return self._visits.iter_visits(relevant, host, page, since, limit)

    def page_text(self, number: int) -> tuple[tuple[str, ...], str]:
        """Headings and main text of a visit's page."""
        return self._visits.page_text(number)

    def rebuild_page(self, row: VisitRow) -> Page:
        """The page of one visit, without its links."""
        return self._visits.rebuild_page(row)

    def update_verdict(self, number: int, verdict: Verdict, tongue: str = "") -> None:
        """Another verdict on a visit's page, and its language; :meth:`recount_relevant` when all
        are."""
        self._visits.update_verdict(number, verdict, tongue)

    def recount_relevant(self, threshold: float) -> None:
        """Count anew what is relevant."""
        self._tally.recount_relevant(threshold)

    def mark_relevant(self, relevant: Mapping[int, bool]) -> dict[str, int]:
        """Call these visits' pages relevant, or not, inside a transaction; hosts that gained."""
        return update_relevance(self._db, relevant)

    def latest_page(self, url: str) -> Page | None:
        """The newest page of this address, without its links."""
        return self._visits.latest_page(url)

    def warc_record(self, row: VisitRow) -> tuple[dict[str, str], bytes] | None:
        """The WARC record of a visit: its headers and its block; None if there is none."""
        if row.warc is None or row.offset is None:
            return None
        with self._db.guard:
            return warc.read_record(warc_path(self._shelf, row.warc), row.offset, row.length)

    def add_labels(self, labels: Iterable[Label]) -> None:
        self.people.add(labels)

    def labels(self, after: int = 0, *, everyone: bool = False) -> list[tuple[int, Label]]:
        """What people say of pages, of topics that are followed, after that number: of each page
        the label that counts, numbered; or everyone's."""
        said = self.people.everyone_after(after) if everyone else self.people.effective_after(after)
        followed = ("", *self._visits.topics)
        return [each for each in said if each[1].topic in followed]

    def labels_until(self, number: int) -> list[Label]:
        """What counted of each page, of topics that are followed, when that label was given."""
        followed = ("", *self._visits.topics)
        return [label for label in self.people.effective_until(number) if label.topic in followed]

    def effective_label(self, url: str) -> Label | None:
        return self.people.effective_label(url)

    def label_history(self, url: str) -> list[Label]:
        return self.people.label_history(url)

    def save_generation(
        self,
        number: int,
        name: str,
        strategy: Any,
        note: str = "",
        at: float = 0.0,
        *,
        live: bool = True,
    ) -> None:
        self._generations.save(number, name, strategy, note, at, live)

    def use_generation(self, number: int) -> None:
        """Let this generation decide from now on; a crawl that runs will notice."""
        self._generations.set_live(number)

    def live_generation(self) -> int | None:
        """The number of the generation that decides."""
        return self._generations.live_number()

    def judged_by_generation(self) -> dict[int, tuple[int, int]]:
        """Generation → pages it judged, and how many of them were relevant."""
        return self._visits.judged_by_generation()

    def next_generation(self) -> int:
        return self._generations.next_number()

    def load_generation(self, number: int, find: StrategyFinder) -> Any:
        return self._generations.load(number, find)

    def generations(self) -> list[GenerationRow]:
        return self._generations.list_all()

    def save_robots(self, origin: str, at: float, status: int, text: str) -> None:
        self._robots.save_robots(origin, at, status, text)

    def fresh_robots(self, now: float) -> Iterator[RobotsRow]:
        """Answers younger than a day."""
        return self._robots.iter_fresh(now)

    def set_topics(self, topics: Sequence[str]) -> None:
        """Verdicts speak of these topics from now on; none: of one, whose name nobody needs."""
        self._visits.set_topics(tuple(topics))

    def topic_names(self) -> tuple[str, ...]:
        """The topics that verdicts speak of."""
        return self._visits.topics

    def relevant_by_topic(self, threshold: float, first: str) -> dict[str, int]:
        """Relevant pages of each topic; of the first, those too that nobody told apart yet."""
        return self._visits.relevant_by_topic(threshold, first)

    def labels_by_topic(self, url: str) -> dict[str, Label]:
        """The label of an address that counts for each topic, '' being the first."""
        return self.people.labels_by_topic(url)

    def get_meta(self, key: str) -> str | None:
        return self._db.get_meta(key)

    def set_meta(self, key: str, value: str) -> None:
        self._db.set_meta(key, value)


# --------------------------------------------------------------------------------------------------
# An answer of the crawl once more, as its WARC record has it.
# --------------------------------------------------------------------------------------------------


def archived_response(store: Store, row: VisitRow) -> Response | None:
    """Its body is still coded (``payload``); None if it was not kept. Raises StoreError."""
    original = store.visit_by_id(row.payload_of) if row.payload_of is not None else row
    found = store.warc_record(original) if original is not None else None
    if found is None:
        return None
    head, _, payload = found[1].partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = tuple((name, value) for name, _, value in (x.partition(": ") for x in lines) if name)
    at = row.at if row.started is None else row.started
    return Response(row.url, row.status or 200, headers, payload, b"", b"", b"", "", at, 0.0)
