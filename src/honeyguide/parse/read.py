"""A response to a page. The content decides how it is read, more than the media type."""

from __future__ import annotations

import re
from dataclasses import replace

from honeyguide.errors import ParseError
from honeyguide.parse import decoded
from honeyguide.parse.charset import GZIP_MAGIC, decode_body, inflate_gzip, is_binary, is_utf8
from honeyguide.parse.feeds_and_sitemaps import (
    read_address_list,
    read_feed,
    read_sitemap,
    xhtml_to_html,
)
from honeyguide.parse.html import read_html
from honeyguide.parse.tree_limits import HARMLESS_CHARS
from honeyguide.types import Link, Page, Response
from honeyguide.url import host_of

_LIST_BYTES = 50_000_000
_LIST_LINKS = 50_000
"""Largest sitemap in bytes and addresses: the limits of the protocol."""

_HEAD = 1024
_ROOT = re.compile(
    r"<(?:[\w.-]{1,40}:)?(urlset|sitemapindex|rss|feed|rdf|html|head|body|!doctype\s+html)(?=[\s>:/])",
    re.IGNORECASE,
).search


def parse_page(
    response: Response,
    link: Link,
    *,
    strip_tracking: bool = True,
    outlinks: int = 500,
    html_limit: int = 10_000_000,
    words: bool = True,
    wanted: decoded.WantedFilter = decoded.all_wanted,
) -> Page:
    """The page in a response, and the links on it. Raises ParseError for content that is no text.

    Only a list (sitemap, feed) may be longer than ``html_limit`` bytes, and only one that was
    announced as such may have more than ``outlinks`` links.

    Without ``words`` only links are needed: they have an anchor but no words around it and no tag
    path, and the text of the page is all of its text.

    Of links that are not ``wanted`` only the address and the anchor are read; without ``words``
    they are left out.
    """
    content_type, media_type = response.header("content-type"), response.media_type
    body = _limited_body(response, link, html_limit)
    if is_binary(body, content_type):
        kind_name = ascii(media_type[:80])[1:-1]
        raise ParseError(f"{response.url}: no text ({kind_name or 'no media type'})")
    text, charset = decode_body(body, content_type, host_of(response.url))
    kind = _reader_kind(text, media_type, link)
    sent = text
    if kind not in _LISTS:
        text = text[:html_limit]
    elif link.channel in ("sitemap", "feed"):
        outlinks = _LIST_LINKS
    if kind == "xhtml":
        text = xhtml_to_html(text)
    same = len(text) > HARMLESS_CHARS and text == sent and is_utf8(text, charset, body)
    source = decoded.DecodedResponse(
        response.url,
        text,
        charset,
        _MEDIA_TYPES.get(kind) or media_type or "text/plain",
        link.depth + 1,
        decoded.header_directives(response.headers),
        decoded.header_canonical(response.headers),
        decoded.language_tag(response.header("content-language")),
        strip_tracking,
        outlinks,
        words,
        wanted,
        body if same else b"",
    )
    return _READERS[kind](source)


def parse_body(body: bytes, link: Link, content_type: str = "text/html") -> Page:
    """The page in a body that was not fetched: of a file, or of a recording."""
    headers = (("Content-Type", content_type),)
    return parse_page(Response(link.url, 200, headers, body, body, b"", b"", "", 0.0, 0.0), link)


def _limited_body(response: Response, link: Link, html_limit: int) -> bytes:
    """The body, unpacked if it is a gzip file, up to the limit for its format."""
    body, content_type = response.body, response.header("content-type")
    zipped = body.startswith(GZIP_MAGIC)
    if not zipped and len(body) <= html_limit:
        return body
    start = inflate_gzip(response.url, body, 4 * _HEAD) if zipped else body[: 4 * _HEAD]
    text, _ = decode_body(start, content_type, host_of(response.url))
    limit = _LIST_BYTES if _reader_kind(text, response.media_type, link) in _LISTS else html_limit
    return inflate_gzip(response.url, body, limit) if zipped else body[:limit]


def _reader_kind(text: str, media_type: str, link: Link) -> str:
    """The reader for this text. A known root element has priority over the media type.

    A list is accepted where one was expected, or if it comes as XML: any page could begin with
    ``<urlset>`` and have endless links.
    """
    start = text[: 4 * _HEAD].lstrip()
    html = media_type in ("text/html", "application/xhtml+xml")
    xml = media_type.endswith(("/xml", "+xml"))
    expected = link.channel in ("sitemap", "feed") or link.rel == "sitemap"
    if start.startswith("<") and (root := _ROOT(start)):
        kind = _ROOTS.get(root[1].lower(), "html")
        if kind == "html" and (start.startswith("<?xml") or media_type == "application/xhtml+xml"):
            return "xhtml"
        if kind == "html" or expected or (xml and not html):
            return kind
    if html or xml:
        return "html"
    if link.channel == "sitemap" and text.startswith("http"):
        return "addresses"
    return "html" if start.startswith("<") and not media_type else "plain"


def _read_plain(source: decoded.DecodedResponse) -> Page:
    return replace(source.empty_page(), text=source.text[: decoded.TEXT_LIMIT].strip())


_READERS = {
    "html": read_html, "xhtml": read_html, "plain": _read_plain, "sitemap": read_sitemap,
    "addresses": read_address_list, "feed": read_feed,
}  # fmt: skip
_LISTS = frozenset({"sitemap", "addresses", "feed"})
_ROOTS = {
    "urlset": "sitemap", "sitemapindex": "sitemap", "rss": "feed", "feed": "feed", "rdf": "feed",
}  # fmt: skip
_MEDIA_TYPES = {"html": "text/html", "xhtml": "application/xhtml+xml"}
