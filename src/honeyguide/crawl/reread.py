"""A page of the collection once more, with its links: read again from its WARC record.

The journal keeps a page's words but not its links, which only few strategies learn from.
"""

from __future__ import annotations

from honeyguide.config import ScopeSettings
from honeyguide.errors import FetchError, ParseError, StoreError
from honeyguide.fetch.decode import decode
from honeyguide.parse.read import read
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.store.warc_response import answer
from honeyguide.types import Page

_BYTES = 10_000_000
_RATIO = 200.0


def reread(store: Store, row: VisitRow, scope: ScopeSettings | None = None) -> Page | None:
    """The page as it was; without its links where the record is gone or was never kept.
    ``scope``: which links were read."""
    try:
        return _from_record(store, row, scope or ScopeSettings()) or store.page(row.url)
    except (StoreError, FetchError, ParseError):
        return store.page(row.url)


def _from_record(store: Store, row: VisitRow, scope: ScopeSettings) -> Page | None:
    bare = answer(store, row)
    if bare is None:
        return None
    coding = bare.header("content-encoding")
    body = decode(row.url, bare.payload, coding, limit=_BYTES, ratio=_RATIO)
    bare = bare._replace(body=body)
    return read(bare, row.link, strip_tracking=scope.strip_tracking, outlinks=scope.outlinks)
