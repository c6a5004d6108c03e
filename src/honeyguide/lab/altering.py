"""What the lab changes in a recorded page: elements taken out, dead links closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

from honeyguide.types import Url
from honeyguide.url import canonical

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}
_LINK = re.compile(
    rb"""(<(?:a|area)\b[^<>]*?)\shref\s*+=\s*+("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE
)
_BASE = re.compile(rb"""<base\b[^<>]*?\shref\s*+=\s*+["']?([^"'\s>]+)""", re.IGNORECASE)


def close_links(html: bytes, url: Url, known: Callable[[str], bool]) -> bytes:
    """Take the address off links whose target ``known`` does not know."""
    found = _BASE.search(html)
    base = canonical(found[1].decode("latin-1"), url) if found else None

    def kept(match: re.Match[bytes]) -> bytes:
        address = unescape(match[2].strip(b"\"'").decode("utf-8", "replace")).strip()
        target = canonical(address, base or url)
        return match[0] if target is None or known(target) else match[1]

    return _LINK.sub(kept, html)


class Strip:
    """Takes one kind of element out of HTML, with everything in it."""

    def __init__(self, tag: str, kind: str, name: str) -> None:
        attribute = ""
        if kind == "#":
            attribute = rf"""(?=[^<>]*?\sid\s*+=\s*+["']?{name}["'\s>])"""
        elif kind == ".":
            attribute = rf"""(?=[^<>]*?\sclass\s*+=\s*+["']?+(?:[^"'<>=]*\s)?{name}["'\s>])"""
        self._start = re.compile(rf"<{tag}\b{attribute}[^<>]*+>".encode(), re.IGNORECASE)
        self._tag = re.compile(rf"<(/?){tag}\b[^<>]*+>".encode(), re.IGNORECASE)
        self._empty = tag.lower() in _VOID

    def __call__(self, html: bytes) -> bytes:
        kept, at = [], 0
        while start := self._start.search(html, at):
            kept.append(html[at : start.start()])
            at = start.end() if self._empty else self._end(html, start.end())
        if not kept:
            return html
        return b"".join([*kept, html[at:]])

    def _end(self, html: bytes, at: int) -> int:
        depth = 1
        for tag in self._tag.finditer(html, at):
            depth += -1 if tag[1] else 1
            if depth == 0:
                return tag.end()
        return len(html)  # never closed: it reaches to the end
