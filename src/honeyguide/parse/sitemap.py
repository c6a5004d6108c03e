"""Sitemaps: the addresses a site hands out itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

from honeyguide.parse.decoded import Source
from honeyguide.parse.resolve import Resolver
from honeyguide.parse.xml_text import literal, without_comments
from honeyguide.types import Link, Page, Url
from honeyguide.url import domain, host, origin

MEDIA_TYPE = "application/x-sitemap"

_ROOT = re.compile(r"<(?:([\w.-]{1,40}):)?(urlset|sitemapindex)\b", re.IGNORECASE).search
_LOCATION = re.compile(
    r"<(?:([\w.-]{1,40}):)?loc(?:\s[^<>]*+)?>(?:\s*+<!\[CDATA\[)?([^<>]{1,4096}+)"
    r"(?=<|\Z|(?<=\]\])>)",
    re.IGNORECASE,
).finditer
"""No two neighbours in it can match the same character, so there is nothing to try again."""


def read_sitemap(source: Source) -> Page:
    """A sitemap or an index of sitemaps; the links of an index have ``rel="sitemap"``.

    Images and videos have a ``loc`` too, under another prefix than the sitemap's own.
    """
    text = without_comments(source.text)
    root = _ROOT(text)
    prefix, index = (root[1], root[2].lower() == "sitemapindex") if root else (None, False)
    locations = (literal(m[2].removesuffix("]]")) for m in _LOCATION(text) if m[1] == prefix)
    return _page(source, locations, "sitemap" if index else "")


def read_address_list(source: Source) -> Page:
    """A sitemap of plain text: one address a line."""
    lines = (line for line in source.text.split("\n") if line.startswith(("http://", "https://")))
    return _page(source, lines, "")


def _page(source: Source, locations: Iterable[str], rel: str) -> Page:
    """A site speaks for itself alone: what it says of others is not believed."""
    resolver = Resolver(source)
    resolve = resolver.address if rel else resolver.target
    own, site = f"{origin(source.url)}/", domain(host(source.url))
    found: dict[Url, None] = {}
    if source.directives.follow:
        for location in locations:
            if len(found) >= source.outlinks:
                break
            url = resolve(location)
            if url is None or url == source.url:
                continue
            if url.startswith(own) or domain(host(url)) == site:
                found[url] = None
    return Page(
        source.url,
        links=tuple(
            Link(url, source.url, rel=rel, channel="sitemap", depth=source.depth) for url in found
        ),
        language=source.language,
        index=source.directives.index,
        follow=source.directives.follow,
        media_type=MEDIA_TYPE,
        charset=source.charset,
    )
