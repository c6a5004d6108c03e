"""HTML to a page, from one parse of the document.

The order of steps matters: the main text is found and tag paths are taken while the tree is
as its author wrote it; then it is altered so that one rendering yields the whole text, the
anchors' places in it, and the headings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from turbohtml import Document, Element, Namespace, PlainText, Text, parse

from honeyguide.parse.bounds import bounded
from honeyguide.parse.content import choose
from honeyguide.parse.directives import AGENTS, Directives
from honeyguide.parse.head import language_tag
from honeyguide.parse.links import Edge, Span, align, make_links
from honeyguide.parse.resolve import Resolver
from honeyguide.parse.source import Source, collapse
from honeyguide.parse.tags import Paths
from honeyguide.types import Page, Url

_SILENT = "script,style,noscript,template"
_FLATTENED = ("caption", "pre", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
"""The renderer forgets the anchors' places inside these: it gets them as plain blocks."""
_WANTED = ("a", "area", "base", "frame", "iframe", "link", "meta", *_FLATTENED)
_RULES = {"a": ["a"], **{f"h{level}": ["h"] for level in range(1, 7)}}
_LAYOUT = PlainText(layout="strict", bullet="")
_GIANT = 4_000_000
_HEADINGS = 100
_TITLE = 500
_DESCRIPTION = 2_000
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})


@dataclass(slots=True)
class _Parts:
    """The elements that matter, sorted by what is done with them; filled once, then read."""

    anchors: list[Element] = field(default_factory=list)
    frames: list[Element] = field(default_factory=list)
    relations: list[Element] = field(default_factory=list)
    metas: list[Element] = field(default_factory=list)
    blocks: list[Element] = field(default_factory=list)
    base: str = ""


def read_html(source: Source) -> Page:
    html = bounded(source.text)
    tree = parse(html, positions=False)
    tree.remove(_SILENT)
    # Looking for the main text is the dearest step, and giants are rarely prose.
    main = tree.main_text() if len(html) <= _GIANT else ""
    parts = _sort(tree)
    description, directives = _asked(parts.metas, source.directives)
    resolver = Resolver(source, parts.base)
    edges: list[Edge] = []
    spoken: list[str] = []
    if directives.follow:
        edges = _relations(parts.relations, resolver, source.outlinks)
        edges += _anchors(parts.anchors, resolver, source, spoken)
        edges += _frames(parts.frames, resolver, source.outlinks)
    text, spans, headings = _render(tree, parts.blocks)
    if len(spoken) != len(spans) and edges:
        places = align(spoken, text, spans)
        edges = [e._replace(span=places[e.span]) if e.span >= 0 else e for e in edges]
    return Page(
        source.url,
        title=_title(tree),
        description=description,
        headings=headings,
        text=choose(main, text),
        links=make_links(edges, text, spans, source.url, source.depth, source.outlinks),
        language=_language(tree) or source.language,
        canonical=_canonical(parts.relations, resolver, source),
        index=directives.index,
        follow=directives.follow,
        media_type=source.media_type,
        charset=source.charset,
    )


def _sort(tree: Document) -> _Parts:
    parts = _Parts()
    for element in tree.iter_elements(_WANTED):
        match element.tag:
            case "a":
                parts.anchors.append(element)
            case "link":
                parts.relations.append(element)
            case "meta":
                parts.metas.append(element)
            case "area" | "frame" | "iframe":
                parts.frames.append(element)
            case "base":
                parts.base = parts.base or element.attr("href") or ""
            case _:
                parts.blocks.append(element)
    return parts


def _asked(metas: list[Element], directives: Directives) -> tuple[str, Directives]:
    """The page's description of itself, and what it asks of us."""
    description = ""
    for meta in metas:
        name = (meta.attr("name") or "").strip().lower()
        if name == "description":
            description = description or collapse((meta.attr("content") or "")[:_DESCRIPTION])
        elif name in AGENTS:
            directives = directives.and_also(meta.attr("content") or "")
    return description, directives


def _anchors(
    anchors: list[Element], resolver: Resolver, source: Source, spoken: list[str]
) -> list[Edge]:
    """The edges of all ``<a>``. The words of each that has some go to ``spoken``.

    An anchor without words is given its label as text, so that it has a place like the others.
    """
    edges = []
    # No anchor stands in another, except where someone means harm.
    room = 2 * len(source.text)
    paths = Paths()
    seen: dict[Url, bool] = {}
    """Addresses found, and whether they have words yet."""
    for element in anchors:
        words = element.text
        room -= len(words)
        if room < 0:
            break
        url = None
        if (href := element.attr("href")) and href[0] != "#" and len(seen) < source.outlinks:
            url = resolver.target(href)
        span = -1
        if (words and not words.isspace()) or (
            url and url not in seen and (words := _label(element))
        ):
            span = len(spoken)
            spoken.append(words)
        if url is None or (url in seen and (seen[url] or span < 0)):
            continue
        rel = element.attr("rel") or ""
        if rel:
            rel = collapse(rel[:100].lower())
            if "nofollow" in rel:
                continue
        seen[url] = span >= 0
        hreflang = element.attr("hreflang") or ""
        if hreflang:
            hreflang = language_tag(hreflang)
        edges.append(Edge(url, "", span, paths.above(element), rel, hreflang))
    return edges


def _label(element: Element) -> str:
    """What an anchor without text is called, made part of the text."""
    images = element.find_all("img", limit=5)
    label = next((alt for image in images if (alt := _words(image, "alt"))), "")
    label = label or _words(element, "title") or _words(element, "aria-label")
    if label:
        element.append(Text(label))
    return label


def _frames(frames: list[Element], resolver: Resolver, most: int) -> list[Edge]:
    edges: list[Edge] = []
    paths = Paths()
    for element in frames:
        if len(edges) >= most:
            break
        area = element.tag == "area"
        url = resolver.target(element.attr("href" if area else "src") or "")
        rel = collapse((element.attr("rel") or "")[:100].lower())
        if url and "nofollow" not in rel:
            label = (area and _words(element, "alt")) or _words(element, "title")
            label = label or _words(element, "aria-label")
            edges.append(Edge(url, label, path=paths.above(element), rel=rel))
    return edges


def _relations(relations: list[Element], resolver: Resolver, most: int) -> list[Edge]:
    """Feeds, other languages and neighbours of the page, as its head declares them."""
    edges: list[Edge] = []
    for element in relations:
        if len(edges) >= most:
            break
        said = (element.attr("rel") or "")[:100].lower()
        if "alternate" not in said and "next" not in said and "prev" not in said:
            continue  # most are style sheets
        rel = collapse(said)
        kind = (element.attr("type") or "").strip().lower()
        hreflang = element.attr("hreflang") or ""
        words = rel.split()
        channel: Literal["link", "feed"] = "link"
        if "alternate" in words and kind in _FEEDS:
            channel = "feed"
        elif not ("next" in words or "prev" in words or ("alternate" in words and hreflang)):
            continue
        if "nofollow" not in words and (url := resolver.target(element.attr("href") or "")):
            title = _words(element, "title")
            tongue = language_tag(hreflang)
            edges.append(Edge(url, title, rel=rel, hreflang=tongue, channel=channel))
    return edges


def _canonical(relations: list[Element], resolver: Resolver, source: Source) -> Url | None:
    said = source.canonical
    for element in relations:
        if "canonical" in (element.attr("rel") or "").lower().split():
            said = element.attr("href") or said
            break
    url = resolver.address(said) if said.strip() else None
    return None if url == source.url else url


def _render(tree: Document, blocks: list[Element]) -> tuple[str, list[Span], tuple[str, ...]]:
    """The whole text, where its anchors stand, and its headings. Alters the tree."""
    for element in blocks:
        element.tag = "div"
    text, marks = tree.to_annotated_text(_RULES, _LAYOUT)
    spans: list[Span] = []
    headings: list[str] = []
    for start, end, mark in marks:
        if mark == "a":
            if not text[start:end].isspace():
                spans.append((start, end))
        elif len(headings) < _HEADINGS and (words := collapse(text[start:end][:_TITLE])):
            headings.append(words)
    spans.sort(key=_outermost_first)
    return text, spans, tuple(headings)


def _outermost_first(span: Span) -> tuple[int, int]:
    return span[0], -span[1]


def _title(tree: Document) -> str:
    title = tree.find("title")
    if title is None or title.namespace is not Namespace.HTML:
        return ""
    return collapse(title.text[: 2 * _TITLE])[:_TITLE]


def _language(tree: Document) -> str:
    root = tree.root
    if root is None:
        return ""
    return language_tag(root.attr("lang") or root.attr("xml:lang") or "")


def _words(element: Element, name: str) -> str:
    return collapse((element.attr(name) or "")[:_TITLE])
