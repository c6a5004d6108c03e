"""Whether what lies in a collection's folder for shards is ours, whole, and not too old.

A collection may come from a stranger or from a backup: nothing is deleted or believed that does not
look and say as we made it.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from pathlib import Path

from honeyguide.errors import CollectionCorrupt, StoreError
from honeyguide.store.database import Database
from honeyguide.store.shards import FOLDER, MARK, folder_of, strange
from honeyguide.store.store import Store

PART = "shards.part"
"""Shards that are being made."""
_NUMBER = re.compile(r"[0-9]{3}").fullmatch
_FILES = re.compile(r"(collection\.db(-wal|-shm|-journal)?|lock)").fullmatch


def lost(store: Store, shard: int) -> bool:
    """Whether the shard's database is gone; a CollectionCorrupt if another lies in its place."""
    place = folder_of(store.folder, shard)
    path = place / "collection.db"
    if not _plain(store.folder / FOLDER) or not _plain(place):
        raise CollectionCorrupt(f"{place} is a link, or no folder: it could lead us anywhere")
    if not path.is_file() or not path.stat().st_size:
        return True
    newest, mark = _said(path)
    if not mark or mark != store.meta(MARK) or newest < store.gathered(shard):
        raise CollectionCorrupt(strange(place))
    return False


def missing(store: Store, shard: int) -> str:
    place = folder_of(store.folder, shard)
    return (
        f"{place} is missing: the links that wait there, and what was visited last, are lost with "
        "it. Put it back as it was; or go on without it: "
        f"honeyguide crawl {shlex.quote(str(store.folder))} --without-lost-shards"
    )


def remove(folder: Path) -> None:
    """A folder of shards that nobody needs any more, and nothing else."""
    if not os.path.lexists(folder):
        return
    if not _ours(folder):
        raise StoreError(
            f"{folder} is not of our making, and in the way of a crawl with shards: move it out of "
            "the collection"
        )
    for place in sorted(folder.iterdir()):
        remove_one(place)
    folder.rmdir()


def remove_one(place: Path) -> None:
    """One shard's folder: our own files, and nothing else."""
    for file in place.iterdir():
        if _FILES(file.name):
            file.unlink()
    place.rmdir()


def crawled(folder: Path) -> bool:
    """Whether a crawl went on in any of these shards."""
    return any(_crawled(place / "collection.db") for place in folder.iterdir())


def _crawled(path: Path) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    db = Database(path, "write")
    try:
        return db.one("SELECT 1 FROM meta WHERE key = 'waiting'") is not None
    finally:
        db.close()


def _said(path: Path) -> tuple[int, str]:
    """The number of its last visit, and its mark."""
    db = Database(path, "write")
    try:
        newest = db.one("SELECT coalesce(max(id), 0) FROM visits")
        mark = db.one("SELECT value FROM meta WHERE key = ?", (MARK,))
        return int(newest[0]) if newest else 0, str(mark[0]) if mark else ""
    finally:
        db.close()


def _plain(path: Path) -> bool:
    """A folder and no link; or nothing at all."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return True


def _ours(folder: Path) -> bool:
    return _plain(folder) and all(
        _NUMBER(place.name)
        and _plain(place)
        and all(_FILES(file.name) and not file.is_symlink() for file in place.iterdir())
        for place in folder.iterdir()
    )
