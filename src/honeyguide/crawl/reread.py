"""A page of the collection once more, with its links: read again from its WARC record.

The journal keeps a page's words but not its links, which only few strategies learn from.
"""

from __future__ import annotations

from honeyguide.errors import FetchError, ParseError, StoreError
from honeyguide.fetch.decode import decode
from honeyguide.parse.read import read
from honeyguide.store.answers import answer
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page

_BYTES = 10_000_000
_RATIO = 200.0


def reread(store: Store, row: VisitRow) -> Page | None:
    """The page as it was; without its links where the record is gone or was never kept."""
    try:
        return _from_record(store, row) or store.page(row.url)
    except (StoreError, FetchError, ParseError):
        return store.page(row.url)


def _from_record(store: Store, row: VisitRow) -> Page | None:
    bare = answer(store, row)
    if bare is None:
        return None
    coding = bare.header("content-encoding")
    body = decode(row.url, bare.payload, coding, limit=_BYTES, ratio=_RATIO)
    return read(bare._replace(body=body), row.link)
