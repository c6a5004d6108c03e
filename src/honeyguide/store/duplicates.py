"""Texts seen before, exactly or nearly.

Only first appearances are remembered: what resembles a copy is compared with its original, so
that a chain of small changes does not lead from one page to a quite different one.

The database holds the truth, appended in order; the index over it lives in memory and is built
when first asked. Eight random inserts per page into a B-tree would cost ten times the rest.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

import numpy as np

from honeyguide.errors import CollectionCorrupt
from honeyguide.store.database import Database
from honeyguide.store.key_index import Keys
from honeyguide.store.minhash import ALGORITHM, Sketch, Sketcher, resemblance
from honeyguide.types import Copy, Url

_NEAR = 0.84
"""Least estimate for a near copy: pairs of .9 pass in 99 of 100 cases, pairs of .7 in none."""
_COMPARED = 8
"""Most candidates per band: pages made from one template can share one by the thousand."""
_WAITING = 1024


@dataclass(slots=True)
class _Waiting:
    """A text that was asked about and is not committed yet."""

    sketch: Sketch
    first: bool
    visit: int = 0


class Copies:
    """``find`` before a visit is appended, ``add`` while it is: the text is hashed once."""

    def __init__(self, db: Database, sketcher: Sketcher, near: bool = True) -> None:
        self._db = db
        self._near = near
        """Whether similar texts are looked for, or only equal ones."""
        self._sketcher = sketcher
        self._index: Keys | None = None
        self._waiting: dict[Url, _Waiting] = {}
        """A batch may hold copies of its own pages."""
        self._keys: dict[int, Url] = {}
        """Digests and bands of the first appearances among them."""

    def prepare(self) -> None:
        """Forget signatures of another algorithm; equal texts are still found."""
        with self._db.joined():
            if self._db.one("SELECT value FROM meta WHERE key = 'sketches'") != (ALGORITHM,):
                self._db.run("UPDATE sketches SET keys = substr(keys, 1, 8)")
                self._db.run("DELETE FROM signatures")
                self._db.run("INSERT OR REPLACE INTO meta VALUES('sketches', ?)", (ALGORITHM,))

    def find(self, url: Url, text: str) -> Copy | None:
        """Of which page is this text a copy?"""
        self._forget(url)
        sketch = self._sketcher.sketch(text, self._near)
        if sketch is None:
            return None
        of, exact = self._first(sketch)
        if len(self._waiting) >= _WAITING:
            self._forget(next(iter(self._waiting)))
        self._waiting[url] = _Waiting(sketch, of is None)
        if of is None:
            for key in (sketch.digest, *sketch.bands):
                self._keys.setdefault(key, url)
        # A page that resembles its own past is no copy, nor does it need remembering again.
        return None if of is None or of == url else Copy(of, exact)

    def digest(self, url: Url, text: str) -> int | None:
        """The text's digest, from ``find`` if it was asked; None for a text without a word."""
        if url not in self._waiting:
            self.find(url, text)
        waiting = self._waiting.get(url)
        return None if waiting is None else waiting.sketch.digest

    def add(self, visit: int, url: Url) -> None:
        """The visit with this text is appended; remember the text if it is the first."""
        waiting = self._waiting.get(url)
        if waiting is None:
            return
        if not waiting.first:
            self._forget(url)
            return
        waiting.visit = visit
        sketch = waiting.sketch
        keys = array("q", (sketch.digest, *sketch.bands)).tobytes()
        with self._db.guard:
            execute = self._db.connection.execute
            execute("INSERT INTO sketches VALUES(?, ?)", (visit, keys))
            if sketch.signature:
                execute("INSERT INTO signatures VALUES(?, ?)", (visit, sketch.signature))

    def commit(self) -> None:
        """What was added is on disk: it no longer waits."""
        for url in [url for url, waiting in self._waiting.items() if waiting.visit]:
            waiting = self._forget(url)
            if waiting is not None and self._index is not None:
                sketch = waiting.sketch
                self._index.add((sketch.digest, *sketch.bands), waiting.visit)

    def rollback(self) -> None:
        """What was added is not on disk: it waits again."""
        for waiting in self._waiting.values():
            waiting.visit = 0

    def _forget(self, url: Url) -> _Waiting | None:
        waiting = self._waiting.pop(url, None)
        if waiting is not None and waiting.first:
            for key in (waiting.sketch.digest, *waiting.sketch.bands):
                if self._keys.get(key) == url:
                    del self._keys[key]
        return waiting

    def _first(self, sketch: Sketch) -> tuple[Url | None, bool]:
        """Where this text, or one much like it, appeared first; and whether it is equal."""
        if self._index is None:
            self._index = self._load()
        if (url := self._keys.get(sketch.digest)) is not None:
            return url, True
        if equal := self._index.find((sketch.digest,), 1):
            return self._url(min(equal)), True
        if not sketch.bands:
            return None, False
        best, like = _NEAR, None
        for band in sketch.bands:
            if (url := self._keys.get(band)) is not None:
                likeness = resemblance(sketch.signature, self._waiting[url].sketch.signature)
                if likeness > best:
                    best, like = likeness, url
        number = 0
        for visit in sorted(self._index.find(sketch.bands, _COMPARED)):
            row = self._db.one(
                "SELECT CAST(data AS BLOB) FROM signatures WHERE visit = ?", (visit,)
            )
            likeness = 0.0 if row is None else resemblance(sketch.signature, row[0])
            if likeness > best:
                best, number = likeness, visit
        return (self._url(number) if number else like), False

    def _url(self, visit: int) -> Url | None:
        row = self._db.one("SELECT CAST(url AS TEXT) FROM visits WHERE id = ?", (visit,))
        return None if row is None else Url(row[0])

    def _load(self) -> Keys:
        rows = self._db.all("SELECT visit, CAST(keys AS BLOB) FROM sketches")
        if any(len(row[1]) % 8 for row in rows):
            raise CollectionCorrupt("the table of texts seen before is damaged")
        keys = np.frombuffer(b"".join(row[1] for row in rows), np.int64)
        visits = np.array([row[0] for row in rows], np.int64)
        return Keys(keys, np.repeat(visits, [len(row[1]) // 8 for row in rows]))
