"""A page as it looked, about: written anew without anything that acts, for a sandboxed frame."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.crawl.user_urls import known
from honeyguide.errors import FetchError
from honeyguide.fetch.decode import decode
from honeyguide.parse.read import is_binary
from honeyguide.parse.sanitise import safe_html
from honeyguide.store.store import Store
from honeyguide.store.warc_response import answer
from honeyguide.studio.routes import Here, Missing, Raw, Route
from honeyguide.types import Url

POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'"
)
"""No scripts, no network, an origin of its own, and only our own pages may frame it."""
_BYTES = 10_000_000
_RATIO = 200.0


class Which(msgspec.Struct, frozen=True):
    url: Annotated[str, Meta(max_length=8_000)] = ""
    visit: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    """A certain visit; 0: the newest that brought a page."""
    version: Annotated[int, Meta(ge=0, le=1 << 60)] = 0
    """A version that a watch kept, instead of the crawl's answer."""


def rendered(here: Here, query: Which) -> Raw:
    with here.store() as store:
        url, body, kind = _kept(store, query)
    if is_binary(body, kind):
        raise Missing("this is a file that cannot be shown here")
    html = safe_html(body, url, kind)
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "no-store",
    }
    return Raw(html.encode("utf-8", "replace"), "text/html; charset=utf-8", headers)


def _kept(store: Store, query: Which) -> tuple[Url, bytes, str]:
    """Address, body and content type of what is to be shown."""
    row = store.visit_at(query.visit) if query.visit else None
    if row is None and not query.url:
        raise Missing("there is no such visit")
    url = row.url if row else known(store, query.url)
    if query.version:
        history = {version.number: version for version in store.versions.history(url)}
        if query.version not in history:
            raise Missing("there is no such version")
        return url, store.versions.body(url, query.version), history[query.version].content_type
    row = row or next((each for each in reversed(store.visit(url)) if each.has_page), None)
    bare = answer(store, row) if row else None
    if bare is None:
        raise Missing("its answer was not kept (store.warc), so only the text can be shown")
    try:
        coding = bare.header("content-encoding")
        body = decode(url, bare.payload, coding, limit=_BYTES, ratio=_RATIO)
    except FetchError as error:
        raise Missing(f"what was kept cannot be unpacked: {error.detail}") from error
    return url, body, bare.header("content-type") or "text/html"


ROUTES = (
    Route("GET", "/api/c/{name}/page/rendered", rendered, Which, returns=Raw,
          summary="A page as it looked, for a sandboxed frame"),
)  # fmt: skip
