"""A bandit whose arms are queries and whose pulls are pages of results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from random import Random
from statistics import median
from typing import Literal

from honeyguide.search.composer import QueryProposal
from honeyguide.search.query import Query, fold_term, parse_query
from honeyguide.types import Url

QueryAuthor = Literal["user", "composed"]

REWARD_DECAY = 0.99
"""What a reward counts one pull later: what was found long ago says less of what is left."""
_UNFETCHED_WEIGHT = 0.2
"""Weight of an unfetched result's rank, where a verdict has weight 1."""
_MAX_UNFETCHED = 10
"""Most unfetched results of a query that count."""
_NOVELTY_DECAY = 0.5
"""What a page of results says of the novelty of the next but one."""
_MAX_PAGES = 50
"""Pages of results of one query."""
_MIN_FRESH_SHARE = 0.1
"""A page of results with less of new addresses brings nothing."""
_FEW_RESULTS = 5
"""Fewer results than these are all that there are."""
_END_REASONS = ("no results", "no more results", "few results")
"""Why a query is stopped whose results came to their end."""


@dataclass(frozen=True, slots=True)
class QueryArm:
    """A query that was asked, or that a person wants asked."""

    query: Query
    by: QueryAuthor
    pages: int
    """Pages of results that were answered."""
    urls: int
    """Results on those pages."""
    fresh: int
    """Results that were not known before."""
    fetched: int
    """Results that were fetched and judged."""
    mean: float
    """The mean verdict expected of its results, 0..1."""
    stopped: str
    """Why it is not asked any more; '' if it may be."""


@dataclass(frozen=True, slots=True)
class QuerySuggestion:
    """A query that was not answered yet."""

    query: Query
    expected: float | None
    """The mean verdict expected of its results, 0..1; None: nothing is known yet."""
    pages: tuple[Url, ...]
    """Good pages that it was made from."""
    why: str


@dataclass(slots=True)
class QueryTally:
    """The running account of one query. Rewards fade with every pull of any query."""

    query: Query
    by: QueryAuthor
    terms: frozenset[str]
    page: int = 1
    """The page of results to ask for next."""
    pages: int = 0
    urls: int = 0
    fresh: int = 0
    fetched: int = 0
    stopped: str = ""
    retry_at: int = 0
    """After a failure of the engine: not before this pull, if there is another query to ask."""
    failures: int = 0
    """In a row."""
    first_novelty: float = 1.0
    """Share of its first page of results that was new."""
    first_size: int = 0
    """Number of results on its first page."""
    good: float = 0.0
    """Σ φ, decayed."""
    poor: float = 0.0
    """Σ (1 - φ), decayed."""
    decayed_at: int = 0
    """The pull for which both sums hold."""
    seen: float = 0.0
    new: float = 0.0
    unfetched: int = 0
    mean_promise: float = 0.0
    """Mean rank of the results that are not fetched yet."""
    weak_pages: int = 0
    """Pages in a row that brought nothing."""

    def record_page(self, page: int, urls: int, fresh: int, promised: float) -> None:
        """A page of results came."""
        urls = max(0, urls)
        fresh = min(max(0, fresh), urls)
        self.failures, self.retry_at = 0, 0
        if not self.pages:
            self.first_novelty, self.first_size = fresh / urls if urls else 0.0, urls
        self.pages, self.page = self.pages + 1, max(self.page, page + 1)
        self.urls, self.fresh = self.urls + urls, self.fresh + fresh
        self.seen, self.new = _NOVELTY_DECAY * self.seen + urls, _NOVELTY_DECAY * self.new + fresh
        if fresh and isfinite(promised):
            both = self.unfetched + fresh
            promised = min(1.0, max(0.0, promised))
            self.mean_promise = (self.mean_promise * self.unfetched + promised * fresh) / both
            self.unfetched = both

    def decide_stop(
        self, urls: int, fresh: int, promised: float, median: float, usual: float, more: bool
    ) -> None:
        """Whether to go on after that page. A page of fewer than five results, or of less than
        half the ``usual`` number, is the last one; after one without anything new, the next has
        hardly more."""
        known = fresh < _MIN_FRESH_SHARE * urls
        self.weak_pages = self.weak_pages + 1 if known or promised < median else 0
        if not urls:
            self.stopped = "no results" if self.pages == 1 else "no more results"
        elif not more:
            self.stopped = "no more results"
        elif urls < max(_FEW_RESULTS, usual / 2):
            self.stopped = "few results"
        elif fresh <= 0:
            self.stopped = "a page without anything new"
        elif self.weak_pages >= 2:
            what = "hardly anything new" if known else "less promising than what waits"
            self.stopped = f"two pages in a row: {what}"
        elif self.page > _MAX_PAGES:
            self.stopped = f"{_MAX_PAGES} pages of results"

    def reopen(self) -> None:
        """It may be asked again: for its next page, or the first where there were no more."""
        if self.stopped in _END_REASONS:
            self.page = 1
        self.stopped, self.weak_pages = "", 0

    def record_verdict(self, now: int, verdict: float) -> None:
        """A result was fetched and judged."""
        verdict = min(1.0, max(0.0, verdict)) if isfinite(verdict) else 0.0
        faded = REWARD_DECAY ** (now - self.decayed_at)
        self.good, self.poor = self.good * faded + verdict, self.poor * faded + 1 - verdict
        self.decayed_at = now
        self.fetched, self.unfetched = self.fetched + 1, max(0, self.unfetched - 1)

    def reward_counts(self, now: int) -> tuple[float, float]:
        """Σ φ and Σ (1 - φ): verdicts, and for what is not fetched yet what was promised."""
        faded = REWARD_DECAY ** (now - self.decayed_at)
        ahead = _UNFETCHED_WEIGHT * min(self.unfetched, _MAX_UNFETCHED)
        promised = ahead * self.mean_promise
        return self.good * faded + promised, self.poor * faded + ahead * (1 - self.mean_promise)

    def mean_yield(self, now: int) -> float:
        """The mean of Beta(1 + Σ φ, 1 + Σ (1 - φ))."""
        good, poor = self.reward_counts(now)
        return (1 + good) / (2 + good + poor)

    def expected_novelty(self) -> float:
        """How much of the next page will be new."""
        return (1 + self.new) / (1 + self.seen)


def folded_terms(query: Query) -> frozenset[str]:
    return frozenset(map(fold_term, query.terms))


# -- The bandit --
#
# Thompson sampling by yield × novelty; how long the next new query should be follows SeedFinder
# (Vieira, Barbosa, da Silva, Freire & Moura 2016). See docs/reference/query-composition.md.


_MAX_TERMS = 3
"""Terms of a query."""
_GOOD_ENOUGH = 0.5
"""A yield or a novelty that asks for no other length."""
_PRIOR_WEIGHT = 4.0
"""Weight of the prior of a new query's yield, in verdicts."""
_MAX_SIMILAR_WEIGHT = 5.0
"""Most weight of a query that shares terms, in verdicts."""
_RECENT_QUERIES = 10
"""Newest queries from which the novelty of a new one is predicted."""
_MAX_FRUITLESS = 3
"""Composed queries in a row that found nothing new: then the topic's own words are asked."""
_MAX_STUCK = 5
"""So many queries that were begun and not answered; until then no other is begun."""


class QueryBandit:
    """The account of all queries. What is chosen depends on the seed and on what was told before,
    and on nothing else: told the same again, after a restart, it chooses the same."""

    def __init__(self, seed: int, most: int) -> None:
        self._seed, self._most = seed, most
        self._tallies: dict[str, QueryTally] = {}
        self._insisted: list[str] = []
        self._proposals: dict[str, QueryProposal] = {}
        self._pulls = 0
        self.median = 0.0
        """The rank of the middle one of what waits in the frontier; set by the caller. Pages of
        results below it are not worth their pull. 0: not known."""
        self.idle = ""
        """Why there was nothing to ask for when :meth:`choose` was last asked."""

    def set_proposals(self, proposals: Sequence[QueryProposal]) -> None:
        """What may be asked from now on, besides what was begun; replaces the last offer."""
        self._proposals = {proposal.query.key: proposal for proposal in proposals}

    def request_query(self, query: Query, again: bool = False) -> bool:
        """A person's own goes first. Once it was asked, insisting changes nothing, unless they
        want it ``again``: then its next page goes first, or the first where there is no more.

        False: there is nothing in it to ask for, or people have as many as are allowed. What was
        composed keeps nobody from asking; what people asked leaves less room to compose.
        """
        if not query.key or (
            query.key not in self._tallies and self._count_user_queries() >= self._most
        ):
            return False
        tally = self._tally_of(query, "user")
        tally.by = "user"
        if again and tally.pages:
            tally.reopen()
        if (again or not tally.pages) and query.key not in self._insisted:
            self._insisted.append(query.key)
        return True

    def choose(self) -> tuple[Query, int] | None:
        """The query to ask and the page of its results; the same until it was answered or failed.

        None: there is nothing worth asking; :attr:`idle` says why.
        """
        self.idle = ""
        for key in self._insisted:
            if (tally := self._tallies[key]).retry_at <= self._pulls:
                return tally.query, tally.page
        begun = [tally for tally in self._tallies.values() if not tally.stopped]
        rested = [tally for tally in begun if tally.retry_at <= self._pulls]
        draw = Random(f"{self._seed} {self._pulls}").betavariate
        best: tuple[float, Query, int] | None = None
        for tally in rested:
            good, poor = tally.reward_counts(self._pulls)
            worth = draw(1 + good, 1 + poor) * tally.expected_novelty()
            if best is None or worth > best[0]:
                best = worth, tally.query, tally.page
        if new := self._best_new_query():
            mean, query = new
            guess = draw(1 + _PRIOR_WEIGHT * mean, 1 + _PRIOR_WEIGHT * (1 - mean))
            guess *= self._expected_novelty()
            if best is None or guess > best[0]:
                best = guess, query, 1
        if best is not None:
            return best[1], best[2]
        if begun:
            tally = min(begun, key=lambda tally: tally.retry_at)
            return tally.query, tally.page
        self.idle = self._idle_reason()
        return None

    def record_page(
        self, query: Query, page: int, urls: int, fresh: int, promised: float, more: bool
    ) -> None:
        """A page of results came: so many addresses, of which so many were new, with this mean
        rank before they are fetched (NaN: nobody knows); whether there are more pages."""
        self._pulls += 1
        tally = self._tally_of(query)
        if tally.stopped:
            tally.reopen()  # a person wanted it again
        tally.record_page(page, urls, fresh, promised)
        sizes = [tally.first_size for tally in self._tallies.values() if tally.first_size]
        usual = median(sizes[-_RECENT_QUERIES:]) if sizes else 0.0
        tally.decide_stop(urls, fresh, promised, self.median, usual, more)
        if query.key in self._insisted:
            self._insisted.remove(query.key)

    def record_failure(self, query: Query, page: int) -> None:  # noqa: ARG002 - it stays the next one
        """The engine failed. The query may be asked again, later each time; others go before."""
        self._pulls += 1
        tally = self._tally_of(query)
        tally.failures += 1
        tally.retry_at = self._pulls + 2 ** min(tally.failures, 6)
        if query.key in self._insisted:
            self._insisted.remove(query.key)
            self._insisted.append(query.key)

    def record_verdict(self, query: Query, verdict: float) -> None:
        """A result of it was fetched and judged."""
        if tally := self._tallies.get(query.key):
            tally.record_verdict(self._pulls, verdict)

    def expected_yield(self, query: Query) -> float:
        """The mean verdict expected of its results, 0..1."""
        tally = self._tallies.get(query.key)
        if tally and tally.pages:
            return tally.mean_yield(self._pulls)
        return self._yield_estimator()(query)

    def arms(self) -> list[QueryArm]:
        """All queries that were asked or that people want asked, in the order they came."""
        return [
            QueryArm(t.query, t.by, t.pages, t.urls, t.fresh, t.fetched,
                     self.expected_yield(t.query), t.stopped)
            for t in self._tallies.values()
        ]  # fmt: skip

    def suggestions(self, most: int = 10) -> list[QuerySuggestion]:
        """Queries that were not answered yet, the best first, and why they might be worth it."""
        unanswered = {key for key, tally in self._tallies.items() if not tally.pages}
        some = [p for key, p in self._proposals.items() if key in unanswered]
        ranked = self._rank_proposals([*self._unasked_proposals(), *some])[:most]
        known = any(tally.fetched for tally in self._tallies.values())
        return [
            QuerySuggestion(p.query, expected if known else None, p.pages, p.why)
            for expected, p in ranked
        ]

    def _tally_of(self, query: Query, by: QueryAuthor = "composed") -> QueryTally:
        if (tally := self._tallies.get(query.key)) is None:
            parsed = parse_query(query.text) if query.text else query
            tally = self._tallies[query.key] = QueryTally(query, by, folded_terms(parsed))
        return tally

    def _count_user_queries(self) -> int:
        return sum(tally.by == "user" for tally in self._tallies.values())

    def _unasked_proposals(self) -> list[QueryProposal]:
        return [p for key, p in self._proposals.items() if key not in self._tallies]

    def _best_new_query(self) -> tuple[float, Query] | None:
        """The best new query: of the length that is due, with a term that was not asked yet; and
        the yield expected of it."""
        stuck = sum(1 for tally in self._tallies.values() if tally.failures and not tally.pages)
        waiting = self._unasked_proposals()
        if len(self._tallies) >= self._most or stuck >= _MAX_STUCK or not waiting:
            return None
        lately = self._composed_answered()[-_MAX_FRUITLESS:]
        if len(lately) == _MAX_FRUITLESS and not any(tally.fresh for tally in lately):
            waiting = [p for p in waiting if p.stated_in] or waiting
        due = self._next_length()
        lengths = {len(p.query.terms) for p in waiting}
        length = min(lengths, key=lambda size: (abs(size - due), -size))
        used = {term for tally in self._tallies.values() for term in tally.terms}
        right = [p for p in waiting if len(p.query.terms) == length]
        unused = [p for p in right if not folded_terms(p.query) <= used]
        expected, best = self._rank_proposals(unused or right)[0]
        return expected, best.query

    def _next_length(self) -> int:
        """SeedFinder: a poor yield asks for one term more, a good one without news for one less."""
        last = self._composed_answered()[-1:]
        if not last:
            # One word of a description may mean anything; a keyword was chosen to be asked for.
            described = all(p.stated_in == "description" for p in self._proposals.values())
            return 2 if described else 1
        size = len(last[0].terms)
        if last[0].mean_yield(self._pulls) < _GOOD_ENOUGH:
            size += 1
        elif last[0].expected_novelty() < _GOOD_ENOUGH:
            size -= 1
        return min(_MAX_TERMS, max(1, size))

    def _composed_answered(self) -> list[QueryTally]:
        """Our own queries that were answered, in the order in which they were begun."""
        return [t for t in self._tallies.values() if t.by == "composed" and t.pages]

    def _rank_proposals(self, some: Iterable[QueryProposal]) -> list[tuple[float, QueryProposal]]:
        """With the yield expected of each; first whose score, beside the best of its length, times
        that yield is highest."""
        tops: dict[int, float] = {}
        for proposal in self._proposals.values():
            size = len(proposal.query.terms)
            tops[size] = max(proposal.score, tops.get(size, 1e-9))
        expected = self._yield_estimator()
        rated = [(expected(p.query), p) for p in some]
        return sorted(rated, key=lambda r: -r[0] * r[1].score / tops[len(r[1].query.terms)])

    def _yield_estimator(self) -> Callable[[Query], float]:
        """What to expect of a query that was not asked: the yield of the queries so far, and more
        so of those that share its terms."""
        asked = [tally for tally in self._tallies.values() if tally.pages]
        pool = (1 + sum(tally.mean_yield(self._pulls) for tally in asked)) / (2 + len(asked))
        known = [(tally.terms, *tally.reward_counts(self._pulls)) for tally in asked]

        def expected(query: Query) -> float:
            terms, total, weight = folded_terms(query), _PRIOR_WEIGHT * pool, _PRIOR_WEIGHT
            for others, good, poor in known:
                if shared := terms & others:
                    much = min(1.0, _MAX_SIMILAR_WEIGHT / (good + poor + 1e-9))
                    like = much * len(shared) / len(terms | others)
                    total, weight = total + like * good, weight + like * (good + poor)
            return total / weight

        return expected

    def _expected_novelty(self) -> float:
        """How much of a new query's first page will be new."""
        firsts = [tally.first_novelty for tally in self._tallies.values() if tally.pages]
        firsts = firsts[-_RECENT_QUERIES:]
        return (1 + sum(firsts)) / (1 + len(firsts))

    def _idle_reason(self) -> str:
        if not self._tallies:
            return "there is nothing to make queries from: no keywords, description or good pages"
        if len(self._tallies) >= self._most:
            return f"the limit of {self._most} queries is reached, and each was asked to its end"
        return "every query was asked to its end"
