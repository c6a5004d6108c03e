"""Splitting a collection into shards and joining shards again, with checks of the folders that
lie there.

A collection may come from a stranger or from a backup: nothing is deleted or believed that does not
look and say as we made it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from honeyguide.cluster.messages import unpack_links
from honeyguide.cluster.sharded_frontier import MAX_SHARDS, shard_of
from honeyguide.config.settings import StoreSettings
from honeyguide.errors import CollectionCorrupt, ConfigError, StoreError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.frontier.replay import LogCopySource, LogCopyWriter, copy_log
from honeyguide.store.collection_files import sync_folder
from honeyguide.store.database import Database
from honeyguide.store.shards import (
    SHARDS_FOLDER,
    SHARDS_KEY,
    SPLIT_KEY,
    SUFFIXES_KEY,
    VisitTransferBatch,
    mismatch_message,
    shard_folder,
)
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder
from honeyguide.types import Candidate
from honeyguide.url import suffix_list_digest

PART_FOLDER = "shards.part"
"""Shards that are being made."""
_NUMBER = re.compile(r"[0-9]{3}").fullmatch
_FILES = re.compile(r"(collection\.db(-wal|-shm|-journal)?|lock)").fullmatch


def is_shard_lost(store: Store, shard: int) -> bool:
    """Whether the shard's database is gone; a CollectionCorrupt if another lies in its place."""
    place = shard_folder(store.folder, shard)
    path = place / "collection.db"
    if not _is_plain_folder(store.folder / SHARDS_FOLDER) or not _is_plain_folder(place):
        raise CollectionCorrupt(
            f"{place} is a link or not a folder; it is not followed, for safety"
        )
    if not path.is_file() or not path.stat().st_size:
        return True
    newest, mark = _read_visit_and_mark(path)
    known = mark and mark == store.get_meta(SPLIT_KEY)
    if not known or newest < store.shard_sync.synced_until(shard):
        raise CollectionCorrupt(mismatch_message(place))
    return False


def missing_shard_text(store: Store, shard: int) -> str:
    place = shard_folder(store.folder, shard)
    return (
        f"{place} is missing: the links that wait there, and what was visited last, are lost with "
        "it. Put it back as it was; or continue without it: honeyguide crawl "
        f"{shlex.quote(str(store.folder))} --without-lost-shards"
    )


def remove_shards(folder: Path) -> None:
    """A folder of shards that nobody needs any more, and nothing else."""
    if not os.path.lexists(folder):
        return
    if not _is_shards_folder(folder):
        raise StoreError(
            f"{folder} was not created by Honeyguide and blocks a crawl with shards: move it out "
            "of the collection"
        )
    for place in sorted(folder.iterdir()):
        remove_shard(place)
    folder.rmdir()


def remove_shard(place: Path) -> None:
    """One shard's folder: our own files, and nothing else."""
    for file in place.iterdir():
        if _FILES(file.name):
            file.unlink()
    place.rmdir()


def any_crawled(folder: Path) -> bool:
    """Whether a crawl went on in any of these shards."""
    return any(_was_crawled(place / "collection.db") for place in folder.iterdir())


def _was_crawled(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    with closing(Database(path, "write")) as db:
        return db.get_meta("waiting") is not None


def _read_visit_and_mark(path: Path) -> tuple[int, str]:
    """The number of its last visit, and its mark."""
    with closing(Database(path, "write")) as db:
        return db.fetch_number("SELECT max(id) FROM visits"), db.get_meta(SPLIT_KEY) or ""


def _is_plain_folder(path: Path) -> bool:
    """A folder and no link; or nothing at all."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _is_shards_folder(folder: Path) -> bool:
    return _is_plain_folder(folder) and all(
        _NUMBER(place.name)
        and _is_plain_folder(place)
        and all(_FILES(file.name) and not file.is_symlink() for file in place.iterdir())
        for place in folder.iterdir()
    )


# -- Split and join --
#
# A shard has a folder of its own, ``shards/000``, with a database like the collection's: its part
# of the frontier and of what is known of hosts, and the rows of its visits. Texts, labels,
# generations and everything that people look at stay in the collection.
#
# Either step is one transaction, or one new name of a folder: after a crash it did not happen, or
# it did.


_BATCH_VISITS = 2_000
"""Most visits of one batch."""


def prepare_shards(
    store: Store, shards: int, announce: Callable[[str], None], *, without_lost: bool = False
) -> None:
    """Split or join a collection, which is open for a crawl, into that many shards; 1: none.
    ``announce`` is called before steps that take long. ``without_lost``: shards whose folders
    are gone start again from their seeds."""
    now = store.shard_count
    if not 1 <= shards <= MAX_SHARDS or now > MAX_SHARDS:
        raise ConfigError(
            f"a crawl has 1 to {MAX_SHARDS} shards, not {now if now > MAX_SHARDS else shards}"
        )
    _remove_unfinished(store)
    for shard in range(now) if now > 1 else ():
        if not is_shard_lost(store, shard):
            continue
        if not without_lost:
            raise CollectionCorrupt(missing_shard_text(store, shard))
        announce(f"shard {shard} is lost and restarts from its seeds")
        _recreate_shard(store, shard, now)
    moved = now > 1 and store.get_meta(SUFFIXES_KEY) != suffix_list_digest()
    if now == shards and not moved:
        return
    if moved:
        announce("the public suffix list has changed: some hosts move to another shard")
    if now > 1:
        announce(f"merging {now} shards")
        join_shards(store)
    if shards > 1:
        announce(f"splitting into {shards} shards")
        split_collection(store, shards)


def split_collection(store: Store, shards: int) -> None:
    part, whole = store.folder / PART_FOLDER, store.folder / SHARDS_FOLDER
    mark = secrets.token_hex(8)
    with ExitStack() as open_:
        made = []
        for shard in range(shards):
            place = part / f"{shard:03d}"
            place.mkdir(parents=True)
            made.append(open_.enter_context(_open_shard_store(place, store.folder, shard)))
        for each in made:
            open_.enter_context(each.transaction())
        copy_log(
            LogCopySource(store.frontier_log),
            [LogCopyWriter(each.frontier_log) for each in made],
            partial(shard_of, shards=shards),
        )
        for shard, each in enumerate(made):
            each.set_meta(SPLIT_KEY, mark)
            each.set_meta("seeds", store.get_meta("seeds") or "[]")
            each.visits.set_topics(store.visits.topics)
            each.shard_sync.copy_hosts(store.database, partial(_lives_in_shard, shard, shards))
        newest = [each.visits.last_id() for each in made]
    _sync_folder(part)
    part.rename(whole)
    _sync_folder(store.folder)
    with store.transaction():
        store.set_meta(SHARDS_KEY, str(shards))
        store.set_meta(SPLIT_KEY, mark)
        store.set_meta(SUFFIXES_KEY, suffix_list_digest())
        store.shard_sync.begin_sync(newest)


def join_shards(store: Store) -> None:
    """Everything that shards know, and the collection does not, into the collection."""
    shards = store.shard_count
    with ExitStack() as open_:
        made = [open_.enter_context(open_shard(store, shard)) for shard in range(shards)]
        for shard, each in enumerate(made):
            for parcel in leftover_visits(each, store.shard_sync.synced_until(shard)):
                store.shard_sync.import_visits(shard, parcel)
        with store.transaction():
            store.frontier_log.clear()
            writer = LogCopyWriter(store.frontier_log)
            seeds = set(_decode_list(store.get_meta("seeds")))
            for shard, each in enumerate(made):
                copy_log(LogCopySource(each.frontier_log), [writer], lambda _: 0)
                seeds.update(_decode_list(each.get_meta("seeds")))
                store.shard_sync.adopt_shard(each.database, shard)
            _deliver_links(store, made)
            store.set_meta("seeds", json.dumps(sorted(seeds)))
            store.set_meta(SHARDS_KEY, "1")
            store.shard_sync.forget_sync()
    remove_shards(store.folder / SHARDS_FOLDER)


def leftover_visits(shard: Store, after: int) -> Iterator[VisitTransferBatch]:
    """What was visited and not gathered, because a crawl was killed."""
    while (parcel := shard.shard_sync.pack_visits(after, _BATCH_VISITS)) is not None:
        yield parcel
        after = parcel.last


@contextmanager
def open_shard(store: Store, shard: int) -> Iterator[Store]:
    """A shard's own store, while nobody else has it."""
    place = shard_folder(store.folder, shard)
    with _open_shard_store(place, store.folder, shard) as found:
        if not found.get_meta(SPLIT_KEY) or found.get_meta(SPLIT_KEY) != store.get_meta(SPLIT_KEY):
            raise CollectionCorrupt(mismatch_message(place))
        yield found


def _recreate_shard(store: Store, shard: int, shards: int) -> None:
    """A shard that knows what the collection knows of its hosts, but not which links waited.

    Pages that the collection has are links that are done, but for seeds: their links lead on. It
    gets its place when it is whole, and after the collection knows of it.
    """
    seeds = set(_decode_list(store.get_meta("seeds")))
    place = store.folder / PART_FOLDER / f"{shard:03d}"
    place.mkdir(parents=True)
    with _open_shard_store(place, store.folder, shard) as made, made.transaction():
        made.set_meta(SPLIT_KEY, store.get_meta(SPLIT_KEY) or "")
        made.visits.set_topics(store.visits.topics)
        made.shard_sync.copy_hosts(store.database, partial(_lives_in_shard, shard, shards))
        frontier = LinkFrontier(made.frontier_log, make_order("breadth", 1))
        for row in made.visits.iter_visits():
            if row.url not in seeds:
                frontier.push([Candidate(row.link, row.queued, row.queued)])
        while (done := frontier.pop(float("inf"))) is not None:
            frontier.finish(done, 0.0, 0.0)
        frontier.flush()
        newest = made.visits.last_id()
    with store.transaction():
        store.shard_sync.begin_shard_sync(shard, newest)
    _sync_folder(store.folder / PART_FOLDER)
    (store.folder / SHARDS_FOLDER).mkdir(exist_ok=True)
    home = shard_folder(store.folder, shard)
    if home.is_dir():
        remove_shard(home)
    place.rename(home)
    _sync_folder(store.folder / SHARDS_FOLDER)
    (store.folder / PART_FOLDER).rmdir()


def _lives_in_shard(shard: int, shards: int, name: str) -> bool:
    return shard_of(name, shards) == shard


def _open_shard_store(place: Path, collection: Path, shard: int) -> Store:
    settings = StoreSettings(warc=False)
    return Store.open(place, "crawl", settings, shelf=WarcFolder(collection / "warc", shard + 1))


def _remove_unfinished(store: Store) -> None:
    """What a split or a join left that did not come to its end."""
    remove_shards(store.folder / PART_FOLDER)
    if store.shard_count != 1:
        return
    folder = store.folder / SHARDS_FOLDER
    if folder.is_dir() and not folder.is_symlink() and any_crawled(folder):
        raise CollectionCorrupt(
            f"{folder} holds a crawl that {store.folder}/collection.db does not know of: it is an "
            "older one. Put the right one in its place, or move the shards away"
        )
    remove_shards(folder)


def _deliver_links(store: Store, made: list[Store]) -> None:
    """Push the links of batches that were not delivered."""
    frontier = LinkFrontier(store.frontier_log, make_order("breadth", 1))
    for shard, each in enumerate(made):
        for to, number, data in each.shard_messages.iter_messages():
            if not 0 <= to < len(made):
                text = f"a message of shard {shard} is for a shard that does not exist"
                raise CollectionCorrupt(text)
            if number > made[to].shard_messages.received_numbers().get(shard, 0):
                frontier.push(Candidate(link, score, score) for score, link in unpack_links(data))
    frontier.flush()


def _decode_list(text: str | None) -> list[str]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _sync_folder(folder: Path) -> None:
    """What lies in it is on the disk; a folder's name is kept by the folder around it."""
    for each in (*folder.iterdir(), folder):
        if each.is_dir():
            sync_folder(each)
