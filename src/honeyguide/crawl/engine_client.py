"""Putting questions to a search engine: when it may be asked, and what its failures come to.

Whatever an engine does ends as a value: an answer, or an outcome that is kept and told. After a
failure it is left alone for a while; if it refuses, or the budget is spent, for the whole run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf

from honeyguide.errors import SearchError
from honeyguide.seeds.engine import Engine, Result
from honeyguide.seeds.query import Query
from honeyguide.store.searches import Hit, Search
from honeyguide.types import Url
from honeyguide.url import canonical, untracked

_MOST = 100
"""Results that are taken from one page."""
_LONGEST_S = 180.0
"""No engine may take longer, its own further tries included."""
_BACK_S, _FAR_S = 5.0, 600.0
"""After a failure the engine is left alone so long, twice as long after the next, up to this."""
_PATIENCE = 4
"""Failures in a row after which nobody waits for the engine alone."""
_REFUSALS = 3
"""One refusal may be about the question; so many in a row are not."""
_ENDS = {
    "down": "is down",
    "slow": "is too slow",
    "limited": "was asked too often",
    "refused": "refuses to answer",
    "garbage": "makes no sense",
    "spent": "may not be asked any more this month",
}


@dataclass
class Questions:
    engine: Engine
    per_minute: float
    clock: Callable[[], float]
    strip: bool = True
    """Whether addresses lose what only says who sent the visitor, as links do."""
    asked: int = 0
    """Requests of this run …"""
    failed: int = 0
    """… and those that were not answered …"""
    last: str = ""
    """… the last one for this reason."""
    stopped: str = ""
    """Why nothing is asked any more in this run."""
    ready: float = 0.0
    """It is not to be asked before."""
    _failures: int = 0
    """In a row."""

    @property
    def hopeless(self) -> bool:
        """Whether it is no use to wait for it."""
        return bool(self.stopped) or self._failures >= _PATIENCE

    @property
    def why(self) -> str:
        """Why it is no use."""
        if self.stopped or not self._failures:
            return self.stopped
        return f"the search engine {self.engine.name} does not answer ({self.last})"

    @property
    def unanswered(self) -> str:
        """Why the last request was not answered; '': it was, or none was made."""
        if self.stopped:
            return self.stopped
        return f"the engine does not answer: {self.last}" if self._failures else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.stopped:
            return (f"{self.stopped}; nothing more was asked in this run",)
        if not self.failed:
            return ()
        return (
            f"the search engine {self.engine.name} did not answer {self.failed} of {self.asked} "
            f"requests; the last time: {self.last}",
        )

    async def ask(self, query: Query, page: int, by: str) -> tuple[Search, list[Hit]]:
        """One page of results, as it is to be kept. Never raises for what an engine does."""
        self.asked += 1
        engine = self.engine
        search = Search(self.clock(), engine.name, str(query), page, by, price=engine.price)
        try:
            search = replace(search, address=engine.address(query, page))
            async with asyncio.timeout(_LONGEST_S):
                found = await engine.search(query, page)
            hits = hits_of(found.results, self.strip)
            search = replace(search, results=len(hits), more=bool(found.more))
        except SearchError as error:
            return self._failed(search, error), []
        except TimeoutError:
            slow = SearchError("slow", f"no answer in {_LONGEST_S:.0f} seconds")
            return self._failed(search, slow), []
        except Exception as trouble:  # noqa: BLE001 - an engine may be anybody's code
            broken = SearchError("garbage", f"{type(trouble).__name__} in the engine's own code")
            return self._failed(search, broken), []
        self._failures = 0
        self.ready = self.clock() + self._pace()
        return replace(search, at=self.clock()), hits

    def _failed(self, search: Search, error: SearchError) -> Search:
        back = min(_BACK_S * 2**self._failures, _FAR_S)
        if error.kind == "spent":
            self.asked -= 1  # it never left
        else:
            self.failed += 1
        self._failures = min(self._failures + 1, 20)
        self.last = f"{error.kind}: {error.detail}" if error.detail else error.kind
        wait = max(error.wait, back, self._pace())
        self.ready = self.clock() + wait
        refused = error.kind == "refused" and self._failures >= _REFUSALS
        if refused or error.kind == "spent" or wait == inf:
            said = f" ({error.detail})" if error.detail else ""
            self.stopped = f"the search engine {self.engine.name} {_ENDS[error.kind]}{said}"
        # What it did not answer at all, it hardly charges for.
        price = search.price if error.kind in ("slow", "garbage") else 0.0
        now = self.clock()  # as with answers: when it became known tells the order of things
        return replace(search, at=now, outcome=error.kind, detail=error.detail, price=price)

    def _pace(self) -> float:
        """Seconds between two requests."""
        return 60 / self.per_minute if self.per_minute else 0.0


def hits_of(results: Sequence[Result], strip: bool) -> list[Hit]:
    """Each address once. An engine may be anybody's code: nothing that it says is believed."""
    hits: dict[Url, Hit] = {}
    for url, title, snippet in results[:_MOST]:
        address = canonical(url)
        if address is not None:
            address = untracked(address) if strip else address
            hits.setdefault(address, Hit(address, str(title), str(snippet)))
    return list(hits.values())
