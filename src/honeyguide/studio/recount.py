"""What people said shows in what is counted: a moment later, for all answers of that moment.

On a large collection counting takes longer than the next answer.
"""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock, Timer

from honeyguide.config import load
from honeyguide.crawl.rescoring import count_labels
from honeyguide.errors import HoneyguideError
from honeyguide.types import Url

_log = logging.getLogger(__name__)

_PAUSE_S = 1.0


class Counting:
    """Of one collection; shared by all requests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._urls: set[Url] = set()
        self._timer: Timer | None = None
        self._lock = Lock()
        self._turn = Lock()
        """One count at a time: it holds the collection's own lock."""

    def soon(self, url: Url) -> None:
        with self._lock:
            self._urls.add(url)
            if self._timer is None:
                self._timer = Timer(_PAUSE_S, self._count)
                self._timer.daemon = True
                self._timer.start()

    def close(self) -> None:
        with self._lock:
            timer = self._timer
        if timer is not None:
            timer.cancel()
        self._count()

    def _count(self) -> None:
        with self._turn:
            with self._lock:
                urls, self._urls, self._timer = self._urls, set(), None
            if not urls:
                return
            try:
                count_labels(self._folder, load(self._folder / "topic.toml"), urls)
            except HoneyguideError as error:
                # The labels are kept; the end of the next crawl counts them.
                _log.warning("labels of %s are not counted yet: %s", self._folder.name, error)
