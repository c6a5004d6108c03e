"""XML read as text: no tree, no entities of its own making, nothing that can explode.

Sitemaps and feeds are often broken and sometimes huge. Every function here passes over its
text once; only the predefined and HTML's character references are ever replaced.
"""

from __future__ import annotations

import re
from html import unescape

from honeyguide.parse.decoded import collapse

_TAG = re.compile(r"<[^<>]*>").sub
_CDATA = "<![CDATA["
_CLOSED = re.compile(
    r"<(script|style|title|textarea|iframe|noscript|template|div|p|a|span)\b[^<>]*\Z"
).match


def without_comments(text: str) -> str:
    if "<!--" not in text:
        return text
    head, *rest = text.split("<!--")
    return head + "".join(part.partition("-->")[2] for part in rest)


def literal(raw: str) -> str:
    """What an element's raw content stands for: references replaced, CDATA as it is."""
    if _CDATA not in raw:
        return unescape(raw) if "&" in raw else raw
    head, *sections = raw.split(_CDATA)
    said = [unescape(head)]
    for section in sections:
        inside, _, outside = section.partition("]]>")
        said += (inside, unescape(outside))
    return "".join(said)


def plain(raw: str) -> str:
    """The words of an element's raw content, which may hold HTML in any disguise."""
    return collapse(unescape(_TAG(" ", literal(raw))))


def as_html(text: str) -> str:
    """XHTML as HTML can say it: CDATA as text, ``<script/>`` with an end tag."""
    head, *sections = text.split(_CDATA)
    said = [head]
    for section in sections:
        inside, _, outside = section.partition("]]>")
        said += (inside.replace("&", "&amp;").replace("<", "&lt;"), outside)
    return _with_end_tags("".join(said))


def _with_end_tags(text: str) -> str:
    """Looks back from the ends of empty elements, which are few, instead of at every tag."""
    pieces = text.split("/>")
    for number, piece in enumerate(pieces[:-1]):
        closed = _CLOSED(piece, start) if (start := piece.rfind("<")) >= 0 else None
        pieces[number] = f"{piece}></{closed[1]}>" if closed else f"{piece}/>"
    return "".join(pieces)
