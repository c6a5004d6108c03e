"""A body as a snapshot: the blocks by which versions of a page are compared, from one parse.

A block is the text between two beginnings or ends of block-level elements, so that a changed
paragraph is one block and its neighbours are untouched. Invisible content (scripts, styles, hidden
elements) is left out. Name, class and role of an element give its place (a step of a path) and its
weight. JSON becomes a flat, short list of fields: ``offers.price`` → ``12.50``.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from turbohtml import Document, Element, Node, Text, parse
from xxhash import xxh3_64_intdigest

from honeyguide.change import Block, Snapshot
from honeyguide.parse.charset import decode_body, is_binary
from honeyguide.parse.decoded import DecodedResponse, PageDirectives, collapse_spaces
from honeyguide.parse.feeds_and_sitemaps import xhtml_to_html
from honeyguide.parse.resolve import LinkResolver
from honeyguide.parse.tree_limits import bound_html
from honeyguide.types import Url
from honeyguide.url import host_of

INLINE_ELEMENTS = frozenset(
    """
    a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt
    ruby s samp small span strike strong sub sup time tt u var wbr
    """.split()  # noqa: SIM905 - forty quotes would hide the names
)
"""Elements within a line of text; all others begin a new block."""

SILENT_ELEMENTS = frozenset(
    "audio canvas embed head iframe noscript object script style svg template video".split()  # noqa: SIM905 - as above
)
"""Elements whose content is not text of the page."""

_STEPS = 8
_LENGTH = 200
_NAME = 40
_CLASSES = 3
_ATTRIBUTE = 200

_GENERATED = re.compile(r"[A-Za-z]*\d[A-Za-z\d]*").sub
"""``css-1q2w3e``, ``post-4711``: names made by a program, which may change each time."""
_STATES = frozenset({"active", "current", "even", "first", "last", "odd", "open", "selected"})
"""Classes that describe a state and not a place."""

ASIDE_WEIGHT = 0.1
"""Weight of menus, footers and the like."""
OUTSIDE_WEIGHT = 0.5
"""Weight of other blocks outside the main content."""
_MINOR_TAGS = frozenset({"aside", "footer", "form", "menu", "nav", "select", "dialog"})
_MINOR_ROLES = frozenset(
    {"alert", "banner", "complementary", "contentinfo", "dialog", "menu", "menubar", "navigation",
     "search", "status", "timer", "toolbar"}
)  # fmt: skip
_MINOR_NAMES = re.compile(
    r"(?:^|[-_])(?:ad|ads|advert\w*|banner|breadcrumbs?|consent|cookies?|copyright|footer|header"
    r"|masthead|menu|nav|navbar|navigation|newsletter|pager|pagination|popup|promo\w*|related"
    r"|share|sharing|sidebar|social|sponsor\w*|toolbar|widget)(?:$|[-_])",
    re.IGNORECASE,
).search


class PathStep(NamedTuple):
    """One step of the path of an element."""

    name: str
    minor: bool
    """It is a menu, a footer, an advertisement or the like."""


@lru_cache(maxsize=4_096)
def path_step(tag: str, classes: str, id_: str, role: str) -> PathStep:
    """The name of the element with its classes or its id; generated parts of them become ``#``."""
    tag = tag[:_NAME].replace("/", "#")
    names = [n[:_NAME] for n in classes.split() if n.lower() not in _STATES][:_CLASSES]
    marks = names or id_.split()[:1]
    minor = tag in _MINOR_TAGS or role in _MINOR_ROLES
    minor = minor or any(_MINOR_NAMES(name) for name in (*names, id_[:_NAME]))
    if tag == "body" or tag == "html":
        return PathStep("", False)
    stable = (_GENERATED("#", mark[:_NAME]).replace("/", "#") for mark in marks)
    return PathStep(tag + "".join(f"{'.' if names else '#'}{mark}" for mark in stable), minor)


def clip_attribute(attribute: str | None) -> str:
    return attribute[:_ATTRIBUTE] if attribute else ""


@lru_cache(maxsize=4_096)
def path_below(path: str, name: str) -> str:
    """The path one step further down; of a long path the innermost steps."""
    if not name:
        return path
    path = f"{path}/{name}" if path else name
    while len(path) > _LENGTH or path.count("/") >= _STEPS:
        head, slash, rest = path.partition("/")
        if not slash:
            return head[:_LENGTH]
        path = rest
    return path


# --- JSON as fields ---


_FIELDS = 2_000
_VALUE = 500
_MAX_FIELD_NAME = 200
_DEPTH = 12
_SILENT_FIELDS = frozenset({"@context", "@graph"})
"""Names that are left out of paths."""

JsonField = tuple[str, str]
"""Path and value."""


def flatten_json(documents: object, most: int = _FIELDS) -> tuple[JsonField, ...]:
    """Paths and values in the order of the document; positions in lists have no name."""
    found: list[JsonField] = []
    waiting: list[tuple[str, Iterator[tuple[str, object]]]] = [("", iter((("", documents),)))]
    while waiting and len(found) < most:
        path, items = waiting[-1]
        step = next(items, None)
        if step is None:
            waiting.pop()
            continue
        name, value = step
        if name == "@context":
            continue
        if name and name not in _SILENT_FIELDS:
            path = f"{path}.{name}"[:_MAX_FIELD_NAME] if path else name[:_MAX_FIELD_NAME]
        if isinstance(value, dict):
            if len(waiting) <= _DEPTH:
                waiting.append(
                    (path, iter([(_without_surrogates(str(key)), value[key]) for key in value]))
                )
        elif isinstance(value, list):
            if len(waiting) <= _DEPTH:
                waiting.append((path, (("", item) for item in value)))
        elif text := _value_text(value):
            found.append((path, text))
    return tuple(found)


def parse_json_fields(text: str, most: int) -> tuple[JsonField, ...] | None:
    """The fields of a JSON document; None if it is none."""
    try:
        return flatten_json(json.loads(text), most)
    except (ValueError, RecursionError):
        return None


def _value_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 4 * _VALUE:
        return "a very large number"  # Python refuses to write out the largest
    return _without_surrogates(collapse_spaces(str(value)[: 4 * _VALUE])[:_VALUE])


def _without_surrogates(text: str) -> str:
    """JSON can contain lone surrogates, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


# --- Snapshots ---


MAX_BLOCKS = 20_000
MAX_LINKS = 5_000
_BODY = 10_000_000
_GIANT = 1_000_000
"""Longest page, in characters, whose main part is searched."""
_TEXT = 2_000_000
"""Characters of all blocks together."""
_LONG = 4_000
"""Longest block: longer ones are split, so that one changed word does not change all of it."""
_TITLE = 500
_TAG = 60
_HIDDEN = 'script,style,noscript,template,[hidden],[style*="display:none"],[style*="display: none"]'
_SENTENCE = re.compile(r"(?<=[.!?])\s+").split
_UNSEEN = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
"""Characters without width, by which some sites mark copies."""
_POSITIVE = (1 << 63) - 1
REST_PATH = "rest"
"""Path of the block that stands for all that was left out."""


def read_snapshot(body: bytes, url: Url, content_type: str = "text/html") -> Snapshot:
    """The version of a page in this body. Never fails: binary content becomes one block."""
    media_type = content_type.partition(";")[0].strip().lower()
    if is_binary(body, content_type):
        digest = f"{xxh3_64_intdigest(body):016x}"
        kind = ascii(media_type[:80])[1:-1] or "file"
        return Snapshot(url, blocks=(Block("", f"{kind}, {len(body)} bytes, {digest}"),))
    text, charset = decode_body(body[:_BODY], content_type, host_of(url))
    start = text[:200].lstrip()
    if media_type.endswith(("/json", "+json")):
        fields = parse_json_fields(text, MAX_BLOCKS)
        if fields is not None:
            return Snapshot(url, blocks=tuple(Block(*pair) for pair in fields))
    if media_type == "text/plain" or (not start.startswith("<") and "html" not in media_type):
        return Snapshot(url, blocks=tuple(_text_blocks(text, "", 1.0)))
    if media_type == "application/xhtml+xml" or start.startswith("<?xml"):
        text = xhtml_to_html(text)
    return _html_snapshot(DecodedResponse(url, text, charset, media_type, 0, PageDirectives()))


def _html_snapshot(source: DecodedResponse) -> Snapshot:
    html = bound_html(source.text)
    tree = parse(html, positions=False)
    data: tuple[JsonField, ...] = flatten_json(tree.json_ld()) if "ld+json" in html else ()
    base, title = tree.find("base"), tree.find("title")
    words = _visible_text(title.text[: 2 * _TITLE])[:_TITLE] if title else ""
    tree.remove(_HIDDEN)
    walk = _BlockWalk(main=_main_element(tree) if len(html) <= _GIANT else None)
    if tree.root is not None:
        walk.walk_tree(tree.root)
    if walk.full:
        # Too much to be compared in words, and not too much to tell whether it is the same.
        rest = f"{xxh3_64_intdigest(html.encode('utf-8', 'replace')):016x}"
        walk.blocks[MAX_BLOCKS - 1 :] = [Block(REST_PATH, f"the whole page: {rest}")]
    resolver = LinkResolver(source, (base.attr("href") or "") if base else "")
    targets = resolver.resolve_targets(walk.hrefs, MAX_LINKS).values()
    links = list(dict.fromkeys(url for url in targets if url))[:MAX_LINKS]
    shape = xxh3_64_intdigest("\n".join(walk.shape).encode("utf-8", "replace")) & _POSITIVE
    return Snapshot(source.url, words, tuple(walk.blocks), tuple(links), data, shape)


def _main_element(tree: Document) -> Element | None:
    """The only ``main`` or ``article`` element, or the one that looks like the main part."""
    marked = tree.find_all("main", limit=2) or tree.find_all("article", limit=2)
    return marked[0] if len(marked) == 1 else tree.main_content()


@dataclass(slots=True)
class _BlockWalk:
    """One pass through the tree without recursion: hostile pages are nested as deep as they are
    long."""

    main: Element | None
    blocks: list[Block] = field(default_factory=list)
    hrefs: list[str] = field(default_factory=list)
    shape: list[str] = field(default_factory=list)
    room: int = _TEXT
    full: bool = False
    """Something was left out."""
    pieces: list[str] = field(default_factory=list)

    def walk_tree(self, root: Element) -> None:
        path, weight = "", OUTSIDE_WEIGHT if self.main is not None else 1.0
        above: list[tuple[Iterator[Node], str, float, bool]] = []
        nodes, block = iter(root.children), True
        pieces, shape = self.pieces, self.shape
        while True:
            for node in nodes:
                if isinstance(node, Text):
                    pieces.append(node.data)
                    continue
                if not isinstance(node, Element) or (tag := node.tag) in SILENT_ELEMENTS:
                    continue
                inside = node.children
                # Most elements hold a text and nothing else: no need to go down for it.
                only = inside[0] if len(inside) == 1 else None
                if tag in INLINE_ELEMENTS:
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
                        self.flush_block(path, weight)
                    lower = self.enter_element(node, tag, path, weight)
                    if isinstance(only, Text):
                        pieces.append(only.data)
                        self.flush_block(*lower)
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
                        self.flush_block(path, weight)
                if not above:
                    return
                nodes, path, weight, block = above.pop()

    def enter_element(self, node: Element, tag: str, path: str, weight: float) -> tuple[str, float]:
        """Path and weight inside a block-level element."""
        tag = tag[:_TAG]
        if node.attrs:
            clip, attr = clip_attribute, node.attr
            name, minor = path_step(tag, clip(attr("class")), clip(attr("id")), clip(attr("role")))
        else:
            name, minor = path_step(tag, "", "", "")
        self.shape.append(name or tag)
        if self.main is not None and node == self.main:
            weight = 1.0
        elif minor or (tag == "header" and weight < 1.0):
            weight = min(weight, ASIDE_WEIGHT)
        return path_below(path, name), weight

    def flush_block(self, path: str, weight: float) -> None:
        """End a block, if it contains text."""
        text = "".join(self.pieces)
        self.pieces.clear()
        if text.isspace():
            return
        if len(self.blocks) >= MAX_BLOCKS or self.room <= 0:
            self.full = True
            return
        text = text[: self.room]
        self.room -= len(text)
        if len(text) <= _LONG:
            if words := _visible_text(text):
                self.blocks.append(Block(path, words, weight))
        else:
            self.blocks += _text_blocks(text, path, weight)[: MAX_BLOCKS - len(self.blocks)]


def _text_blocks(text: str, path: str, weight: float) -> list[Block]:
    """A long text as blocks: its lines, the sentences of long lines, or pieces."""
    found: list[Block] = []
    for line in text[:_TEXT].splitlines():
        parts = [line] if len(line) <= _LONG else _SENTENCE(line)
        for part in parts:
            for at in range(0, len(part), _LONG):
                if len(found) >= MAX_BLOCKS:
                    return found
                if words := _visible_text(part[at : at + _LONG]):
                    found.append(Block(path, words, weight))
    return found


def _visible_text(text: str) -> str:
    """The text as it is seen: white space collapsed, nothing without width."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_UNSEEN))
        return collapse_spaces(text)
    text = text.strip()
    # Looking for what is to be collapsed is much faster than collapsing.
    return text if text.isprintable() and "  " not in text else collapse_spaces(text)
