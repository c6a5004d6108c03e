"""Which queries are worth asking: the good and the bad pages of a collection, told to a composer.

Only reads, so it may be asked while a crawl runs, and before the first one: then keywords and the
description are all there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl import examples, topics
from honeyguide.crawl.composer_targets import weight_of
from honeyguide.crawl.open_store import existing
from honeyguide.crawl.queries import Queries, taken
from honeyguide.seeds.composer import Composer
from honeyguide.seeds.phrase_pairs import PAGES
from honeyguide.seeds.query import fold, parse
from honeyguide.seeds.query_bandit import Pulls, Suggestion
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Page, Url

_LABELS = 100
"""Newest labels whose pages are read …"""
_JUDGED = 50
"""… and pages of each kind that nobody labelled …"""
_ROWS = 2_000
"""… among so many of the newest visits."""
_ALIKE = 2
"""So many suggestions may be made of the same words; a further one needs a new word."""
_MOST = 1_000
"""Suggestions that are looked through."""
_RECALLED = 5_000
"""Newest visits of which is counted what they brought."""
_TEXT = 20_000
"""Characters that are read of each page."""


class Suggested(NamedTuple):
    """Queries worth asking, the best first, and what they were made from."""

    suggestions: list[Suggestion]
    good: int
    """Good pages that were read …"""
    bad: int
    """… and bad ones."""

    def words(self) -> str:
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
        return f"Made from {pages}, beside {self.bad} bad."


def suggest(folder: Path, settings: Settings, number: int) -> Suggested:
    """At most so many queries that were not answered yet, of which most is expected first."""
    # A person sees what a query was made from: here one good page will do.
    composer = composer_of(settings, least=1)
    good = bad = 0
    for page, weight in _given(folder, settings):
        composer.read(page.url, page.title, page.text[:_TEXT], weight)
        good, bad = good + (weight > 0), bad + (weight < 0)
    pulls = Pulls(settings.crawl.seed, settings.search.most_queries)
    asked: set[str] = set()
    if (folder / "collection.db").exists():
        with existing(folder, "read") as store:
            for page, weight in judged(store, settings):
                composer.read(page.url, page.title, page.text[:_TEXT], weight)
                good, bad = good + (weight > 0), bad + (weight < 0)
            recall(store, pulls)
            asked = {parse(one.query).key for one in store.searches.all() if not one.outcome}
    pulls.offer(composer.candidates())
    # What nobody has taken yet, the bandit does not know of.
    new = [one for one in pulls.suggestions(_MOST) if one.query.key not in asked]
    chosen = list(islice(_varied(new), number))
    chosen.sort(key=lambda one: -round(100 * (one.expected or 0.0)))
    return Suggested(chosen, good, bad)


def _varied(some: Iterable[Suggestion]) -> Iterator[Suggestion]:
    """Without those that only put the words of earlier ones together anew, and no more than two
    that were made from the very same pages."""
    taken: list[frozenset[str]] = []
    pages: Counter[tuple[Url, ...]] = Counter()
    for one in some:
        if one.pages and len(one.pages) < PAGES:  # else there may be others
            pages[one.pages] += 1
            if pages[one.pages] > _ALIKE:
                continue
        words = frozenset(fold(" ".join(one.query.terms)).split())
        near = frozenset().union(*(other for other in taken if words & other))
        if not words <= near or sum(other <= near for other in taken) < _ALIKE:
            taken.append(words)
            yield one


def composer_of(settings: Settings, least: int = 2) -> Composer:
    """One that knows the words of all topics, and no page yet."""
    stated = [one.topic for one in topics.each(settings)]
    keywords = [word for topic in stated for word in topic.keywords]
    description = " ".join(topic.description for topic in stated if topic.description)
    return Composer(settings.topic.spoken, keywords, description, least)


def recall(store: Store, pulls: Pulls) -> None:
    """Tell the bandit what a crawl would tell it that goes on now, but for old visits: somebody
    waits for the answer."""
    Queries(None, pulls, {}).recall(store, taken(store), visits=_RECALLED)


def judged(store: Store, settings: Settings) -> Iterator[tuple[Page, float]]:
    """The pages that people labelled, the best and the worst of the others, and what each counts:
    1 or -1 by a person's word, a half by our own."""
    said = {url: 1.0 if value >= 0.5 else -1.0 for url, value in examples.judged(settings).items()}
    for _, label in store.labels()[-_LABELS:]:
        said[label.url] = 1.0 if label.value >= 0.5 else -1.0
    for url, weight in said.items():
        if (page := store.page(url)) is not None:
            yield page, weight
    since = max(0, store.counts().visits - _ROWS)
    latest: dict[Url, VisitRow] = {
        row.url: row
        for row in store.visits(page=True, since=since)
        if weight_of(row.verdict, row.ungated) and row.copy_of is None
    }
    others = [row for row in latest.values() if row.url not in said]
    for row in _extreme(others):
        yield store.page_of(row), weight_of(row.verdict, row.ungated)


def _extreme(rows: Sequence[VisitRow]) -> list[VisitRow]:
    """The surest of both kinds; among equals the newest."""
    good = [row for row in rows if weight_of(row.verdict, row.ungated) > 0]
    bad = [row for row in rows if weight_of(row.verdict, row.ungated) < 0]
    best = nlargest(_JUDGED, good, key=lambda row: (row.verdict or 0.0, row.id))
    worst = nlargest(_JUDGED, bad, key=lambda row: (-(row.verdict or 0.0), row.id))
    return [*best, *worst]


def _given(folder: Path, settings: Settings) -> Iterator[tuple[Page, float]]:
    """The examples that lie in the collection as files."""
    for example in examples.examples_of(folder, settings):
        yield example.page, 1.0 if example.target >= 0.5 else -1.0
