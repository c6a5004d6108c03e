"""Everything about searching in one run.

One question at a time, beside the visits; the ring never waits for it. An answer goes to the store
at once. From there its results are taken as links that stand on a results page: ranked by the
strategy, pushed, and marked as taken in the transaction that keeps the frontier, so that a crash at
any instant loses no answer and takes none twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from honeyguide.crawl.engine_client import Questions
from honeyguide.crawl.queries import Queries, taken
from honeyguide.crawl.source_bandit import Sources
from honeyguide.protocols import Frontier, Rank
from honeyguide.seeds.query import parse
from honeyguide.store.searches import TAKEN, Hit, Search
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Url, Visit

_SNIPPET = 300
"""Characters of a result's text."""
_AHEAD = 20
"""While so many results are about to be visited, nothing is asked, unless nothing else waits."""
_NEAR, _SOON = 0.05, 40
"""A result is, whose score was no further below those of the links that leave just now, and since
whose coming no more visits were made. Others may wait for ever, also since newer generations think
less of them: they must not keep us from asking."""
_FADE = 0.9
"""What the score of a link that left still counts for when the next one leaves."""
_MIDDLE = 0.5
"""The score of what earlier runs found, as far as we know here."""
_LOOK_S = 1.0
"""How soon to look again for an answer that is under way."""
_GRACE_S = 5.0
"""How long a run that ends waits for it: it may have been paid for."""

Standing = Callable[[Link, float, Sequence[Link]], None]
"""Told which links stand on a results page."""


@dataclass
class Searches:
    questions: Questions
    queries: Queries
    sources: Sources
    store: Store
    admits: Callable[[Link], bool]
    """Whether a link may wait."""
    median: Callable[[], float]
    """Of the scores of what waits."""
    stand: Standing | None = None
    _task: asyncio.Task[None] | None = None
    _idle: bool = False
    """There was nothing worth asking; until something is learned."""
    _look: bool = True
    """There may be results to take."""
    _visits: int = 0
    _drawn: int = -1
    """How many visits were made when the bandit was asked last."""
    _waiting: dict[Url, tuple[float, int]] = field(default_factory=dict)
    """Results that were pushed and not visited yet: their scores, and how many visits were made,
    then."""
    _leaving: float = 0.0
    """The score of links that leave the frontier just now."""
    _taken: int = 0
    """Number of the newest search whose results were taken."""
    _fresh: list[tuple[int, int, float]] = field(default_factory=list)
    """What came of taking, until it is kept."""

    def recall(self, frontier: Frontier, wanted: Sequence[str]) -> None:
        """As earlier runs left it; and which queries are people's own."""
        self.store.searches.check()
        self._taken = taken(self.store)
        # What waited when each answer came is not known any more; what waits now is.
        self.queries.pulls.median = self.median()
        self.queries.recall(self.store, self._taken, wanted)
        self.queries.listen(self.store)
        urls = [url for url in self.queries.urls() if self.admits(Link(url, depth=1))]
        waits = zip(urls, frontier.wanted(urls), strict=True)
        self._waiting.update((url, (_MIDDLE, 0)) for url, waiting in waits if waiting)

    def turn(
        self, now: float, frontier: Frontier, rank: Rank, *, hungry: bool
    ) -> asyncio.Task[None] | None:
        """Take results that arrived, and ask if it is time: then the task that does.

        ``hungry``: nothing else can be done just now.
        """
        if self._look:
            self._look = False
            hungry = not self.take(frontier, rank) and hungry
        if not self.due(now, hungry=hungry):
            return None
        self._task = asyncio.create_task(self.ask())
        return self._task

    def due(self, now: float, *, hungry: bool = False) -> bool:
        """Whether to ask now."""
        if self._task is not None or self._idle:
            return False
        if self.questions.stopped or now < self.questions.ready:
            return False
        if hungry or self.queries.urgent:
            return True
        if self._drawn == self._visits:
            return False
        self._drawn = self._visits  # one draw a visit: of many draws, one would always win
        if self._ahead() >= _AHEAD:
            return False
        return self.sources.asking_pays(self.queries.novelty())

    def _ahead(self) -> int:
        """Results that are about to be visited."""
        score, since = self._leaving - _NEAR, self._visits - _SOON
        return sum(was >= score and at >= since for was, at in self._waiting.values())

    def soonest(self, wake: float | None, now: float) -> float | None:
        """When there may be something new, here or where ``wake`` says; None: never."""
        at = self.wake_at(now)
        return wake if at is None else at if wake is None else min(wake, at)

    def wake_at(self, now: float) -> float | None:
        """When there may be something new; None: never, and :attr:`why` says why."""
        if self._task is not None or self._look:
            return now + _LOOK_S
        if self._idle or self.questions.hopeless:
            return None
        return max(self.questions.ready, now + _LOOK_S)

    @property
    def why(self) -> str:
        """Why nothing more is to be had."""
        return self.questions.why or self.queries.pulls.idle or "nothing is left to ask"

    @property
    def warnings(self) -> tuple[str, ...]:
        """For the report."""
        idle, asked = self.queries.pulls.idle, self.questions.warnings
        if idle and not (self.questions.asked or self._taken):
            asked = (f"the search engine was not asked, since {idle}",)
        return (*asked, *self.queries.warnings)

    async def ask(self) -> None:
        """One page of results of one query, into the store. Raises only what the store raises."""
        try:
            chosen = self.queries.choose()
            if chosen is None:
                self._idle = True
                return
            query, page = chosen
            search, hits = await self.questions.ask(query, page, self.queries.by(query))
            if search.outcome:
                self.queries.failed(query, page)
            if self.store.searches.add(search, hits) <= self._taken:
                # It would never be taken, and asked and paid for again and again.
                self.questions.stopped = "this collection numbers its searches backwards"
            self._look = True
        finally:
            self._task = None

    def take(self, frontier: Frontier, rank: Rank) -> int:
        """Results that were not taken yet become candidates; how many were new."""
        new = 0
        for search, hits in self.store.searches.since(self._taken):
            self._taken = search.id
            fresh, promised = 0, 0.0
            if not search.outcome:
                self.queries.pulls.median = self.median()
                fresh, promised = self._enter(search, hits, frontier, rank)
                self.queries.answered(search, fresh, promised)
                self._idle = False
            self._fresh.append((search.id, fresh, promised))
            new += fresh
        return new

    def visited(self, visit: Visit) -> bool:
        """Whether what waits should be ranked anew."""
        self._visits += 1
        self._idle = False
        self._leaving = _FADE * self._leaving + (1 - _FADE) * visit.score
        waited = self._waiting.pop(visit.link.url, (visit.score, self._visits))
        if self.queries.visited(visit) and visit.moved is not None:
            self._waiting[visit.moved] = waited
        return self.sources.followed(visit)

    def listen(self) -> None:
        """Hear what other processes left in the store."""
        self._look = True
        if self.queries.listen(self.store):
            self._idle = False

    def keep(self) -> None:
        """Note what was taken, in the transaction that keeps the frontier."""
        if self._fresh:
            for number, fresh, promised in self._fresh:
                self.store.searches.taken(number, fresh, promised)
            self.store.set_meta(TAKEN, str(self._taken))
        self.queries.keep(self.store)

    def kept(self) -> None:
        """The transaction is committed."""
        self._fresh.clear()

    async def aclose(self) -> None:
        """An answer that is under way is waited for a little."""
        task = self._task
        if task is not None:
            await asyncio.wait((task,), timeout=_GRACE_S)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _enter(
        self, search: Search, hits: Sequence[Hit], frontier: Frontier, rank: Rank
    ) -> tuple[int, float]:
        """How many results were new, and the mean of their scores.

        What an earlier search found is not pushed again: that two queries find a page does not
        mean that two pages link to it.
        """
        query = parse(search.query)
        page = Url(search.address or self.questions.engine.address(query, search.page))
        new = set(self.queries.found(query, [hit.url for hit in hits]))
        parent = self.queries.pulls.yield_of(query)
        found = [_link(hit, page, parent) for hit in hits if hit.url in new]
        found = [link for link in found if self.admits(link)]
        wants = frontier.wanted([link.url for link in found])
        links = [link for link, wanted in zip(found, wants, strict=True) if wanted]
        if not links:
            return 0, 0.0
        if self.stand is not None:
            self.stand(Link(page), parent, links)
        scores = rank(links)
        for link, score in zip(links, scores, strict=True):
            self._waiting[link.url] = score, self._visits
        return frontier.push(map(Candidate, links, scores, scores)), sum(scores) / len(scores)


def _link(hit: Hit, page: Url, parent: float) -> Link:
    """The result stood on a page of the engine's, which is as good as its query."""
    return Link(
        hit.url,
        page,
        hit.title,
        after=hit.snippet[:_SNIPPET],
        tag_path="search",
        channel="search",
        depth=1,
        parent=parent,
    )
