"""The good and bad pages that queries are made from: a bounded number of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from honeyguide.search.initial_queries import StatedIn, queries_from_topic
from honeyguide.search.phrases import (
    PagePhrases,
    PhraseMiner,
    distinctive_phrases,
    extract_phrases,
    unwanted_phrases,
)
from honeyguide.search.query import Query
from honeyguide.text.language import language_of
from honeyguide.types import Url

MAX_EXAMPLES = 1_000
"""Pages that are remembered."""
_REFRESH_SHARE = 0.1
"""Phrases are weighed anew when so much of the good or the bad pages is new."""


class ExampleBuffer:
    """Readings of pages. People's labels stay; of our own verdicts the oldest goes first, from the
    side that has more, so that a flood of bad pages does not wash away the good ones."""

    def __init__(self, most: int = MAX_EXAMPLES) -> None:
        self._most = most
        self._kept: dict[tuple[bool, bool], dict[Url, PagePhrases]] = {
            (person, good): {} for person in (False, True) for good in (False, True)
        }
        self._news = {True: 0.0, False: 0.0}
        """Weight of pages that came, went or changed sides since the last :meth:`mark_used` …"""
        self._then = {True: 0.0, False: 0.0}
        """… and of all pages at that time."""

    def add(self, page: PagePhrases) -> None:
        """Remember a page; a second reading replaces the first, but our own verdict leaves a
        person's as it is. With weight 0 the page is forgotten."""
        if (old := self._remove_page(page.url)) and _is_labelled(old) and 0 < abs(page.weight) < 1:
            page = page._replace(weight=old.weight)
        if page.weight:
            self._kept[_is_labelled(page), page.weight > 0][page.url] = page
        if old is None or old.weight != page.weight:
            self._count_change(old)
            self._count_change(page)
        while len(self) > self._most:
            self._count_change(self._drop_oldest())

    def pages_of_side(self, good: bool) -> list[PagePhrases]:
        """The good or the bad pages, people's first, then the oldest first."""
        return [*self._kept[True, good].values(), *self._kept[False, good].values()]

    def is_stale(self) -> bool:
        """Whether a tenth of the good or of the bad pages is new since the last :meth:`mark_used`."""
        return any(
            news > 1e-9 and news >= _REFRESH_SHARE * self._then[good] - 1e-9
            for good, news in self._news.items()
        )

    def mark_used(self) -> None:
        """What is known now has been made use of."""
        self._news = {True: 0.0, False: 0.0}
        self._then = {
            good: sum(abs(p.weight) for p in self.pages_of_side(good)) for good in (True, False)
        }

    def __len__(self) -> int:
        return sum(map(len, self._kept.values()))

    def __iter__(self) -> Iterator[PagePhrases]:
        for pages in self._kept.values():
            yield from pages.values()

    def _remove_page(self, url: Url) -> PagePhrases | None:
        for pages in self._kept.values():
            if url in pages:
                return pages.pop(url)
        return None

    def _drop_oldest(self) -> PagePhrases:
        own = [self._kept[False, True], self._kept[False, False]]
        people = [self._kept[True, True], self._kept[True, False]]
        fullest = max(own if any(own) else people, key=len)
        return fullest.pop(next(iter(fullest)))

    def _count_change(self, page: PagePhrases | None) -> None:
        if page is not None and page.weight:
            self._news[page.weight > 0] += abs(page.weight)


def _is_labelled(page: PagePhrases) -> bool:
    return abs(page.weight) >= 1


# --------------------------------------------------------------------------------------------------
# What to ask a search engine next, mined from good and bad pages.
#
# Xu, Yoon & Tourassi let their crawler compose queries "built on content-based mining" of pages
# that the user rated, and do not say how. The method here is ours, on their measures; it is written
# down in docs/reference/query-composition.md.
# --------------------------------------------------------------------------------------------------


_MAX_PHRASES = 30
"""Phrases that queries are made of."""
_MAX_NEGATIVES = 3
"""Phrases that are left out of results."""
_MIN_GOOD_PAGES = 2
"""Good pages without which nothing is made from pages: what one page says, mostly it alone says."""
_TRUSTED_PAGES = 10
"""With so many good pages the best of their phrases counts as much as a keyword."""
_LENGTH_SHARES = (1 / 2, 1 / 3, 1 / 6)
"""Of the queries asked for: singles, pairs, triples."""


@dataclass(frozen=True, slots=True)
class QueryProposal:
    """A query that could be asked."""

    query: Query
    score: float
    """Comparable among queries of as many terms."""
    pages: tuple[Url, ...]
    """Good pages that have all its terms, at most five."""
    why: str
    stated_in: StatedIn = ""
    """What of the topic makes it; '': only pages do."""


class QueryComposer:
    """Makes queries from the pages that it is told of. Nothing is random; nothing waits."""

    def __init__(
        self,
        language: str,
        keywords: Sequence[str] = (),
        description: str = "",
        least: int = _MIN_GOOD_PAGES,
    ) -> None:
        """``least``: good pages without which only the topic's own words are used."""
        self._least = least
        self._tongue = language_of(language)
        self._memory = ExampleBuffer()
        words = queries_from_topic(keywords, description, self._tongue)
        self._start = [
            QueryProposal(one.query, one.score, (), one.why, one.stated_in) for one in words
        ]
        self._topic = frozenset(
            self._tongue.stems[word]
            for word in self._tongue.words(" ".join(keywords)[:10_000])
            if word not in self._tongue.stop_words
        )
        self._made = self._start

    def add_page(self, url: Url, title: str, text: str, weight: float) -> None:
        """Hear of a page: +1 a person's good page, +½ one that we took for good, negative: bad.

        A second reading replaces the first; 0 forgets the page.
        """
        weight = min(1.0, max(-1.0, weight)) if isfinite(weight) else 0.0
        if weight:
            self._memory.add(extract_phrases(url, title, text, weight, self._tongue))
        else:
            self._memory.add(PagePhrases(url, "", 0.0, {}))

    def propose_queries(self, most: int = 60) -> list[QueryProposal]:
        """Queries, the best first; made anew when a tenth of the pages is new.

        Until there are two good pages they come from the topic's keywords and description.
        """
        if self._memory.is_stale():
            self._made = self._mine_pages()
            self._memory.mark_used()
        return _balance_lengths(self._made, most)

    def _mine_pages(self) -> list[QueryProposal]:
        good, bad = self._memory.pages_of_side(True), self._memory.pages_of_side(False)
        terms = distinctive_phrases(good, bad, _MAX_PHRASES) if len(good) >= self._least else []
        if not terms:
            return self._start
        spared = {stem for term in terms for stem in term.key.split()} | self._topic
        without = tuple(
            _usual_spelling(term.key, bad)
            for term in unwanted_phrases(good, bad, spared, _MAX_NEGATIVES)
        )
        mine = PhraseMiner(terms, good, bad)
        names = [_usual_spelling(term.key, good) for term in terms]
        made: dict[str, QueryProposal] = {}
        for places, score in mine.singles() + mine.pairs() + mine.triples():
            query = Query(tuple(names[n] for n in places), without)
            # Two keys may be written alike; the first is the better one.
            made.setdefault(
                query.key,
                QueryProposal(query, score, mine.pages_with(places), mine.reason_for(places)),
            )
        # What a few pages have in common may be anything: what the topic states counts for more
        # than the best phrase found, until they are many.
        trust = terms[0].weight * 2 * _TRUSTED_PAGES / (_TRUSTED_PAGES + len(good))
        for own in self._start:
            if (mined := made.get(own.query.key)) is not None:
                made[own.query.key] = replace(mined, stated_in=own.stated_in)
            else:
                made[own.query.key] = replace(own, score=trust * own.score)
        return list(made.values())


def _usual_spelling(key: str, pages: Sequence[PagePhrases]) -> str:
    """How a phrase is written most often."""
    names = Counter(page.phrases[key] for page in pages if key in page.phrases)
    return min(names, key=lambda name: (-names[name], len(name), name))


def _balance_lengths(made: Sequence[QueryProposal], most: int) -> list[QueryProposal]:
    """Some of each length, the best of each; places that a length does not fill go to others."""
    taken: list[QueryProposal] = []
    left: list[QueryProposal] = []
    ranked = sorted(made, key=lambda proposal: -proposal.score)
    for size, share in enumerate(_LENGTH_SHARES, 1):
        here = [proposal for proposal in ranked if len(proposal.query.terms) == size]
        cut = round(most * share)
        taken, left = taken + here[:cut], left + here[cut:]
    chosen = (taken + left)[: max(0, most)]
    return sorted(chosen, key=lambda proposal: -proposal.score)
