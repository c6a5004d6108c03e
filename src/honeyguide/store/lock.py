"""One crawl per collection: an exclusive lock that the system lifts when its process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from honeyguide.errors import CollectionCorrupt, CollectionLocked
from honeyguide.store.files import open_plain

_LONGEST = 32
"""Bytes of a lock file: it holds a process's number."""


class Lock:
    """Held from construction to close. The file stays: removing it would race."""

    def __init__(self, path: Path) -> None:
        self._fd = open_plain(path, os.O_RDWR | os.O_CREAT)
        try:
            _seize(self._fd)
            text = os.pread(self._fd, _LONGEST + 1, 0)
            # A power cut may leave zeros, or parts of two numbers.
            if len(text) > _LONGEST or text.strip(b"0123456789\n\0"):
                raise CollectionCorrupt(
                    f"{path} holds something else than a process's number: it is no lock of ours. "
                    "Look at it, and move it away"
                )
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            holder = os.pread(self._fd, _LONGEST, 0).decode("ascii", "replace").strip()
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


def _seize(fd: int) -> None:
    """Lock the file; somebody who only looks (:func:`holder`) is gone in a moment."""
    for _ in range(5):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
    return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def holder(path: Path) -> int | None:
    """The process that crawls this collection now, if any."""
    try:
        fd = open_plain(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, _LONGEST, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)
    return None
