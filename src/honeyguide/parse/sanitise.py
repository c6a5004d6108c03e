"""A page of the web made safe for people to look at: words, tables and lists, nothing active.

The result is written from the parsed tree, element by element, from a short list of elements that
only lay out text. Nothing that could run, load, send, cover or refresh is on the list; links are
shown but lead nowhere. It must be shown in a sandboxed frame all the same.

Combining characters may be piled up without end, and a word may be as long as a page; either keeps
a browser busy for minutes. They are limited to what languages need.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from html import escape
from unicodedata import category

from turbohtml import Element, Text, parse

from honeyguide.parse.charset import decode_body
from honeyguide.parse.feeds_and_sitemaps import xhtml_to_html
from honeyguide.parse.tree_limits import bound_html
from honeyguide.types import Url
from honeyguide.url import host_of

_PILE = 20
"""Most combining characters in a row; further ones are removed."""
_WORD = 1_000
"""Most characters in a row without a blank."""
_COMBINING = frozenset({"Mn", "Me", "Cf"})
_BLANKS = " \t\r\n\f"
_BLANK = re.compile(f"[{_BLANKS}]")
_LONG = re.compile(f"[^{_BLANKS}]{{{_WORD}}}")


def make_layout_safe(text: str) -> str:
    """A text with a blank without width wherever a line may end within a word."""
    return "\u200b".join(LayoutGuard().safe_pieces(text))


class LayoutGuard:
    """For text in parts: a word or a pile may begin in one part and continue in the next."""

    def __init__(self) -> None:
        self._word = 0
        """Characters since the last blank or possible line end."""
        self._pile = 0
        """Combining characters at the end of the text so far."""

    def safe_pieces(self, text: str) -> list[str]:
        """The text without high piles, in pieces between which a line may end."""
        return self._break_words(self._thin_piles(text))

    def _thin_piles(self, text: str) -> str:
        if text.isascii():
            self._pile = 0 if text else self._pile
            return text
        begun, pile = _pile_patterns()
        if found := begun.match(text):
            text = text[: min(found.end(), _PILE - self._pile)] + text[found.end() :]
        text = pile.sub(r"\1", text)
        ended = 0
        while ended < min(len(text), _PILE) and category(text[-1 - ended]) in _COMBINING:
            ended += 1
        self._pile = min(_PILE, self._pile + ended) if ended == len(text) else ended
        return text

    def _break_words(self, text: str) -> list[str]:
        room = _WORD - self._word
        full = len(text) >= room and _BLANK.search(text, 0, room) is None
        ends = [room] if full else []
        ends += [found.end() for found in _LONG.finditer(text, room if full else 0)]
        last = max(0, *ends[-1:], *(text.rfind(blank) + 1 for blank in _BLANKS))
        self._word = len(text) - last + (0 if last else self._word)
        return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@lru_cache(maxsize=1)
def _pile_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a pile at the beginning of a text, and of one that is too high. Made at first
    use, since the list of Unicode is long."""
    ranges: list[list[int]] = []
    for code in range(0x80, sys.maxunicode + 1):
        if category(chr(code)) in _COMBINING:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    signs = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{signs}]+"), re.compile(f"([{signs}]{{{_PILE}}})[{signs}]+")


# --- Safe HTML ---


_BODY = 5_000_000
_ROOM = 2_000_000
"""Characters of the result."""
_DEEPEST = 200
"""Deepest nesting; deeper elements lose their tags."""
_KEPT = frozenset((
    "article", "aside", "b", "big", "blockquote", "br", "caption", "center", "cite", "code",
    "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption",
    "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "ins", "kbd",
    "li", "main", "mark", "nav", "ol", "p", "pre", "q", "rp", "rt", "ruby", "s", "samp",
    "section", "small", "span", "strike", "strong", "sub", "summary", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "tt", "u", "ul", "var", "wbr",
))  # fmt: skip
_VOID = frozenset({"br", "hr", "wbr", "col"})
_SILENT = frozenset((
    "script", "style", "noscript", "template", "head", "title", "meta", "link", "base", "iframe",
    "frame", "frameset", "object", "embed", "applet", "audio", "video", "source", "track",
    "canvas", "svg", "math", "map", "area", "select", "option", "datalist", "textarea", "input",
    "button", "noembed", "noframes", "plaintext", "xmp", "portal", "fencedframe", "dialog",
    "slot", "param",
))  # fmt: skip
"""Elements that are removed with their content."""
_SPANS = ("colspan", "rowspan")
_SPAN = 100
"""Most columns or rows of one cell."""
_CELLS = 20_000
"""Most extra places that all cells of a page cover."""
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:1rem auto;padding:0 1rem;"
    "color:#222;background:#fff;overflow-wrap:anywhere}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.2em .5em;vertical-align:top}pre{white-space:pre-wrap}"
    ".link{color:#0645ad;text-decoration:underline}.image{color:#666;font-style:italic}"
)


def safe_html(body: bytes, url: Url, content_type: str = "text/html") -> str:
    """A whole document. Never fails: what is no HTML is shown as text."""
    text, _ = decode_body(body[:_BODY], content_type, host_of(url))
    media = content_type.partition(";")[0].strip().lower()
    start = text[:200].lstrip()
    if media == "text/plain" or not ("<" in start or "html" in media):
        return _whole_document(f"<pre>{_escaped_words(LayoutGuard(), text[:_ROOM])}</pre>")
    if media == "application/xhtml+xml" or start.startswith("<?xml"):
        text = xhtml_to_html(text)
    tree = parse(bound_html(text), positions=False)
    root = tree.find("body") or tree.root
    return _whole_document("" if root is None else "".join(_safe_parts(root)))


def _whole_document(inside: str) -> str:
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        f"<title>page</title><style>{_STYLE}</style></head><body>{inside}</body></html>"
    )


def _safe_parts(root: Element) -> list[str]:
    """One pass through the tree without recursion: hostile pages are nested as deep as they are
    long."""
    out: list[str] = []
    room, open_tags, cells, signs = _ROOM, 0, _CELLS, LayoutGuard()
    above = [(iter(root.children), "")]
    while above:
        nodes, close = above[-1]
        for node in nodes:
            if isinstance(node, Text):
                piece = _escaped_words(signs, node.data[: max(room, 0)])
                room -= len(piece)
                out.append(piece)
                continue
            if not isinstance(node, Element) or (tag := node.tag.lower()) in _SILENT:
                continue
            begin, end = _tag_pair(node, tag) if open_tags < _DEEPEST else ("", "")
            if begin and tag in ("td", "th"):
                begin, covered = _spanning_cell(node, tag, cells)
                cells -= covered
            room -= len(begin) + len(end)
            if room <= 0:
                continue
            out.append(begin)
            if tag in _VOID or tag == "img":
                continue
            open_tags += bool(end)
            above.append((iter(node.children), end))
            break
        else:
            above.pop()
            open_tags -= bool(close)
            out.append(close)
    return out


def _tag_pair(node: Element, tag: str) -> tuple[str, str]:
    """Begin and end tag of an element; empty if only its content is kept."""
    if tag == "a":
        address = _escaped_attribute(node, "href", 500)
        return f'<span class="link" title="{address}">', "</span>"
    if tag == "img":
        words = _escaped_attribute(node, "alt", 300)
        return (f'<span class="image">[{words}]</span>' if words else ""), ""
    if tag not in _KEPT:
        return "", ""
    if tag in _VOID:
        return f"<{tag}>", ""
    return f"<{tag}>", f"</{tag}>"


def _spanning_cell(node: Element, tag: str, cells: int) -> tuple[str, int]:
    """The begin tag of a cell, and the extra places it covers, at most ``cells``."""
    spans, covered = "", 1
    for name in _SPANS:
        value = _escaped_attribute(node, name, 6)
        span = min(int(value), _SPAN) if value.isascii() and value.isdigit() else 1
        if span > 1:
            spans, covered = f'{spans} {name}="{span}"', covered * span
    return (f"<{tag}{spans}>", covered - 1) if covered - 1 <= cells else (f"<{tag}>", 0)


def _escaped_words(signs: LayoutGuard, text: str) -> str:
    return "<wbr>".join(map(escape, signs.safe_pieces(text)))


def _escaped_attribute(node: Element, name: str, most: int) -> str:
    value = node.attr(name)
    return escape(value[:most]) if isinstance(value, str) else ""
