"""Plans which query is asked next, during a crawl and as suggestions to a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from honeyguide.config.settings import Settings, has_bang_command
from honeyguide.learning import topics
from honeyguide.links.ranking import visit_worth
from honeyguide.search.composer import QueryComposer
from honeyguide.search.phrases import MAX_REASON_PAGES
from honeyguide.search.query import Query, fold_term, parse_query
from honeyguide.search.query_bandit import QueryBandit, QuerySuggestion
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.searches import TAKEN_KEY, SearchResultRow, SearchRow
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page, Url, Visit

GOOD_VERDICT, BAD_VERDICT = 0.8, 0.2
"""Verdicts from which a page without a label teaches the composer."""
_VERDICT_WEIGHT = 0.5
"""Weight of such a page; a labelled page has weight 1."""


def composer_weight(verdict: float | None, ungated: float | None) -> float:
    """What a page counts: positive, it is good; negative, it is bad; 0: it teaches nothing.

    A page that was kept apart for its language (``ungated`` is what it would have been worth) is
    neither: its verdict of 0 says nothing of what it is about.
    """
    if verdict is None or ungated is not None:
        return 0.0
    return _VERDICT_WEIGHT * ((verdict >= GOOD_VERDICT) - (verdict <= BAD_VERDICT))


# -- The planner of a crawl --
#
# The composer reads good and bad pages as they come by; the bandit over queries hears what their
# results turned out to be. Both are told again on resuming, from the store.


_MAX_TRIES = 3
"""How often a person's query may fail before others are not held up by it any more."""
_MAX_FOUND = 100_000
"""Addresses of which is remembered which queries found them."""
_MAX_FINDERS = 5
"""Queries that are remembered to have found an address."""
_RESTORED_VISITS = 20_000
"""Newest visits whose outcomes a resumed crawl counts."""
_RELEARNED_VISITS = 2_000
"""Newest visits whose pages a resumed crawl reads again."""
_WISHES_KEY = "searches_wished"
_COMPOSED = "composed"
"""Who wants a query that nobody asked us for."""

WithholdsPage = Callable[[Url, str], bool]
"""(address, network address or '') → whether the words of that page must not be asked."""


class QueryPlanner:
    """``labels``: what people say of pages, the topic's own examples to begin with; ``withheld``:
    of which pages the composer must not learn."""

    def __init__(
        self,
        composer: QueryComposer | None,
        pulls: QueryBandit,
        labels: Mapping[Url, float],
        withheld: WithholdsPage | None = None,
    ) -> None:
        """Without a composer, only what people want is asked."""
        self.pulls = pulls
        self._composer = composer
        self._withheld = withheld
        self._labels = dict(labels)
        self._found_by: dict[Url, tuple[Query, ...]] = {}
        """The queries that found an address, the first one first."""
        self._urgent: dict[str, int] = {}
        """People's queries that were not answered yet, and how often they failed."""
        self._wished_by: dict[str, str] = {}
        """All queries of people, and whose they are."""
        self._answered: set[str] = set()
        self._last_label = 0
        """Number of the newest label that was read."""
        self._last_wish = 0
        """Number of the newest wish that was read."""
        self._fulfilled = 0
        """Number of the newest wish that is stored as fulfilled."""
        self._declined: dict[str, str] = {}
        """What people wanted and is not asked, and why."""
        self._unread_wishes = 0
        """Wishes that nobody listened to, since there were too many at once."""

    @property
    def is_urgent(self) -> bool:
        """Whether somebody waits for an answer, or nothing was asked yet."""
        return bool(self._urgent) or not self._answered

    def add_wish(self, text: str, by: str = "user", *, again: bool = False) -> None:
        """A person's own query goes first. What was answered before is only asked for more where
        somebody wants it ``again``."""
        query = parse_query(text)
        if not query.key:
            return
        if has_bang_command(str(query)):
            self._declined[query.key] = "a word that begins with !! leads to another engine"
            return
        if not self.pulls.request_query(query, again):
            self._declined[query.key] = "search.most_queries allows no more"
            return
        self._wished_by.setdefault(query.key, by)
        if again or query.key not in self._answered:
            self._urgent.setdefault(query.key, 0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people wanted and is not asked, for the report."""
        found = [
            f"{_count_queries(list(self._declined.values()).count(why))} not asked: {why}"
            for why in dict.fromkeys(self._declined.values())
        ]
        if self._unread_wishes:
            found.append(
                f"{_count_queries(self._unread_wishes)} not asked: "
                "only the newest requests are processed"
            )
        return tuple(found)

    def asker_of(self, query: Query) -> str:
        """Who wanted it."""
        return self._wished_by.get(query.key, _COMPOSED)

    def choose_query(self) -> tuple[Query, int] | None:
        """The query to ask, and which page of its results; None: none is worth it."""
        if self._composer is not None:
            # Asked only what will be known again when the store says that it was asked.
            made = self._composer.propose_queries()
            self.pulls.set_proposals([one for one in made if not parse_query(str(one.query)).text])
        chosen = self.pulls.choose()
        if chosen is None:
            self._urgent.clear()
        return chosen

    def best_novelty(self) -> float:
        """The share of new addresses that the best query alive brings; 1 if none was asked."""
        alive = [arm for arm in self.pulls.arms() if not arm.stopped]
        if not alive:
            return 1.0
        best = max(alive, key=lambda arm: arm.mean * (arm.fresh + 1) / (arm.urls + 1))
        return (best.fresh + 1) / (best.urls + 1)

    def record_answer(self, search: SearchRow, fresh: int, promised: float) -> None:
        query = parse_query(search.query)
        if _is_foreign_search(search, query):
            return
        self._answered.add(query.key)
        self._urgent.pop(query.key, None)
        self.pulls.record_page(query, search.page, search.results, fresh, promised, search.more)
        if search.by != _COMPOSED:
            self._wished_by.setdefault(query.key, search.by)
            self.pulls.request_query(query)

    def record_failure(self, query: Query, page: int) -> None:
        self.pulls.record_failure(query, page)
        if query.key in self._urgent:
            self._urgent[query.key] += 1
            if self._urgent[query.key] >= _MAX_TRIES:
                del self._urgent[query.key]  # it waits for its turn, like the others

    def record_results(self, query: Query, urls: Iterable[Url]) -> list[Url]:
        """Remember that it found these; which of them no query found before?"""
        new = []
        for url in urls:
            known = self._found_by.get(url, ())
            if not known:
                new.append(url)
            if query not in known and (known or len(self._found_by) < _MAX_FOUND):
                self._found_by[url] = (*known, query)[:_MAX_FINDERS]
        return new

    def found_urls(self) -> list[Url]:
        """Everything that was found."""
        return list(self._found_by)

    def record_visit(self, visit: Visit) -> bool:
        """What came of a visit; whether a query had found it."""
        url = visit.link.url
        queries = self._found_by.get(url, ())
        if visit.moved is not None:
            if queries:
                # What comes of it is found where it leads.
                self._found_by.setdefault(visit.moved, queries)
            if url in self._labels:
                self._labels.setdefault(visit.moved, self._labels[url])
            return bool(queries)
        value = visit_worth(visit)
        if value is not None:
            for query in queries:
                self.pulls.record_verdict(query, value)
        if visit.page is not None and visit.verdict is not None and visit.duplicate is None:
            ip = visit.response.ip if visit.response is not None else ""
            weight = composer_weight(visit.verdict.score, visit.verdict.ungated)
            self._learn_judged(visit.page, weight, ip)
        return bool(queries)

    def poll_store(self, store: Store) -> bool:
        """Other processes speak through the store: labels, and queries; whether any came."""
        before = self._last_label
        for number, label in store.labels.effective_after(self._last_label):
            self._last_label = max(self._last_label, number)
            self._labels[label.url] = label.value
            page = None if self._composer is None else _labelled_page(store, label.url, label.value)
            if page is not None:
                visits = store.visits.attempts_at(label.url)
                self.learn_example(page, label.value, visits[-1].ip if visits else "")
        return self._poll_wishes(store) or self._last_label > before

    def _poll_wishes(self, store: Store) -> bool:
        """Whether there are new wishes."""
        wishes = store.searches.requested_queries(self._last_wish)
        if wishes:
            self._unread_wishes += store.searches.count_unread_requests(self._last_wish)
        for number, text, by in wishes:
            self._last_wish = number
            self.add_wish(text, by or "user", again=True)
        return bool(wishes)

    def save_fulfilled(self, store: Store) -> None:
        """Note which wishes are fulfilled."""
        if not self._urgent and self._last_wish > self._fulfilled:
            self._fulfilled = self._last_wish
            store.set_meta(_WISHES_KEY, str(self._last_wish))

    def learn_example(self, page: Page, value: float, ip: str = "") -> None:
        """A page that the topic gives as an example."""
        self._teach_composer(page, 1.0 if value >= 0.5 else -1.0, ip)

    def restore(
        self, store: Store, taken: int, wanted: Iterable[str] = (), visits: int = _RESTORED_VISITS
    ) -> None:
        """What earlier runs asked, as far as results were taken, and what came of it in the newest
        ``visits``, in the order in which it happened. ``wanted``: people's queries, which they had
        from the start."""
        for text in wanted:
            self.add_wish(text)
        fulfilled = parse_decimal(store.get_meta(_WISHES_KEY) or "") or 0
        wishes = store.searches.requested_queries()
        self._last_wish = self._fulfilled = min(fulfilled, wishes[-1][0] if wishes else 0)
        for number, text, by in wishes:
            if number <= self._last_wish:
                self.add_wish(text, by or "user")
        asked = takewhile(lambda one: one[0].id <= taken, store.searches.iter_since())
        search = next(asked, None)
        newest = store.counter.read_counts().visits
        for row in store.visits.iter_visits(since=max(0, newest - visits)):
            while search is not None and search[0].at <= row.at:
                self._restore_search(*search)
                search = next(asked, None)
            self._restore_visit(row)
            telling = row.verdict is not None and row.copy_of is None
            if telling and row.id > newest - _RELEARNED_VISITS and self._composer is not None:
                weight = composer_weight(row.verdict, row.ungated)
                self._learn_judged(store.visits.rebuild_page(row), weight, row.ip)
        while search is not None:
            self._restore_search(*search)
            search = next(asked, None)

    def _restore_search(self, search: SearchRow, hits: Iterable[SearchResultRow]) -> None:
        query = parse_query(search.query)
        if not search.outcome:
            self.record_results(query, [hit.url for hit in hits])
            self.record_answer(search, search.fresh, search.promised)
        elif not _is_foreign_search(search, query) and (
            search.by == _COMPOSED or query.key in self._wished_by
        ):
            # Others are of people who asked by themselves: they saw it, and the crawl did not ask.
            self.record_failure(query, search.page)

    def _restore_visit(self, row: VisitRow) -> None:
        """What came of an earlier visit."""
        queries = self._found_by.get(row.url, ())
        if row.moved is not None:
            if queries:
                self._found_by.setdefault(Url(row.moved), queries)
            return
        value = 0.0 if row.failure is not None or row.copy_of is not None else row.verdict
        if value is not None and (row.failure is None or row.final):
            for query in queries:
                self.pulls.record_verdict(query, value)

    def _learn_judged(self, page: Page, weight: float, ip: str) -> None:
        """A page that we judged, unless a person said what it is."""
        label = self._labels.get(page.url)
        if label is not None:
            self.learn_example(page, label, ip)
        elif weight:
            self._teach_composer(page, weight, ip)

    def _teach_composer(self, page: Page, weight: float, ip: str) -> None:
        hidden = self._withheld is not None and self._withheld(page.url, ip)
        if self._composer is not None and not hidden:
            self._composer.add_page(page.url, page.title, page.text, weight)


def newest_taken_search(store: Store) -> int:
    """The number of the newest search whose results a crawl took.

    A stranger's collection may say any number: one that no search has yet would have the next
    answers taken for taken, and the same question asked for ever.
    """
    return min(parse_decimal(store.get_meta(TAKEN_KEY) or "") or 0, store.searches.newest_id())


def _is_foreign_search(search: SearchRow, query: Query) -> bool:
    """Whether no crawl has asked this: what we compose has terms only, and nothing leads away."""
    return has_bang_command(str(query)) or (search.by == _COMPOSED and bool(query.text))


def _count_queries(queries: int) -> str:
    return "1 query of people was" if queries == 1 else f"{queries} queries of people were"


# -- Suggestions --
#
# Only reads, so it may be asked while a crawl runs, and before the first one: then keywords and the
# description are all there is.


_MAX_LABELS = 100
"""Newest labels whose pages are read."""
_MAX_JUDGED = 50
"""Most unlabelled good pages, and most bad ones, that are read."""
_MAX_ROWS = 2_000
"""Newest visits among which those pages are chosen."""
_MAX_ALIKE = 2
"""So many suggestions may be made of the same words; a further one needs a new word."""
_MAX_SUGGESTIONS = 1_000
"""Suggestions that are looked through."""
_COUNTED_VISITS = 5_000
"""Newest visits of which is counted what they brought."""
_MAX_TEXT = 20_000
"""Characters that are read of each page."""


class QuerySuggestions(NamedTuple):
    """Queries worth asking, the best first, and what they were made from."""

    suggestions: list[QuerySuggestion]
    good: int
    """Good pages that were read."""
    bad: int
    """Bad pages that were read."""

    def to_text(self) -> str:
        if not self.good:
            return (
                "Made from keywords and description only: no good page is known yet. Crawl a "
                "little, or label pages."
                if self.suggestions
                else "There is nothing to make queries from: add keywords, or label good pages."
            )
        if not self.suggestions:
            return "Everything that the good pages have in common was asked already."
        pages = "1 good page" if self.good == 1 else f"{self.good} good pages"
        return f"Made from {pages} and {self.bad} bad."


def suggest_queries(folder: Path, settings: Settings, number: int) -> QuerySuggestions:
    """At most so many queries that were not answered yet, of which most is expected first."""
    # A person sees what a query was made from: here one good page will do.
    composer = build_composer(settings, least=1)
    examples = [
        (example.page, 1.0 if example.target >= 0.5 else -1.0)
        for example in topics.load_example_files(folder, settings)
    ]
    pulls = QueryBandit(settings.crawl.random_seed, settings.search.most_queries)
    asked: set[str] = set()
    if (folder / "collection.db").exists():
        with open_existing_store(folder, "read") as store:
            examples += composer_pages(store, settings)
            restore_query_bandit(store, pulls)
            searches = store.searches.list_searches()
            asked = {parse_query(one.query).key for one in searches if not one.outcome}
    for page, weight in examples:
        composer.add_page(page.url, page.title, page.text[:_MAX_TEXT], weight)
    pulls.set_proposals(composer.propose_queries())
    # What nobody has taken yet, the bandit does not know of.
    new = [one for one in pulls.suggestions(_MAX_SUGGESTIONS) if one.query.key not in asked]
    chosen = list(islice(_drop_similar(new), number))
    chosen.sort(key=lambda one: -round(100 * (one.expected or 0.0)))
    good = sum(weight > 0 for _, weight in examples)
    return QuerySuggestions(chosen, good, len(examples) - good)


def _drop_similar(some: Iterable[QuerySuggestion]) -> Iterator[QuerySuggestion]:
    """Without those that only put the words of earlier ones together anew, and no more than two
    that were made from the very same pages."""
    taken: list[frozenset[str]] = []
    pages: Counter[tuple[Url, ...]] = Counter()
    for one in some:
        if one.pages and len(one.pages) < MAX_REASON_PAGES:  # else there may be others
            pages[one.pages] += 1
            if pages[one.pages] > _MAX_ALIKE:
                continue
        words = frozenset(fold_term(" ".join(one.query.terms)).split())
        near = frozenset().union(*(other for other in taken if words & other))
        if not words <= near or sum(other <= near for other in taken) < _MAX_ALIKE:
            taken.append(words)
            yield one


def build_composer(settings: Settings, least: int = 2) -> QueryComposer:
    """One that knows the words of all topics, and no page yet."""
    stated = [one.topic for one in topics.settings_per_topic(settings)]
    keywords = [word for topic in stated for word in topic.keywords]
    description = " ".join(topic.description for topic in stated if topic.description)
    return QueryComposer(settings.topic.word_language, keywords, description, least)


def restore_query_bandit(store: Store, pulls: QueryBandit) -> None:
    """Tell the bandit what a crawl would tell it that goes on now, but for old visits: somebody
    waits for the answer."""
    QueryPlanner(None, pulls, {}).restore(store, newest_taken_search(store), visits=_COUNTED_VISITS)


def composer_pages(store: Store, settings: Settings) -> Iterator[tuple[Page, float]]:
    """The pages that people labelled, the best and the worst of the others, and what each counts:
    1 or -1 by a person's word, a half by our own."""
    labels = {
        url: 1.0 if value >= 0.5 else -1.0 for url, value in topics.example_labels(settings).items()
    }
    for _, label in store.labels.effective_after()[-_MAX_LABELS:]:
        labels[label.url] = 1.0 if label.value >= 0.5 else -1.0
    for url, weight in labels.items():
        if (page := _labelled_page(store, url, weight)) is not None:
            yield page, weight
    since = max(0, store.counter.read_counts().visits - _MAX_ROWS)
    latest: dict[Url, VisitRow] = {
        row.url: row
        for row in store.visits.iter_visits(page=True, since=since)
        if composer_weight(row.verdict, row.ungated) and row.copy_of is None
    }
    others = [row for row in latest.values() if row.url not in labels]
    for row in _surest_rows(others):
        yield store.visits.rebuild_page(row), composer_weight(row.verdict, row.ungated)


def _labelled_page(store: Store, url: Url, value: float) -> Page | None:
    """A labelled page; of a bad search result that was not fetched, its headline and snippet."""
    page = store.visits.latest_page(url)
    result = store.searches.find_result(url) if page is None and value < 0.5 else None
    return page if result is None else result.to_page()


def _surest_rows(rows: Sequence[VisitRow]) -> list[VisitRow]:
    """The surest of both kinds; among equals the newest."""
    good = [row for row in rows if composer_weight(row.verdict, row.ungated) > 0]
    bad = [row for row in rows if composer_weight(row.verdict, row.ungated) < 0]
    best = nlargest(_MAX_JUDGED, good, key=lambda row: (row.verdict or 0.0, row.id))
    worst = nlargest(_MAX_JUDGED, bad, key=lambda row: (-(row.verdict or 0.0), row.id))
    return [*best, *worst]
