"""When the watch will come to which page, worked out beside the requests: a list of a hundred
thousand pages takes seconds, and nobody should wait for them."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from threading import Event, Lock, Thread

from honeyguide.config import load
from honeyguide.crawl.open_store import existing
from honeyguide.errors import HoneyguideError
from honeyguide.watch.forecast import Foretold

_log = logging.getLogger(__name__)

_OLD_S = 20.0
_TIMES = 20.0
"""It is worked out anew when it is so old, and that takes no more than a twentieth of the time."""
_WAIT_S = 0.2


class Upcoming:
    """Of one collection; shared by all requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._found: Foretold | None = None
        self._made_at = self._took = 0.0
        self._stale = False
        self._trouble: HoneyguideError | None = None
        self._done = Event()
        self._thread: Thread | None = None

    def seen(self) -> Foretold | None:
        """As it was worked out last; None: the first time takes a while. Raises what prevented it.

        What is old is given all the same, and made anew in the background.
        """
        with self._lock:
            age = time.monotonic() - self._made_at
            old = self._stale or age > max(_OLD_S, _TIMES * self._took)
            if (self._found is None or old) and self._thread is None:
                self._done.clear()
                self._thread = Thread(target=self._make, name="upcoming", daemon=True)
                self._thread.start()
            wanted = self._found is None or self._stale
        if wanted:
            self._done.wait(_WAIT_S)
        with self._lock:
            if self._found is None and self._trouble is not None:
                raise self._trouble
            return self._found

    def spoil(self) -> None:
        """The list was changed by a person."""
        with self._lock:
            self._stale = True

    def _make(self) -> None:
        found, trouble = None, None
        began = time.monotonic()
        with self._lock:
            self._stale = False
        try:
            settings = load(self._folder / "topic.toml")
            with existing(self._folder, "read") as store:
                found = Foretold(store, settings, time.time())
        except HoneyguideError as error:
            trouble = error
        except Exception:  # noqa: BLE001 - our own bug: a thread has nobody above it to tell
            _log.exception("what is due next could not be worked out")
        with self._lock:
            self._found, self._trouble = found or self._found, trouble
            self._made_at = time.monotonic()
            self._took = self._made_at - began
            self._thread = None
        self._done.set()
