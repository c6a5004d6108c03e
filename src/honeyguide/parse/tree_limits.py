"""Limits for HTML whose tree would be far larger than its text.

The parser of the standard can be made to build a tree that is quadratic in the text: each paragraph
reopens the formatting tags that were left open before it, and each further ``<body>`` adds its
attributes to the first. So the tags of a large page are counted, dangerous ones are defused where
there are too many, and the rest is cut.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

MAX_TAGS = 150_000
"""Most tags of a page that are parsed: one second of work, and far more than the text that is
kept."""

_DEFUSED = "x-"
"""Prefix for the name of a tag, which then has no meaning for the parser."""

_WINDOW = 65_536
HARMLESS_CHARS = 24_000
"""Length up to which formatting tags can do no harm, nor body tags up to twice as much."""
_GROWTH = 2_000_000
"""Most elements that formatting tags may add: 250 MB."""
_BARE = 36
"""Most formatting tags without attributes that are reopened: three of each kind."""
_BODIES = 20
"""Most start tags of html and body. Honest pages have more than one as well: in comments, for
old browsers."""
_LONGEST = 2_000
"""Most characters of such a tag."""


def _any_case(names: str) -> str:
    """Twice as fast as the IGNORECASE flag; every large page is searched."""
    return re.sub("[a-z]", lambda match: f"[{match[0]}{match[0].upper()}]", names)


_FORMATTING = _any_case("b(?:ig)?|code|em|font|i|nobr|s(?:mall|trike|trong)?|tt|u")
"""All but ``<a>``, of which at most one is reopened."""
_BODY = _any_case("body|html")
_LADEN = re.compile(
    # The first two letters of these names: most tags are sooner told by them than by the names.
    rf"<(?=[bcefhinstuBCEFHINSTU][imotIMOT\s/])(?:{_BODY}|{_FORMATTING})[\s/][^<>]*+>?"
).findall
_LADEN_BODY = re.compile(rf"<(?=[bhBH])(?:{_BODY})[\s/][^<>]*+>?").findall
_FORMATTING_TAG = re.compile(rf"<(?=(?:{_FORMATTING})[\s/>])").sub
_BODY_TAG = re.compile(rf"<(?:{_BODY})[\s/]")
_TIDY = re.compile(
    r"<[a-zA-Z]++(?:\s++[^\s\"'<>/=]++(?:=(?:\"[^\"<>]*+\"|'[^'<>]*+'|[^\s\"'<>=`]++))?+)*+\s*+/?>"
).match
"""A start tag with an unambiguous end."""

_OF_BODY, _OF_FORMATTING = 1, 2


def _dangerous_starts() -> NDArray[np.uint8]:
    """For each pair of bytes the kind of dangerous tag that may begin with it, if any."""
    table = bytearray(1 << 16)
    # Beyond ASCII is more whitespace, which an expression takes for the end of a name.
    ends = [chr(byte) for byte in range(256) if byte >= 0x80 or chr(byte).isspace()] + ["/"]
    for kind, names in (_OF_BODY, "bo ht"), (_OF_FORMATTING, "b bi co em fo i no s sm st tt u"):
        for name in names.split():
            for first in (name[0], name[0].upper()):
                for second in (name[1], name[1].upper()) if name[1:] else ends:
                    table[ord(first) << 8 | ord(second)] = kind
    return np.frombuffer(table, np.uint8)


_BEGINNINGS = _dangerous_starts()


def bound_html(html: str, utf8: bytes = b"") -> str:
    """The text, limited to what a parser can take.

    ``utf8``: the same text in UTF-8, if it is known.
    """
    if len(html) <= HARMLESS_CHARS:
        return html
    data = utf8 or html.encode("utf-8", "surrogatepass")
    letters = np.frombuffer(data, np.uint8)
    opens = letters == ord("<")
    tags = int(np.count_nonzero(opens))
    # Of n tags, half may stay open and half open them all again.
    many = tags * tags > 4 * _GROWTH
    if not many and len(html) <= 2 * HARMLESS_CHARS:
        return html
    harmless = tags <= MAX_TAGS and _is_harmless(data, letters, opens, tags, many)
    return html if harmless else _tame_html(html)


def _is_harmless(
    data: bytes, letters: NDArray[np.uint8], opens: NDArray[np.bool_], tags: int, many: bool
) -> bool:
    """Whether few tags begin like dangerous ones: a quarter of the work of reading each tag.

    True only if nothing has to be changed; otherwise the tags must be read.
    """
    places = np.flatnonzero(opens[:-2])
    kinds = _BEGINNINGS[letters[places + 1].astype(np.uint16) << 8 | letters[places + 2]]
    bodies = places[kinds == _OF_BODY].tolist()
    if len(bodies) > _BODIES or not all(_tidy_body(data, place) for place in bodies):
        return False
    if not many:
        return True
    suspects = places[kinds == _OF_FORMATTING]
    if (_BARE + len(suspects)) * tags <= _GROWTH:
        return True
    ends = np.flatnonzero(letters == ord(">"))
    if not len(suspects) or not len(ends) or suspects[-1] > ends[-1]:
        return False
    sizes = ends[ends.searchsorted(suspects)] + 1 - suspects
    if sizes.max() > _LONGEST:
        return False
    spans = zip(suspects.tolist(), (suspects + sizes).tolist(), strict=True)
    different = {data[start:stop] for start, stop in spans}
    # Three of those that are the same may be opened again.
    few = (_BARE + 3 * len(different)) * tags <= _GROWTH
    return few and all(_TIDY(_decode_tag(tag)) for tag in different)


def _tidy_body(data: bytes, place: int) -> bool:
    tag = _decode_tag(data[place : place + _LONGEST])
    return _BODY_TAG.match(tag) is None or _TIDY(tag) is not None


def _decode_tag(tag: bytes) -> str:
    return tag.decode("utf-8", "replace")


def _tame_html(html: str) -> str:
    """The text after its tags were checked one by one."""
    tags = html.count("<")
    if tags > MAX_TAGS:
        html, tags = html[: _cut_position(html)], MAX_TAGS
    many = tags * tags > 4 * _GROWTH
    # Looking for bodies alone is much quicker.
    laden = Counter((_LADEN if many else _LADEN_BODY)(html))
    if not _has_few_bodies(laden):
        html = _with_few_bodies(html)
    if many and (_BARE + _distinct_tags(laden)) * tags > _GROWTH:
        html = _FORMATTING_TAG(f"<{_DEFUSED}", html)
    return html


def _cut_position(html: str) -> int:
    """Position shortly before the tag with number :data:`MAX_TAGS`."""
    tags = 0
    for start in range(0, len(html), _WINDOW):
        tags += html.count("<", start, start + _WINDOW)
        if tags > MAX_TAGS:
            return start
    return len(html)


def _distinct_tags(laden: Counter[str]) -> int:
    """How many tags with attributes may be reopened: three of each that are equal."""
    return sum(min(3, count) if _TIDY(tag) else count for tag, count in laden.items())


def _has_few_bodies(laden: Counter[str]) -> bool:
    bodies = [tag for tag in laden if _BODY_TAG.match(tag)]
    few = sum(laden[tag] for tag in bodies) <= _BODIES
    return few and all(len(tag) <= _LONGEST and _TIDY(tag) for tag in bodies)


def _with_few_bodies(html: str) -> str:
    """All but the first tidy start tags of html and body become elements without meaning."""
    parts: list[str] = []
    at = tidy = 0
    for match in _BODY_TAG.finditer(html):
        start = match.start()
        if tidy < _BODIES and _TIDY(html, start, start + _LONGEST):
            tidy += 1
        else:
            parts += (html[at:start], f"<{_DEFUSED}")
            at = start + 1
    return "".join((*parts, html[at:]))
