"""A page of the web for people to look at: its words, tables and lists, and nothing that acts.

What comes out is written anew from the parsed tree, element by element, from a short list of
those that only lay out text. Nothing that could run, load, send, cover or refresh is on the list;
links are told but lead nowhere. It is to be shown in a sandboxed frame all the same.
"""

from __future__ import annotations

from html import escape

from turbohtml import Element, Text, parse

from honeyguide.parse.charset import decode
from honeyguide.parse.control_chars import Signs
from honeyguide.parse.tree_limits import bounded
from honeyguide.parse.xml_text import as_html
from honeyguide.types import Url
from honeyguide.url import host

_BODY = 5_000_000
_ROOM = 2_000_000
"""Characters of what comes out."""
_DEEPEST = 200
"""Elements within each other; those within the last of them are told without their tags."""
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
"""Left out with everything in them."""
_SPANS = ("colspan", "rowspan")
_SPAN = 100
"""Columns or rows that one cell covers …"""
_CELLS = 20_000
"""… and places that all cells of a page cover beside their own."""
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:1rem auto;padding:0 1rem;"
    "color:#222;background:#fff;overflow-wrap:anywhere}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.2em .5em;vertical-align:top}pre{white-space:pre-wrap}"
    ".link{color:#0645ad;text-decoration:underline}.image{color:#666;font-style:italic}"
)


def safe_html(body: bytes, url: Url, content_type: str = "text/html") -> str:
    """A whole document. Never fails: what cannot be read as HTML is shown as text."""
    text, _ = decode(body[:_BODY], content_type, host(url))
    media = content_type.partition(";")[0].strip().lower()
    start = text[:200].lstrip()
    if media == "text/plain" or not ("<" in start or "html" in media):
        return _whole(f"<pre>{_words(Signs(), text[:_ROOM])}</pre>")
    if media == "application/xhtml+xml" or start.startswith("<?xml"):
        text = as_html(text)
    tree = parse(bounded(text), positions=False)
    root = tree.find("body") or tree.root
    return _whole("" if root is None else "".join(_told(root)))


def _whole(inside: str) -> str:
    return (
        '<!doctype html><html><head><meta charset="utf-8">'
        f"<title>page</title><style>{_STYLE}</style></head><body>{inside}</body></html>"
    )


def _told(root: Element) -> list[str]:
    """Once through the tree, without recursion: a hostile page is nested as deep as it is long."""
    out: list[str] = []
    room, open_tags, cells, signs = _ROOM, 0, _CELLS, Signs()
    above = [(iter(root.children), "")]
    while above:
        nodes, close = above[-1]
        for node in nodes:
            if isinstance(node, Text):
                piece = _words(signs, node.data[: max(room, 0)])
                room -= len(piece)
                out.append(piece)
                continue
            if not isinstance(node, Element) or (tag := node.tag.lower()) in _SILENT:
                continue
            begin, end = _tags(node, tag) if open_tags < _DEEPEST else ("", "")
            if begin and tag in ("td", "th"):
                begin, covered = _spanning(node, tag, cells)
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


def _tags(node: Element, tag: str) -> tuple[str, str]:
    """How an element begins and ends here; both empty for one that only its content is kept of."""
    if tag == "a":
        address = _attribute(node, "href", 500)
        return f'<span class="link" title="{address}">', "</span>"
    if tag == "img":
        words = _attribute(node, "alt", 300)
        return (f'<span class="image">[{words}]</span>' if words else ""), ""
    if tag not in _KEPT:
        return "", ""
    if tag in _VOID:
        return f"<{tag}>", ""
    return f"<{tag}>", f"</{tag}>"


def _spanning(node: Element, tag: str, cells: int) -> tuple[str, int]:
    """How a cell begins, and the places that it covers beside its own, of those that are left."""
    spans, covered = "", 1
    for name in _SPANS:
        said = _attribute(node, name, 6)
        span = min(int(said), _SPAN) if said.isascii() and said.isdigit() else 1
        if span > 1:
            spans, covered = f'{spans} {name}="{span}"', covered * span
    return (f"<{tag}{spans}>", covered - 1) if covered - 1 <= cells else (f"<{tag}>", 0)


def _words(signs: Signs, text: str) -> str:
    return "<wbr>".join(map(escape, signs.told(text)))


def _attribute(node: Element, name: str, most: int) -> str:
    said = node.attr(name)
    return escape(said[:most]) if isinstance(said, str) else ""
