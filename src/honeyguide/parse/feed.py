"""Feeds: RSS 0.9 to 2.0, RDF and Atom, well-formed or not."""

from __future__ import annotations

import re

from honeyguide.parse.decoded import TEXT_LIMIT, Source
from honeyguide.parse.http_meta import language_tag
from honeyguide.parse.links import snapped
from honeyguide.parse.resolve import Resolver
from honeyguide.parse.xml_text import literal, plain, without_comments
from honeyguide.types import Link, Page, Url

MEDIA_TYPE = "application/x-feed"

_ITEM = re.compile(r"<(?:[\w.-]{1,40}:)?(?:item|entry)(?=[\s>/])", re.IGNORECASE).finditer
_LINK = re.compile(r"<(?:atom:)?link\s([^<>]*)>").finditer
_ATTRIBUTE = re.compile(
    r"(?<![\w:.-])([\w:.-]{1,40}+)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')"
).findall
_CONTENT = 4_000
"""Raw characters looked at of one element."""
_LINKS_PER_ITEM = 10
_ANCHOR = 300


def read_feed(source: Source) -> Page:
    """The items as links, their titles as text."""
    text = without_comments(source.text)
    starts: list[int] = []
    for match in _ITEM(text):
        if len(starts) > source.outlinks:
            break
        starts.append(match.start())
    head = text[: starts[0]] if starts else text
    resolver = Resolver(source)
    found: dict[Url, Link] = {}
    for start, stop in zip(starts[: source.outlinks], [*starts[1:], len(text)], strict=False):
        item = text[start:stop]
        url = _address(item, resolver)
        if url is None or url in found:
            continue
        after = _element(item, "description") or _element(item, "summary")
        found[url] = Link(
            url,
            source.url,
            anchor=plain(_element(item, "title"))[:_ANCHOR],
            after=snapped(plain(after or _element(item, "content"))),
            channel="feed",
            depth=source.depth,
        )
    said = _element(head, "language") or dict(_attributes(head[:2_000])).get("xml:lang", "")
    return Page(
        source.url,
        title=plain(_element(head, "title"))[:_ANCHOR],
        description=plain(_element(head, "description") or _element(head, "subtitle")),
        text="\n".join(link.anchor for link in found.values() if link.anchor)[:TEXT_LIMIT],
        links=tuple(found.values()) if source.directives.follow else (),
        language=language_tag(said.strip()) or source.language,
        index=source.directives.index,
        follow=source.directives.follow,
        media_type=MEDIA_TYPE,
        charset=source.charset,
    )


def _element(chunk: str, name: str) -> str:
    """The raw content of the first element of that name, or ''."""
    start = chunk.find(f"<{name}")
    if start < 0:
        return ""
    opened = chunk.find(">", start)
    closed = chunk.find(f"</{name}", opened)
    if opened < 0 or closed < 0 or chunk[opened - 1] == "/":
        return ""
    return chunk[opened + 1 : min(closed, opened + 1 + _CONTENT)]


def _address(item: str, resolver: Resolver) -> Url | None:
    """RSS: the link's content. Atom: the alternate link's attribute. Else a permanent id."""
    for i, match in enumerate(_LINK(item)):
        if i >= _LINKS_PER_ITEM:
            break
        said = dict(_attributes(match[1]))
        if said.get("rel", "alternate") == "alternate" and "href" in said:
            return resolver.target(said["href"])
    if said_inside := _element(item, "link").strip():
        return resolver.target(literal(said_inside))
    identity = literal(_element(item, "guid")).strip()
    return resolver.target(identity) if identity.startswith(("http://", "https://")) else None


def _attributes(tag: str) -> list[tuple[str, str]]:
    return [(name, literal(one or two)) for name, one, two in _ATTRIBUTE(tag[:_CONTENT])]
