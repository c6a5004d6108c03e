"""SearXNG: a search engine of one's own that asks others, and answers in JSON if it is let."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Raw

from honeyguide.errors import ConfigError, SearchError
from honeyguide.seeds.addresses import asking, checked, language
from honeyguide.seeds.engine import Found, spoken
from honeyguide.seeds.http_client import Line
from honeyguide.seeds.response_parsing import Fields, at, clean, entries, found, text
from honeyguide.types import Url
from honeyguide.url import origin, path

if TYPE_CHECKING:
    from honeyguide.config import SearchSettings
    from honeyguide.seeds.query import Query

FIELDS: Final = Fields("results", "url", "title", "content")
HINTS: Final = {
    403: "its JSON is not switched on. In the instance's settings.yml, under search:, let formats: "
    "be [html, json], and restart it; of other people's instances few have it",
    429: "its limiter takes us for a robot, which we are. In the instance's settings.yml, under "
    "server:, let limiter: be false, or put this machine on its pass list",
    404: "there is no search at this address; search.url is usually https://HOST/search",
}
_REMEMBERED = 1000
_TOLD = 5
"""Engines behind the instance that are named when they fail."""


class SearXng:
    """One instance. ``search.key_*`` is sent only where ``search.header`` names a header."""

    name = "searxng"
    negatives = True

    def __init__(self, settings: SearchSettings, line: Line) -> None:
        if not settings.url:
            raise ConfigError(
                "search.url: where is the instance? Write its address, such as "
                "http://127.0.0.1:8080/search"
            )
        url = checked(settings.url, line.key, "https://HOST/search")
        self._url = f"{url}search" if path(url) == "/" else url
        self._language = language(settings.language)
        self._line = line
        self.price = line.price
        self._headers = ((settings.header, line.key.reveal()),) if settings.header else ()
        if settings.header and not line.key:
            raise ConfigError("search.header: there is no key to send; set search.key_env's one")
        self._own = frozenset({origin(url)})
        self._silent: set[tuple[str, int]] = set()

    def address(self, query: Query, page: int) -> Url:
        return asking(self._url, self._question(query, page))

    async def search(self, query: Query, page: int) -> Found:
        question = self._question(query, page)
        url = asking(self._url, question | {"format": "json", "safesearch": 0})
        place = (str(question["q"]), page)
        if not place[0]:
            return Found((), more=False)
        return await self._line.ask(url, partial(self._read, place), self._headers, hints=HINTS)

    def _question(self, query: Query, page: int) -> dict[str, str | int]:
        said: dict[str, str | int] = {"q": spoken(query, negatives=True), "pageno": page}
        return said | {"language": self._language} if self._language else said

    def _read(self, place: tuple[str, int], raw: Raw) -> Found:
        got = found(raw, FIELDS, self._own, self._line.key.redacted)
        if got.results or got.more or place[1] > 1 or place in self._silent:
            return got
        # Nothing found, or nobody to find it? Where engines failed, it is asked once more, later.
        failed = [self._failed(pair) for pair in entries(at(raw, "unresponsive_engines"))[:_TOLD]]
        if not any(failed):
            return got
        if len(self._silent) < _REMEMBERED:
            self._silent.add(place)
        raise SearchError(
            "limited", f"the engines behind it fail: {', '.join(filter(None, failed))}"
        )

    def _failed(self, pair: Raw) -> str:
        """``google (too many requests)`` of a pair of texts; '' if it is something else."""
        words = [clean(text(word), 60, self._line.key.redacted) for word in entries(pair)[:2]]
        return f"{words[0]} ({words[1]})" if len(words) > 1 else "".join(words)
