"""Composes search queries from the topic and from good and bad pages.

Xu, Yoon & Tourassi let their crawler compose queries from pages that the user rated, and do not
say how. The method here uses their measures; see docs/reference/query-composition.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import combinations
from math import isfinite
from typing import Literal

from honeyguide.search import phrases
from honeyguide.search.query import Query, clean_phrase, fold_term
from honeyguide.text.keywords import key_phrases
from honeyguide.text.language import Language, language_of
from honeyguide.types import Url


def is_generic(word: str, code: str) -> bool:
    """Whether this word, in that language, hardly tells a subject."""
    language = language_of(code)
    return word in language.stop_words or language.stems[word] in generic_stems(code)


@lru_cache(maxsize=16)
def generic_stems(code: str) -> frozenset[str]:
    language = language_of(code)
    table = resources.files("honeyguide.search").joinpath("generic_words.txt").read_text("utf-8")
    words = dict(line.split(": ") for line in table.splitlines()).get(code.partition("-")[0], "")
    return frozenset(language.stems[word] for word in language.words(words))


# -- Queries from the topic's own words --
#
# Keywords are asked as they were given. Of a description only words are taken, since it was written
# for people: nobody's page holds a piece of it word for word.


StatedIn = Literal["", "keywords", "description"]
"""What of a topic a query was made from; description: of that alone."""

_MAX_COMBINED = 12
"""Most terms of the topic that are combined."""
_MAX_KEYWORDS = 30
"""Most keywords that become a query of one term."""
_MAX_TERM_LENGTH = 60
_DESCRIPTION_WEIGHT, _GENERIC_WEIGHT = 0.5, 0.2
"""What a word of the description counts beside a keyword, and one that tells no subject."""
_REASONS = {(True, False): "keywords", (False, True): "description"}


def queries_from_topic(
    keywords: Sequence[str], description: str, language: Language
) -> list[QueryProposal]:
    """Singles, pairs and triples of the topic's own words.

    Earlier keywords count for more, by a little; the score of several terms is their sum. What of
    the description tells no subject is not asked for alone.
    """
    weights: dict[str, float] = {}
    names: dict[str, str] = {}
    for n, word in enumerate(keywords[:_MAX_KEYWORDS]):
        _add_term(word, 1.0 - n / (2 * _MAX_KEYWORDS), weights, names)
    named = set(weights)
    for n, word in enumerate(_description_words(description, language)):
        worth = _GENERIC_WEIGHT if is_generic(word, language.code) else _DESCRIPTION_WEIGHT
        _add_term(word, worth * (1.0 - n / (2 * _MAX_COMBINED)), weights, names)
    terms = sorted(weights, key=lambda key: -weights[key])
    alone = [key for key in terms if key in named or not is_generic(key, language.code)]
    stems = {key: {language.stems[word] for word in language.words(key)} for key in terms}
    made: list[QueryProposal] = []
    for size in (1, 2, 3):
        for some in combinations((alone or terms) if size == 1 else terms[:_MAX_COMBINED], size):
            if all(stems[a].isdisjoint(stems[b]) for a, b in combinations(some, 2)):
                query = Query(tuple(names[key] for key in some))
                own = [key in named for key in some]
                why = _REASONS.get((all(own), not any(own)), "keywords and description")
                score = sum(weights[key] for key in some)
                stated: StatedIn = "keywords" if any(own) else "description"
                made.append(QueryProposal(query, score, (), f"the topic's {why}", stated))
    return sorted(made, key=lambda one: (len(one.query.terms), -one.score))


def _description_words(description: str, language: Language) -> list[str]:
    """Its words, those of its best phrases first; where a script has no blanks, the phrases."""
    found = key_phrases(description, language.code, share=1.0, most=_MAX_COMBINED)
    words = dict.fromkeys(word for phrase in found for word in phrase.name.split())
    return list(words)[:_MAX_COMBINED]


def _add_term(word: str, weight: float, weights: dict[str, float], names: dict[str, str]) -> None:
    name = clean_phrase(word)
    if name and len(name) <= _MAX_TERM_LENGTH and (key := fold_term(name)) not in weights:
        weights[key], names[key] = weight, name


# -- The example buffer --

MAX_EXAMPLES = 1_000
"""Pages that are remembered."""
_REFRESH_SHARE = 0.1
"""Share of new good or bad pages after which phrases are weighed again."""


class ExampleBuffer:
    """Readings of pages. People's labels stay; of our own verdicts the oldest goes first, from the
    side that has more, so that a flood of bad pages does not wash away the good ones."""

    def __init__(self, most: int = MAX_EXAMPLES) -> None:
        self._most = most
        self._pages: dict[tuple[bool, bool], dict[Url, phrases.PagePhrases]] = {
            (person, good): {} for person in (False, True) for good in (False, True)
        }
        self._changed_weight = {True: 0.0, False: 0.0}
        """Weight of good and bad pages that changed since the last :meth:`mark_used`."""
        self._used_weight = {True: 0.0, False: 0.0}
        """Weight of all good and bad pages at the last :meth:`mark_used`."""

    def add(self, page: phrases.PagePhrases) -> None:
        """Remember a page; a second reading replaces the first, but our own verdict leaves a
        person's as it is. With weight 0 the page is forgotten."""
        if (old := self._remove_page(page.url)) and _is_labelled(old) and 0 < abs(page.weight) < 1:
            page = page._replace(weight=old.weight)
        if page.weight:
            self._pages[_is_labelled(page), page.weight > 0][page.url] = page
        if old is None or old.weight != page.weight:
            self._count_change(old)
            self._count_change(page)
        while len(self) > self._most:
            self._count_change(self._drop_oldest())

    def pages_of_side(self, good: bool) -> list[phrases.PagePhrases]:
        """The good or the bad pages, people's first, then the oldest first."""
        return [*self._pages[True, good].values(), *self._pages[False, good].values()]

    def is_stale(self) -> bool:
        """Whether a tenth of the good or bad pages is new since the last :meth:`mark_used`."""
        return any(
            news > 1e-9 and news >= _REFRESH_SHARE * self._used_weight[good] - 1e-9
            for good, news in self._changed_weight.items()
        )

    def mark_used(self) -> None:
        """What is known now has been made use of."""
        self._changed_weight = {True: 0.0, False: 0.0}
        self._used_weight = {
            good: sum(abs(p.weight) for p in self.pages_of_side(good)) for good in (True, False)
        }

    def __len__(self) -> int:
        return sum(map(len, self._pages.values()))

    def __iter__(self) -> Iterator[phrases.PagePhrases]:
        for pages in self._pages.values():
            yield from pages.values()

    def _remove_page(self, url: Url) -> phrases.PagePhrases | None:
        for pages in self._pages.values():
            if url in pages:
                return pages.pop(url)
        return None

    def _drop_oldest(self) -> phrases.PagePhrases:
        own = [self._pages[False, True], self._pages[False, False]]
        people = [self._pages[True, True], self._pages[True, False]]
        fullest = max(own if any(own) else people, key=len)
        return fullest.pop(next(iter(fullest)))

    def _count_change(self, page: phrases.PagePhrases | None) -> None:
        if page is not None and page.weight:
            self._changed_weight[page.weight > 0] += abs(page.weight)


def _is_labelled(page: phrases.PagePhrases) -> bool:
    return abs(page.weight) >= 1


# -- Queries from pages --
#
# Xu, Yoon & Tourassi let their crawler compose queries "built on content-based mining" of pages
# that the user rated, and do not say how. The method here is ours, on their measures; it is written
# down in docs/reference/query-composition.md.


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
    """Composes queries from the pages it was given. Deterministic, without I/O."""

    def __init__(
        self,
        language: str,
        keywords: Sequence[str] = (),
        description: str = "",
        least: int = _MIN_GOOD_PAGES,
    ) -> None:
        """``least``: good pages without which only the topic's own words are used."""
        self._least = least
        self._language = language_of(language)
        self._buffer = ExampleBuffer()
        self._start = queries_from_topic(keywords, description, self._language)
        self._topic = frozenset(
            self._language.stems[word]
            for word in self._language.words(" ".join(keywords)[:10_000])
            if word not in self._language.stop_words
        )
        self._proposals = self._start

    def add_page(self, url: Url, title: str, text: str, weight: float) -> None:
        """Learn a page: +1 a person's good page, +½ one that we took for good, negative: bad.

        A second reading replaces the first; 0 forgets the page.
        """
        weight = min(1.0, max(-1.0, weight)) if isfinite(weight) else 0.0
        page = phrases.PagePhrases(url, "", 0.0, {})
        if weight:
            page = phrases.extract_phrases(url, title, text, weight, self._language)
        self._buffer.add(page)

    def propose_queries(self, most: int = 60) -> list[QueryProposal]:
        """Queries, the best first; made anew when a tenth of the pages is new.

        Until there are two good pages they come from the topic's keywords and description.
        """
        if self._buffer.is_stale():
            self._proposals = self._mine_pages()
            self._buffer.mark_used()
        return _balance_lengths(self._proposals, most)

    def _mine_pages(self) -> list[QueryProposal]:
        good, bad = self._buffer.pages_of_side(True), self._buffer.pages_of_side(False)
        if len(good) < self._least:
            return self._start
        if not (terms := phrases.distinctive_phrases(good, bad, _MAX_PHRASES)):
            return self._start
        spared = {stem for term in terms for stem in term.key.split()} | self._topic
        without = tuple(
            _usual_spelling(term.key, bad)
            for term in phrases.unwanted_phrases(good, bad, spared, _MAX_NEGATIVES)
        )
        mine = phrases.PhraseMiner(terms, good, bad)
        names = [_usual_spelling(term.key, good) for term in terms]
        made: dict[str, QueryProposal] = {}
        for places, score in mine.singles() + mine.pairs() + mine.triples():
            query = Query(tuple(names[n] for n in places), without)
            # Two keys may be written alike; the first is the better one.
            pages, why = mine.pages_with(places), mine.reason_for(places)
            made.setdefault(query.key, QueryProposal(query, score, pages, why))
        # What a few pages have in common may be anything: what the topic states counts for more
        # than the best phrase found, until they are many.
        trust = terms[0].weight * 2 * _TRUSTED_PAGES / (_TRUSTED_PAGES + len(good))
        for own in self._start:
            if (mined := made.get(own.query.key)) is not None:
                made[own.query.key] = replace(mined, stated_in=own.stated_in)
            else:
                made[own.query.key] = replace(own, score=trust * own.score)
        return list(made.values())


def _usual_spelling(key: str, pages: Sequence[phrases.PagePhrases]) -> str:
    """How a phrase is written most often."""
    names = Counter(page.phrases[key] for page in pages if key in page.phrases)
    return min(names, key=lambda name: (-names[name], len(name), name))


def _balance_lengths(made: Sequence[QueryProposal], most: int) -> list[QueryProposal]:
    """Some of each length, the best of each; places that a length does not fill go to others."""
    taken: list[QueryProposal] = []
    left: list[QueryProposal] = []
    ranked = sorted(made, key=lambda proposal: -proposal.score)
    for size, share in enumerate(_LENGTH_SHARES, 1):
        of_size = [proposal for proposal in ranked if len(proposal.query.terms) == size]
        cut = round(most * share)
        taken, left = taken + of_size[:cut], left + of_size[cut:]
    chosen = (taken + left)[: max(0, most)]
    return sorted(chosen, key=lambda proposal: -proposal.score)
