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

from honeyguide.config import StoreSettings
from honeyguide.errors import StoreError
from honeyguide.store import files, shards, warc
from honeyguide.store import visit_transfer as parcel
from honeyguide.store.archive import NOWHERE, Archive, Shelf, place
from honeyguide.store.changes import Changes
from honeyguide.store.codec import Codec
from honeyguide.store.counts import Counted, Counts, HostRow, Tally
from honeyguide.store.database import Database, Guard, Mode
from honeyguide.store.duplicates import Copies
from honeyguide.store.frontier_log import DiskLog
from honeyguide.store.generations import Find, Generation, Generations
from honeyguide.store.key_values import Facts
from honeyguide.store.labels import Labels
from honeyguide.store.lock import Lock
from honeyguide.store.minhash import Sketcher
from honeyguide.store.outbox import Outbox
from honeyguide.store.relevance_marks import mark
from honeyguide.store.robots import RobotsRow, RobotsTable
from honeyguide.store.searches import Searches
from honeyguide.store.shard_messages import Letters
from honeyguide.store.versions import Versions
from honeyguide.store.visit_transfer import Parcel, Taken
from honeyguide.store.visits import VisitRow, Visits
from honeyguide.store.watched import Watched
from honeyguide.types import Copy, Label, Page, Response, Url, Verdict, Visit


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
        shelf: Shelf | None = None,
    ) -> None:
        codec = Codec()
        shelf = shelf or Shelf(folder / "warc")
        self.folder = folder
        self.log = DiskLog(db)
        self._db = db
        self._closing = closing
        self._crawling = False
        self._visits = Visits(db, codec, words)
        self._tally = Tally(db)
        self._copies = Copies(db, Sketcher(), near=words)
        self._shelf = shelf.folder
        self._archive = Archive(db, settings, clock, shelf)
        self.people = Labels(db)
        self._robots = RobotsTable(db, codec)
        self._generations = Generations(db)
        self.versions = Versions(db)
        self.watched = Watched(db, self._visits)
        self.changes = Changes(db, codec)
        self.outbox = Outbox(db)
        self.facts = Facts(db)
        self.searches = Searches(db)
        self.letters = Letters(db)

    @classmethod
    def open(
        cls,
        folder: Path,
        mode: Mode,
        settings: StoreSettings | None = None,
        clock: Callable[[], float] = time.time,
        *,
        words: bool = True,
        shelf: Shelf | None = None,
    ) -> Self:
        """Open a collection to crawl (one process at a time), to label, or to read.

        Without ``words`` no texts are kept, and only equal ones are found to be copies. ``shelf``:
        where WARC files lie, if not in the collection's own folder.
        """
        with ExitStack() as closing:
            with Guard(folder):
                files.check(folder)
            if mode == "crawl":
                with Guard(folder / "lock"):
                    folder.mkdir(parents=True, exist_ok=True)
                    lock = Lock(folder / "lock")
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
                store._copies.prepare()
                store._robots.tidy(clock())
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
    def shelf(self) -> Archive:
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

    def check(self) -> None:
        """Read the whole database; raises CollectionCorrupt."""
        self._db.check()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Visits, links and everything else in it: all on disk, or none."""
        if self._db.in_transaction:
            raise StoreError("a transaction is already open")
        self._archive.begin()
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

    def archive(self, answer: Response, since: float | None = None) -> None:
        """Keep a revisit's answer in the WARC files, inside a transaction: whole, or, if nothing is
        new ``since`` the answer of that time, as a revisit record."""
        if since is None:
            self._archive.add(answer, whole=True)
        else:
            self._archive.again(answer, since)

    def append(self, visits: Sequence[Visit], threshold: float = 0.5) -> list[int]:
        """Journal visits, inside a transaction; the numbers of their rows."""
        if not (self._crawling and self._db.in_transaction):
            raise StoreError("visits are appended inside a transaction of a store opened to crawl")
        done: list[Counted] = []
        numbers: list[int] = []
        for visit in visits:
            relevant = visit.verdict is not None and visit.verdict.score >= threshold
            response, page, url = visit.response, visit.page, visit.link.url
            place = NOWHERE if response is None else self._archive.add(response)
            text = None if page is None else self._copies.digest(url, page.text)
            host = self._tally.host(url)
            number = self._visits.add(visit, host, relevant, text, place)
            if response is not None:
                self._archive.remember(place, number, len(response.payload))
            if page is not None:
                self._copies.add(number, url)
            numbers.append(number)
            done.append(Counted.of(visit, relevant, host))
        self._tally.add(done)
        return numbers

    def parcel(self, after: int, most: int) -> Parcel | None:
        """The next visits after that number, for the collection that this is a shard of."""
        return parcel.pack(self._db, after, most)

    def take(self, shard: int, told: Parcel) -> Taken | None:
        """Visits that a shard made; None if they are known already."""
        return parcel.take(self._db, self._tally, shard, told)

    @property
    def shards(self) -> int:
        """How many shards the collection has; 1: it is its own only one."""
        return shards.count(self)

    def inherit(self, of: Store, ours: Callable[[str], bool]) -> None:
        """A new shard takes over what a collection knows of these hosts."""
        shards.inherit(self._db, of._db, ours)

    def begin_gathering(self, newest: Sequence[int]) -> None:
        """Visits come from shards from now on, of each those after this; inside a transaction."""
        shards.begin(self._db, newest)

    def gather_after(self, shard: int, newest: int) -> None:
        """The same for one shard that begins anew."""
        shards.begin_one(self._db, shard, newest)

    def adopt(self, shard: Store, number: int) -> None:
        """What a shard knows besides its visits and links, when it is no more."""
        shards.adopt(self._db, shard._db, number)

    def forget_shards(self) -> None:
        shards.forget(self._db)

    def newest(self) -> int:
        """The number of the last visit in the journal."""
        row = self._db.one("SELECT coalesce(max(id), 0) FROM visits")
        return int(row[0]) if row else 0

    def gathered(self, shard: int) -> int:
        """The number of the last visit that was taken from this shard."""
        return parcel.gathered(self._db, shard)

    def forget_texts(self, until: int) -> None:
        """The collection has the texts of these visits: a shard need not keep them."""
        with self._db.joined():
            self._db.run("DELETE FROM texts WHERE visit <= ?", (until,))

    def hold_to(self, threshold: float) -> None:
        """Call relevant what reaches this; if it was another threshold before, count anew."""
        with self.transaction():
            if self.meta("threshold") not in (None, repr(threshold)):
                self._tally.rejudge(threshold)
            self.set_meta("threshold", repr(threshold))

    def find_copy(self, url: Url, text: str) -> Copy | None:
        """Was this text seen before, at another address? Ask before appending the visit."""
        return self._copies.find(url, text)

    def counts(self) -> Counts:
        return self._tally.counts()

    def curve(self, most: int = 500) -> list[tuple[int, int]]:
        """Points of (visits, relevant among them), at most so many."""
        return self._tally.curve(most)

    def hosts(self, limit: int = 100) -> list[HostRow]:
        return self._tally.hosts(limit)

    def answers(self) -> tuple[int, dict[int, int]]:
        """How many redirects there were, and how many refusals by HTTP status."""
        return self._visits.answers()

    def finds(self, since: int = 0) -> Iterator[tuple[bool, str, str, int]]:
        """Of each visit after that number: relevant, host if it was, channel and inlinks."""
        return self._visits.finds(since)

    def visit(self, url: str) -> list[VisitRow]:
        """Every attempt at this address, oldest first."""
        return self._visits.of(url)

    def visit_at(self, number: int) -> VisitRow | None:
        return self._visits.at(number)

    def visits(
        self,
        *,
        relevant: bool | None = None,
        host: str | None = None,
        page: bool | None = None,
        since: int = 0,
        limit: int | None = None,
    ) -> Iterator[VisitRow]:
        return self._visits.stream(relevant, host, page, since, limit)

    def text(self, number: int) -> tuple[tuple[str, ...], str]:
        """Headings and main text of a visit's page."""
        return self._visits.text(number)

    def page_of(self, row: VisitRow) -> Page:
        """The page of one visit, without its links."""
        return self._visits.rebuilt(row)

    def rejudge(self, number: int, verdict: Verdict, tongue: str = "") -> None:
        """Another verdict on a visit's page, and its language; :meth:`recount` when all are."""
        self._visits.rejudge(number, verdict, tongue)

    def recount(self, threshold: float) -> None:
        """Count anew what is relevant."""
        self._tally.rejudge(threshold)

    def mark(self, relevant: Mapping[int, bool]) -> dict[str, int]:
        """Call these visits' pages relevant, or not, inside a transaction; hosts that gained."""
        return mark(self._db, relevant)

    def page(self, url: str) -> Page | None:
        """The newest page of this address, without its links."""
        return self._visits.page(url)

    def record(self, row: VisitRow) -> tuple[dict[str, str], bytes] | None:
        """The WARC record of a visit: its headers and its block; None if there is none."""
        if row.warc is None or row.offset is None:
            return None
        with self._db.guard:
            return warc.read(place(self._shelf, row.warc), row.offset, row.length)

    def label(self, labels: Iterable[Label]) -> None:
        self.people.add(labels)

    def labels(self, after: int = 0, *, everyone: bool = False) -> list[tuple[int, Label]]:
        """What people say of pages, of topics that are followed, after that number: of each page
        the label that counts, numbered; or everyone's."""
        said = self.people.everyone(after) if everyone else self.people.after(after)
        followed = ("", *self._visits.topics)
        return [each for each in said if each[1].topic in followed]

    def labels_until(self, number: int) -> list[Label]:
        """What counted of each page, of topics that are followed, when that label was given."""
        followed = ("", *self._visits.topics)
        return [label for label in self.people.until(number) if label.topic in followed]

    def label_of(self, url: str) -> Label | None:
        return self.people.of(url)

    def label_history(self, url: str) -> list[Label]:
        return self.people.history(url)

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
        self._generations.use(number)

    def live(self) -> int | None:
        """The number of the generation that decides."""
        return self._generations.live()

    def decided(self) -> dict[int, tuple[int, int]]:
        """Generation → pages it judged, and how many of them were relevant."""
        return self._visits.decided()

    def next_generation(self) -> int:
        return self._generations.next()

    def load_generation(self, number: int, find: Find) -> Any:
        return self._generations.load(number, find)

    def generations(self) -> list[Generation]:
        return self._generations.all()

    def save_robots(self, origin: str, at: float, status: int, text: str) -> None:
        self._robots.save(origin, at, status, text)

    def robots(self, now: float) -> Iterator[RobotsRow]:
        """Answers younger than a day."""
        return self._robots.young(now)

    def follow(self, topics: Sequence[str]) -> None:
        """Verdicts speak of these topics from now on; none: of one, whose name nobody needs."""
        self._visits.follow(tuple(topics))

    def followed(self) -> tuple[str, ...]:
        """The topics that verdicts speak of."""
        return self._visits.topics

    def by_topic(self, threshold: float, first: str) -> dict[str, int]:
        """Relevant pages of each topic; of the first, those too that nobody told apart yet."""
        return self._visits.by_topic(threshold, first)

    def labels_about(self, url: str) -> dict[str, Label]:
        """The label of an address that counts for each topic, '' being the first."""
        return self.people.about(url)

    def meta(self, key: str) -> str | None:
        row = self._db.one("SELECT value FROM meta WHERE key = ?", (key,))
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        with self._db.joined():
            self._db.run("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
