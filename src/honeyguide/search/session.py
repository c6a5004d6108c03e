"""Searching within one crawl: calls to the engine, and results that become candidates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from honeyguide.config.settings import Settings
from honeyguide.errors import SearchError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.links.ranking import LinkKnowledge, SourceBandit
from honeyguide.protocols import Fetcher, Frontier, RankFunction
from honeyguide.search import query_planner
from honeyguide.search.credentials import is_private_url
from honeyguide.search.engine import SearchEngine, SearchResult
from honeyguide.search.engines import configured_engine, make_engine_fetcher
from honeyguide.search.query import Query, parse_query
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.store.searches import TAKEN_KEY, SearchResultRow, SearchRow
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Example, Link, Url, Visit
from honeyguide.url import canonical_url, without_tracking

_MAX_RESULTS = 100
"""Results that are taken from one page."""
_TIMEOUT_S = 180.0
"""No engine may take longer, its own further tries included."""
_FIRST_BACKOFF_S, _MAX_BACKOFF_S = 5.0, 600.0
"""After a failure the engine is left alone so long, twice as long after the next, up to this."""
_MAX_FAILURES = 4
"""Failures in a row after which nobody waits for the engine alone."""
_MAX_REFUSALS = 3
"""One refusal may be about the question; so many in a row are not."""
_STOP_REASONS = {
    "down": "is down",
    "slow": "is too slow",
    "limited": "was asked too often",
    "refused": "refuses to answer",
    "garbage": "sent an invalid answer",
    "spent": "may not be asked any more this month",
}


@dataclass
class EngineCaller:
    engine: SearchEngine
    per_minute: float
    clock: Callable[[], float]
    strip_tracking: bool = True
    """Whether addresses lose what only says who sent the visitor, as links do."""
    asked: int = 0
    """Requests of this run."""
    failed: int = 0
    """Requests of this run that were not answered."""
    last_error: str = ""
    """Reason of the last failure."""
    stopped: str = ""
    """Why nothing is asked any more in this run."""
    ready_at: float = 0.0
    """It is not to be asked before."""
    _failures: int = 0
    """In a row."""

    @property
    def is_hopeless(self) -> bool:
        """Whether it is no use to wait for it."""
        return bool(self.stopped) or self._failures >= _MAX_FAILURES

    @property
    def why_hopeless(self) -> str:
        """Why it is no use."""
        if self.stopped or not self._failures:
            return self.stopped
        return f"the search engine {self.engine.name} does not answer ({self.last_error})"

    @property
    def why_unanswered(self) -> str:
        """Why the last request was not answered; '': it was, or none was made."""
        if self.stopped:
            return self.stopped
        return f"the engine does not answer: {self.last_error}" if self._failures else ""

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.stopped:
            return (f"{self.stopped}; nothing more was asked in this run",)
        if not self.failed:
            return ()
        return (
            f"the search engine {self.engine.name} did not answer {self.failed} of {self.asked} "
            f"requests; the last time: {self.last_error}",
        )

    async def request_page(
        self, query: Query, page: int, by: str
    ) -> tuple[SearchRow, list[SearchResultRow]]:
        """One page of results, as it is to be kept. Never raises for what an engine does."""
        self.asked += 1
        engine = self.engine
        search = SearchRow(self.clock(), engine.name, str(query), page, by, price=engine.price)
        try:
            search = replace(search, address=engine.address(query, page))
            async with asyncio.timeout(_TIMEOUT_S):
                found = await engine.search(query, page)
            hits = canonical_hits(found.results, self.strip_tracking)
            search = replace(search, results=len(hits), more=bool(found.more))
        except SearchError as error:
            failure = error
        except TimeoutError:
            failure = SearchError("slow", f"no answer in {_TIMEOUT_S:.0f} seconds")
        except Exception as trouble:  # noqa: BLE001 - an engine may be anybody's code
            failure = SearchError("garbage", f"{type(trouble).__name__} in the engine's own code")
        else:
            self._failures = 0
            self.ready_at = self.clock() + self._seconds_between()
            return replace(search, at=self.clock()), hits
        return self._record_failure(search, failure), []

    def _record_failure(self, search: SearchRow, error: SearchError) -> SearchRow:
        back = min(_FIRST_BACKOFF_S * 2**self._failures, _MAX_BACKOFF_S)
        if error.kind == "spent":
            self.asked -= 1  # it never left
        else:
            self.failed += 1
        self._failures = min(self._failures + 1, 20)
        self.last_error = f"{error.kind}: {error.detail}" if error.detail else error.kind
        wait = max(error.wait, back, self._seconds_between())
        self.ready_at = self.clock() + wait
        refused = error.kind == "refused" and self._failures >= _MAX_REFUSALS
        if refused or error.kind == "spent" or wait == inf:
            detail = f" ({error.detail})" if error.detail else ""
            self.stopped = (
                f"the search engine {self.engine.name} {_STOP_REASONS[error.kind]}{detail}"
            )
        # What it did not answer at all, it hardly charges for.
        price = search.price if error.kind in ("slow", "garbage") else 0.0
        now = self.clock()  # as with answers: when it became known tells the order of things
        return replace(search, at=now, outcome=error.kind, detail=error.detail, price=price)

    def _seconds_between(self) -> float:
        """Seconds between two requests."""
        return 60 / self.per_minute if self.per_minute else 0.0


def canonical_hits(results: Sequence[SearchResult], strip: bool) -> list[SearchResultRow]:
    """Each address once. An engine may be anybody's code: nothing that it says is believed."""
    hits: dict[Url, SearchResultRow] = {}
    for url, title, snippet in results[:_MAX_RESULTS]:
        address = canonical_url(url)
        if address is not None:
            address = without_tracking(address) if strip else address
            hits.setdefault(address, SearchResultRow(address, str(title), str(snippet)))
    return list(hits.values())


# -- The session of a crawl --
#
# One question at a time, beside the visits; the ring never waits for it. An answer goes to the
# store at once. From there its results are taken as links that stand on a results page: ranked by
# the strategy, pushed, and marked as taken in the transaction that keeps the frontier, so that a
# crash at any instant loses no answer and takes none twice.


_MAX_IMMINENT = 20
"""While so many results are about to be visited, nothing is asked, unless nothing else waits."""
_NEAR_SCORE, _SOON_VISITS = 0.05, 40
"""A result is, whose score was no further below those of the links that leave just now, and since
whose coming no more visits were made. Others may wait for ever, also since newer generations think
less of them: they must not keep us from asking."""
_SCORE_DECAY = 0.9
"""What the score of a link that left still counts for when the next one leaves."""
_DEFAULT_SCORE = 0.5
"""The score of what earlier runs found, as far as we know here."""
_POLL_S = 1.0
"""How soon to look again for an answer that is under way."""
_GRACE_S = 5.0
"""How long a run that ends waits for it: it may have been paid for."""

OnResultsPage = Callable[[Link, float, Sequence[Link]], None]
"""Told which links stand on a results page."""


@dataclass
class SearchSession:
    caller: EngineCaller
    planner: query_planner.QueryPlanner
    source_bandit: SourceBandit
    store: Store
    admits: Callable[[Link], bool]
    """Whether a link may wait."""
    median_score: Callable[[], float]
    """Of the scores of what waits."""
    on_results_page: OnResultsPage | None = None
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

    def restore(self, frontier: Frontier, wanted: Sequence[str]) -> None:
        """As earlier runs left it; and which queries are people's own."""
        self.store.searches.check_capacity()
        self._taken = query_planner.newest_taken_search(self.store)
        # What waited when each answer came is not known any more; what waits now is.
        self.planner.pulls.median = self.median_score()
        self.planner.restore(self.store, self._taken, wanted)
        self.planner.poll_store(self.store)
        urls = [url for url in self.planner.found_urls() if self.admits(Link(url, depth=1))]
        waits = zip(urls, frontier.still_wanted(urls), strict=True)
        self._waiting.update((url, (_DEFAULT_SCORE, 0)) for url, waiting in waits if waiting)

    def take_and_ask(
        self, now: float, frontier: Frontier, rank: RankFunction, *, hungry: bool
    ) -> asyncio.Task[None] | None:
        """Take results that arrived, and ask if it is time: then the task that does.

        ``hungry``: nothing else can be done just now.
        """
        if self._look:
            self._look = False
            hungry = not self.take_results(frontier, rank) and hungry
        if not self.should_ask(now, hungry=hungry):
            return None
        self._task = asyncio.create_task(self.ask_engine())
        return self._task

    def should_ask(self, now: float, *, hungry: bool = False) -> bool:
        """Whether to ask now."""
        if self._task is not None or self._idle:
            return False
        if self.caller.stopped or now < self.caller.ready_at:
            return False
        if hungry or self.planner.is_urgent:
            return True
        if self._drawn == self._visits:
            return False
        self._drawn = self._visits  # one draw a visit: of many draws, one would always win
        if self._imminent_results() >= _MAX_IMMINENT:
            return False
        return self.source_bandit.asking_pays(self.planner.best_novelty())

    def _imminent_results(self) -> int:
        """Results that are about to be visited."""
        score, since = self._leaving - _NEAR_SCORE, self._visits - _SOON_VISITS
        return sum(was >= score and at >= since for was, at in self._waiting.values())

    def earliest_wake(self, wake: float | None, now: float) -> float | None:
        """When there may be something new, by the search or at ``wake``; None: never."""
        return min((at for at in (wake, self.wake_at(now)) if at is not None), default=None)

    def wake_at(self, now: float) -> float | None:
        """When there may be something new; None: never, and :attr:`why_exhausted` says why."""
        if self._task is not None or self._look:
            return now + _POLL_S
        if self._idle or self.caller.is_hopeless:
            return None
        return max(self.caller.ready_at, now + _POLL_S)

    @property
    def why_exhausted(self) -> str:
        """Why nothing more is to be had."""
        return self.caller.why_hopeless or self.planner.pulls.idle or "nothing is left to ask"

    @property
    def warnings(self) -> tuple[str, ...]:
        """For the report."""
        idle, asked = self.planner.pulls.idle, self.caller.warnings
        if idle and not (self.caller.asked or self._taken):
            asked = (f"the search engine was not asked, since {idle}",)
        return (*asked, *self.planner.warnings)

    async def ask_engine(self) -> None:
        """One page of results of one query, into the store. Raises only what the store raises."""
        try:
            chosen = self.planner.choose_query()
            if chosen is None:
                self._idle = True
                return
            query, page = chosen
            search, hits = await self.caller.request_page(query, page, self.planner.asker_of(query))
            if search.outcome:
                self.planner.record_failure(query, page)
            if self.store.searches.add_search(search, hits) <= self._taken:
                # It would never be taken, and asked and paid for again and again.
                self.caller.stopped = "this collection numbers its searches backwards"
            self._look = True
        finally:
            self._task = None

    def take_results(self, frontier: Frontier, rank: RankFunction) -> int:
        """Results that were not taken yet become candidates; how many were new."""
        new = 0
        for search, hits in self.store.searches.iter_since(self._taken):
            self._taken = search.id
            fresh, promised = 0, 0.0
            if not search.outcome:
                self.planner.pulls.median = self.median_score()
                fresh, promised = self._push_results(search, hits, frontier, rank)
                self.planner.record_answer(search, fresh, promised)
                self._idle = False
            self._fresh.append((search.id, fresh, promised))
            new += fresh
        return new

    def record_visit(self, visit: Visit) -> bool:
        """Record a visit; returns whether waiting links should be ranked again."""
        self._visits += 1
        self._idle = False
        self._leaving = _SCORE_DECAY * self._leaving + (1 - _SCORE_DECAY) * visit.score
        waited = self._waiting.pop(visit.link.url, (visit.score, self._visits))
        if self.planner.record_visit(visit) and visit.moved is not None:
            self._waiting[visit.moved] = waited
        return self.source_bandit.record_visit(visit)

    def poll_store(self) -> None:
        """Read what other processes left in the store."""
        self._look = True
        if self.planner.poll_store(self.store):
            self._idle = False

    def save_taken(self) -> None:
        """Note what was taken, in the transaction that keeps the frontier."""
        if self._fresh:
            for number, fresh, promised in self._fresh:
                self.store.searches.mark_taken(number, fresh, promised)
            self.store.set_meta(TAKEN_KEY, str(self._taken))
        self.planner.save_fulfilled(self.store)

    def confirm_saved(self) -> None:
        """The transaction is committed."""
        self._fresh.clear()

    async def aclose(self) -> None:
        """An answer that is under way is waited for a little."""
        task = self._task
        if task is not None:
            await asyncio.wait((task,), timeout=_GRACE_S)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _push_results(
        self,
        search: SearchRow,
        hits: Sequence[SearchResultRow],
        frontier: Frontier,
        rank: RankFunction,
    ) -> tuple[int, float]:
        """How many results were new, and the mean of their scores.

        What an earlier search found is not pushed again: that two queries find a page does not
        mean that two pages link to it.
        """
        query = parse_query(search.query)
        page = Url(search.address or self.caller.engine.address(query, search.page))
        new = set(self.planner.record_results(query, [hit.url for hit in hits]))
        parent = self.planner.pulls.expected_yield(query)
        found = [hit.to_link(page, parent) for hit in hits if hit.url in new]
        found = [link for link in found if self.admits(link)]
        wants = frontier.still_wanted([link.url for link in found])
        links = [link for link, wanted in zip(found, wants, strict=True) if wanted]
        if not links:
            return 0, 0.0
        if self.on_results_page is not None:
            self.on_results_page(Link(page), parent, links)
        scores = rank(links)
        for link, score in zip(links, scores, strict=True):
            self._waiting[link.url] = score, self._visits
        return frontier.push(map(Candidate, links, scores, scores)), sum(scores) / len(scores)


# -- Construction from settings --
#
# Loaded only where one is asked: a crawl that follows links alone needs none of it.


def open_search_engine(
    folder: Path,
    settings: Settings,
    fetcher: Fetcher | None,
    clock: Callable[[], float],
    closing: AsyncExitStack,
) -> SearchEngine:
    """The engine that the settings name; a ConfigError if it cannot be asked.

    It has a fetcher of its own, whose answers nobody archives, unless the lab brought one.
    """
    lab = fetcher is not None
    if fetcher is None:
        fetcher = make_engine_fetcher(settings, folder)
        closing.push_async_callback(fetcher.aclose)
    return configured_engine(settings, folder, fetcher, clock, lab=lab)


def build_search_session(
    engine: SearchEngine,
    settings: Settings,
    store: Store,
    sources: SourceBandit,
    frontier: LinkFrontier,
    admits: Callable[[Link], bool],
    ledger: LinkKnowledge | None,
    clock: Callable[[], float],
    labels: Mapping[Url, float],
    examples: Iterable[Example],
    *,
    lab: bool = False,
) -> SearchSession:
    """The session in the state that earlier runs left. ``labels``: the topic's own labels;
    ``examples``: pages that are loaded already; ``lab``: nothing leaves this machine."""
    chosen = settings.search
    composer = query_planner.build_composer(settings) if chosen.compose else None
    pulls = QueryBandit(settings.crawl.random_seed, chosen.most_queries)
    queries = query_planner.QueryPlanner(
        composer, pulls, labels, withholding_rule(settings, lab=lab)
    )
    for example in examples:
        queries.learn_example(example.page, example.target)
    searches = SearchSession(
        EngineCaller(engine, chosen.per_minute, clock, settings.scope.strip_tracking),
        queries,
        sources,
        store,
        admits,
        lambda: _median_waiting_score(frontier, clock()),
        None if ledger is None else ledger.record_page,
    )
    searches.restore(frontier, chosen.queries)
    return searches


def withholding_rule(
    settings: Settings, *, lab: bool = False
) -> query_planner.WithholdsPage | None:
    """Which pages the crawl makes no queries from, because whoever runs the engine would read their
    words: the user's own files, and pages in private networks. An engine in such a network makes no
    difference: a SearXNG at home passes questions on to public engines."""
    if lab or settings.fetch.lab or settings.search.allow_private_text:
        return None
    return is_private_url


def _median_waiting_score(frontier: LinkFrontier, now: float) -> float:
    """The score of the middle one of what waits, rounded down."""
    steps = frontier.get_overview(now, 0, 0).scores
    half, before = sum(steps) / 2, 0
    for step, links in enumerate(steps):
        before += links
        if before and before >= half:
            return step / len(steps)
    return 0.0
