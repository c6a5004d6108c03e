"""The line to an engine: one request at a time, paced, counted, tried again, without its key.

Every engine asks through one, plug-ins included, so that limits and secrets are kept in one place.

    =========================  ========  ==============================================
    what happens               kind      what then
    =========================  ========  ==============================================
    no connection, 5xx         down      two more tries, then later
    no answer in time          slow      two more tries, then later
    429                        limited   not before Retry-After, else later
    5xx with Retry-After       down      not before then
    400, 414, 422              refused   another query may do; after three in a row, no
    402                        spent     no more in this run
    redirects to other hosts   refused   another query may do; after three in a row, no
    other 4xx, redirects       refused   no more in this run
    no JSON, too large         garbage   another query may do; after three in a row, later
    =========================  ========  ==============================================

Later: after 60 s, twice as long with every further failure, a day at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import Raw

from honeyguide.errors import FetchError, SearchError, SearchFailure
from honeyguide.fetch.curl_errors import printable
from honeyguide.fetch.retry import DAY, seconds
from honeyguide.protocols import Fetcher
from honeyguide.seeds.api_keys import Key
from honeyguide.seeds.engine import Found
from honeyguide.seeds.quota import Spending
from honeyguide.seeds.response_parsing import BYTES, answer, at, clean, text
from honeyguide.types import Request, Response, Url
from honeyguide.url import canonical, host

Headers = tuple[tuple[str, str], ...]
Told = Callable[[Response, float], float | None]
"""How many seconds an answer asks us to wait, if it says so."""

BACKOFF: Final = (2.0, 8.0)
"""Seconds before the second and the third try."""
LATER: Final = 60.0
"""Seconds before asking again makes sense where nobody says; doubles with every failure."""
PATIENCE: Final = 3
"""So many useless answers in a row, and it is not the questions."""
_QUESTION = frozenset({400, 414, 422})
"""Statuses that may be about this question only."""
_KINDS: Mapping[str, SearchFailure] = {
    "timeout": "slow",
    "protocol": "garbage",
    "too_large": "garbage",
    "forbidden": "refused",
}
_WORDS = ("error.detail", "error.message", "message", "detail", "error")
"""Where engines say in their answers what is wrong."""
_DETAIL = 300
TOO_LARGE: Final = "it is too large"
"""How the detail begins where an answer passes the limit."""
_INLINE = 200_000
"""Bytes of an answer that are read at once; larger ones, beside the crawl. Small ones take no time,
also in the lab, where time is simulated."""


def retry_after(response: Response, now: float) -> float | None:
    return seconds(response.header("retry-after"), now)


async def _read(body: bytes, read: Callable[[Raw], Found]) -> Found | SearchError:
    if len(body) <= _INLINE:
        return _attempt(body, read)
    return await asyncio.to_thread(_attempt, body, read)


def _attempt(body: bytes, read: Callable[[Raw], Found]) -> Found | SearchError:
    try:
        return read(answer(body))
    except SearchError as error:
        return error


class Line:
    """One engine's line. ``price`` is of one request; ``spending`` keeps the month's account."""

    def __init__(
        self,
        fetcher: Fetcher,
        clock: Callable[[], float],
        *,
        key: Key | None = None,
        per_minute: float = 0.0,
        price: float = 0.0,
        spending: Spending | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.key = key or Key()
        self.price = price
        self.spending = spending
        self._fetcher = fetcher
        self._clock = clock
        self._sleep = sleep
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._last = float("-inf")
        self._closed: tuple[float, SearchError] | None = None
        self._failures = self._streak = 0
        self._turn = asyncio.Lock()

    async def ask(
        self,
        url: Url,
        read: Callable[[Raw], Found],
        headers: Headers = (),
        *,
        hints: Mapping[int, str] | None = None,
        told: Told = retry_after,
    ) -> Found:
        """What ``read`` finds in the JSON at that address.

        ``hints`` say what a status means with this engine, and how to mend it. Raises SearchError,
        whose detail never holds the key.
        """
        request = Request(url, limit=BYTES, any_type=True, headers=headers)
        async with self._turn:
            self._open()
            body = await self._persist(request, hints or {}, told)
            outcome = body if isinstance(body, SearchError) else await _read(body, read)
            # Raised here, outside every except: an error that led to it would know the address,
            # and the address may hold the key.
            if isinstance(outcome, SearchError):
                raise self._noted(outcome)
            self._failures = self._streak = 0
            return outcome

    def _open(self) -> None:
        """Not before the engine said, nor once it refused for good."""
        if self._closed is None:
            return
        until, error = self._closed
        left = until - self._clock()
        # A clock set back must not make it longer than was told; a second is for rounding.
        if 0 < left <= error.wait + 1.0:
            raise SearchError(error.kind, error.detail, min(left, error.wait))
        self._closed = None

    async def _persist(
        self, request: Request, hints: Mapping[int, str], told: Told
    ) -> bytes | SearchError:
        for pause in (*BACKOFF, None):
            outcome = await self._once(request, hints, told)
            if isinstance(outcome, bytes) or pause is None:
                return outcome
            if outcome.kind not in ("down", "slow") or outcome.wait:
                return outcome
            await self._sleep(pause)
        raise AssertionError("the last try has no pause")

    async def _once(
        self, request: Request, hints: Mapping[int, str], told: Told
    ) -> bytes | SearchError:
        await self._pace()
        if self.spending is not None:
            try:
                await asyncio.to_thread(self.spending.spend, self.price)
            except SearchError as error:
                return error
        try:
            response = await self._fetcher.fetch(request)
        except FetchError as error:
            kind = _KINDS.get(error.kind, "down")
            if kind == "refused":
                hint = "if it is yours: honeyguide queries allow NAME"
                return SearchError(kind, f"{error.detail}; {hint}", float("inf"))
            large = error.kind == "too_large"
            return SearchError(kind, f"{TOO_LARGE}: {error.detail}" if large else error.detail)
        if 200 <= response.status < 300:
            return response.body
        return self._refusal(response, hints, told)

    def _refusal(self, response: Response, hints: Mapping[int, str], told: Told) -> SearchError:
        status = response.status
        said = f"it answered {status}"
        if hint := hints.get(status, ""):
            said = f"{said}: {hint}"
        elif words := self._words(response):
            said = f"{said}: {words}"
        wait = told(response, self._clock())
        if status == 429:
            return SearchError("limited", said, 0.0 if wait is None else max(1.0, wait))
        if status >= 500 or status == 408:
            return SearchError("down", said, wait or 0.0)
        if status == 402:
            return SearchError("spent", said, float("inf"))
        if 300 <= status < 400:
            target = canonical(response.header("location"), response.url)
            where = f" to {printable(host(target))}" if target else ""
            said = f"it redirects{where}, and nobody follows with a key; write its own address"
            # Some send certain questions elsewhere: that is no word about the others.
            if target and host(target) != host(response.url):
                return SearchError("refused", said)
        question = status in _QUESTION
        return SearchError("refused", said, 0.0 if question else float("inf"))

    def _words(self, response: Response) -> str:
        """What the engine says about it. Of a key that it refuses it may say anything."""
        if response.status in (401, 403) or not response.media_type.endswith("json"):
            return ""
        if len(response.body) > _INLINE:
            return ""
        try:
            said = answer(response.body)
        except SearchError:
            return ""
        words = next(filter(None, (text(at(said, place)) for place in _WORDS)), "")
        return clean(words, _DETAIL, self.key.redacted)

    def _noted(self, error: SearchError) -> SearchError:
        """The failure without the key, and with what it means for later questions."""
        wait = error.wait
        self._failures += 1
        self._streak = self._streak + 1 if error.kind in ("refused", "garbage") else 0
        lasting = self._streak >= PATIENCE
        if lasting and error.kind == "refused":
            wait = float("inf")
        elif not wait and (lasting or error.kind in ("down", "slow", "limited")):
            wait = min(DAY, LATER * 2.0 ** min(20, self._failures - 1))
        noted = SearchError(error.kind, self.key.redacted(error.detail), wait)
        if wait:
            self._closed = (self._clock() + wait, noted)
        return noted

    async def _pace(self) -> None:
        now = self._clock()
        wait = self._gap - (now - self._last)
        if wait > 0:
            await self._sleep(min(wait, self._gap))
        self._last = self._clock()
