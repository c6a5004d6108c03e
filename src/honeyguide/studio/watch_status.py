"""What the Live screen tells of a watch, and how often it may ask for what takes a while."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from honeyguide.store.counts import HostRow
from honeyguide.store.store import Store
from honeyguide.watch.progress import RUNNING

_HOSTS = 2000
"""Hosts whose yield is known; the others were visited less."""
_TIMES = 50.0
"""Counting takes no more than a fiftieth of the time …"""
_CHEAP_S = 0.03
"""… unless it takes no longer than this: then it is done whenever somebody looks."""


class WatchLive(msgspec.Struct, frozen=True):
    """A watch: one that runs, or what earlier ones did."""

    running: bool
    pages: int
    """That are watched."""
    visits: int
    changes: int
    last: float | None
    """When the last visit was."""


class Standing:
    """Hosts and the watch list as they stand: counted by scans, so not always anew."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self.at = 0.0
        """When they were counted."""
        self.hosts: list[HostRow] = []
        self._watch: WatchLive | None = None
        self._took = 0.0

    def refresh(self, store: Store, now: float) -> None:
        wait = self._took * _TIMES if self._took > _CHEAP_S else 0.0
        if 0 <= now - self.at < wait:
            return
        began = self._timer()
        self.hosts = store.hosts(limit=_HOSTS)
        self._watch = _watch(store)
        self.at, self._took = now, self._timer() - began

    def watch(self, store: Store, pid: int | None) -> WatchLive | None:
        """None: nothing was ever watched here, and nobody is about to."""
        running = pid is not None and store.facts.get(*RUNNING) == pid
        known = self._watch or (WatchLive(False, 0, 0, 0, None) if running else None)
        return known and msgspec.structs.replace(known, running=running)


def _watch(store: Store) -> WatchLive | None:
    walked, changes = store.watched.walked(), len(store.changes)
    if not walked.pages and not changes:
        return None
    return WatchLive(False, walked.watched, walked.visits, changes, walked.last)
