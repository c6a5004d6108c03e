"""What to ask an engine next, and what came of what was asked: in memory, without asking.

The composer reads good and bad pages as they come by; the bandit over queries hears what their
results turned out to be. Both are told again on resuming, from the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile

from honeyguide.crawl.composer_targets import weight_of
from honeyguide.crawl.source_bandit import worth
from honeyguide.search_settings import leads_away
from honeyguide.seeds.composer import Composer
from honeyguide.seeds.query import Query, parse
from honeyguide.seeds.query_bandit import Pulls
from honeyguide.store.row_checks import decimal
from honeyguide.store.searches import TAKEN, Hit, Search
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page, Url, Visit

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

Withheld = Callable[[Url, str], bool]
"""(address, network address or '') → whether the words of that page must not be asked."""


class Queries:
    """``said``: what people say of pages, the topic's own examples to begin with; ``withheld``: of
    which pages the composer must not learn."""

    def __init__(
        self,
        composer: Composer | None,
        pulls: Pulls,
        said: Mapping[Url, float],
        withheld: Withheld | None = None,
    ) -> None:
        """Without a composer, only what people want is asked."""
        self.pulls = pulls
        self._composer = composer
        self._withheld = withheld
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
        self._declined: dict[str, str] = {}
        """What people wanted and is not asked, and why."""
        self._unheard = 0
        """Wishes that nobody listened to, since there were too many at once."""

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
        if leads_away(str(query)):
            self._declined[query.key] = "a word that begins with !! leads to another engine"
            return
        if not self.pulls.insist(query, again):
            self._declined[query.key] = "search.most_queries allows no more"
            return
        self._theirs.setdefault(query.key, by)
        if again or query.key not in self._answered:
            self._urgent.setdefault(query.key, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people wanted and is not asked, for the report."""
        told = [
            f"{_count(list(self._declined.values()).count(why))} not asked: {why}"
            for why in dict.fromkeys(self._declined.values())
        ]
        if self._unheard:
            told.append(f"{_count(self._unheard)} not asked: only the newest wishes are heard")
        return tuple(told)

    def by(self, query: Query) -> str:
        """Who wanted it."""
        return self._theirs.get(query.key, _OURS)

    def choose(self) -> tuple[Query, int] | None:
        """The query to ask, and which page of its results; None: none is worth it."""
        if self._composer is not None:
            # Asked only what will be known again when the store says that it was asked.
            made = self._composer.candidates()
            self.pulls.offer([one for one in made if not parse(str(one.query)).text])
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
        if _foreign(search, query):
            return
        self._answered.add(query.key)
        self._urgent.pop(query.key, None)
        self.pulls.answered(query, search.page, search.results, fresh, promised, search.more)
        if search.by != _OURS:
            self._theirs.setdefault(query.key, search.by)
            self.pulls.insist(query)

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
            ip = visit.response.ip if visit.response is not None else ""
            weight = weight_of(visit.verdict.score, visit.verdict.ungated)
            self._read(visit.page, weight, ip)
        return bool(queries)

    def listen(self, store: Store) -> bool:
        """Other processes speak through the store: labels, and queries; whether any came."""
        heard = self._heard
        for number, label in store.labels(self._heard):
            self._heard = max(self._heard, number)
            self._said[label.url] = label.value
            if self._composer is not None and (page := store.page(label.url)) is not None:
                visits = store.visit(label.url)
                self.read(page, label.value, visits[-1].ip if visits else "")
        return self._hear(store) or self._heard > heard

    def _hear(self, store: Store) -> bool:
        """Whether there are new wishes."""
        wishes = store.searches.wanted(self._wished)
        self._unheard += store.searches.unheard(self._wished) if wishes else 0
        for number, text, by in wishes:
            self._wished = number
            self.want(text, by or "user", again=True)
        return bool(wishes)

    def keep(self, store: Store) -> None:
        """Note which wishes are fulfilled."""
        if not self._urgent and self._wished > self._fulfilled:
            self._fulfilled = self._wished
            store.set_meta(_KEY, str(self._wished))

    def read(self, page: Page, value: float, ip: str = "") -> None:
        """A page that the topic gives as an example."""
        self._teach(page, 1.0 if value >= 0.5 else -1.0, ip)

    def recall(
        self, store: Store, taken: int, wanted: Iterable[str] = (), visits: int = _RECALLED
    ) -> None:
        """What earlier runs asked, as far as results were taken, and what came of it in the newest
        ``visits``, in the order in which it happened. ``wanted``: people's queries, which they had
        from the start."""
        for text in wanted:
            self.want(text)
        fulfilled = decimal(store.meta(_KEY) or "") or 0
        wishes = store.searches.wanted()
        self._wished = self._fulfilled = min(fulfilled, wishes[-1][0] if wishes else 0)
        for number, text, by in wishes:
            if number <= self._wished:
                self.want(text, by or "user")
        asked = takewhile(lambda one: one[0].id <= taken, store.searches.since())
        search = next(asked, None)
        newest = store.counts().visits
        for row in store.visits(since=max(0, newest - visits)):
            while search is not None and search[0].at <= row.at:
                self._recalled(*search)
                search = next(asked, None)
            self._came(row)
            telling = row.verdict is not None and row.copy_of is None
            if telling and row.id > newest - _REREAD and self._composer is not None:
                weight = weight_of(row.verdict, row.ungated)
                self._read(store.page_of(row), weight, row.ip)
        while search is not None:
            self._recalled(*search)
            search = next(asked, None)

    def _recalled(self, search: Search, hits: Iterable[Hit]) -> None:
        query = parse(search.query)
        if not search.outcome:
            self.found(query, [hit.url for hit in hits])
            self.answered(search, search.fresh, search.promised)
        elif not _foreign(search, query) and (search.by == _OURS or query.key in self._theirs):
            # Others are of people who asked by themselves: they saw it, and the crawl did not ask.
            self.failed(query, search.page)

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

    def _read(self, page: Page, weight: float, ip: str) -> None:
        """A page that we judged, unless a person said what it is."""
        said = self._said.get(page.url)
        if said is not None:
            self.read(page, said, ip)
        elif weight:
            self._teach(page, weight, ip)

    def _teach(self, page: Page, weight: float, ip: str) -> None:
        hidden = self._withheld is not None and self._withheld(page.url, ip)
        if self._composer is not None and not hidden:
            self._composer.read(page.url, page.title, page.text, weight)


def taken(store: Store) -> int:
    """The number of the newest search whose results a crawl took.

    A stranger's collection may say any number: one that no search has yet would have the next
    answers taken for taken, and the same question asked for ever.
    """
    return min(decimal(store.meta(TAKEN) or "") or 0, store.searches.newest())


def _foreign(search: Search, query: Query) -> bool:
    """Whether no crawl has asked this: what we compose has terms only, and nothing leads away."""
    return leads_away(str(query)) or (search.by == _OURS and bool(query.text))


def _count(queries: int) -> str:
    return "1 query of people was" if queries == 1 else f"{queries} queries of people were"
