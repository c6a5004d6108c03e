"""A collection's files, some of which may come from a stranger: plain ones only, no links.

A symbolic link in a folder that somebody sent us could make us cut, overwrite or publish any
file of ours.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from honeyguide.errors import CollectionCorrupt

_FILES = (
    "lock",
    "collection.db",
    "collection.db-wal",
    "collection.db-shm",
    "collection.db-journal",
)
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names another one, which SQLite would delete."""


def check(folder: Path) -> None:
    """Raises CollectionCorrupt unless everything we may open in there is what it seems."""
    for name in _FILES:
        _check_kind(folder / name, "file")
    _check_kind(folder / "warc", "folder")
    _check_journal(folder / "collection.db-journal")


def open_plain(path: Path, flags: int) -> int:
    """A descriptor of a regular file; never of what a link leads to, or of a pipe or device."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody at its other end.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if path.is_symlink():
            raise CollectionCorrupt(_odd(path, "file")) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise CollectionCorrupt(_odd(path, "file"))
    return fd


def _check_kind(path: Path, kind: str) -> None:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not (stat.S_ISDIR(mode) if kind == "folder" else stat.S_ISREG(mode)):
        raise CollectionCorrupt(_odd(path, kind))


def _check_journal(path: Path) -> None:
    """We never write to two databases at once, so no journal of ours names another."""
    if not path.exists():
        return
    fd = open_plain(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        named = os.pread(fd, 8, max(0, size - 8)) == _NAMES_ANOTHER
    finally:
        os.close(fd)
    if named:
        raise CollectionCorrupt(f"{path} was not made by Honeyguide; move it out of the collection")


def _odd(path: Path, kind: str) -> str:
    return (
        f"{path} is a link, or no plain {kind}: it could lead us out of the collection. If you "
        f"trust it, put the {kind} itself in its place; if the collection came from somebody "
        "else, do not"
    )
