"""What the lab changes in a recorded page: elements taken out, dead links closed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape

from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.url import canonical

_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "wbr"}
_LINK = re.compile(
    rb"""(<(?:a|area)\b[^<>]*?)\shref\s*+=\s*+("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE
)
_RULE = re.compile(
    r"([a-z][a-z0-9]*)(?:#([\w-]+)|\.([\w-]+)|\[([\w-]+)=([\w-]+)\])?\Z", re.IGNORECASE
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
    """Takes one kind of element out of HTML, with everything in it.

    The rule is ``tag``, ``tag#id``, ``tag.class`` or ``tag[name=value]``.
    """

    def __init__(self, rule: str) -> None:
        match = _RULE.match(rule)
        if match is None:
            raise ConfigError(
                f"strip: {rule!r} is not like tag, tag#id, tag.class or tag[name=value]"
            )
        tag, id_, class_, name, value = match.groups(default="")
        attribute = ""
        if class_:
            attribute = rf"""(?=[^<>]*?\sclass\s*+=\s*+["']?+(?:[^"'<>=]*\s)?{class_}["'\s>])"""
        elif id_ or name:
            name, value = (name, value) if name else ("id", id_)
            attribute = rf"""(?=[^<>]*?\s{name}\s*+=\s*+["']?{value}["'\s>])"""
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
