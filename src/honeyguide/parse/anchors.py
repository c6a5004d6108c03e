"""The edges of an HTML page: what its tree says about each link, before the text is rendered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from turbohtml import Document, Element, Namespace, Text

from honeyguide.parse.decoded import Source, collapse
from honeyguide.parse.http_meta import language_tag
from honeyguide.parse.links import Edge
from honeyguide.parse.resolve import Resolver
from honeyguide.parse.tag_path import Paths
from honeyguide.types import Url

ASIDE = ("area", "base", "frame", "iframe", "link", "meta")
"""Elements besides ``<a>`` that link, or say something about the page."""
SILENT = ("script", "style", "noscript", "template")
"""Elements whose words nobody sees, and whose links nobody means."""
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml"})
_WORDS = 500
_REL = 100


@dataclass(slots=True)
class Parts:
    """The elements that matter, sorted by what is done with them; filled once, then read."""

    anchors: list[Element] = field(default_factory=list)
    frames: list[Element] = field(default_factory=list)
    relations: list[Element] = field(default_factory=list)
    metas: list[Element] = field(default_factory=list)
    blocks: list[Element] = field(default_factory=list)
    base: str = ""


def sort(tree: Document, wanted: tuple[str, ...]) -> Parts:
    """The elements of these names, after all that is silent was taken out of the tree."""
    parts, silent = _sorted(tree, (*wanted, *SILENT))
    if any(map(_holds, silent)):
        tree.remove(",".join(SILENT))
        return _sorted(tree, wanted)[0]
    for element in silent:
        element.extract()
    return parts


def _holds(silent: Element) -> bool:
    """Whether there may be more than words in it."""
    return silent.tag in ("noscript", "template") or silent.namespace is not Namespace.HTML


def _sorted(tree: Document, wanted: tuple[str, ...]) -> tuple[Parts, list[Element]]:
    """And those that are silent."""
    parts = Parts()
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
            case tag if tag in SILENT:
                silent.append(element)
            case _:
                parts.blocks.append(element)
    return parts, silent


def edges_of(
    parts: Parts, resolver: Resolver, source: Source, spoken: list[str] | None
) -> list[Edge]:
    edges = _relations(parts.relations, resolver, source.outlinks)
    if spoken is None:
        edges += _labelled(parts.anchors, resolver, source)
    else:
        edges += _anchors(parts.anchors, resolver, source, spoken)
    edges += _frames(parts.frames, resolver, source.outlinks)
    return edges


def _anchors(
    anchors: list[Element], resolver: Resolver, source: Source, spoken: list[str]
) -> list[Edge]:
    """The edges of all ``<a>``. The words of each that has some go to ``spoken``.

    An anchor without words is given its label as text, so that it has a place like the others.
    """
    found: list[tuple[Element, Url, int]] = []
    # No anchor stands in another, except where someone means harm.
    room = 2 * len(source.text)
    seen: dict[Url, bool] = {}
    """Addresses found, and whether they have words yet."""
    hrefs = _hrefs(anchors)
    targets = resolver.targets(filter(None, hrefs), source.outlinks)
    most = source.outlinks
    for element, href in zip(anchors, hrefs, strict=True):
        words = element.text
        room -= len(words)
        if room < 0:
            break
        url = targets[href] if href and len(seen) < most else None
        span = -1
        if (words and not words.isspace()) or (
            url and url not in seen and (words := _label(element))
        ):
            span = len(spoken)
            spoken.append(words)
        if url is None or (url in seen and (seen[url] or span < 0)) or _dissuaded(element):
            continue
        seen[url] = span >= 0
        found.append((element, url, span))
    wanted = source.wanted(seen)
    paths = Paths()
    return [
        Edge(url, "", span, paths.above(element), *_said(element))
        if url in wanted
        else Edge(url, "", span, wanted=False)
        for element, url, span in found
    ]


def _labelled(anchors: list[Element], resolver: Resolver, source: Source) -> list[Edge]:
    """The edges of all ``<a>`` that are wanted, with their own words: a third of the work."""
    hrefs = _hrefs(anchors)
    targets = resolver.targets(filter(None, hrefs), source.outlinks)
    urls = list(dict.fromkeys(filter(None, targets.values())))
    wanted = source.wanted(urls[: source.outlinks])
    if not wanted:
        return []
    places = {href: url for href, url in targets.items() if url and url in wanted}
    """Addresses that are still to be given words."""
    edges: list[Edge] = []
    room = 2 * len(source.text)
    for element, href in zip(anchors, hrefs, strict=True):
        url = places.get(href)
        if url is None or _dissuaded(element):
            continue
        words = element.text
        room -= len(words)
        if room < 0:
            break
        words = collapse(words[:_WORDS]) or _label(element)
        edges.append(Edge(url, words, -1, "", *_said(element)))
        if words:
            del places[href]
    return edges


def _hrefs(anchors: list[Element]) -> list[str]:
    """What each refers to; '' where that is nothing, or a place on its own page."""
    return [(element.attr("href") or "").partition("#")[0] for element in anchors]


def _dissuaded(element: Element) -> bool:
    rel = element.attr("rel")
    return rel is not None and "nofollow" in rel[:_REL].lower()


def _said(element: Element) -> tuple[str, str]:
    """What a link says of itself: its relation to the page, and its language."""
    rel, tongue = element.attr("rel"), element.attr("hreflang")
    return collapse(rel[:_REL].lower()) if rel else "", language_tag(tongue) if tongue else ""


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
        rel = collapse((element.attr("rel") or "")[:_REL].lower())
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
        said = (element.attr("rel") or "")[:_REL].lower()
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


def _words(element: Element, name: str) -> str:
    return collapse((element.attr(name) or "")[:_WORDS])
