"""The Queries screen: what search engines were asked, what is worth asking, a person's own."""

from __future__ import annotations

import math
import time
from pathlib import Path
from threading import Lock
from typing import Annotated

import msgspec
from msgspec import Meta

from honeyguide.config import Settings
from honeyguide.crawl import manual_search as enquire
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.search_report import Asked, Overview, Spent, Trouble, overview
from honeyguide.crawl.suggest import Suggested, suggest
from honeyguide.errors import ConfigError
from honeyguide.studio.routes import Here, Route
from honeyguide.url import canonical, host

_TITLE = 200
_SUGGESTED = 20
"""Suggestions that are worked out at once."""
_PATIENCE_S = 25.0
"""The browser waits half a minute."""
_EXAMPLE = """\
[search]
engine = "searxng"
url = "http://localhost:8080/search"
"""


class EngineNow(msgspec.Struct, frozen=True):
    name: str
    """'': none is set."""
    address: str
    """Its host, if it is known."""
    mode: str
    compose: bool
    problem: str
    """Why it cannot be asked, as far as that is known without asking."""


class QueriesNow(msgspec.Struct, frozen=True):
    engine: EngineNow
    spent: Spent
    running: bool
    rows: list[Asked]
    wanted: list[str]
    """People's queries that were not asked yet."""
    trouble: Trouble | None
    example: str = _EXAMPLE
    """What to write into topic.toml where no engine is set."""


class Most(msgspec.Struct, frozen=True):
    number: Annotated[int, Meta(ge=1, le=_SUGGESTED)] = 10


class Motive(msgspec.Struct, frozen=True):
    url: str
    title: str


class Suggestion(msgspec.Struct, frozen=True):
    query: str
    expected: float | None
    """The mean verdict expected of its results; None: not known yet."""
    why: str
    pages: list[Motive]
    """Those that it was made from."""


class Suggestions(msgspec.Struct, frozen=True):
    rows: list[Suggestion]
    why: str


class NewQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    query: Annotated[str, Meta(min_length=1, max_length=400)]


class Trying(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    query: Annotated[str, Meta(max_length=400)] = ""
    """What to ask for; '': something of the topic."""


class ResultNow(msgspec.Struct, frozen=True):
    url: str
    title: str
    snippet: str
    score: float
    """What the strategy expects of it."""
    known: bool
    verdict: float | None


class Came(msgspec.Struct, frozen=True):
    left: bool
    """It was left for the crawl that runs."""
    said: str
    failed: str
    """What went wrong, in words."""
    results: list[ResultNow]


class TrialNow(msgspec.Struct, frozen=True):
    ok: bool
    said: str


class Thinking:
    """What takes long is worked out once for all who look: what was asked, as often as a tenth of
    the time allows; suggestions, when there is more to make them from. One query is asked at a
    time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._seen: tuple[float, Settings, Overview] | None = None
        """Until when, by which settings, and what."""
        self._known: tuple[object, Suggestions] | None = None
        self.asking = Lock()

    def look(self, settings: Settings) -> Overview:
        with self._lock:
            began = time.monotonic()
            if self._seen is None or began >= self._seen[0] or self._seen[1] != settings:
                found = overview(self._folder, settings)
                now = time.monotonic()
                self._seen = (now + 9 * (now - began), settings, found)
            return self._seen[2]

    def changed(self) -> None:
        """Something was asked: whoever looks next wants to see it."""
        with self._lock:
            self._seen = None

    def suggest(self, settings: Settings) -> Suggestions:
        with self._lock:
            stamp = self._stamp(settings)
            if self._known is None or self._known[0] != stamp:
                found = suggest(self._folder, settings, _SUGGESTED)
                self._known = (stamp, self._told(found))
            return self._known[1]

    def _stamp(self, settings: Settings) -> object:
        said = (settings.topic, settings.topics, settings.search)
        if not (self._folder / "collection.db").exists():
            return said
        with existing(self._folder, "read") as store:
            counts, last = store.counts(), store.searches.last()
        # A tenth more good pages: as often as the crawl itself thinks anew.
        grown = int(math.log(1 + counts.relevant, 1.1))
        return (said, grown, counts.labels, last.id if last else 0)

    def _told(self, found: Suggested) -> Suggestions:
        titles: dict[str, str] = {}
        if (self._folder / "collection.db").exists():
            with existing(self._folder, "read") as store:
                for url in {page for one in found.suggestions for page in one.pages}:
                    if visits := store.visit(url):
                        titles[url] = visits[-1].title[:_TITLE]
        rows = [
            Suggestion(
                str(one.query),
                one.expected,
                one.why,
                [Motive(url, titles.get(url, "")) for url in one.pages],
            )
            for one in found.suggestions
        ]
        return Suggestions(rows, found.words())


def queries(here: Here) -> QueriesNow:
    settings = here.collection().settings
    found = here.kept(Thinking).look(settings)
    chosen = settings.search
    return QueriesNow(
        EngineNow(
            found.engine, _host(chosen.url), chosen.mode,
            chosen.compose, found.problem if found.engine else "",
        ),
        found.spent,
        found.running,
        found.rows,
        found.wanted,
        found.trouble,
    )  # fmt: skip


def _host(address: str) -> str:
    """As the user wrote it: perhaps without a slash, perhaps no address at all."""
    url = canonical(address)
    return "" if url is None else host(url)


def suggestions(here: Here, query: Most) -> Suggestions:
    known = here.kept(Thinking).suggest(here.collection().settings)
    return msgspec.structs.replace(known, rows=known.rows[: query.number])


def ask(here: Here, body: NewQuery) -> Came:
    settings, thinking = here.collection().settings, here.kept(Thinking)
    if not thinking.asking.acquire(timeout=_PATIENCE_S / 10):
        raise ConfigError("another query is being asked; try again in a moment")
    try:
        by = here.person or "user"
        done = enquire.run(here.place, settings, [body.query], by=by, patience=_PATIENCE_S)
    finally:
        thinking.asking.release()
        thinking.changed()
    if done.left:
        return Came(True, f"The crawl that runs will ask this next: {done.left[0]}", "", [])
    (came,) = done.asked
    results = "1 result" if len(came.results) == 1 else f"{len(came.results)} results"
    said = f"{results}, {came.unvisited} not visited yet. The next crawl fetches those."
    return Came(False, said, came.said, [ResultNow(*row) for row in came.results])


def trial(here: Here, body: Trying) -> TrialNow:
    settings = here.collection().settings
    found = enquire.trial(here.place, settings, body.query, patience=_PATIENCE_S)
    return TrialNow(found.ok, found.said)


_HERE = "/api/c/{name}/queries"
ROUTES: tuple[Route, ...] = (
    Route(
        "GET", _HERE, queries, returns=QueriesNow,
        summary="What search engines were asked, what it brought and what it cost",
    ),
    Route(
        "POST", _HERE, ask, body=NewQuery, returns=Came,
        summary="Ask a query now, or leave it for the crawl that runs",
    ),
    Route(
        "GET", f"{_HERE}/suggestions", suggestions, query=Most, returns=Suggestions,
        summary="Queries worth asking next, and the pages that they were made from",
    ),
    Route(
        "POST", f"{_HERE}/test", trial, body=Trying, returns=TrialNow,
        summary="One question, to see that the engine, its address and its key work",
    ),
)  # fmt: skip
