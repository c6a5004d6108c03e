"""An answer of the crawl once more, as its WARC record has it."""

from __future__ import annotations

from honeyguide.store.rows import VisitRow
from honeyguide.store.store import Store
from honeyguide.types import Response


def answer(store: Store, row: VisitRow) -> Response | None:
    """Its body is still coded (``payload``); None if it was not kept. Raises StoreError."""
    original = store.visit_at(row.payload_of) if row.payload_of is not None else row
    found = store.record(original) if original is not None else None
    if found is None:
        return None
    head, _, payload = found[1].partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    headers = tuple((name, value) for name, _, value in (x.partition(": ") for x in lines) if name)
    at = row.at if row.started is None else row.started
    return Response(row.url, row.status or 200, headers, payload, b"", b"", b"", "", at, 0.0)
