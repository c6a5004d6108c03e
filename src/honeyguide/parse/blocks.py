"""A body to a snapshot: the blocks in which versions of a page are compared, from one parse.

A block is what stands between two beginnings or ends of block-level elements, so that a changed
paragraph is one block and its neighbours are untouched. What nobody sees (scripts, styles,
hidden elements) is no part of it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from turbohtml import Document, Element, Node, Text, parse
from xxhash import xxh3_64_intdigest

from honeyguide.change import Block, Snapshot
from honeyguide.parse.charset import decode
from honeyguide.parse.decoded import Source, collapse
from honeyguide.parse.directives import Directives
from honeyguide.parse.element_weights import ASIDE, INLINE, OUTSIDE, SILENT, below, clipped, step
from honeyguide.parse.json_fields import Field, fields_of, json_fields
from honeyguide.parse.read import is_binary as is_binary
from honeyguide.parse.resolve import Resolver
from honeyguide.parse.tree_limits import bounded
from honeyguide.parse.xml_text import as_html
from honeyguide.types import Url
from honeyguide.url import host

BLOCKS = 20_000
LINKS = 5_000
_BODY = 10_000_000
_GIANT = 1_000_000
"""Characters beyond which nobody looks for the main part."""
_TEXT = 2_000_000
"""Characters of all blocks together."""
_LONG = 4_000
"""A block longer than this is taken apart, so that one word of it does not change it all."""
_TITLE = 500
_TAG = 60
_HIDDEN = 'script,style,noscript,template,[hidden],[style*="display:none"],[style*="display: none"]'
_SENTENCE = re.compile(r"(?<=[.!?])\s+").split
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
"""Marks without width, by which sites tell apart those who copy."""
_POSITIVE = (1 << 63) - 1
REST = "rest"
"""Where a block stands that is for all that was left out."""


def read_snapshot(body: bytes, url: Url, content_type: str = "text/html") -> Snapshot:
    """The version of a page that this body is. Never fails: what is no text is one block."""
    media_type = content_type.partition(";")[0].strip().lower()
    if is_binary(body, content_type):
        digest = f"{xxh3_64_intdigest(body):016x}"
        said = ascii(media_type[:80])[1:-1] or "file"
        return Snapshot(url, blocks=(Block("", f"{said}, {len(body)} bytes, {digest}"),))
    text, charset = decode(body[:_BODY], content_type, host(url))
    start = text[:200].lstrip()
    if media_type.endswith(("/json", "+json")):
        fields = json_fields(text, BLOCKS)
        if fields is not None:
            return Snapshot(url, blocks=tuple(Block(*pair) for pair in fields))
    if media_type == "text/plain" or (not start.startswith("<") and "html" not in media_type):
        return Snapshot(url, blocks=tuple(_lines(text, "", 1.0)))
    if media_type == "application/xhtml+xml" or start.startswith("<?xml"):
        text = as_html(text)
    return _html(Source(url, text, charset, media_type, 0, Directives()))


def _html(source: Source) -> Snapshot:
    html = bounded(source.text)
    tree = parse(html, positions=False)
    data: tuple[Field, ...] = fields_of(tree.json_ld()) if "ld+json" in html else ()
    base, title = tree.find("base"), tree.find("title")
    words = _visible(title.text[: 2 * _TITLE])[:_TITLE] if title else ""
    tree.remove(_HIDDEN)
    walk = _Walk(main=_main(tree) if len(html) <= _GIANT else None)
    if tree.root is not None:
        walk.through(tree.root)
    if walk.full:
        # Too much to be compared in words, and not too much to tell whether it is the same.
        rest = f"{xxh3_64_intdigest(html.encode('utf-8', 'replace')):016x}"
        walk.blocks[BLOCKS - 1 :] = [Block(REST, f"the whole page: {rest}")]
    resolver = Resolver(source, (base.attr("href") or "") if base else "")
    targets = resolver.targets(walk.hrefs, LINKS).values()
    links = list(dict.fromkeys(url for url in targets if url))[:LINKS]
    shape = xxh3_64_intdigest("\n".join(walk.shape).encode("utf-8", "replace")) & _POSITIVE
    return Snapshot(source.url, words, tuple(walk.blocks), tuple(links), data, shape)


def _main(tree: Document) -> Element | None:
    """The one element that says it is the main part, or else looks like it."""
    said = tree.find_all("main", limit=2) or tree.find_all("article", limit=2)
    return said[0] if len(said) == 1 else tree.main_content()


@dataclass(slots=True)
class _Walk:
    """Once through the tree, without recursion: a hostile page is nested as deep as it is long."""

    main: Element | None
    blocks: list[Block] = field(default_factory=list)
    hrefs: list[str] = field(default_factory=list)
    shape: list[str] = field(default_factory=list)
    room: int = _TEXT
    full: bool = False
    """Something was left out."""
    pieces: list[str] = field(default_factory=list)

    def through(self, root: Element) -> None:
        path, weight = "", OUTSIDE if self.main is not None else 1.0
        above: list[tuple[Iterator[Node], str, float, bool]] = []
        nodes, block = iter(root.children), True
        pieces, shape = self.pieces, self.shape
        while True:
            for node in nodes:
                if isinstance(node, Text):
                    pieces.append(node.data)
                    continue
                if not isinstance(node, Element) or (tag := node.tag) in SILENT:
                    continue
                inside = node.children
                # Most elements hold a text and nothing else: no need to go down for it.
                only = inside[0] if len(inside) == 1 else None
                if tag in INLINE:
                    shape.append(tag)
                    if tag == "a" and (href := node.attr("href")):
                        self.hrefs.append(href.partition("#")[0])
                    if isinstance(only, Text):
                        pieces.append(only.data)
                        continue
                    above.append((nodes, path, weight, block))
                    block = False
                else:
                    if pieces:
                        self.flush(path, weight)
                    lower = self.enter(node, tag, path, weight)
                    if isinstance(only, Text):
                        pieces.append(only.data)
                        self.flush(*lower)
                        shape.append("/")
                        continue
                    above.append((nodes, path, weight, block))
                    path, weight = lower
                    block = True
                nodes = iter(inside)
                break
            else:
                if block:
                    shape.append("/")
                    if pieces:
                        self.flush(path, weight)
                if not above:
                    return
                nodes, path, weight, block = above.pop()

    def enter(self, node: Element, tag: str, path: str, weight: float) -> tuple[str, float]:
        """Where the inside of a block-level element stands, and how much it counts."""
        tag = tag[:_TAG]
        if node.attrs:
            attr = node.attr
            name, minor = step(
                tag, clipped(attr("class")), clipped(attr("id")), clipped(attr("role"))
            )
        else:
            name, minor = step(tag, "", "", "")
        self.shape.append(name or tag)
        if self.main is not None and node == self.main:
            weight = 1.0
        elif minor or (tag == "header" and weight < 1.0):
            weight = min(weight, ASIDE)
        return below(path, name), weight

    def flush(self, path: str, weight: float) -> None:
        """End a block, if there is any text in it."""
        text = "".join(self.pieces)
        self.pieces.clear()
        if text.isspace():
            return
        if len(self.blocks) >= BLOCKS or self.room <= 0:
            self.full = True
            return
        text = text[: self.room]
        self.room -= len(text)
        if len(text) <= _LONG:
            if words := _visible(text):
                self.blocks.append(Block(path, words, weight))
        else:
            self.blocks += _lines(text, path, weight)[: BLOCKS - len(self.blocks)]


def _lines(text: str, path: str, weight: float) -> list[Block]:
    """A long text as blocks: its lines, its sentences where lines are long, or mere pieces."""
    found: list[Block] = []
    for line in text[:_TEXT].splitlines():
        parts = [line] if len(line) <= _LONG else _SENTENCE(line)
        for part in parts:
            for at in range(0, len(part), _LONG):
                if len(found) >= BLOCKS:
                    return found
                if words := _visible(part[at : at + _LONG]):
                    found.append(Block(path, words, weight))
    return found


def _visible(text: str) -> str:
    """The text as it is seen: white space collapsed, nothing without width."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_UNSEEN))
        return collapse(text)
    text = text.strip()
    # Looking for what is to be collapsed is much faster than collapsing.
    return text if text.isprintable() and "  " not in text else collapse(text)
