"""One collection into shards, and shards into one again. Nobody crawls meanwhile.

A shard has a folder of its own, ``shards/000``, with a database like the collection's: its part of
the frontier and of what is known of hosts, and the rows of its visits. Texts, labels, generations
and everything that people look at stay in the collection.

Either step is one transaction, or one new name of a folder: after a crash it did not happen, or it
did.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from honeyguide.cluster.integrity import PART, crawled, lost, missing, remove, remove_one
from honeyguide.cluster.messages import unpack
from honeyguide.cluster.partition import MOST, shard_of
from honeyguide.config import StoreSettings
from honeyguide.errors import CollectionCorrupt, ConfigError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.log_copy import Source, Writer, carry
from honeyguide.frontier.order import make
from honeyguide.store.archive import Shelf
from honeyguide.store.shards import FOLDER, KEY, MARK, SUFFIXES, count, folder_of, strange
from honeyguide.store.store import Store
from honeyguide.store.visit_transfer import Parcel
from honeyguide.types import Candidate
from honeyguide.url import suffixes

_AT_ONCE = 2_000
"""Visits in one parcel."""


def prepare(
    store: Store, shards: int, told: Callable[[str], None], *, without_lost: bool = False
) -> None:
    """Give a collection that is open to crawl so many shards; 1: none. ``told`` hears what takes
    long. ``without_lost``: shards whose folders are gone begin anew, with nothing but seeds."""
    now = count(store)
    if not 1 <= shards <= MOST or now > MOST:
        raise ConfigError(f"a crawl has 1 to {MOST} shards, not {max(now, shards)}")
    _tidy(store)
    for shard in range(now) if now > 1 else ():
        if not lost(store, shard):
            continue
        if not without_lost:
            raise CollectionCorrupt(missing(store, shard))
        told(f"shard {shard} is lost, and begins anew from its seeds")
        _begin_anew(store, shard, now)
    moved = now > 1 and store.meta(SUFFIXES) != suffixes()
    if now == shards and not moved:
        return
    if moved:
        told("the list of public suffixes is another one: some hosts move")
    if now > 1:
        told(f"putting {now} shards together")
        join(store)
    if shards > 1:
        told(f"splitting into {shards} shards")
        split(store, shards)


def split(store: Store, shards: int) -> None:
    part, whole = store.folder / PART, store.folder / FOLDER
    mark = secrets.token_hex(8)
    with ExitStack() as open_:
        made = []
        for shard in range(shards):
            place = part / f"{shard:03d}"
            place.mkdir(parents=True)
            made.append(open_.enter_context(_opened(place, store.folder, shard)))
        for each in made:
            open_.enter_context(each.transaction())
        carry(Source(store.log), [Writer(each.log) for each in made], partial(_place, shards))
        for shard, each in enumerate(made):
            each.set_meta(MARK, mark)
            each.set_meta("seeds", store.meta("seeds") or "[]")
            each.follow(store.followed())
            each.inherit(store, partial(_lives, shard, shards))
        newest = [each.newest() for each in made]
    _sync(part)
    part.rename(whole)
    _sync(store.folder)
    with store.transaction():
        store.set_meta(KEY, str(shards))
        store.set_meta(MARK, mark)
        store.set_meta(SUFFIXES, suffixes())
        store.begin_gathering(newest)


def join(store: Store) -> None:
    """Everything that shards know, and the collection does not, into the collection."""
    shards = count(store)
    with ExitStack() as open_:
        made = [open_.enter_context(opened_shard(store, shard)) for shard in range(shards)]
        for shard, each in enumerate(made):
            for parcel in leftover(each, store.gathered(shard)):
                store.take(shard, parcel)
        with store.transaction():
            store.log.clear()
            writer = Writer(store.log)
            seeds = set(_listed(store.meta("seeds")))
            for shard, each in enumerate(made):
                carry(Source(each.log), [writer], lambda _: 0)
                seeds.update(_listed(each.meta("seeds")))
                store.adopt(each, shard)
            _deliver(store, made)
            store.set_meta("seeds", json.dumps(sorted(seeds)))
            store.set_meta(KEY, "1")
            store.forget_shards()
    remove(store.folder / FOLDER)


def leftover(shard: Store, after: int) -> Iterator[Parcel]:
    """What was visited and not gathered, because a crawl was killed."""
    while (parcel := shard.parcel(after, _AT_ONCE)) is not None:
        yield parcel
        after = parcel.last


@contextmanager
def opened_shard(store: Store, shard: int) -> Iterator[Store]:
    """A shard's own store, while nobody else has it."""
    place = folder_of(store.folder, shard)
    with _opened(place, store.folder, shard) as found:
        if not found.meta(MARK) or found.meta(MARK) != store.meta(MARK):
            raise CollectionCorrupt(strange(place))
        yield found


def _begin_anew(store: Store, shard: int, shards: int) -> None:
    """A shard that knows what the collection knows of its hosts, but not which links waited.

    Pages that the collection has are links that are done, but for seeds: their links lead on. It
    gets its place when it is whole, and after the collection knows of it.
    """
    seeds = set(_listed(store.meta("seeds")))
    place = store.folder / PART / f"{shard:03d}"
    place.mkdir(parents=True)
    with _opened(place, store.folder, shard) as made, made.transaction():
        made.set_meta(MARK, store.meta(MARK) or "")
        made.follow(store.followed())
        made.inherit(store, partial(_lives, shard, shards))
        frontier = LinkFrontier(made.log, make("breadth", 1))
        for row in made.visits():
            if row.url not in seeds:
                frontier.push([Candidate(row.link, row.queued, row.queued)])
        while (done := frontier.pop(float("inf"))) is not None:
            frontier.finish(done, 0.0, 0.0)
        frontier.flush()
        newest = made.newest()
    with store.transaction():
        store.gather_after(shard, newest)
    _sync(store.folder / PART)
    (store.folder / FOLDER).mkdir(exist_ok=True)
    home = folder_of(store.folder, shard)
    if home.is_dir():
        remove_one(home)
    place.rename(home)
    _sync(store.folder / FOLDER)
    (store.folder / PART).rmdir()


def _place(shards: int, name: str) -> int:
    return shard_of(name, shards)


def _lives(shard: int, shards: int, name: str) -> bool:
    return shard_of(name, shards) == shard


def _opened(place: Path, collection: Path, shard: int) -> Store:
    settings = StoreSettings(warc=False)
    return Store.open(place, "crawl", settings, shelf=Shelf(collection / "warc", shard + 1))


def _tidy(store: Store) -> None:
    """What a split or a join left that did not come to its end."""
    remove(store.folder / PART)
    folder = store.folder / FOLDER
    if count(store) == 1 and folder.is_dir() and not folder.is_symlink() and crawled(folder):
        raise CollectionCorrupt(
            f"{folder} holds a crawl that {store.folder}/collection.db does not know of: it is an "
            "older one. Put the right one in its place, or move the shards away"
        )
    if count(store) == 1:
        remove(folder)


def _deliver(store: Store, made: list[Store]) -> None:
    """Letters that nobody heard: their links join the others."""
    order = make("breadth", 1)
    frontier = LinkFrontier(store.log, order)
    for shard, each in enumerate(made):
        for to, number, data in each.letters.all():
            if not 0 <= to < len(made):
                raise CollectionCorrupt(f"a letter of shard {shard} is for one that is not there")
            if number > made[to].letters.heard().get(shard, 0):
                frontier.push(Candidate(link, score, score) for score, link in unpack(data))
    frontier.flush()


def _listed(text: str | None) -> list[str]:
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _sync(folder: Path) -> None:
    """What lies in it is on the disk; a folder's name is kept by the folder around it."""
    for each in (*folder.iterdir(), folder):
        if each.is_dir():
            fd = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
