"""Things that live as long as the studio: one of each kind for each collection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Kept:
    """Made when first asked for, closed in the end."""

    def __init__(self) -> None:
        self._things: dict[tuple[Path, Any], Any] = {}
        self._lock = Lock()

    def get(self, folder: Path, make: Callable[[Path], T]) -> T:
        with self._lock:
            key = (folder, make)
            if key not in self._things:
                self._things[key] = make(folder)
            found: T = self._things[key]
            return found

    def drop(self, folder: Path) -> None:
        """A collection went away."""
        with self._lock:
            gone = [key for key in self._things if key[0] == folder]
            things = [self._things.pop(key) for key in gone]
        _close(things)

    def close(self) -> None:
        with self._lock:
            things = list(self._things.values())
            self._things.clear()
        _close(things)


def _close(things: list[Any]) -> None:
    for thing in things:
        if close := getattr(thing, "close", None):
            # One that fails to close must not keep the others open.
            with contextlib.suppress(Exception):
                close()
