"""Any other engine that answers in JSON: its address is a template, its fields have names."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from msgspec import Raw

from honeyguide.errors import ConfigError
from honeyguide.seeds.addresses import checked, language
from honeyguide.seeds.engine import Found, spoken
from honeyguide.seeds.http_client import Headers, Line
from honeyguide.seeds.response_parsing import Fields, found
from honeyguide.types import Url
from honeyguide.url import canonical, origin

if TYPE_CHECKING:
    from honeyguide.config import SearchSettings
    from honeyguide.seeds.query import Query

COUNT: Final = 10
"""Results that a page is asked to have: more is not allowed everywhere."""
PLACES: Final = ("query", "page", "offset", "first", "count", "language", "key")
"""What a template may hold: the page from 1, the results before it, the number of its first."""
_PAGED = frozenset({"page", "offset", "first"})
_PLACE = re.compile(r"\{([^{}]*)\}")
_PATH = re.compile(r"[^.\s]+(?:\.[^.\s]+)*").fullmatch
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_HINTS = {404: "there is no search at this address; see search.url"}
_EXAMPLE = "https://api.example.org/search?q={query}&page={page}"


class JsonApi:
    """An engine by configuration alone. Wrong configuration is found when it is made."""

    name = "json"
    negatives = True

    def __init__(self, settings: SearchSettings, line: Line) -> None:
        self._template = template = settings.url.strip()
        self._line = line
        self.price = line.price
        places = _places(template, line)
        self._paged = bool(places & _PAGED)
        self._language = language(settings.language)
        keyed = "key" in places
        if settings.header and (keyed or not _HEADER(settings.header)):
            raise ConfigError(
                "search.header: the key has its place in search.url already; leave one of them out"
                if keyed
                else f"search.header: {settings.header!r} is no name of a header"
            )
        if (keyed or settings.header) and not line.key:
            where = settings.key_file or f"the environment variable {settings.key_env}"
            raise ConfigError(f"search: a key is to be sent, and {where} holds none")
        self._headers: Headers = (("Accept", "application/json"),)
        if settings.header:
            self._headers += ((settings.header, line.key.reveal()),)
        self._fields = Fields(settings.results, settings.link, settings.title, settings.snippet)
        for name, field in zip(("results", "link", "title", "snippet"), self._fields, strict=True):
            if not _PATH(field) and (field or name in ("results", "link")):
                raise ConfigError(
                    f"search.{name}: {field!r} must be the name of a field, or names with dots "
                    "between them, such as data.items"
                )
        self._own = frozenset({origin(self._filled("x", 1, ""))})

    def address(self, query: Query, page: int) -> Url:
        return self._filled(spoken(query, negatives=True), page, "")

    async def search(self, query: Query, page: int) -> Found:
        words = spoken(query, negatives=True)
        if (page > 1 and not self._paged) or not words:
            return Found((), more=False)
        url = self._filled(words, page, self._line.key.reveal())
        got = await self._line.ask(url, self._read, self._headers, hints=_HINTS)
        return got._replace(more=got.more and self._paged)

    def _read(self, raw: Raw) -> Found:
        return found(raw, self._fields, self._own, self._line.key.redacted)

    def _filled(self, words: str, page: int, key: str) -> Url:
        """The address of that page; without a key, the parameter that takes it is left out."""
        values: dict[str, str | int] = {
            "query": words,
            "page": page,
            "offset": (page - 1) * COUNT,
            "first": (page - 1) * COUNT + 1,
            "count": COUNT,
            "language": self._language,
            "key": key,
        }
        template = self._template if key else _unkeyed(self._template)
        text = _PLACE.sub(lambda place: quote(str(values[place[1]]), safe=""), template)
        url = canonical(text)
        assert url is not None, "the template was tried when it was read"
        return url


def _places(template: str, line: Line) -> set[str]:
    """The places in the template, which must make sense; raises ConfigError."""
    places = set(_PLACE.findall(template))
    for place in sorted(places - set(PLACES)):
        near = get_close_matches(place, PLACES, 1)
        known = ", ".join(f"{{{name}}}" for name in PLACES)
        hint = f"did you mean {{{near[0]}}}?" if near else f"known: {known}"
        raise ConfigError(f"search.url: {{{place[:40]}}} has no meaning; {hint}")
    if "query" not in places or "#" in template:  # nothing behind it is ever sent
        raise ConfigError(
            f"search.url: {{query}} must stand in it, and no #; write such as {_EXAMPLE}"
        )
    checked(_PLACE.sub("1", template), line.key, _EXAMPLE)
    server = re.match(r"[a-z]+://[^/?#]*", template, re.IGNORECASE)
    if server is None or "{" in server[0]:
        raise ConfigError(f"search.url: the name of the server must be plain, as in {_EXAMPLE}")
    return places


def _unkeyed(template: str) -> str:
    start, mark, query = template.partition("?")
    kept = "&".join(part for part in query.split("&") if "{key}" not in part)
    return start.replace("{key}", "-") + (mark + kept if kept else "")
