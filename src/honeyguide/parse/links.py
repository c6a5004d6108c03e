"""The links of a page, each with its anchor and the words around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from honeyguide.parse.decoded import collapse
from honeyguide.types import Channel, Link, Url

WINDOW = 50
"""Characters of text on each side of an anchor."""
_REACH = 2 * WINDOW
"""Characters of layout looked at for them; runs of whitespace shrink to one space."""
_ANCHOR = 300
_AHEAD = 20
"""Spans looked through for an anchor where text and tree disagree."""

Span = tuple[int, int]


class Edge(NamedTuple):
    """What the tree says about one link."""

    url: Url
    label: str = ""
    """Its words where the text has none: title, alternative text."""
    span: int = -1
    """Which of the text's anchors it is; -1: none."""
    path: str = ""
    rel: str = ""
    hreflang: str = ""
    channel: Channel = "link"
    wanted: bool = True
    """Whether the words around it are worth finding."""


def make_links(
    edges: Iterable[Edge], text: str, spans: Sequence[Span], source: Url, depth: int, most: int
) -> tuple[Link, ...]:
    """One link per address, in the order of the page: the first, unless it has no words."""
    found: dict[Url, Link] = {}
    for url, label, span, path, rel, hreflang, channel, wanted in edges:
        if url in found:
            if found[url].anchor:
                continue
        elif len(found) >= most:
            continue
        anchor, before, after = label[:_ANCHOR], "", ""
        if span >= 0:
            start, end = spans[span]
            anchor = collapse(text[start : min(end, start + 2 * _ANCHOR)])[:_ANCHOR]
            if wanted:
                left = spans[span - 1][1] if span else 0
                right = spans[span + 1][0] if span + 1 < len(spans) else len(text)
                before, after = window_before(text, left, start), window_after(text, end, right)
        if anchor or url not in found:
            found[url] = Link(
                url, source, anchor, before, after, path, rel, hreflang, channel, depth
            )
    return tuple(found.values())


def window_before(text: str, left: int, stop: int) -> str:
    """The last words before ``stop``, not beyond ``left``."""
    start = max(left, stop - _REACH)
    words = collapse(text[start:stop])
    if len(words) <= WINDOW and (start <= left or text[start - 1].isspace()):
        return words
    cut = words[-WINDOW:]
    if len(words) > WINDOW and words[-WINDOW - 1] == " ":
        return cut
    return (cut.partition(" ")[2] or cut).lstrip()


def window_after(text: str, start: int, right: int) -> str:
    """The first words from ``start`` on, not beyond ``right``."""
    stop = min(right, start + _REACH)
    words = collapse(text[start:stop])
    if len(words) <= WINDOW and (stop >= right or text[stop].isspace()):
        return words
    return snapped(words)


def snapped(words: str) -> str:
    """At most a window of them, the last one whole."""
    cut = words[:WINDOW]
    if words[WINDOW : WINDOW + 1] == " ":
        return cut.rstrip()
    return (cut.rpartition(" ")[0] or cut).rstrip()


def align(anchors: Sequence[str], text: str, spans: Sequence[Span]) -> list[int]:
    """For each anchor's text, in the order of the page, its span; -1: it has none.

    Text and tree nearly always agree one to one. Where they do not (drawings, absurdly deep
    nesting), equal words are looked for a little way ahead.
    """
    if len(anchors) == len(spans):
        return list(range(len(anchors)))
    places = []
    at = 0
    keys = [_key(text[start:end]) for start, end in spans]
    for anchor in anchors:
        key = _key(anchor)
        try:
            place = keys.index(key, at, at + _AHEAD)
        except ValueError:
            places.append(-1)
        else:
            places.append(place)
            at = place + 1
    return places


def _key(words: str) -> str:
    return "".join(words[: 2 * _ANCHOR].split())[:WINDOW]
