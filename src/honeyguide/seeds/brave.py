"""Brave's Search API: an index of its own, with a key and a price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Raw

from honeyguide.errors import ConfigError
from honeyguide.seeds.addresses import asking, checked, language
from honeyguide.seeds.engine import Found, spoken
from honeyguide.seeds.http_client import Line, retry_after
from honeyguide.seeds.response_parsing import Fields, at, found
from honeyguide.types import Response, Url
from honeyguide.url import origin

if TYPE_CHECKING:
    from honeyguide.config import SearchSettings
    from honeyguide.seeds.query import Query

API: Final = "https://api.search.brave.com/res/v1/web/search"
PUBLIC: Final = "https://search.brave.com/search"
COUNT: Final = 20
PAGES: Final = 10
"""The API's own limits: so many results a page, and so many pages."""
FIELDS: Final = Fields("web.results", "url", "title", "description")
HINTS: Final = {
    401: "the key is not accepted; look at the variable or file that [search] names",
    403: "the key may not be used for this; its plan must include web search",
    404: "there is no search at this address; leave search.url out",
}
_LANGUAGES = frozenset(
    ("ar", "eu", "bn", "bg", "ca", "zh-hans", "zh-hant", "hr", "cs", "da", "nl", "en", "en-gb",
     "et", "fi", "fr", "gl", "de", "el", "gu", "he", "hi", "hu", "is", "it", "jp", "kn", "ko", "lv",
     "lt", "ms", "ml", "mr", "nb", "pl", "pt-br", "pt-pt", "pa", "ro", "ru", "sr", "sk", "sl", "es",
     "sv", "ta", "te", "th", "tr", "uk", "vi")
)  # fmt: skip
"""What it has words for."""
_ITS_WORDS = {"ja": "jp", "zh": "zh-hans", "pt": "pt-pt", "no": "nb", "nn": "nb"}
_MONTH = 31 * 86_400.0


class Brave:
    name = "brave"
    negatives = True

    def __init__(self, settings: SearchSettings, line: Line) -> None:
        if not line.key:
            where = settings.key_file or f"the environment variable {settings.key_env}"
            raise ConfigError(
                f"search.engine: brave needs a key, and {where} holds none. Get one at "
                "https://api-dashboard.search.brave.com"
            )
        self._url = checked(settings.url or API, line.key, API)
        code = language(settings.language).lower()
        code = _ITS_WORDS.get(code, code)
        # An unknown language would be refused; without one, the words of the query decide.
        self._told: dict[str, str | int] = {"search_lang": code} if code in _LANGUAGES else {}
        self._line = line
        self.price = line.price
        self._headers = (
            ("Accept", "application/json"),
            ("X-Subscription-Token", line.key.reveal()),
        )
        self._own = frozenset(map(origin, (API, PUBLIC, self._url)))

    def address(self, query: Query, page: int) -> Url:
        return asking(PUBLIC, {"q": spoken(query, negatives=True), "offset": page - 1})

    async def search(self, query: Query, page: int) -> Found:
        words = spoken(query, negatives=True)
        if page > PAGES or not words:
            return Found((), more=False)
        question = self._told | {
            "q": words,
            "count": COUNT,
            "offset": page - 1,
            "safesearch": "off",
            "text_decorations": "false",
            "spellcheck": "false",
            "result_filter": "web",
        }
        url = asking(self._url, question)
        got = await self._line.ask(url, self._read, self._headers, hints=HINTS, told=reset)
        return got._replace(more=got.more and page < PAGES)

    def _read(self, raw: Raw) -> Found:
        # An answer without anything from the web has no such part at all.
        got = found(raw, FIELDS, self._own, self._line.key.redacted, needed=False)
        more = at(raw, "query.more_results_available")
        return got if more is None else got._replace(more=got.more and bytes(more) != b"false")


def reset(response: Response, now: float) -> float | None:
    """When the limit that was hit ends: several are told at once, as ``1, 15000``, and of each
    what remains and in how many seconds it begins anew."""
    told = retry_after(response, now)
    if told is not None:
        return told
    remaining, resets = (
        [part.strip() for part in response.header(f"x-ratelimit-{name}")[:200].split(",")]
        for name in ("remaining", "reset")
    )
    waits = [
        min(_MONTH, float(wait[:12]))
        for left, wait in zip(remaining, resets, strict=False)
        if left == "0" and wait.isascii() and wait.isdigit()
    ]
    return max(waits, default=None)
