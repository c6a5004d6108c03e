"""One candidate's turn with its host: may we, fetch, read, judge, rank; then say what follows.

A turn may also go to the host's robots.txt, or come to nothing. Whatever it was, it ends as a
:class:`Step`, which the ring takes in as a whole.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from honeyguide.crawl.politeness import Manners, Permit
from honeyguide.crawl.ranking import SITEMAP, Telling, is_sitemap, rank
from honeyguide.crawl.scope_cache import LONG
from honeyguide.crawl.source_bandit import Sources
from honeyguide.crawl.stages import Outcome, Stages
from honeyguide.errors import FetchError, HoneyguideError
from honeyguide.fetch.robots_rules import Rules
from honeyguide.protocols import Fetcher, Frontier, Strategy
from honeyguide.types import Candidate, Request, Response, Url, Visit
from honeyguide.url import domain, host, origin

_log = logging.getLogger(__name__)

_ROBOTS_WAIT_S = 60.0
"""A robots.txt that lies with a host which has no turn for us for so long cannot be had."""
_ROBOTS_BYTES = 512 * 1024
_BUGS = 10
"""So many pages in a row that our own code fails on end the run."""

_MEMO = 50_000
"""Settled addresses that are remembered; of others fence and frontier are asked."""

_NO_RULES = Rules()

RobotsEntry = tuple[str, float, int, str]


class Step(NamedTuple):
    """What a turn came to."""

    outcome: Outcome | None = None
    """None: the candidate goes back as it was."""
    ranked: tuple[Candidate, ...] = ()
    rules: Rules = _NO_RULES
    rest: float = 0.0
    """Seconds the candidate's host rests."""
    at: float = 0.0
    """A candidate that goes back waits until then."""
    parked: float = 0.0
    """Its host is left alone until then."""
    robots: RobotsEntry | None = None
    """What a robots.txt said, to be kept."""
    other: tuple[str, float] | None = None
    """Another host that was claimed for it, and how long that one rests."""


class Arrived(NamedTuple):
    """An answer, not yet read: the strategy may have changed while it was under way."""

    response: Response
    rules: Rules


class _Wishes:
    """Which links of one page would still be visited. Fence and frontier are asked once of each.

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
            self._settled.update(url for url in new.difference(inside) if len(url) <= LONG)
            wants = self._frontier.wanted(inside)
            self._wanted.update(url for url, wanted in zip(inside, wants, strict=True) if wanted)
        return self._wanted


@dataclass
class Turn:
    manners: Manners
    stages: Stages
    fetcher: Fetcher
    frontier: Frontier
    """Asked which links are wanted, and for another host when robots.txt moved there."""
    clock: Callable[[], float]
    ledger: Telling | None = None
    """Told which links stand on a page, where the strategy asks for it."""
    sources: Sources | None = None
    """What links are worth by where they come from, where an engine is asked as well."""
    elsewhere: Callable[[Url], bool] | None = None
    """Links that are ranked where they go: what came of their like is known there."""
    _bugs: int = 0
    _mapped: set[str] = field(default_factory=set)
    """Origins whose sitemaps are on their way."""
    _settled: set[Url] = field(default_factory=set)
    """Addresses that are done, or outside the fence: the same links stand on page after page."""
    _waiting: dict[str, float] = field(default_factory=dict)
    """Origins whose robots.txt lies with a host that has no turn for us, and since when."""

    async def fetch(self, candidate: Candidate, generation: int) -> Step | Arrived:
        link = candidate.link
        if refusal := self.stages.refusal(link):
            # The user may have moved the fence since this link was found.
            return Step(self.stages.refuse(candidate, self.clock(), *refusal, generation))
        permit = self.manners.permit(link.url, self.clock())
        if permit.answer == "ask":
            return await self._ask(candidate, generation)
        if permit.answer != "go" or permit.rules is None:
            return self._hold(candidate, permit, generation)
        try:
            response = await self.fetcher.fetch(Request(link.url, any_type=is_sitemap(link)))
        except FetchError as error:
            return self._fail(candidate, error, permit.rules, generation)
        return Arrived(response, permit.rules)

    def read(
        self, candidate: Candidate, arrived: Arrived, strategy: Strategy, generation: int
    ) -> Step:
        response, rules = arrived.response, arrived.rules
        name, now = host(candidate.link.url), self.clock()
        streak = self.manners.streaks.after(name, response.status)
        try:
            wishes = _Wishes(self.frontier, self.stages.inside.of, self._settled)
            outcome = self.stages.answer(
                candidate, response, strategy, now, streak, generation, wishes
            )
            ranked = (
                *self._ranked(outcome, strategy, wishes),
                *self._sitemaps(outcome.visit, rules),
            )
            self._bugs = 0
        except HoneyguideError:
            raise  # the store, not the page
        except Exception as error:
            # Our own bug, met on one page: it must not end the crawl, now and on every resume.
            # Met on page after page it is no longer about pages.
            self._bugs += 1
            if self._bugs >= _BUGS:
                raise
            _log.exception("%s could not be taken in", candidate.link.url)
            detail = f"our own fault: {type(error).__name__}: {error}"
            outcome = self.stages.refuse(candidate, now, "bug", detail, generation)
            ranked = ()
        if len(self._settled) >= _MEMO:
            self._settled.clear()
        if outcome.again is None and len(candidate.link.url) <= LONG:
            self._settled.add(candidate.link.url)
        return self._rested(outcome, name, response.elapsed, rules, ranked)

    def _ranked(
        self, outcome: Outcome, strategy: Strategy, wishes: _Wishes
    ) -> tuple[Candidate, ...]:
        """Rank only what would still be visited: most links on a page are old acquaintances."""
        links = outcome.links
        wanted = wishes([link.url for link in links])
        parent = outcome.parent
        fresh = [
            link if link.parent == parent else link.with_parent(parent)
            for link in links
            if link.url in wanted and self.stages.admits(link)
        ]
        if self.ledger is not None and outcome.visit.page is not None:
            self.ledger.found(outcome.visit.link, parent, fresh, outcome.visit.page)
        languages = self.stages.languages
        if languages is not None and outcome.read is not None:
            languages.read(outcome.read)
        far = []
        if self.elsewhere is not None:
            far = [link for link in fresh if self.elsewhere(link.url)]
            fresh = [link for link in fresh if not self.elsewhere(link.url)] if far else fresh
        scores = rank(strategy, self.ledger, fresh, languages, self.sources)
        near = map(Candidate, fresh, scores, scores)
        return (*near, *(Candidate(link, link.parent, link.parent) for link in far))

    def _sitemaps(self, visit: Visit, rules: Rules) -> list[Candidate]:
        """A site that gave a relevant page (or any, if so set) is asked for its sitemaps."""
        settings, place = self.stages.settings, origin(visit.link.url)
        when = settings.scope.sitemaps
        if not rules.sitemaps or visit.verdict is None or when == "never" or place in self._mapped:
            return []
        if settings.search.alone:
            return []
        if when == "relevant" and visit.verdict.score < settings.topic.threshold:
            return []
        self._mapped.add(place)
        links = self.stages.sitemaps(rules.sitemaps, visit.link, visit.verdict.score)
        scores = [SITEMAP * link.parent for link in links]
        if self.sources is not None:
            scores = self.sources.lifted(links, scores)
        return list(map(Candidate, links, scores, scores))

    def _rested(
        self,
        outcome: Outcome,
        name: str,
        elapsed: float,
        rules: Rules,
        ranked: tuple[Candidate, ...] = (),
    ) -> Step:
        """How long the host rests after this; a long back-off must outlive this process."""
        rest = self.manners.rest(name, elapsed, rules) + outcome.rest
        parked = self.clock() + rest if outcome.rest else 0.0
        return Step(outcome, ranked, rules, rest, parked=parked)

    def _fail(self, candidate: Candidate, error: FetchError, rules: Rules, generation: int) -> Step:
        name = host(candidate.link.url)
        streak = self.manners.streaks.fail(name, error.kind)
        outcome = self.stages.fail(candidate, error, self.clock(), streak, generation)
        return self._rested(outcome, name, 0.0, rules)

    def _hold(self, candidate: Candidate, permit: Permit, generation: int) -> Step:
        """Not now, or never: nothing was asked of the host, so it need not rest."""
        now, rules = self.clock(), permit.rules or Rules()
        if permit.answer == "later":
            return Step(at=now, parked=permit.until)
        if permit.answer == "unavailable":
            wait = rules.expires - now
            outcome = self.stages.unavailable(candidate, permit.why, wait, now, generation)
        else:
            outcome = self.stages.refuse(candidate, now, "robots", permit.why, generation)
        return Step(outcome, rules=rules, parked=permit.until)

    async def _ask(self, candidate: Candidate, generation: int) -> Step:
        """This turn of the host goes to its robots.txt; the candidate waits for the next."""
        place, name = origin(candidate.link.url), host(candidate.link.url)
        robots = self.manners.robots
        target = robots.request_url(place, self.clock())
        other = host(target)
        if other != name and (at := self.frontier.take(other, self.clock())):
            # robots.txt moved to another host, which is busy or rests: wait for that one.
            now = self.clock()
            if len(self._waiting) >= _MEMO:
                self._waiting.clear()
            if now - self._waiting.setdefault(place, now) <= _ROBOTS_WAIT_S:
                return Step(rest=at - now, at=at)
            # Two sites whose robots.txt point at each other would wait for each other for ever.
            del self._waiting[place]
            robots.learn(place, FetchError(target, f"{other} has no turn for us"), now)
            return Step(at=now, robots=robots.dump(place))
        self._waiting.pop(place, None)
        # An endless number of names is an endless number of robots.txt: they use up the quota.
        self.manners.quota.count(domain(name))
        try:
            answer = await self.fetcher.fetch(
                Request(target, limit=_ROBOTS_BYTES, truncate=True, any_type=True)
            )
        except FetchError as error:
            # Who cannot be asked for robots.txt cannot be visited: the candidate failed.
            step = self._fail(candidate, error, Rules(), generation)
            return step if other == name else step._replace(other=self._released(other, 0.0))
        except BaseException:  # cancelled, or our own bug: the other host must not stay claimed
            if other != name:
                self.frontier.release(other, self.clock(), 0.0)
            raise
        now = self.clock()
        rules = robots.learn(place, answer, now)
        slow = self.manners.slow(rules) if rules is not None else ""
        wait = rules.expires - now if rules is not None else 0.0
        return Step(
            self.stages.unavailable(candidate, slow, wait, now, generation) if slow else None,
            rest=self.manners.rest(name, answer.elapsed, rules) if other == name else 0.0,
            at=now,
            parked=rules.expires if rules is not None and slow else 0.0,
            robots=robots.dump(place) if rules is not None else None,
            other=None if other == name else self._released(other, answer.elapsed),
        )

    def _released(self, name: str, elapsed: float) -> tuple[str, float]:
        return name, self.manners.rest(name, elapsed)
