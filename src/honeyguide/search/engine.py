"""The interface of search engines, and parsing of their responses."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
from msgspec import Raw

from honeyguide.errors import SearchError as SearchError
from honeyguide.types import Url
from honeyguide.url import authority_of, canonical_url, site_origin

if TYPE_CHECKING:
    from honeyguide.search.query import Query


MAX_QUERY_WORDS: Final = 32
"""Most words of a question, negatives included; engines ignore more, or refuse them."""
MAX_QUERY_CHARACTERS: Final = 400
"""Most characters of a question."""

_UNQUOTABLE = re.compile(r'[\x00-\x1f\x7f-\x9f\ud800-\udfff"“”„«»]+')
"""What a phrase cannot hold: control characters, halves of characters, and quotation marks."""
_COMMAND_SIGNS = "-+!:?~@ "
"""A word that begins so is an order to many an engine: leave out, other engine, language."""


class SearchResult(NamedTuple):
    """One entry of a results page, cleaned: no markup, no control characters, bounded."""

    url: Url
    title: str = ""
    snippet: str = ""


class ResultPage(NamedTuple):
    """One results page."""

    results: tuple[SearchResult, ...]
    more: bool = True
    """Whether a further page may have something."""
    dropped: int = 0
    """Entries that were no use: no web address, twice the same, beyond the first hundred."""


class SearchEngine(Protocol):
    """One search engine, with its limits kept: whoever asks need not know of keys or prices."""

    name: str
    negatives: bool
    """It understands -"phrase"."""
    price: float
    """Of one request, in the user's currency; 0: free."""

    def address(self, query: Query, page: int) -> Url:
        """The public address of that results page, without key or format."""

    async def search(self, query: Query, page: int) -> ResultPage:
        """Results page 1, 2, …; raises SearchError."""


def engine_query_text(query: Query, *, negatives: bool) -> str:
    """The query as an engine reads it: phrases of several words in quotation marks.

    A person's own words go out as typed, on one line. Terms were found on pages, so that nothing
    in them may be an order to the engine. What does not fit is left out, last things first.
    """
    if query.text:
        typed = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", query.text).split())
        return typed[:MAX_QUERY_CHARACTERS].rstrip()
    parts = [_quote_phrase(term) for term in query.terms]
    if negatives:
        # Always in quotation marks: a leading dash without them is also how dashes begin.
        parts += [
            f"-{_in_quotes(words)}" for term in query.without if (words := _strip_commands(term))
        ]
    chosen: list[str] = []
    count = size = 0
    for part in filter(None, parts):
        count += part.count(" ") + 1
        size += len(part) + 1
        if count > MAX_QUERY_WORDS or size > MAX_QUERY_CHARACTERS:
            break
        chosen.append(part)
    return " ".join(chosen)


def _quote_phrase(term: str) -> str:
    words = _strip_commands(term)
    return _in_quotes(words) if " " in words else words


def _strip_commands(term: str) -> str:
    words = (word.lstrip(_COMMAND_SIGNS) for word in _UNQUOTABLE.sub(" ", term).split())
    return " ".join(word for word in words if word)


def _in_quotes(words: str) -> str:
    return f'"{words}"'


# -- Parsing responses --


MAX_ANSWER_BYTES: Final = 2_000_000
"""Largest answer, unpacked."""
MAX_ENTRIES: Final = 100
"""So many entries of a results page are looked at."""
MAX_TITLE: Final = 300
MAX_SNIPPET: Final = 1000
"""Most characters that are kept."""
MAX_URL_LENGTH: Final = 4096
_RAW_FACTOR = 8
"""Markup and entities may make a text so many times longer before it is cleaned."""
_KEY_SLACK = 24_576
"""No form of a key is longer."""

_HTML_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_TAG_START = re.compile(r"<(?=[A-Za-z!?/])")
"""What a browser takes for the beginning of a tag."""
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]+"
)
"""Control characters, halves of characters, and what hides or turns text. The joiners of Persian
and of Indian scripts stay: they are spelling."""
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a surrogate pair: a snippet cut in the middle of a character."""


class ResultFields(NamedTuple):
    """Where things are in an answer: dotted names from the top, and from an entry."""

    results: str
    link: str
    title: str
    snippet: str


def parse_json_answer(body: bytes) -> Raw:
    """The answer as JSON, not unpacked yet; raises SearchError."""
    body = body.removeprefix(b"\xef\xbb\xbf")
    if b"\\ud" in body or b"\\uD" in body:
        body = _LONE_SURROGATE.sub(rb"\\ufffd", body)
    if not body.lstrip().startswith(b"{"):
        page = b"<html" in body[:2000].lower() or body.lstrip()[:1] == b"<"
        what = "answered with a web page instead of JSON" if page else "did not answer with JSON"
        raise SearchError("garbage", f"it {what}")
    if _decode_as(body, dict[str, Raw]) is None:
        raise SearchError("garbage", "the JSON is broken, or nested too deep")
    return Raw(body)


def field_at(raw: Raw | None, place: str) -> Raw | None:
    """What stands at that dotted name, or None."""
    return raw if raw is None else _nested_field(_object_fields(raw), place)


def text_value(raw: Raw | None) -> str:
    return ("" if raw is None else _decode_as(raw, str)) or ""


def list_entries(raw: Raw | None) -> list[Raw]:
    return (None if raw is None else _decode_as(raw, list[Raw])) or []


def parse_results(
    raw: Raw,
    fields: ResultFields,
    own: frozenset[str],
    redacted: Callable[[str], str],
    *,
    needed: bool = True,
) -> ResultPage:
    """The results in an answer. ``own``: the engine's own origins, to which no result leads;
    ``needed``: an answer without the list makes no sense."""
    place = field_at(raw, fields.results)
    if place is None and not needed:
        return ResultPage((), more=False)
    if place is None or bytes(place)[:1] not in (b"[", b"n"):  # a list, or null
        raise SearchError("garbage", f"the answer has no list at {fields.results!r}")
    listed = list_entries(place)
    results: dict[Url, SearchResult] = {}
    for entry in listed[:MAX_ENTRIES]:
        result = _parse_entry(entry, fields, redacted)
        if result is not None and site_origin(result.url) not in own:
            results.setdefault(result.url, result)
    return ResultPage(tuple(results.values()), bool(listed), len(listed) - len(results))


def clean_text(raw: str, most: int, redacted: Callable[[str], str] = str) -> str:
    """One line of plain text from what may hold markup, entities and worse."""
    # Wherever a text is cut, the key is taken out first: part of it would not be known again. Not
    # elsewhere: markup may stand within a key, and what is left of it would not be known, either.
    cut = len(raw) > most * _RAW_FACTOR
    line = redacted(raw[: most * _RAW_FACTOR + _KEY_SLACK])[: most * _RAW_FACTOR] if cut else raw
    # Then entities: they may hide a tag, and an invisible character may stand within one.
    line = _INVISIBLE.sub("", unescape(line))
    # What is left over around a tag may make another: a few times is enough for honest text.
    for _ in range(5):
        line, tags = _HTML_TAG.subn("", line)
        if not tags:
            break
    line = redacted(_TAG_START.sub("< ", redacted(" ".join(line.split()))))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _parse_entry(
    entry: Raw, fields: ResultFields, redacted: Callable[[str], str]
) -> SearchResult | None:
    parts = _object_fields(entry)
    address = text_value(_nested_field(parts, fields.link)).strip()
    url = canonical_url(address) if len(address) <= MAX_URL_LENGTH else None
    if url is None or len(url) > MAX_URL_LENGTH:
        return None
    # An address that holds the user's key must not be stored, let alone be visited.
    if redacted(url) != url or redacted(address) != address:
        return None
    if "@" in authority_of(url):
        return None  # somebody's name and password, or one that only looks like a host
    title = clean_text(text_value(_nested_field(parts, fields.title)), MAX_TITLE, redacted)
    snippet = text_value(_nested_field(parts, fields.snippet))
    return SearchResult(url, title, clean_text(snippet, MAX_SNIPPET, redacted))


def _object_fields(raw: Raw) -> dict[str, Raw]:
    """One level of an answer: of a million entries, only what is looked at becomes objects."""
    return _decode_as(raw, dict[str, Raw]) or {}


def _nested_field(parts: dict[str, Raw], place: str) -> Raw | None:
    name, dot, rest = place.partition(".")
    found = parts.get(name)
    return field_at(found, rest) if dot else found


def _decode_as(raw: bytes | Raw, kind: Any) -> Any:
    """The value decoded as that type; None if it is of another type or damaged."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
