"""Some records of a collection's WARC files, copied as they are into one file."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO

from honeyguide.errors import CollectionCorrupt
from honeyguide.store import warc
from honeyguide.store.archive import place
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow

_PIECE = 1 << 20
_MOST = 1 << 28


class Extract:
    """Give it visits, oldest first. A record that only refers to a payload brings it along."""

    def __init__(self, store: Store, file: BinaryIO, *, packed: bool) -> None:
        self._store = store
        self._file = file
        self._packed = packed
        self._brought: set[int] = set()
        self.count = 0
        self.missing = 0

    def begin(self, name: str) -> None:
        self._write(warc.info(name, self._store.counts().last or 0.0))

    def add(self, row: VisitRow, wanted: Callable[[VisitRow], bool]) -> None:
        """Copy the visit's records; ``wanted`` says which others come by themselves."""
        for original in self._payloads(row):
            if not wanted(original):
                self._copy(original)
                self._brought.add(original.id)
        self.count += self._copy(row)

    def _payloads(self, row: VisitRow) -> Iterator[VisitRow]:
        """The visits that hold what this one only refers to, and that were not brought yet."""
        while (number := row.payload_of) is not None and number not in self._brought:
            original = self._store.visit_at(number)
            if original is None or original.id >= row.id:
                return  # an older visit, if the journal is ours
            yield original
            row = original

    def _copy(self, row: VisitRow) -> bool:
        """False if the visit has no records, or their file lost them."""
        if row.status is None:
            return False
        data = b""
        if row.warc is not None and row.offset is not None:
            path = place(self._store.folder / "warc", row.warc)
            data = warc.raw(path, row.offset, row.length, row.request_length)
        if not data:
            self.missing += 1
            return False
        self._write(data)
        return True

    def _write(self, data: bytes) -> None:
        if self._packed:
            self._file.write(data)
            return
        try:
            with gzip.open(io.BytesIO(data)) as file:
                total = 0
                while some := file.read(_PIECE):
                    total += len(some)
                    if total > _MOST:
                        raise CollectionCorrupt("a WARC record unpacks beyond reason")
                    self._file.write(some)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise CollectionCorrupt(f"a WARC record is damaged: {error}") from error
