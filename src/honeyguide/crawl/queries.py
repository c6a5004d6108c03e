"""What to ask an engine next, and what came of what was asked: in memory, without asking.

The composer reads good and bad pages as they come by; the bandit over queries hears what their
results turned out to be. Both are told again on resuming, from the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from honeyguide.crawl.sources import worth
from honeyguide.seeds.composer import Composer
from honeyguide.seeds.pulls import Pulls
from honeyguide.seeds.query import Query, parse
from honeyguide.store.searches import Hit, Search
from honeyguide.store.sound import decimal
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page, Url, Visit

_GOOD, _BAD = 0.8, 0.2
"""Verdicts from which a page teaches the composer without a person's word …"""
_HALF = 0.5
"""… which counts so much."""
_TRIES = 3
"""How often a person's query may fail before others are not held up by it any more."""
_MOST = 100_000
"""Addresses of which is remembered which queries found them."""
_FINDERS = 5
"""Queries that are remembered to have found an address."""
_RECALLED = 20_000
"""Newest visits of which a resumed crawl counts what they brought …"""
_REREAD = 2_000
"""… and of which it reads the pages again."""
_KEY = "searches_wished"
_OURS = "composed"
"""Who wants a query that nobody asked us for."""


class Queries:
    """``said``: what people say of pages, the topic's own examples to begin with."""

    def __init__(self, composer: Composer | None, pulls: Pulls, said: Mapping[Url, float]) -> None:
        """Without a composer, only what people want is asked."""
        self.pulls = pulls
        self._composer = composer
        self._said = dict(said)
        self._found: dict[Url, tuple[Query, ...]] = {}
        """The queries that found an address, the first one first."""
        self._urgent: dict[str, int] = {}
        """People's queries that were not answered yet, and how often they failed."""
        self._theirs: dict[str, str] = {}
        """All queries of people, and whose they are."""
        self._answered: set[str] = set()
        self._heard = 0
        """Number of the newest label that was heard …"""
        self._wished = 0
        """… and of the newest wish, …"""
        self._fulfilled = 0
        """… as far as they are noted to be fulfilled."""

    @property
    def urgent(self) -> bool:
        """Whether somebody waits for an answer, or nothing was asked yet."""
        return bool(self._urgent) or not self._answered

    def want(self, text: str, by: str = "user", *, again: bool = False) -> None:
        """A person's own query goes first. What was answered before is only asked for more where
        somebody wants it ``again``."""
        query = parse(text)
        if not query.key:
            return
        self._theirs.setdefault(query.key, by)
        self.pulls.insist(query, again)
        if again or query.key not in self._answered:
            self._urgent.setdefault(query.key, 0)

    def by(self, query: Query) -> str:
        """Who wanted it."""
        return self._theirs.get(query.key, _OURS)

    def choose(self) -> tuple[Query, int] | None:
        """The query to ask, and which page of its results; None: none is worth it."""
        if self._composer is not None:
            self.pulls.offer(self._composer.candidates())
        chosen = self.pulls.choose()
        if chosen is None:
            self._urgent.clear()
        return chosen

    def novelty(self) -> float:
        """The share of new addresses that the best query alive brings; 1 if none was asked."""
        alive = [arm for arm in self.pulls.arms() if not arm.stopped]
        if not alive:
            return 1.0
        best = max(alive, key=lambda arm: arm.mean * (arm.fresh + 1) / (arm.urls + 1))
        return (best.fresh + 1) / (best.urls + 1)

    def answered(self, search: Search, fresh: int, promised: float) -> None:
        query = parse(search.query)
        if search.by != _OURS:
            self._theirs.setdefault(query.key, search.by)
            self.pulls.insist(query)
        self._answered.add(query.key)
        self._urgent.pop(query.key, None)
        self.pulls.answered(query, search.page, search.results, fresh, promised, search.more)

    def failed(self, query: Query, page: int) -> None:
        self.pulls.failed(query, page)
        if query.key in self._urgent:
            self._urgent[query.key] += 1
            if self._urgent[query.key] >= _TRIES:
                del self._urgent[query.key]  # it waits for its turn, like the others

    def found(self, query: Query, urls: Iterable[Url]) -> list[Url]:
        """Remember that it found these; which of them no query found before?"""
        new = []
        for url in urls:
            known = self._found.get(url, ())
            if not known:
                new.append(url)
            if query not in known and (known or len(self._found) < _MOST):
                self._found[url] = (*known, query)[:_FINDERS]
        return new

    def urls(self) -> list[Url]:
        """Everything that was found."""
        return list(self._found)

    def visited(self, visit: Visit) -> bool:
        """What came of a visit; whether a query had found it."""
        url = visit.link.url
        queries = self._found.get(url, ())
        if visit.moved is not None:
            if queries:
                # What comes of it is found where it leads.
                self._found.setdefault(visit.moved, queries)
            if url in self._said:
                self._said.setdefault(visit.moved, self._said[url])
            return bool(queries)
        value = worth(visit)
        if value is not None:
            for query in queries:
                self.pulls.brought(query, value)
        if visit.page is not None and visit.verdict is not None and visit.copy is None:
            self._read(visit.page, visit.verdict.score)
        return bool(queries)

    def listen(self, store: Store) -> bool:
        """Other processes speak through the store: labels, and queries; whether any came."""
        heard = self._heard
        for number, label in store.labels(self._heard):
            self._heard = max(self._heard, number)
            self._said[label.url] = label.value
            if self._composer is not None and (page := store.page(label.url)) is not None:
                self._read(page, label.value)
        return self._hear(store) or self._heard > heard

    def _hear(self, store: Store) -> bool:
        """Whether there are new wishes; those that were fulfilled are only people's."""
        wishes = store.searches.wanted(self._wished)
        fulfilled = decimal(store.meta(_KEY) or "") or 0
        for number, text, by in wishes:
            self._wished = number
            self.want(text, by or "user", again=number > fulfilled)
        return bool(wishes)

    def keep(self, store: Store) -> None:
        """Note which wishes are fulfilled."""
        if not self._urgent and self._wished > self._fulfilled:
            self._fulfilled = self._wished
            store.set_meta(_KEY, str(self._wished))

    def read(self, page: Page, value: float) -> None:
        """A page that the topic gives as an example."""
        if self._composer is not None:
            weight = 1.0 if value >= 0.5 else -1.0
            self._composer.read(page.url, page.title, page.text, weight)

    def recall(self, store: Store, taken: int) -> None:
        """What earlier runs asked, as far as results were taken, and what came of it, in the order
        in which it happened."""
        asked = iter([one for one in store.searches.since() if one[0].id <= taken])
        search = next(asked, None)
        newest = store.counts().visits
        for row in store.visits(since=max(0, newest - _RECALLED)):
            while search is not None and search[0].at <= row.at:
                self._recalled(*search)
                search = next(asked, None)
            self._came(row)
            telling = row.verdict is not None and row.copy_of is None
            if telling and row.id > newest - _REREAD and self._composer is not None:
                self._read(store.page_of(row), row.verdict or 0.0)
        while search is not None:
            self._recalled(*search)
            search = next(asked, None)

    def _recalled(self, search: Search, hits: Iterable[Hit]) -> None:
        if not search.outcome:
            self.found(parse(search.query), [hit.url for hit in hits])
            self.answered(search, search.fresh, search.promised)

    def _came(self, row: VisitRow) -> None:
        """What came of an earlier visit."""
        queries = self._found.get(row.url, ())
        if row.moved is not None:
            if queries:
                self._found.setdefault(Url(row.moved), queries)
            return
        value = 0.0 if row.failure is not None or row.copy_of is not None else row.verdict
        if value is not None and (row.failure is None or row.final):
            for query in queries:
                self.pulls.brought(query, value)

    def _read(self, page: Page, verdict: float) -> None:
        said = self._said.get(page.url)
        if said is not None:
            self.read(page, said)
        elif self._composer is not None and (verdict >= _GOOD or verdict <= _BAD):
            weight = _HALF if verdict >= _GOOD else -_HALF
            self._composer.read(page.url, page.title, page.text, weight)
