"""HTML whose tree would be out of all proportion to its text, cut or tamed before it is parsed.

The standard's parser can be made to build a tree that is quadratic in the text, which fills
any memory: every paragraph opens again what formatting tags were left open before it, and
every further ``<body>`` adds its attributes to the first. So the tags of a large page are
counted, the dangerous ones are defused where there are too many, and the rest is cut.
"""

from __future__ import annotations

import re
from collections import Counter

TAGS = 150_000
"""Most tags of a page that are parsed: a second's work, and far more than the text we keep."""

_DEFUSED = "x-"
"""Goes before the name of a tag, which then means nothing to the parser."""

_WINDOW = 65_536
_HARMLESS = 24_000
"""Characters in which formatting tags cannot do harm, nor in twice as many bodies."""
_GROWTH = 2_000_000
"""Most elements that formatting tags may add: 250 MB."""
_BARE = 36
"""Most formatting tags without attributes that are opened again: three of each kind."""
_BODIES = 20
"""Honest pages too have more than one start tag of html and body: in comments, for old browsers."""
_LONGEST = 2_000
"""Most characters of such a tag."""


def _any_case(names: str) -> str:
    """Quicker by half than the IGNORECASE flag, and every large page is searched."""
    return re.sub("[a-z]", lambda match: f"[{match[0]}{match[0].upper()}]", names)


_FORMATTING = _any_case("b(?:ig)?|code|em|font|i|nobr|s(?:mall|trike|trong)?|tt|u")
"""All but ``<a>``, of which one at most is opened again."""
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
"""A start tag about whose end there can be no doubt."""


def bounded(html: str) -> str:
    """The text, unless a parser would suffer from it: then as much of it as it can take."""
    if len(html) <= _HARMLESS:
        return html
    tags = html.count("<")
    if tags > TAGS:
        html, tags = html[: _end(html)], TAGS
    # Of n tags, half may stay open and half open them all again.
    many = tags * tags > 4 * _GROWTH
    if not many and len(html) <= 2 * _HARMLESS:
        return html
    # Looking for bodies alone is much quicker, and only few pages have so many tags.
    laden = Counter((_LADEN if many else _LADEN_BODY)(html))
    if not _few_bodies(laden):
        html = _with_few_bodies(html)
    if many and (_BARE + _different(laden)) * tags > _GROWTH:
        html = _FORMATTING_TAG(f"<{_DEFUSED}", html)
    return html


def _end(html: str) -> int:
    """Where about the last tag stands that is wanted."""
    tags = 0
    for start in range(0, len(html), _WINDOW):
        tags += html.count("<", start, start + _WINDOW)
        if tags > TAGS:
            return start
    return len(html)


def _different(laden: Counter[str]) -> int:
    """How many tags with attributes may be opened again: three of those that are the same."""
    return sum(min(3, count) if _TIDY(tag) else count for tag, count in laden.items())


def _few_bodies(laden: Counter[str]) -> bool:
    bodies = [tag for tag in laden if _BODY_TAG.match(tag)]
    few = sum(laden[tag] for tag in bodies) <= _BODIES
    return few and all(len(tag) <= _LONGEST and _TIDY(tag) for tag in bodies)


def _with_few_bodies(html: str) -> str:
    """All but the first tidy start tags of html and body as elements that mean nothing."""
    kept: list[str] = []
    at = tidy = 0
    for match in _BODY_TAG.finditer(html):
        start = match.start()
        if tidy < _BODIES and _TIDY(html, start, start + _LONGEST):
            tidy += 1
        else:
            kept += (html[at:start], f"<{_DEFUSED}")
            at = start + 1
    return "".join((*kept, html[at:]))
