"""Short cuts for the tests of parse/: a body in, a page out."""

from __future__ import annotations

from honeyguide.parse.read import parse_page
from honeyguide.types import Channel, Link, Page, Response, Url

URL = Url("https://example.org/docs/guide/index.html")


def response(
    body: str | bytes,
    media_type: str = "text/html; charset=utf-8",
    *headers: tuple[str, str],
    url: str = URL,
) -> Response:
    data = body.encode() if isinstance(body, str) else body
    sent = (("Content-Type", media_type), *headers) if media_type else headers
    return Response(Url(url), 200, sent, data, data, b"", b"", "127.0.0.1", 0.0, 0.0)


def page(
    body: str | bytes,
    media_type: str = "text/html; charset=utf-8",
    *headers: tuple[str, str],
    url: str = URL,
    depth: int = 0,
    channel: Channel = "link",
    rel: str = "",
    strip_tracking: bool = True,
    outlinks: int = 500,
    html_limit: int = 10_000_000,
    words: bool = True,
) -> Page:
    return parse_page(
        response(body, media_type, *headers, url=url),
        Link(Url(url), depth=depth, channel=channel, rel=rel),
        strip_tracking=strip_tracking,
        outlinks=outlinks,
        html_limit=html_limit,
        words=words,
    )
