"""The search engines: SearXNG, Brave, any JSON API described by the settings, and plug-ins."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from msgspec import Raw

from honeyguide.config.settings import with_topic_language
from honeyguide.errors import ConfigError, SearchError, suggest_name
from honeyguide.search import credentials, http_client
from honeyguide.search.credentials import ApiKey, load_api_key, sent_key_name
from honeyguide.search.engine import (
    ResultFields,
    ResultPage,
    SearchEngine,
    clean_text,
    engine_query_text,
    field_at,
    list_entries,
    parse_results,
    text_value,
)
from honeyguide.types import Response, Url
from honeyguide.url import canonical_url, path_of, site_origin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from honeyguide.config.settings import SearchSettings, Settings
    from honeyguide.protocols import Fetcher
    from honeyguide.search.query import Query


SEARXNG_FIELDS: Final = ResultFields("results", "url", "title", "content")
SEARXNG_HINTS: Final = {
    403: "its JSON is not switched on. In the instance's settings.yml, under search:, let "
    "formats: be [html, json], and restart it; few public instances have it",
    429: "its limiter blocks robots, and Honeyguide is one. In the instance's settings.yml, under "
    "server:, let limiter: be false, or put this machine on its pass list",
    404: "there is no search at this address; search.url is usually https://HOST/search",
}
_MAX_SILENT = 1000
_MAX_NAMED_ENGINES = 5
"""Engines behind the instance that are named when they fail."""


class SearXng:
    """One instance. ``search.key_*`` is sent only where ``search.header`` names a header."""

    name = "searxng"
    negatives = True

    def __init__(self, settings: SearchSettings, line: http_client.EngineHttpClient) -> None:
        if not settings.url:
            raise ConfigError(
                "search.url: where is the instance? Write its address, such as "
                "http://127.0.0.1:8080/search"
            )
        url = http_client.check_engine_url(settings.url, line.key, "https://HOST/search")
        self._url = f"{url}search" if path_of(url) == "/" else url
        self._language = http_client.engine_language(settings.language)
        self._client = line
        self.price = line.price
        self._headers = ((settings.header, line.key.reveal()),) if settings.header else ()
        if settings.header and not line.key:
            raise ConfigError("search.header: there is no key to send; set search.key_env's one")
        self._own = frozenset({site_origin(url)})
        self._silent: set[tuple[str, int]] = set()

    def address(self, query: Query, page: int) -> Url:
        return http_client.url_with_parameters(self._url, self._query_parameters(query, page))

    async def search(self, query: Query, page: int) -> ResultPage:
        question = self._query_parameters(query, page)
        place = (str(question["q"]), page)
        if not place[0]:
            return ResultPage((), more=False)
        question |= {"format": "json", "safesearch": 0}
        url = http_client.url_with_parameters(self._url, question)
        return await self._client.fetch_results(
            url, partial(self._parse_results, place), self._headers, hints=SEARXNG_HINTS
        )

    def _query_parameters(self, query: Query, page: int) -> dict[str, str | int]:
        words = engine_query_text(query, negatives=True)
        parameters: dict[str, str | int] = {"q": words, "pageno": page}
        return parameters | {"language": self._language} if self._language else parameters

    def _parse_results(self, place: tuple[str, int], raw: Raw) -> ResultPage:
        got = parse_results(raw, SEARXNG_FIELDS, self._own, self._client.key.redact)
        if got.results or got.more or place[1] > 1 or place in self._silent:
            return got
        # Nothing found, or nobody to find it? Where engines failed, it is asked once more, later.
        failed = [
            self._failed_engine(pair)
            for pair in list_entries(field_at(raw, "unresponsive_engines"))[:_MAX_NAMED_ENGINES]
        ]
        if not any(failed):
            return got
        if len(self._silent) < _MAX_SILENT:
            self._silent.add(place)
        names = ", ".join(filter(None, failed))
        raise SearchError("limited", f"the engines behind it fail: {names}")

    def _failed_engine(self, pair: Raw) -> str:
        """``google (too many requests)`` of a pair of texts; '' if it is something else."""
        redact = self._client.key.redact
        words = [clean_text(text_value(word), 60, redact) for word in list_entries(pair)[:2]]
        return f"{words[0]} ({words[1]})" if len(words) > 1 else "".join(words)


# -- Brave's Search API --


BRAVE_API_URL: Final = "https://api.search.brave.com/res/v1/web/search"
BRAVE_PUBLIC_URL: Final = "https://search.brave.com/search"
BRAVE_PAGE_SIZE: Final = 20
BRAVE_MAX_PAGES: Final = 10
"""The API's own limits: so many results a page, and so many pages."""
BRAVE_FIELDS: Final = ResultFields("web.results", "url", "title", "description")
BRAVE_HINTS: Final = {
    401: "the key is not accepted; look at the variable or file that [search] names",
    403: "the key may not be used for this; its plan must include web search",
    404: "there is no search at this address; leave search.url out",
}
_BRAVE_LANGUAGES = frozenset(
    ("ar", "eu", "bn", "bg", "ca", "zh-hans", "zh-hant", "hr", "cs", "da", "nl", "en", "en-gb",
     "et", "fi", "fr", "gl", "de", "el", "gu", "he", "hi", "hu", "is", "it", "jp", "kn", "ko", "lv",
     "lt", "ms", "ml", "mr", "nb", "pl", "pt-br", "pt-pt", "pa", "ro", "ru", "sr", "sk", "sl", "es",
     "sv", "ta", "te", "th", "tr", "uk", "vi")
)  # fmt: skip
"""What it has words for."""
_BRAVE_LANGUAGE_CODES = {"ja": "jp", "zh": "zh-hans", "pt": "pt-pt", "no": "nb", "nn": "nb"}
_MONTH_S = 31 * 86_400.0


class Brave:
    name = "brave"
    negatives = True

    def __init__(self, settings: SearchSettings, line: http_client.EngineHttpClient) -> None:
        if not line.key:
            where = settings.key_file or f"the environment variable {settings.key_env}"
            raise ConfigError(
                f"search.engine: brave needs a key, and {where} holds none. Get one at "
                "https://api-dashboard.search.brave.com"
            )
        url = settings.url or BRAVE_API_URL
        self._url = http_client.check_engine_url(url, line.key, BRAVE_API_URL)
        code = http_client.engine_language(settings.language).lower()
        code = _BRAVE_LANGUAGE_CODES.get(code, code)
        # An unknown language would be refused; without one, the words of the query decide.
        self._language_parameter: dict[str, str | int] = (
            {"search_lang": code} if code in _BRAVE_LANGUAGES else {}
        )
        self._client = line
        self.price = line.price
        token = line.key.reveal()
        self._headers = (("Accept", "application/json"), ("X-Subscription-Token", token))
        self._own = frozenset(map(site_origin, (BRAVE_API_URL, BRAVE_PUBLIC_URL, self._url)))

    def address(self, query: Query, page: int) -> Url:
        words = engine_query_text(query, negatives=True)
        return http_client.url_with_parameters(BRAVE_PUBLIC_URL, {"q": words, "offset": page - 1})

    async def search(self, query: Query, page: int) -> ResultPage:
        words = engine_query_text(query, negatives=True)
        if page > BRAVE_MAX_PAGES or not words:
            return ResultPage((), more=False)
        question = self._language_parameter | {
            "q": words,
            "count": BRAVE_PAGE_SIZE,
            "offset": page - 1,
            "safesearch": "off",
            "text_decorations": "false",
            "spellcheck": "false",
            "result_filter": "web",
        }
        url = http_client.url_with_parameters(self._url, question)
        got = await self._client.fetch_results(
            url,
            self._parse_results,
            self._headers,
            hints=BRAVE_HINTS,
            read_wait=seconds_until_reset,
        )
        return got._replace(more=got.more and page < BRAVE_MAX_PAGES)

    def _parse_results(self, raw: Raw) -> ResultPage:
        # An answer without anything from the web has no such part at all.
        got = parse_results(raw, BRAVE_FIELDS, self._own, self._client.key.redact, needed=False)
        more = field_at(raw, "query.more_results_available")
        return got if more is None else got._replace(more=got.more and bytes(more) != b"false")


def seconds_until_reset(response: Response, now: float) -> float | None:
    """When the limit that was hit ends: several are told at once, as ``1, 15000``, and of each
    what remains and in how many seconds it begins anew."""
    wait_s = http_client.retry_after(response, now)
    if wait_s is not None:
        return wait_s
    remaining, resets = (
        [part.strip() for part in response.header(f"x-ratelimit-{name}")[:200].split(",")]
        for name in ("remaining", "reset")
    )
    waits = [
        min(_MONTH_S, float(wait[:12]))
        for left, wait in zip(remaining, resets, strict=False)
        if left == "0" and wait.isascii() and wait.isdigit()
    ]
    return max(waits, default=None)


# -- JSON APIs by configuration --


JSON_PAGE_SIZE: Final = 10
"""Results that a page is asked to have: more is not allowed everywhere."""
TEMPLATE_PLACES: Final = ("query", "page", "offset", "first", "count", "language", "key")
"""What a template may hold: the page from 1, the results before it, the number of its first."""
_PAGING_PLACES = frozenset({"page", "offset", "first"})
_TEMPLATE_PLACE = re.compile(r"\{([^{}]*)\}")
_is_field_path = re.compile(r"[^.\s]+(?:\.[^.\s]+)*").fullmatch
_is_header_name = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_JSON_HINTS = {404: "there is no search at this address; see search.url"}
_EXAMPLE_TEMPLATE = "https://api.example.org/search?q={query}&page={page}"


class JsonApi:
    """An engine by configuration alone. Wrong configuration is found when it is made."""

    name = "json"
    negatives = True

    def __init__(self, settings: SearchSettings, line: http_client.EngineHttpClient) -> None:
        self._template = template = settings.url.strip()
        self._client = line
        self.price = line.price
        places = _template_places(template, line)
        self._paged = bool(places & _PAGING_PLACES)
        self._language = http_client.engine_language(settings.language)
        keyed = "key" in places
        if settings.header and (keyed or not _is_header_name(settings.header)):
            raise ConfigError(
                "search.header: the key has its place in search.url already; leave one of them out"
                if keyed
                else f"search.header: {settings.header!r} is not a header name"
            )
        if (keyed or settings.header) and not line.key:
            where = settings.key_file or f"the environment variable {settings.key_env}"
            raise ConfigError(f"search: a key is to be sent, and {where} holds none")
        self._headers: http_client.Headers = (("Accept", "application/json"),)
        if settings.header:
            self._headers += ((settings.header, line.key.reveal()),)
        self._fields = ResultFields(
            settings.results, settings.link, settings.title, settings.snippet
        )
        for name, field in zip(("results", "link", "title", "snippet"), self._fields, strict=True):
            if not _is_field_path(field) and (field or name in ("results", "link")):
                raise ConfigError(
                    f"search.{name}: {field!r} must be the name of a field, or names with dots "
                    "between them, such as data.items"
                )
        self._own = frozenset({site_origin(self._fill_template("x", 1, ""))})

    def address(self, query: Query, page: int) -> Url:
        return self._fill_template(engine_query_text(query, negatives=True), page, "")

    async def search(self, query: Query, page: int) -> ResultPage:
        words = engine_query_text(query, negatives=True)
        if (page > 1 and not self._paged) or not words:
            return ResultPage((), more=False)
        url = self._fill_template(words, page, self._client.key.reveal())
        got = await self._client.fetch_results(
            url, self._parse_results, self._headers, hints=_JSON_HINTS
        )
        return got._replace(more=got.more and self._paged)

    def _parse_results(self, raw: Raw) -> ResultPage:
        return parse_results(raw, self._fields, self._own, self._client.key.redact)

    def _fill_template(self, words: str, page: int, key: str) -> Url:
        """The address of that page; without a key, the parameter that takes it is left out."""
        values: dict[str, str | int] = {
            "query": words,
            "page": page,
            "offset": (page - 1) * JSON_PAGE_SIZE,
            "first": (page - 1) * JSON_PAGE_SIZE + 1,
            "count": JSON_PAGE_SIZE,
            "language": self._language,
            "key": key,
        }
        template = self._template if key else _without_key(self._template)
        text = _TEMPLATE_PLACE.sub(lambda place: quote(str(values[place[1]]), safe=""), template)
        url = canonical_url(text)
        assert url is not None, "the template was tried when it was read"
        return url


def _template_places(template: str, line: http_client.EngineHttpClient) -> set[str]:
    """The places in the template, which must make sense; raises ConfigError."""
    places = set(_TEMPLATE_PLACE.findall(template))
    for place in sorted(places - set(TEMPLATE_PLACES)):
        near = get_close_matches(place, TEMPLATE_PLACES, 1)
        known = ", ".join(f"{{{name}}}" for name in TEMPLATE_PLACES)
        hint = f"did you mean {{{near[0]}}}?" if near else f"known: {known}"
        raise ConfigError(f"search.url: {{{place[:40]}}} has no meaning; {hint}")
    if "query" not in places or "#" in template:  # nothing behind it is ever sent
        raise ConfigError(
            f"search.url: {{query}} must stand in it, and no #; write such as {_EXAMPLE_TEMPLATE}"
        )
    http_client.check_engine_url(_TEMPLATE_PLACE.sub("1", template), line.key, _EXAMPLE_TEMPLATE)
    server = re.match(r"[a-z]+://[^/?#]*", template, re.IGNORECASE)
    if server is None or "{" in server[0]:
        raise ConfigError(
            f"search.url: the name of the server must be plain, as in {_EXAMPLE_TEMPLATE}"
        )
    return places


def _without_key(template: str) -> str:
    start, mark, query = template.partition("?")
    others = "&".join(part for part in query.split("&") if "{key}" not in part)
    return start.replace("{key}", "-") + (mark + others if others else "")


# -- The engine that the settings name --
#
# An outsider adds one with the entry-point group ``honeyguide.engines``: something that is called
# with the settings and a :class:`~honeyguide.search.http_client.EngineHttpClient`, and gives a
# :class:`~honeyguide.search.engine.SearchEngine`.


EngineMaker = Callable[["SearchSettings", http_client.EngineHttpClient], SearchEngine]
_BUILT_IN_ENGINES: dict[str, EngineMaker] = {"searxng": SearXng, "brave": Brave, "json": JsonApi}
_EXAMPLE_URLS = {
    "searxng": "http://localhost:8080/search",
    "json": "https://api.example.org/find?q={query}",
}
"""Engines of ours whose address nobody knows but the user, with examples."""
_MAX_ANSWER_S = 30.0
"""Longest time for one answer: an engine that takes longer is too slow to be of use."""
_MAX_ANSWER_MB = 2.0


def engine_names() -> list[str]:
    return sorted({*_BUILT_IN_ENGINES, *(entry.name for entry in _plugin_engines())})


def check_engine(name: str, url: str) -> None:
    """Whether there is such an engine, and its address, where it needs one; raises ConfigError."""
    _find_engine(name)
    if not url and name in _EXAMPLE_URLS:
        raise ConfigError(
            f"search.url: {name} needs the address of its API, such as {_EXAMPLE_URLS[name]}"
        )


def make_engine(
    settings: SearchSettings,
    fetcher: Fetcher,
    clock: Callable[[], float],
    *,
    lab: bool = False,
    folder: Path | None = None,
    proxied: bool = False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> SearchEngine | None:
    """The engine, or None if none is set. Mistakes are found now: raises ConfigError.

    ``lab``: nothing is paid for, and nothing leaves this machine, so that nothing is counted and
    nobody need agree. ``folder``: the collection's, in which no key may lie, and for which the user
    must have agreed to what its settings ask for; without one, a program chose them itself.
    """
    if not settings.engine:
        return None
    make = _find_engine(settings.engine)
    key = load_api_key(settings, folder)
    spending = None if lab else _make_quota(settings, key, clock)
    if spending is not None:
        spending.current_usage()
    line = http_client.EngineHttpClient(
        fetcher,
        clock,
        key=key,
        per_minute=settings.per_minute,
        price=0.0 if lab else settings.price / 1000,
        spending=spending,
        sleep=sleep,
    )
    engine = make(settings, line)
    if not lab and folder is not None:
        credentials.require_consent(settings, folder, keyed=bool(key))
    if key and sent_key_name(settings):
        http_client.warn_unencrypted_key(credentials.engine_origin(settings), proxied=proxied)
    return engine


def configured_engine(
    settings: Settings,
    folder: Path,
    fetcher: Fetcher,
    clock: Callable[[], float] = time.time,
    *,
    lab: bool = False,
) -> SearchEngine:
    """The engine that a collection's settings name, with limits and key; raises ConfigError."""
    engine = make_engine(
        with_topic_language(settings.search, settings.topic),
        fetcher,
        clock,
        lab=lab or bool(settings.fetch.lab),
        folder=folder,
        proxied=bool(settings.fetch.proxy),
    )
    if engine is None:
        raise ConfigError("search.engine: no engine is set")
    return engine


def make_quota(
    settings: SearchSettings, clock: Callable[[], float], folder: Path | None = None
) -> http_client.MonthlyQuota | None:
    """The month's account of that server and key, shared with all collections; None: there is no
    key, no budget and no price, and nothing is counted."""
    return _make_quota(settings, load_api_key(settings, folder), clock) if settings.engine else None


def make_engine_fetcher(settings: Settings, folder: Path | None = None) -> Fetcher:
    """A fetcher for engines alone: it keeps no cookies and archives nothing. It reaches private
    addresses only where the user agreed to that engine for that collection."""
    from honeyguide import __version__
    from honeyguide.fetch.http import CurlFetcher, make_user_agent

    wanted = settings.fetch
    fetch = replace(
        wanted,
        private_addresses=folder is None or _private_access_allowed(settings.search, folder),
        cookies=False,
        total_s=min(wanted.total_s, _MAX_ANSWER_S),
        html_mb=_MAX_ANSWER_MB,
        document_mb=_MAX_ANSWER_MB,
    )
    return CurlFetcher(
        fetch, user_agent=make_user_agent(wanted.contact, __version__), archives=False
    )


def _private_access_allowed(settings: SearchSettings, folder: Path) -> bool:
    try:
        return credentials.has_consent(credentials.required_consent(settings, folder))
    except ConfigError:
        return False  # told where somebody's word is needed; a public engine does without


def _make_quota(
    settings: SearchSettings, key: ApiKey, clock: Callable[[], float]
) -> http_client.MonthlyQuota | None:
    if not sent_key_name(settings):
        key = ApiKey()  # whose it is does not matter where it is not sent
    if not (key or settings.per_month or settings.price):
        return None
    place = credentials.engine_origin(settings) or settings.engine
    return http_client.MonthlyQuota(http_client.state_file(), place, key, settings.per_month, clock)


def _find_engine(name: str) -> EngineMaker:
    if name in _BUILT_IN_ENGINES:
        return _BUILT_IN_ENGINES[name]
    entry = next((entry for entry in _plugin_engines() if entry.name == name), None)
    if entry is None:
        hint = suggest_name(name, engine_names())
        raise ConfigError(f"search.engine: there is no engine {name!r}; {hint}")
    try:
        return cast("EngineMaker", entry.load())
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"search.engine: {name!r} cannot be loaded: {error}") from error


def _plugin_engines() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.engines")
