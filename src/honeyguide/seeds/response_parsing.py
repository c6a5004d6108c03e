"""Reading an engine's answer, which is hostile input: bounded, and nothing in it is believed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from honeyguide.errors import SearchError
from honeyguide.seeds.engine import Found, Result
from honeyguide.types import Url
from honeyguide.url import authority, canonical, origin

BYTES: Final = 2_000_000
"""Largest answer, unpacked."""
ENTRIES: Final = 100
"""So many entries of a results page are looked at."""
TITLE: Final = 300
SNIPPET: Final = 1000
"""Most characters that are kept."""
ADDRESS: Final = 4096
_RAW = 8
"""Markup and entities may make a text so many times longer before it is cleaned."""
_SLACK = 24_576
"""No form of a key is longer."""

_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_OPENS = re.compile(r"<(?=[A-Za-z!?/])")
"""What a browser takes for the beginning of a tag."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]+"
)
"""Control characters, halves of characters, and what hides or turns text. The joiners of Persian
and of Indian scripts stay: they are spelling."""
_HALF = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a surrogate pair: a snippet cut in the middle of a character."""


class Fields(NamedTuple):
    """Where things are in an answer: dotted names from the top, and from an entry."""

    results: str
    link: str
    title: str
    snippet: str


def answer(body: bytes) -> Raw:
    """The answer as JSON, not unpacked yet; raises SearchError."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\\ud" in body or b"\\uD" in body:
        body = _HALF.sub(rb"\\ufffd", body)
    if not body.lstrip().startswith(b"{"):
        page = b"<html" in body[:2000].lower() or body.lstrip()[:1] == b"<"
        raise SearchError("garbage", "a web page came instead of JSON" if page else "no JSON came")
    if _decoded(body, dict[str, Raw]) is None:
        raise SearchError("garbage", "the JSON is broken, or nested too deep")
    return Raw(body)


def at(raw: Raw | None, place: str) -> Raw | None:
    """What stands at that dotted name, or None."""
    return raw if raw is None else _inside(_opened(raw), place)


def text(raw: Raw | None) -> str:
    return ("" if raw is None else _decoded(raw, str)) or ""


def entries(raw: Raw | None) -> list[Raw]:
    return (None if raw is None else _decoded(raw, list[Raw])) or []


def found(
    raw: Raw,
    fields: Fields,
    own: frozenset[str],
    redacted: Callable[[str], str],
    *,
    needed: bool = True,
) -> Found:
    """The results in an answer. ``own``: the engine's own origins, to which no result leads;
    ``needed``: an answer without the list makes no sense."""
    place = at(raw, fields.results)
    if place is None and not needed:
        return Found((), more=False)
    if place is None or bytes(place)[:1] not in (b"[", b"n"):  # a list, or null
        raise SearchError("garbage", f"the answer has no list at {fields.results!r}")
    listed = entries(place)
    results: dict[Url, Result] = {}
    for entry in listed[:ENTRIES]:
        result = _result(entry, fields, redacted)
        if result is not None and origin(result.url) not in own:
            results.setdefault(result.url, result)
    return Found(tuple(results.values()), bool(listed), len(listed) - len(results))


def clean(raw: str, most: int, redacted: Callable[[str], str] = str) -> str:
    """One line of plain text from what may hold markup, entities and worse."""
    # Wherever a text is cut, the key is taken out first: part of it would not be known again. Not
    # elsewhere: markup may stand within a key, and what is left of it would not be known, either.
    cut = len(raw) > most * _RAW
    line = redacted(raw[: most * _RAW + _SLACK])[: most * _RAW] if cut else raw
    # Then entities: they may hide a tag, and an invisible character may stand within one.
    line = _UNSEEN.sub("", unescape(line))
    # What is left over around a tag may make another: a few times is enough for honest text.
    for _ in range(5):
        line, tags = _TAG.subn("", line)
        if not tags:
            break
    line = redacted(_OPENS.sub("< ", redacted(" ".join(line.split()))))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _result(entry: Raw, fields: Fields, redacted: Callable[[str], str]) -> Result | None:
    parts = _opened(entry)
    address = text(_inside(parts, fields.link)).strip()
    url = canonical(address) if len(address) <= ADDRESS else None
    # An address that holds the user's key must not be stored, let alone be visited.
    if url is None or len(url) > ADDRESS or redacted(url) != url or redacted(address) != address:
        return None
    if "@" in authority(url):
        return None  # somebody's name and password, or one that only looks like a host
    title, snippet = text(_inside(parts, fields.title)), text(_inside(parts, fields.snippet))
    return Result(url, clean(title, TITLE, redacted), clean(snippet, SNIPPET, redacted))


def _opened(raw: Raw) -> dict[str, Raw]:
    """One level of an answer: of a million entries, only what is looked at becomes objects."""
    return _decoded(raw, dict[str, Raw]) or {}


def _inside(parts: dict[str, Raw], place: str) -> Raw | None:
    name, dot, rest = place.partition(".")
    found = parts.get(name)
    return at(found, rest) if dot else found


def _decoded(raw: bytes | Raw, kind: Any) -> Any:
    """That value if it is of that kind, else None. Only here is msgspec's failing heard."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
