"""The links of a page, each with its anchor, the words around it, and its place in the page.

The edges are read from the tree before the text is rendered; then words around the anchors are cut
from the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, cast

from turbohtml import Document, Element, Namespace, Text

from honeyguide.parse.decoded import DecodedResponse, collapse_spaces, language_tag
from honeyguide.parse.resolve import LinkResolver
from honeyguide.types import Channel, Link, Url

WINDOW = 50
"""Characters of text on each side of an anchor."""
_REACH = 2 * WINDOW
"""Characters of layout that are read for them; runs of whitespace become one space."""
_ANCHOR = 300
_AHEAD = 20
"""Spans that are searched for an anchor where text and tree disagree."""

Span = tuple[int, int]


class LinkEdge(NamedTuple):
    """What the tree says about one link."""

    url: Url
    label: str = ""
    """Its words where the text has none: title or alternative text."""
    span: int = -1
    """Number of its anchor in the text; -1: none."""
    path: str = ""
    rel: str = ""
    hreflang: str = ""
    channel: Channel = "link"
    wanted: bool = True
    """Whether the words around it are needed."""


def make_links(
    edges: Iterable[LinkEdge], text: str, spans: Sequence[Span], source: Url, depth: int, most: int
) -> tuple[Link, ...]:
    """One link for each address in the order of the page: the first, unless it has no words."""
    found: dict[Url, Link] = {}
    for url, label, span, path, rel, hreflang, channel, wanted in edges:
        if url in found:
            if found[url].anchor:
                continue
        elif len(found) >= most:
            continue
        anchor, before, after = label[:_ANCHOR], "", ""
        if span >= 0:
            start, end = spans[span]
            anchor = collapse_spaces(text[start : min(end, start + 2 * _ANCHOR)])[:_ANCHOR]
            if wanted:
                left = spans[span - 1][1] if span else 0
                right = spans[span + 1][0] if span + 1 < len(spans) else len(text)
                before, after = window_before(text, left, start), window_after(text, end, right)
        if anchor or url not in found:
            found[url] = Link(
                url, source, anchor, before, after, path, rel, hreflang, channel, depth
            )
    return tuple(found.values())


def window_before(text: str, left: int, stop: int) -> str:
    """The last words before ``stop``, not before ``left``."""
    start = max(left, stop - _REACH)
    words = collapse_spaces(text[start:stop])
    if len(words) <= WINDOW and (start <= left or text[start - 1].isspace()):
        return words
    cut = words[-WINDOW:]
    if len(words) > WINDOW and words[-WINDOW - 1] == " ":
        return cut
    return (cut.partition(" ")[2] or cut).lstrip()


def window_after(text: str, start: int, right: int) -> str:
    """The first words from ``start`` on, not after ``right``."""
    stop = min(right, start + _REACH)
    words = collapse_spaces(text[start:stop])
    if len(words) <= WINDOW and (stop >= right or text[stop].isspace()):
        return words
    return snap_to_words(words)


def snap_to_words(words: str) -> str:
    """At most :data:`WINDOW` characters, ending with a whole word."""
    cut = words[:WINDOW]
    if words[WINDOW : WINDOW + 1] == " ":
        return cut.rstrip()
    return (cut.rpartition(" ")[0] or cut).rstrip()


def align_anchors(anchors: Sequence[str], text: str, spans: Sequence[Span]) -> list[int]:
    """The span of the text for each anchor in the order of the page; -1: it has none.

    Text and tree nearly always agree one to one. Where they do not (drawings, very deep nesting),
    equal words are searched a little way ahead.
    """
    if len(anchors) == len(spans):
        return list(range(len(anchors)))
    places = []
    at = 0
    keys = [_match_key(text[start:end]) for start, end in spans]
    for anchor in anchors:
        key = _match_key(anchor)
        try:
            place = keys.index(key, at, at + _AHEAD)
        except ValueError:
            places.append(-1)
        else:
            places.append(place)
            at = place + 1
    return places


def _match_key(words: str) -> str:
    return "".join(words[: 2 * _ANCHOR].split())[:WINDOW]


# --- Tag paths ---


_STEPS = 8
_LENGTH = 120
_NAME = 40
_CLIMB = 64
"""Ancestors that are looked at; deeper elements begin a path of their own."""
_NUMBER = re.compile(r"[0-9/]").sub
_TOP = frozenset({"body", "html"})


class ElementLike(Protocol):
    """The part of an element that is needed here."""

    @property
    def tag(self) -> str: ...
    @property
    def parent(self) -> object: ...
    def attr(self, name: str, /) -> str | None: ...


class TagPaths:
    """Tag paths of one tree: ``div.nav/ul/li``. Shared ancestors are named once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[ElementLike, str] = {}

    def path_above(self, element: ElementLike) -> str:
        """The innermost steps from below the body to the parent of the element."""
        known = self._known
        climbed: list[ElementLike] = []
        path = ""
        # A parsed element has a parent, up to the root, which is always html.
        node = cast("ElementLike", element.parent)
        while node not in known:
            if len(climbed) >= _CLIMB or node.tag in _TOP:
                break
            climbed.append(node)
            node = cast("ElementLike", node.parent)
        else:
            path = known[node]
        for node in reversed(climbed):
            step = _path_step(node)
            path = f"{path}/{step}" if path else step
            while len(path) > _LENGTH or path.count("/") >= _STEPS:
                path = path.partition("/")[2]
            known[node] = path
        return path


def _path_step(node: ElementLike) -> str:
    """The name of the element with its first class or its id; digits in them become ``#``."""
    tag = node.tag[:_NAME]
    if (names := node.attr("class")) and (first := names[:_NAME].split(None, 1)):
        return f"{tag}.{_NUMBER('#', first[0])}"
    if (names := node.attr("id")) and (first := names[:_NAME].split(None, 1)):
        return f"{tag}#{_NUMBER('#', first[0])}"
    return tag


# --- Edges of the tree ---


LINKING_TAGS = ("area", "base", "frame", "iframe", "link", "meta")
"""Elements besides ``<a>`` that link, or describe the page."""
SILENT_TAGS = ("script", "style", "noscript", "template")
"""Elements whose words are invisible and whose links do not count."""
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_WORDS = 500
_REL = 100


@dataclass(slots=True)
class PageElements:
    """The elements that matter, sorted by their use."""

    anchors: list[Element] = field(default_factory=list)
    frames: list[Element] = field(default_factory=list)
    relations: list[Element] = field(default_factory=list)
    metas: list[Element] = field(default_factory=list)
    blocks: list[Element] = field(default_factory=list)
    base: str = ""


def sort_elements(tree: Document, wanted: tuple[str, ...]) -> PageElements:
    """The elements with these names, after silent ones were removed from the tree."""
    parts, silent = _split_elements(tree, (*wanted, *SILENT_TAGS))
    if any(map(_may_hold_elements, silent)):
        tree.remove(",".join(SILENT_TAGS))
        return _split_elements(tree, wanted)[0]
    for element in silent:
        element.extract()
    return parts


def _may_hold_elements(silent: Element) -> bool:
    """Whether it may contain more than words."""
    return silent.tag in ("noscript", "template") or silent.namespace is not Namespace.HTML


def _split_elements(tree: Document, wanted: tuple[str, ...]) -> tuple[PageElements, list[Element]]:
    """The elements by use, and those that are silent."""
    parts = PageElements()
    silent: list[Element] = []
    for element in tree.iter_elements(wanted):
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
            case tag if tag in SILENT_TAGS:
                silent.append(element)
            case _:
                parts.blocks.append(element)
    return parts, silent


def link_edges(
    parts: PageElements,
    resolver: LinkResolver,
    source: DecodedResponse,
    anchor_texts: list[str] | None,
) -> list[LinkEdge]:
    """The edges of all links; without ``anchor_texts`` the anchors get their own words."""
    edges = _relation_edges(parts.relations, resolver, source.outlinks)
    if anchor_texts is None:
        edges += _labelled_edges(parts.anchors, resolver, source)
    else:
        edges += _anchor_edges(parts.anchors, resolver, source, anchor_texts)
    edges += _frame_edges(parts.frames, resolver, source.outlinks)
    return edges


def _anchor_edges(
    anchors: list[Element], resolver: LinkResolver, source: DecodedResponse, anchor_texts: list[str]
) -> list[LinkEdge]:
    """The edges of all ``<a>``; the words of each that has some are added to ``anchor_texts``.

    An anchor without words gets its label as text, so that it has a place as well.
    """
    found: list[tuple[Element, Url, int]] = []
    # No anchor stands in another, except where someone means harm.
    room = 2 * len(source.text)
    seen: dict[Url, bool] = {}
    """Addresses found, and whether they have words."""
    hrefs = _anchor_hrefs(anchors)
    targets = resolver.resolve_targets(filter(None, hrefs), source.outlinks)
    most = source.outlinks
    for element, href in zip(anchors, hrefs, strict=True):
        words = element.text
        room -= len(words)
        if room < 0:
            break
        url = targets[href] if href and len(seen) < most else None
        span = -1
        if (words and not words.isspace()) or (
            url and url not in seen and (words := _add_label(element))
        ):
            span = len(anchor_texts)
            anchor_texts.append(words)
        if url is None or (url in seen and (seen[url] or span < 0)) or _is_nofollow(element):
            continue
        seen[url] = span >= 0
        found.append((element, url, span))
    wanted = source.wanted(seen)
    paths = TagPaths()
    return [
        LinkEdge(url, "", span, paths.path_above(element), *_rel_and_language(element))
        if url in wanted
        else LinkEdge(url, "", span, wanted=False)
        for element, url, span in found
    ]


def _labelled_edges(
    anchors: list[Element], resolver: LinkResolver, source: DecodedResponse
) -> list[LinkEdge]:
    """The edges of all ``<a>`` that are wanted, with their own words: a third of the work."""
    hrefs = _anchor_hrefs(anchors)
    targets = resolver.resolve_targets(filter(None, hrefs), source.outlinks)
    urls = list(dict.fromkeys(filter(None, targets.values())))
    wanted = source.wanted(urls[: source.outlinks])
    if not wanted:
        return []
    places = {href: url for href, url in targets.items() if url and url in wanted}
    """Addresses that are still to be given words."""
    edges: list[LinkEdge] = []
    room = 2 * len(source.text)
    for element, href in zip(anchors, hrefs, strict=True):
        url = places.get(href)
        if url is None or _is_nofollow(element):
            continue
        words = element.text
        room -= len(words)
        if room < 0:
            break
        words = collapse_spaces(words[:_WORDS]) or _add_label(element)
        edges.append(LinkEdge(url, words, -1, "", *_rel_and_language(element)))
        if words:
            del places[href]
    return edges


def _anchor_hrefs(anchors: list[Element]) -> list[str]:
    """The address of each without the fragment; '' if there is none."""
    return [(element.attr("href") or "").partition("#")[0] for element in anchors]


def _is_nofollow(element: Element) -> bool:
    rel = element.attr("rel")
    return rel is not None and "nofollow" in rel[:_REL].lower()


def _rel_and_language(element: Element) -> tuple[str, str]:
    """Relation and language that the link declares."""
    rel, language = element.attr("rel"), element.attr("hreflang")
    relation = collapse_spaces(rel[:_REL].lower()) if rel else ""
    return relation, language_tag(language) if language else ""


def _add_label(element: Element) -> str:
    """The label of an anchor without text, which becomes part of the text."""
    images = element.find_all("img", limit=5)
    label = next((alt for image in images if (alt := _attribute_words(image, "alt"))), "")
    label = label or _attribute_words(element, "title") or _attribute_words(element, "aria-label")
    if label:
        element.append(Text(label))
    return label


def _frame_edges(frames: list[Element], resolver: LinkResolver, most: int) -> list[LinkEdge]:
    edges: list[LinkEdge] = []
    paths = TagPaths()
    for element in frames:
        if len(edges) >= most:
            break
        area = element.tag == "area"
        url = resolver.resolve_target(element.attr("href" if area else "src") or "")
        rel = collapse_spaces((element.attr("rel") or "")[:_REL].lower())
        if url and "nofollow" not in rel:
            names = ("alt", "title", "aria-label") if area else ("title", "aria-label")
            label = next(filter(None, (_attribute_words(element, name) for name in names)), "")
            edges.append(LinkEdge(url, label, path=paths.path_above(element), rel=rel))
    return edges


def _relation_edges(relations: list[Element], resolver: LinkResolver, most: int) -> list[LinkEdge]:
    """Feeds, translations and neighbours of the page that its head declares."""
    edges: list[LinkEdge] = []
    for element in relations:
        if len(edges) >= most:
            break
        relation = (element.attr("rel") or "")[:_REL].lower()
        if "alternate" not in relation and "next" not in relation and "prev" not in relation:
            continue  # most are style sheets
        rel = collapse_spaces(relation)
        kind = (element.attr("type") or "").strip().lower()
        hreflang = element.attr("hreflang") or ""
        words = rel.split()
        channel: Literal["link", "feed"] = "link"
        if "alternate" in words and kind in _FEEDS:
            channel = "feed"
        elif not ("next" in words or "prev" in words or ("alternate" in words and hreflang)):
            continue
        if "nofollow" not in words and (url := resolver.resolve_target(element.attr("href") or "")):
            title = _attribute_words(element, "title")
            language = language_tag(hreflang)
            edges.append(LinkEdge(url, title, rel=rel, hreflang=language, channel=channel))
    return edges


def _attribute_words(element: Element, name: str) -> str:
    return collapse_spaces((element.attr(name) or "")[:_WORDS])
