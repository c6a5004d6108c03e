"""One visit: permission, fetch, parse, judge, rank; it ends as a :class:`VisitStep`.

A turn of a host may also be used for its robots.txt, or end without a request. The loop applies the
:class:`VisitStep` as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from honeyguide.crawl.process_page import MAX_CACHED_URL, CrawlOutcome, PageStages
from honeyguide.errors import FetchError, HoneyguideError
from honeyguide.links.dead_links import DeadLinks
from honeyguide.links.ranking import (
    SITEMAP_SCORE,
    LinkKnowledge,
    SourceBandit,
    is_sitemap,
    rank_links,
)
from honeyguide.net.politeness import NO_RULES, Permit, PolitenessGate, RobotsEntry, RobotsFetcher
from honeyguide.net.robots import RobotsRules
from honeyguide.protocols import Fetcher, Frontier, Strategy
from honeyguide.types import Candidate, Request, Response, Url, Visit
from honeyguide.url import host_of, site_origin

_log = logging.getLogger(__name__)

_MAX_BUGS = 10
"""So many pages in a row that our own code fails on end the run."""

_MAX_SETTLED = 50_000
"""Settled URLs that are remembered; for others, scope and frontier are asked."""


class VisitStep(NamedTuple):
    """The result of one turn of a host."""

    outcome: CrawlOutcome | None = None
    """None: the candidate goes back as it was."""
    ranked: tuple[Candidate, ...] = ()
    rules: RobotsRules = NO_RULES
    delay_s: float = 0.0
    """Seconds the candidate's host rests."""
    parked_until: float = 0.0
    """Its host is left alone until then."""
    robots: RobotsEntry | None = None
    """A robots.txt that was fetched, to be stored."""


class ArrivedAnswer(NamedTuple):
    """An answer, not yet read: the strategy may have changed while it was under way."""

    response: Response
    rules: RobotsRules


class _WantedLinks:
    """Which links of one page would still be visited. Scope and frontier are asked once for each.

    ``settled``: addresses that nobody will visit any more, whatever happens. Most links on most
    pages lead there.
    """

    __slots__ = ("_asked", "_frontier", "_inside", "_settled", "_wanted")

    def __init__(
        self,
        frontier: Frontier,
        inside: Callable[[Iterable[Url]], list[Url]],
        settled: set[Url],
    ) -> None:
        self._frontier = frontier
        self._inside = inside
        self._settled = settled
        self._asked: set[Url] = set()
        self._wanted: set[Url] = set()

    def __call__(self, urls: Collection[Url]) -> Collection[Url]:
        if new := set(urls).difference(self._settled).difference(self._asked):
            self._asked |= new
            # In the order of the page: where a site has room for some only, the first have it.
            inside = self._inside(url for url in dict.fromkeys(urls) if url in new)
            self._settled.update(
                url for url in new.difference(inside) if len(url) <= MAX_CACHED_URL
            )
            wants = self._frontier.still_wanted(inside)
            self._wanted.update(url for url, wanted in zip(inside, wants, strict=True) if wanted)
        return self._wanted


@dataclass
class VisitRunner:
    politeness: PolitenessGate
    stages: PageStages
    fetcher: Fetcher
    frontier: Frontier
    """Asked which links are wanted, and for another host when robots.txt moved there."""
    clock: Callable[[], float]
    link_knowledge: LinkKnowledge | None = None
    """Gets the links of each page, if the strategy needs it."""
    source_bandit: SourceBandit | None = None
    """What links are worth by where they come from, where an engine is asked as well."""
    dead_links: DeadLinks | None = None
    """The chance that a link leads to a page at all."""
    owns_url: Callable[[Url], bool] | None = None
    """Links of other shards are ranked there: the yields of similar links are known there."""
    _bugs: int = 0
    _mapped: set[str] = field(default_factory=set)
    """Origins whose sitemaps are on their way."""
    _settled: set[Url] = field(default_factory=set)
    """URLs that are done or out of scope: the same links stand on page after page."""

    def __post_init__(self) -> None:
        self._robots = RobotsFetcher(self.politeness, self.frontier, self.fetcher.fetch, self.clock)

    async def fetch(self, candidate: Candidate, generation: int) -> VisitStep | ArrivedAnswer:
        link = candidate.link
        if refusal := self.stages.scope_refusal(link):
            # The user may have changed the scope since this link was found.
            return VisitStep(
                self.stages.refuse_visit(candidate, self.clock(), *refusal, generation)
            )
        permit = self.politeness.check_permit(link.url, self.clock())
        if permit.answer == "ask":
            return await self._fetch_robots(candidate, generation)
        if permit.answer != "go":
            return self._hold_step(candidate, permit, generation)
        try:
            response = await self.fetcher.fetch(Request(link.url, any_type=is_sitemap(link)))
        except FetchError as error:
            return self._fail_step(candidate, error, permit.rules, generation)
        return ArrivedAnswer(response, permit.rules)

    def read_answer(
        self, candidate: Candidate, arrived: ArrivedAnswer, strategy: Strategy, generation: int
    ) -> VisitStep:
        response, rules = arrived.response, arrived.rules
        name, now = host_of(candidate.link.url), self.clock()
        streak = self.politeness.streaks.record_status(name, response.status)
        try:
            wanted_links = _WantedLinks(
                self.frontier, self.stages.inside.filter_urls, self._settled
            )
            outcome = self.stages.process_answer(
                candidate, response, strategy, now, streak, generation, wanted_links
            )
            ranked = (
                *self._rank_links(outcome, strategy, wanted_links),
                *self._sitemap_candidates(outcome.visit, rules),
            )
            self._bugs = 0
        except HoneyguideError:
            raise  # the store, not the page
        except Exception as error:
            # A bug of ours on one page must not end the crawl, now and on every resume. On one page
            # after another it is not about pages.
            self._bugs += 1
            if self._bugs >= _MAX_BUGS:
                raise
            _log.exception("%s could not be processed", candidate.link.url)
            detail = f"internal error: {type(error).__name__}: {error}"
            outcome = self.stages.refuse_visit(candidate, now, "bug", detail, generation)
            ranked = ()
        if len(self._settled) >= _MAX_SETTLED:
            self._settled.clear()
        if outcome.retry_after_s is None and len(candidate.link.url) <= MAX_CACHED_URL:
            self._settled.add(candidate.link.url)
        return self._finish_step(outcome, name, response.elapsed, rules, ranked)

    def _rank_links(
        self, outcome: CrawlOutcome, strategy: Strategy, wanted_links: _WantedLinks
    ) -> tuple[Candidate, ...]:
        """Rank only links that would still be visited: most links on a page are known already."""
        links = outcome.links
        wanted = wanted_links([link.url for link in links])
        parent = outcome.parent
        fresh = [
            link if link.parent == parent else link.with_parent(parent)
            for link in links
            if link.url in wanted and self.stages.admits_link(link)
        ]
        if self.link_knowledge is not None and outcome.visit.page is not None:
            self.link_knowledge.record_page(outcome.visit.link, parent, fresh, outcome.visit.page)
        languages = self.stages.language_gate
        if languages is not None and outcome.read is not None:
            languages.record_page(outcome.read)
        far = []
        if self.owns_url is not None:
            far = [link for link in fresh if not self.owns_url(link.url)]
            fresh = [link for link in fresh if self.owns_url(link.url)] if far else fresh
        factors = languages, self.source_bandit
        scores = rank_links(
            strategy, self.link_knowledge, fresh, *factors, dead_links=self.dead_links
        )
        near = map(Candidate, fresh, scores, scores)
        return (*near, *(Candidate(link, link.parent, link.parent) for link in far))

    def _sitemap_candidates(self, visit: Visit, rules: RobotsRules) -> list[Candidate]:
        """A site that gave a relevant page (or any, if so set) is asked for its sitemaps."""
        settings, place = self.stages.settings, site_origin(visit.link.url)
        when = settings.scope.sitemaps
        if not rules.sitemaps or visit.verdict is None or when == "never" or place in self._mapped:
            return []
        if settings.search.is_search_only:
            return []
        if when == "relevant" and visit.verdict.score < settings.topic.threshold:
            return []
        self._mapped.add(place)
        links = self.stages.sitemap_links(rules.sitemaps, visit.link, visit.verdict.score)
        scores = [SITEMAP_SCORE * link.parent for link in links]
        if self.source_bandit is not None:
            scores = self.source_bandit.correct_scores(links, scores)
        return list(map(Candidate, links, scores, scores))

    def _finish_step(
        self,
        outcome: CrawlOutcome,
        name: str,
        elapsed: float,
        rules: RobotsRules,
        ranked: tuple[Candidate, ...] = (),
    ) -> VisitStep:
        """How long the host rests after this; a long back-off must outlive this process."""
        rest = self.politeness.delay_after(name, elapsed, rules) + outcome.extra_delay_s
        parked = self.clock() + rest if outcome.extra_delay_s else 0.0
        return VisitStep(outcome, ranked, rules, rest, parked_until=parked)

    def _fail_step(
        self, candidate: Candidate, error: FetchError, rules: RobotsRules, generation: int
    ) -> VisitStep:
        name = host_of(candidate.link.url)
        streak = self.politeness.streaks.record_failure(name, error.kind)
        outcome = self.stages.fail_visit(candidate, error, self.clock(), streak, generation)
        return self._finish_step(outcome, name, 0.0, rules)

    def _hold_step(self, candidate: Candidate, permit: Permit, generation: int) -> VisitStep:
        """Not now, or never: nothing was asked of the host, so it need not rest."""
        now, rules = self.clock(), permit.rules
        if permit.answer == "later":
            return VisitStep(parked_until=permit.until)
        if permit.answer == "unavailable":
            wait = rules.expires - now
            outcome = self.stages.robots_unavailable(candidate, permit.why, wait, now, generation)
        else:
            outcome = self.stages.refuse_visit(candidate, now, "robots", permit.why, generation)
        return VisitStep(outcome, rules=rules, parked_until=permit.until)

    async def _fetch_robots(self, candidate: Candidate, generation: int) -> VisitStep:
        """This turn of the host goes to its robots.txt; the candidate waits for the next."""
        step = await self._robots.fetch_robots(candidate.link.url)
        if step.failure is not None:
            return self._fail_step(candidate, step.failure, NO_RULES, generation)
        return VisitStep(delay_s=step.delay_s, robots=step.entry)
