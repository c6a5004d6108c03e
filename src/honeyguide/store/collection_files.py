"""A collection's files: only regular files are opened, and one crawl at a time has the lock.

A symbolic link in a folder that somebody sent us could make us cut, overwrite or publish any
file of ours.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from honeyguide.errors import CollectionCorrupt, CollectionLocked

_KNOWN_FILES = (
    "lock",
    "collection.db",
    "collection.db-wal",
    "collection.db-shm",
    "collection.db-journal",
)
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal ends that names another one, which SQLite would delete."""


def check_folder(folder: Path) -> None:
    """Raises CollectionCorrupt unless everything we may open in there is what it seems."""
    for name in _KNOWN_FILES:
        _check_kind(folder / name, "file")
    _check_kind(folder / "warc", "folder")
    _check_journal(folder / "collection.db-journal")


def open_regular(path: Path, flags: int) -> int:
    """A descriptor of a regular file; never of what a link leads to, or of a pipe or device.

    A new one is its owner's alone: cookies and private pages lie in a collection.
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody at its other end.
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if path.is_symlink():
            raise CollectionCorrupt(_not_plain(path, "file")) from error
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise CollectionCorrupt(_not_plain(path, "file"))
    return fd


def sync_folder(folder: Path) -> None:
    """Wait until the names in the folder are on the disk."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def xdg_folder(variable: str, default: str) -> Path:
    """Honeyguide's folder where the XDG variable says, or below the home folder."""
    folder = os.environ.get(variable, "")
    # The XDG standard has relative paths ignored.
    return (Path(folder) if folder.startswith("/") else Path.home() / default) / "honeyguide"


@cache
def machine_secret() -> bytes:
    """A secret of this user on this machine: what is signed with it was written here."""
    with suppress(OSError, RuntimeError):
        path = xdg_folder("XDG_STATE_HOME", ".local/state") / "secret"
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=path.parent) as made:
                made.write(secrets.token_bytes(32))
                made.flush()
                with suppress(FileExistsError):  # another process was quicker
                    os.link(made.name, path)
        if len(secret := path.read_bytes()) == 32:
            return secret
    return secrets.token_bytes(32)  # nothing that was written before is known again


def _check_kind(path: Path, kind: str) -> None:
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return
    if not (stat.S_ISDIR(mode) if kind == "folder" else stat.S_ISREG(mode)):
        raise CollectionCorrupt(_not_plain(path, kind))


def _check_journal(path: Path) -> None:
    """We never write to two databases at once, so no journal of ours names another."""
    if not path.exists():
        return
    fd = open_regular(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        named = os.pread(fd, 8, max(0, size - 8)) == _NAMES_ANOTHER
    finally:
        os.close(fd)
    if named:
        raise CollectionCorrupt(f"{path} was not made by Honeyguide; move it out of the collection")


def _not_plain(path: Path, kind: str) -> str:
    return (
        f"{path} is a link, or not a plain {kind}: it could lead out of the collection. If you "
        f"trust it, put the {kind} itself in its place; if you got the collection from another "
        "person, do not"
    )


# -- The lock --


_MAX_LOCK_BYTES = 32
"""Bytes of a lock file: it holds a process's number."""


class CollectionLock:
    """Held from construction to close. The file stays: removing it would race."""

    def __init__(self, path: Path) -> None:
        self._fd = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            _lock_file(self._fd)
            text = os.pread(self._fd, _MAX_LOCK_BYTES + 1, 0)
            # A power cut may leave zeros, or parts of two numbers.
            if len(text) > _MAX_LOCK_BYTES or text.strip(b"0123456789\n\0"):
                raise CollectionCorrupt(
                    f"{path} does not hold a process number, so it is not a lock of Honeyguide. "
                    "Check it and move it away"
                )
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._fd, _MAX_LOCK_BYTES, 0).decode("ascii", "replace").strip()
            os.close(self._fd)
            raise CollectionLocked(
                f"{path.parent} is being crawled by process {holder or 'unknown'}; "
                "wait for it, or stop it"
            ) from None
        except BaseException:  # whatever it is, the descriptor must not leak
            os.close(self._fd)
            raise

    def close(self) -> None:
        os.close(self._fd)


def _lock_file(fd: int) -> None:
    """Lock the file; somebody who only looks (:func:`lock_holder`) is gone in a moment."""
    for _ in range(5):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
    return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_holder(path: Path) -> int | None:
    """The process that crawls this collection now, if any."""
    try:
        fd = open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, _MAX_LOCK_BYTES, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)
    return None
