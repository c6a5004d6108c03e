"""Feeds (RSS 0.9 to 2.0, RDF, Atom) and sitemaps, read from XML as text.

No tree is built and no entities are defined, so nothing can explode. Sitemaps and feeds are often
broken and sometimes huge. Each function passes over its text once; only predefined and HTML
character references are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import unescape

from honeyguide.parse.decoded import TEXT_LIMIT, DecodedResponse, collapse_spaces, language_tag
from honeyguide.parse.links import snap_to_words
from honeyguide.parse.resolve import LinkResolver
from honeyguide.types import Link, Page, Url
from honeyguide.url import domain_of, host_of, site_origin

_TAG = re.compile(r"<[^<>]*>").sub
_CDATA = "<![CDATA["
_CLOSED = re.compile(
    r"<(script|style|title|textarea|iframe|noscript|template|div|p|a|span)\b[^<>]*\Z"
).match


def strip_comments(text: str) -> str:
    if "<!--" not in text:
        return text
    head, *rest = text.split("<!--")
    return head + "".join(part.partition("-->")[2] for part in rest)


def literal_text(raw: str) -> str:
    """The text of the raw content of an element: references replaced, CDATA unchanged."""
    if _CDATA not in raw:
        return unescape(raw) if "&" in raw else raw
    head, *sections = raw.split(_CDATA)
    pieces = [unescape(head)]
    for section in sections:
        inside, _, outside = section.partition("]]>")
        pieces += (inside, unescape(outside))
    return "".join(pieces)


def plain_text(raw: str) -> str:
    """The words of the raw content of an element, which may contain escaped HTML."""
    return collapse_spaces(unescape(_TAG(" ", literal_text(raw))))


def xhtml_to_html(text: str) -> str:
    """XHTML as HTML: CDATA as text, ``<script/>`` with an end tag."""
    head, *sections = text.split(_CDATA)
    pieces = [head]
    for section in sections:
        inside, _, outside = section.partition("]]>")
        pieces += (inside.replace("&", "&amp;").replace("<", "&lt;"), outside)
    return _with_end_tags("".join(pieces))


def _with_end_tags(text: str) -> str:
    """Looks backwards from the ends of empty elements, which are few, instead of at every tag."""
    pieces = text.split("/>")
    for number, piece in enumerate(pieces[:-1]):
        closed = _CLOSED(piece, start) if (start := piece.rfind("<")) >= 0 else None
        pieces[number] = f"{piece}></{closed[1]}>" if closed else f"{piece}/>"
    return "".join(pieces)


# --- Feeds ---


FEED_MEDIA_TYPE = "application/x-feed"

_ITEM = re.compile(r"<(?:[\w.-]{1,40}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE).finditer
_LINK = re.compile(r"<(?:atom:)?link\s([^<>]*)>").finditer
_ATTRIBUTE = re.compile(
    r"(?<![\w:.-])([\w:.-]{1,40}+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')"
).findall
_CONTENT = 4_000
"""Characters of one element that are read."""
_LINKS_PER_ITEM = 10
_ANCHOR = 300


def read_feed(source: DecodedResponse) -> Page:
    """A feed as a page: items are links, their titles are the text."""
    text = strip_comments(source.text)
    starts: list[int] = []
    for match in _ITEM(text):
        if len(starts) > source.outlinks:
            break
        starts.append(match.start())
    head = text[: starts[0]] if starts else text
    resolver = LinkResolver(source)
    found: dict[Url, Link] = {}
    for start, stop in zip(starts[: source.outlinks], [*starts[1:], len(text)], strict=False):
        item = text[start:stop]
        url = _item_url(item, resolver)
        if url is None or url in found:
            continue
        after = _element_content(item, "description") or _element_content(item, "summary")
        found[url] = Link(
            url,
            source.url,
            anchor=plain_text(_element_content(item, "title"))[:_ANCHOR],
            after=snap_to_words(plain_text(after or _element_content(item, "content"))),
            channel="feed",
            depth=source.depth,
        )
    attributes = dict(_tag_attributes(head[:2_000]))
    language = _element_content(head, "language") or attributes.get("xml:lang", "")
    about = _element_content(head, "description") or _element_content(head, "subtitle")
    return replace(
        source.empty_page(),
        title=plain_text(_element_content(head, "title"))[:_ANCHOR],
        description=plain_text(about),
        text="\n".join(link.anchor for link in found.values() if link.anchor)[:TEXT_LIMIT],
        links=tuple(found.values()) if source.directives.follow else (),
        language=language_tag(language.strip()) or source.language,
        media_type=FEED_MEDIA_TYPE,
    )


def _element_content(chunk: str, name: str) -> str:
    """The raw content of the first element with that name, or ''."""
    start = chunk.find(f"<{name}")
    if start < 0:
        return ""
    opened = chunk.find(">", start)
    closed = chunk.find(f"</{name}", opened)
    if opened < 0 or closed < 0 or chunk[opened - 1] == "/":
        return ""
    return chunk[opened + 1 : min(closed, opened + 1 + _CONTENT)]


def _item_url(item: str, resolver: LinkResolver) -> Url | None:
    """RSS: the content of the link. Atom: the attribute of the alternate link. Else a permanent
    id."""
    for i, match in enumerate(_LINK(item)):
        if i >= _LINKS_PER_ITEM:
            break
        attributes = dict(_tag_attributes(match[1]))
        if attributes.get("rel", "alternate") == "alternate" and "href" in attributes:
            return resolver.resolve_target(attributes["href"])
    if content := _element_content(item, "link").strip():
        return resolver.resolve_target(literal_text(content))
    identity = literal_text(_element_content(item, "guid")).strip()
    is_url = identity.startswith(("http://", "https://"))
    return resolver.resolve_target(identity) if is_url else None


def _tag_attributes(tag: str) -> list[tuple[str, str]]:
    return [(name, literal_text(one or two)) for name, one, two in _ATTRIBUTE(tag[:_CONTENT])]


# --- Sitemaps ---


SITEMAP_MEDIA_TYPE = "application/x-sitemap"

_ROOT = re.compile(r"<(?:([\w.-]{1,40}):)?(urlset|sitemapindex)\b", re.IGNORECASE).search
_LOCATION = re.compile(
    r"<(?:([\w.-]{1,40}):)?loc(?:\s[^<>]*+)?>(?:\s*+<!\[CDATA\[)?([^<>]{1,4096}+)"
    r"(?=<|\Z|(?<=\]\])>)",
    re.IGNORECASE,
).finditer
"""No two neighbouring parts match the same character, so there is no backtracking."""


def read_sitemap(source: DecodedResponse) -> Page:
    """A sitemap or an index of sitemaps; the links of an index have ``rel="sitemap"``.

    Images and videos have a ``loc`` as well, under another prefix than that of the sitemap.
    """
    text = strip_comments(source.text)
    root = _ROOT(text)
    prefix, index = (root[1], root[2].lower() == "sitemapindex") if root else (None, False)
    locations = (literal_text(m[2].removesuffix("]]")) for m in _LOCATION(text) if m[1] == prefix)
    return _sitemap_page(source, locations, "sitemap" if index else "")


def read_address_list(source: DecodedResponse) -> Page:
    """A sitemap of plain text with one address a line."""
    lines = (line for line in source.text.split("\n") if line.startswith(("http://", "https://")))
    return _sitemap_page(source, lines, "")


def _sitemap_page(source: DecodedResponse, locations: Iterable[str], rel: str) -> Page:
    """A page with the locations on the same site; those of other sites are ignored."""
    resolver = LinkResolver(source)
    resolve = resolver.resolve_address if rel else resolver.resolve_target
    own, site = f"{site_origin(source.url)}/", domain_of(host_of(source.url))
    found: dict[Url, None] = {}
    if source.directives.follow:
        for location in locations:
            if len(found) >= source.outlinks:
                break
            url = resolve(location)
            if url is None or url == source.url:
                continue
            if url.startswith(own) or domain_of(host_of(url)) == site:
                found[url] = None
    links = tuple(
        Link(url, source.url, rel=rel, channel="sitemap", depth=source.depth) for url in found
    )
    return replace(source.empty_page(), links=links, media_type=SITEMAP_MEDIA_TYPE)
