"""A page of the collection once more, with its links: read again from its WARC record.

The journal keeps a page's words but not its links, which only few strategies learn from.
"""

from __future__ import annotations

from honeyguide.errors import FetchError, ParseError, StoreError
from honeyguide.fetch.decode import decode
from honeyguide.parse.read import read
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page, Response

_BYTES = 10_000_000
_RATIO = 200.0


def reread(store: Store, row: VisitRow) -> Page | None:
    """The page as it was; without its links where the record is gone or was never kept."""
    try:
        return _from_record(store, row) or store.page(row.url)
    except (StoreError, FetchError, ParseError):
        return store.page(row.url)


def _from_record(store: Store, row: VisitRow) -> Page | None:
    original = store.visit_at(row.payload_of) if row.payload_of is not None else row
    found = store.record(original) if original is not None else None
    if found is None:
        return None
    head, _, payload = found[1].partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = tuple((name, value) for name, _, value in (x.partition(": ") for x in lines) if name)
    bare = Response(row.url, 200, headers, payload, b"", b"", b"", "", row.at, 0.0)
    coding = bare.header("content-encoding")
    body = decode(row.url, payload, coding, limit=_BYTES, ratio=_RATIO)
    return read(Response(row.url, 200, headers, payload, body, b"", b"", "", row.at, 0.0), row.link)
