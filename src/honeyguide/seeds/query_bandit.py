"""Which query to ask next: a bandit whose arms are queries, and whose pulls are pages of results.

Thompson sampling by yield × novelty; how long the next new query should be follows SeedFinder
(Vieira, Barbosa, da Silva, Freire & Moura 2016). See docs/reference/query-composition.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from statistics import median

from honeyguide.seeds.composer import Proposal
from honeyguide.seeds.query import Query, parse
from honeyguide.seeds.query_stats import Arm as Arm
from honeyguide.seeds.query_stats import By, Tally, terms_of
from honeyguide.seeds.query_stats import Suggestion as Suggestion

_LONGEST = 3
"""Terms of a query."""
_ENOUGH = 0.5
"""A yield or a novelty that asks for no other length."""
_PRIOR = 4.0
"""How many verdicts the guess at a new query's yield is worth …"""
_LIKE = 5.0
"""… and at most those of a query that shares its terms."""
_RECENT = 10
"""New queries that foretell how much another new one finds."""
_FRUITLESS = 3
"""Composed queries in a row that found nothing new: then the topic's own words are asked."""
_STUCK = 5
"""So many queries that were begun and not answered; until then no other is begun."""


class Pulls:
    """The account of all queries. What is chosen depends on the seed and on what was told before,
    and on nothing else: told the same again, after a restart, it chooses the same."""

    def __init__(self, seed: int, most: int) -> None:
        self._seed, self._most = seed, most
        self._tallies: dict[str, Tally] = {}
        self._insisted: list[str] = []
        self._proposals: dict[str, Proposal] = {}
        self._pulls = 0
        self.median = 0.0
        """The rank of the middle one of what waits in the frontier; set by the caller. Pages of
        results below it are not worth their pull. 0: not known."""
        self.idle = ""
        """Why there was nothing to ask for when :meth:`choose` was last asked."""

    def offer(self, proposals: Sequence[Proposal]) -> None:
        """What may be asked from now on, besides what was begun; replaces the last offer."""
        self._proposals = {proposal.query.key: proposal for proposal in proposals}

    def insist(self, query: Query, again: bool = False) -> bool:
        """A person's own goes first. Once it was asked, insisting changes nothing, unless they
        want it ``again``: then its next page goes first, or the first where there is no more.

        False: there is nothing in it to ask for, or people have as many as are allowed. What was
        composed keeps nobody from asking; what people asked leaves less room to compose.
        """
        if not query.key or (query.key not in self._tallies and self._people() >= self._most):
            return False
        tally = self._tally(query, "user")
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
            good, poor = tally.counts(self._pulls)
            worth = draw(1 + good, 1 + poor) * tally.novelty()
            if best is None or worth > best[0]:
                best = worth, tally.query, tally.page
        if new := self._next():
            mean, query = new
            guess = draw(1 + _PRIOR * mean, 1 + _PRIOR * (1 - mean)) * self._newness()
            if best is None or guess > best[0]:
                best = guess, query, 1
        if best is not None:
            return best[1], best[2]
        if begun:
            tally = min(begun, key=lambda tally: tally.retry_at)
            return tally.query, tally.page
        self.idle = self._why()
        return None

    def answered(
        self, query: Query, page: int, urls: int, fresh: int, promised: float, more: bool
    ) -> None:
        """A page of results came: so many addresses, of which so many were new, with this mean
        rank before they are fetched (NaN: nobody knows); whether there are more pages."""
        self._pulls += 1
        tally = self._tally(query)
        if tally.stopped:
            tally.reopen()  # a person wanted it again
        tally.answer(page, urls, fresh, promised)
        sizes = [tally.size for tally in self._tallies.values() if tally.size][-_RECENT:]
        usual = median(sizes) if sizes else 0.0
        tally.judge(urls, fresh, promised, self.median, usual, more)
        if query.key in self._insisted:
            self._insisted.remove(query.key)

    def failed(self, query: Query, page: int) -> None:  # noqa: ARG002 - it stays the next one
        """The engine failed. The query may be asked again, later each time; others go before."""
        self._pulls += 1
        tally = self._tally(query)
        tally.failures += 1
        tally.retry_at = self._pulls + 2 ** min(tally.failures, 6)
        if query.key in self._insisted:
            self._insisted.remove(query.key)
            self._insisted.append(query.key)

    def brought(self, query: Query, verdict: float) -> None:
        """A result of it was fetched and judged."""
        if tally := self._tallies.get(query.key):
            tally.bring(self._pulls, verdict)

    def yield_of(self, query: Query) -> float:
        """The mean verdict expected of its results, 0..1."""
        tally = self._tallies.get(query.key)
        return tally.mean(self._pulls) if tally and tally.pages else self._outlook()(query)

    def arms(self) -> list[Arm]:
        """All queries that were asked or that people want asked, in the order they came."""
        return [
            Arm(t.query, t.by, t.pages, t.urls, t.fresh, t.fetched, self.yield_of(t.query),
                t.stopped)
            for t in self._tallies.values()
        ]  # fmt: skip

    def suggestions(self, most: int = 10) -> list[Suggestion]:
        """Queries that were not answered yet, the best first, and why they might be worth it."""
        unanswered = {key for key, tally in self._tallies.items() if not tally.pages}
        some = [p for key, p in self._proposals.items() if key in unanswered]
        ranked = self._ranked([*self._waiting(), *some])[:most]
        known = any(tally.fetched for tally in self._tallies.values())
        return [
            Suggestion(p.query, expected if known else None, p.pages, p.why)
            for expected, p in ranked
        ]

    def _tally(self, query: Query, by: By = "composed") -> Tally:
        if (tally := self._tallies.get(query.key)) is None:
            told = parse(query.text) if query.text else query
            tally = self._tallies[query.key] = Tally(query, by, terms_of(told))
        return tally

    def _people(self) -> int:
        return sum(tally.by == "user" for tally in self._tallies.values())

    def _waiting(self) -> list[Proposal]:
        return [p for key, p in self._proposals.items() if key not in self._tallies]

    def _next(self) -> tuple[float, Query] | None:
        """The best new query: of the length that is due, with a term that was not asked yet; and
        the yield expected of it."""
        stuck = sum(1 for tally in self._tallies.values() if tally.failures and not tally.pages)
        waiting = self._waiting()
        if len(self._tallies) >= self._most or stuck >= _STUCK or not waiting:
            return None
        lately = self._composed()[-_FRUITLESS:]
        if len(lately) == _FRUITLESS and not any(tally.fresh for tally in lately):
            waiting = [p for p in waiting if p.stated] or waiting
        due = self._length()
        length = min(
            {len(p.query.terms) for p in waiting}, key=lambda size: (abs(size - due), -size)
        )
        used = {term for tally in self._tallies.values() for term in tally.terms}
        right = [p for p in waiting if len(p.query.terms) == length]
        unused = [p for p in right if not terms_of(p.query) <= used]
        expected, best = self._ranked(unused or right)[0]
        return expected, best.query

    def _length(self) -> int:
        """SeedFinder: a poor yield asks for one term more, a good one without news for one less."""
        last = self._composed()[-1:]
        if not last:
            # One word of a description may mean anything; a keyword was chosen to be asked for.
            described = all(p.stated == "description" for p in self._proposals.values())
            return 2 if described else 1
        size = len(last[0].terms)
        if last[0].mean(self._pulls) < _ENOUGH:
            size += 1
        elif last[0].novelty() < _ENOUGH:
            size -= 1
        return min(_LONGEST, max(1, size))

    def _composed(self) -> list[Tally]:
        """Our own queries that were answered, in the order in which they were begun."""
        return [t for t in self._tallies.values() if t.by == "composed" and t.pages]

    def _ranked(self, some: Iterable[Proposal]) -> list[tuple[float, Proposal]]:
        """With the yield expected of each; first whose score, beside the best of its length, times
        that yield is highest."""
        tops: dict[int, float] = {}
        for proposal in self._proposals.values():
            size = len(proposal.query.terms)
            tops[size] = max(proposal.score, tops.get(size, 1e-9))
        expected = self._outlook()
        rated = [(expected(p.query), p) for p in some]
        return sorted(rated, key=lambda r: -r[0] * r[1].score / tops[len(r[1].query.terms)])

    def _outlook(self) -> Callable[[Query], float]:
        """What to expect of a query that was not asked: the yield of the queries so far, and more
        so of those that share its terms."""
        asked = [tally for tally in self._tallies.values() if tally.pages]
        pool = (1 + sum(tally.mean(self._pulls) for tally in asked)) / (2 + len(asked))
        known = [(tally.terms, *tally.counts(self._pulls)) for tally in asked]

        def expected(query: Query) -> float:
            terms, total, weight = terms_of(query), _PRIOR * pool, _PRIOR
            for others, good, poor in known:
                if shared := terms & others:
                    much = min(1.0, _LIKE / (good + poor + 1e-9))
                    like = much * len(shared) / len(terms | others)
                    total, weight = total + like * good, weight + like * (good + poor)
            return total / weight

        return expected

    def _newness(self) -> float:
        """How much of a new query's first page will be new."""
        firsts = [tally.first for tally in self._tallies.values() if tally.pages][-_RECENT:]
        return (1 + sum(firsts)) / (1 + len(firsts))

    def _why(self) -> str:
        if not self._tallies:
            return "there is nothing to make queries from: no keywords, description or good pages"
        if len(self._tallies) >= self._most:
            return f"the limit of {self._most} queries is reached, and each was asked to its end"
        return "every query was asked to its end"
