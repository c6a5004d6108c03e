"""HTML to a page, from one parse of the document.

The order of the steps matters: main text and tag paths are taken from the unchanged tree. Then the
tree is changed so that one rendering gives the whole text, the places of the anchors, and the
headings.
"""

from __future__ import annotations

from dataclasses import replace

from turbohtml import Document, Element, Namespace, PlainText, parse

from honeyguide.parse import decoded
from honeyguide.parse import links as page_links
from honeyguide.parse.resolve import LinkResolver
from honeyguide.parse.tree_limits import bound_html
from honeyguide.types import Link, Page, Url

_SHORT = 200
_SHARE = 0.1


def choose_main_text(main: str, body: str) -> str:
    """The main text, or all of it if so little was found that it cannot be complete."""
    if len(main) < _SHORT or len(main) < _SHARE * len(body):
        main = body
    return main[: decoded.TEXT_LIMIT].strip()


_FLATTENED = ("caption", "pre", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
"""The renderer loses the places of anchors inside these elements: it gets them as plain blocks."""
_LINKING = ("a", *page_links.LINKING_TAGS)
_WANTED = (*_LINKING, *_FLATTENED)
_RULES = {"a": ["a"], **{f"h{level}": ["h"] for level in range(1, 7)}}
_LAYOUT = PlainText(layout="strict", bullet="")
_GIANT = 4_000_000
_HEADINGS = 100
_TITLE = 500
_DESCRIPTION = 2_000


def read_html(source: decoded.DecodedResponse) -> Page:
    """An HTML document as a page."""
    html = bound_html(source.text, source.utf8)
    tree = parse(html, positions=False)
    parts = page_links.sort_elements(tree, _WANTED if source.words else _LINKING)
    # Looking for the main text is the dearest step, and giants are rarely prose.
    main = tree.main_text() if source.words and len(html) <= _GIANT else ""
    description, directives = _read_metas(parts.metas, source.directives)
    resolver = LinkResolver(source, parts.base)
    if source.words:
        text, headings, links = _text_and_links(tree, parts, resolver, source, directives.follow)
        text = choose_main_text(main, text)
    else:
        headings = ()
        text = tree.text[: decoded.TEXT_LIMIT]
        edges = page_links.link_edges(parts, resolver, source, None) if directives.follow else []
        links = page_links.make_links(edges, "", (), source.url, source.depth, source.outlinks)
    return replace(
        source.empty_page(),
        title=_page_title(tree),
        description=description,
        headings=headings,
        text=text,
        links=links,
        language=_page_language(tree) or source.language,
        canonical=_canonical_url(parts.relations, resolver, source),
        index=directives.index,
        follow=directives.follow,
    )


def _text_and_links(
    tree: Document,
    parts: page_links.PageElements,
    resolver: LinkResolver,
    source: decoded.DecodedResponse,
    follow: bool,
) -> tuple[str, tuple[str, ...], tuple[Link, ...]]:
    """The whole text, its headings, and its links with the words around them."""
    anchor_texts: list[str] = []
    edges = page_links.link_edges(parts, resolver, source, anchor_texts) if follow else []
    text, spans, headings = _render_text(tree, parts.blocks)
    if len(anchor_texts) != len(spans) and edges:
        places = page_links.align_anchors(anchor_texts, text, spans)
        edges = [e._replace(span=places[e.span]) if e.span >= 0 else e for e in edges]
    links = page_links.make_links(edges, text, spans, source.url, source.depth, source.outlinks)
    return text, headings, links


def _read_metas(
    metas: list[Element], directives: decoded.PageDirectives
) -> tuple[str, decoded.PageDirectives]:
    """The description of the page, and its directives."""
    description = ""
    for meta in metas:
        name, content = (meta.attr("name") or "").strip().lower(), meta.attr("content") or ""
        if name == "description":
            description = description or decoded.collapse_spaces(content[:_DESCRIPTION])
        elif name in decoded.OWN_AGENTS:
            directives = directives.and_also(content)
    return description, directives


def _canonical_url(
    relations: list[Element], resolver: LinkResolver, source: decoded.DecodedResponse
) -> Url | None:
    declared = source.canonical
    for element in relations:
        if "canonical" in (element.attr("rel") or "").lower().split():
            declared = element.attr("href") or declared
            break
    url = resolver.resolve_address(declared) if declared.strip() else None
    return None if url == source.url else url


def _render_text(
    tree: Document, blocks: list[Element]
) -> tuple[str, list[page_links.Span], tuple[str, ...]]:
    """The whole text, the places of its anchors, and its headings. Changes the tree."""
    for element in blocks:
        element.tag = "div"
    text, marks = tree.to_annotated_text(_RULES, _LAYOUT)
    spans: list[page_links.Span] = []
    headings: list[str] = []
    for start, end, mark in marks:
        if mark == "a":
            if not text[start:end].isspace():
                spans.append((start, end))
        elif len(headings) < _HEADINGS and (
            words := decoded.collapse_spaces(text[start:end][:_TITLE])
        ):
            headings.append(words)
    spans.sort(key=lambda span: (span[0], -span[1]))
    return text, spans, tuple(headings)


def _page_title(tree: Document) -> str:
    title = tree.find("title")
    if title is None or title.namespace is not Namespace.HTML:
        return ""
    return decoded.collapse_spaces(title.text[: 2 * _TITLE])[:_TITLE]


def _page_language(tree: Document) -> str:
    root = tree.root
    if root is None:
        return ""
    return decoded.language_tag(root.attr("lang") or root.attr("xml:lang") or "")
