"""Phrases of good and bad pages, and how well they tell good pages from bad ones.

A page is remembered by its key phrases (RAKE, :mod:`honeyguide.text.keywords`), a phrase weighed
by the odds ratio of Xu, Yoon & Tourassi. Hosts count rather than pages: the name of a site and
its menus stand on all of its pages and say nothing of the topic. All hosts of one registrable
domain are one: whoever has it can have any number of names under it. Where names are given away to
people, each is a site: the public suffix list knows many such houses, and we some more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import resources
from itertools import combinations
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.text.keywords import Floats, key_phrases, odds_ratio
from honeyguide.text.language import Language
from honeyguide.text.normalise import is_too_short, is_unspaced
from honeyguide.types import Url
from honeyguide.url import domain_of, host_of

_MAX_TEXT, _MAX_TITLE = 6_000, 300
"""Characters that are read of a page: what it is about is said early."""
_DENSE_FACTOR = 8
"""Scripts without blanks say as much in so many times fewer characters, each of which is a word to
the counting."""
_SAMPLE_STEP = 97
"""Every so many characters one is looked at for its script."""
_MAX_EXTRACTED = 1_000
_MAX_PHRASES, _MAX_WORDS = 170, 30
"""Most phrases remembered of a page, and most single words from those phrases."""
_MIN_REPEATS = 3
"""Times that a word must occur in the page's phrases to be remembered."""
_MAX_PHRASE_LENGTH = 60
"""Characters of a phrase; longer ones find nothing."""
_ASSUMED_BAD = 5.0
"""So many bad pages are taken to be known, without the phrase, until they are."""
_MIN_BAD_HOSTS = 3
"""Bad hosts that must have a phrase before results with it are excluded."""
_MAX_GOOD_SHARE = 0.05
"""Share of good pages that may have such a phrase."""
_Z_SCORE = 1.64
"""Standard errors of ln ψ that such a phrase must lie below 0: 19 times in 20."""

_BLOG_HOSTS = frozenset(
    resources.files("honeyguide.search").joinpath("blog_hosts.txt").read_text("ascii").split()
)
"""Blogs and forums of many people, one name each, that the public suffix list does not know."""


class PagePhrases(NamedTuple):
    """What is remembered of a page."""

    url: Url
    host: str
    """Its registrable domain, or its own name where that is a house of many."""
    weight: float
    """1: a person's good page, ½: one that we took for good; negative for bad ones."""
    phrases: dict[str, str]
    """Stems → how it was written."""


class WeightedPhrase(NamedTuple):
    """A phrase and what good and bad pages say of it."""

    key: str
    weight: float
    """ln ψ · ln(1 + good hosts); negative where it speaks against a page."""
    hosts: int
    """Good hosts that have it; for a term to leave out, bad ones."""


def extract_phrases(
    url: Url, title: str, text: str, weight: float, language: Language
) -> PagePhrases:
    """What to remember of a page."""
    at = host_of(url)
    start = f"{title[:_MAX_TITLE]}\n{text[: _read_length(text)]}"
    found = key_phrases(start, language.code, share=1.0, most=_MAX_EXTRACTED)
    names = {phrase.key: phrase.name for phrase in found[:_MAX_PHRASES]}
    # RAKE likes phrases better than their words, and a page may never say its subject alone.
    times: Counter[str] = Counter()
    written: dict[str, str] = {}
    for phrase in found:
        stems, words = phrase.key.split(), phrase.name.split()
        if len(stems) == len(words):
            times.update(stems)
            for stem, word in zip(stems, words, strict=True):
                written.setdefault(stem, word)
    for stem, count in times.most_common(_MAX_WORDS):
        if count >= _MIN_REPEATS:
            names.setdefault(stem, written[stem])
    # A site does not vouch for its own name.
    own = {label.replace("-", "") for label in at.removeprefix("www.").split(".")}
    if (respell := language.respell) is not None:  # an engine is asked for words spelt right
        names = {key: " ".join(map(respell, name.split())) for key, name in names.items()}
    searchable = {key: name for key, name in names.items() if _is_searchable(name, own, language)}
    return PagePhrases(url, _site_of(at), weight, searchable)


def _site_of(name: str) -> str:
    house = domain_of(name)
    return name.removeprefix("www.") if house in _BLOG_HOSTS else house


def _read_length(text: str) -> int:
    """How many characters of it to read."""
    sample = text[:_MAX_TEXT:_SAMPLE_STEP]
    dense = sum(map(is_unspaced, sample)) / max(1, len(sample))
    return int(_MAX_TEXT / (1 + _DENSE_FACTOR * dense))


def _is_searchable(name: str, own: set[str], language: Language) -> bool:
    """Whether a phrase could be asked for."""
    if len(name) > _MAX_PHRASE_LENGTH or name.replace(" ", "").replace("-", "") in own:
        return False
    words = name.split()
    if len(words) > 1:
        return len(set(words)) == len(words)
    return not is_too_short(name) and language.is_telling(name)


def damped_weights(pages: Sequence[PagePhrases]) -> Floats:
    """How much each page counts: a hundred of one host like ten."""
    times = Counter(page.host for page in pages)
    return np.array([abs(page.weight) / sqrt(times[page.host]) for page in pages], np.float64)


def distinctive_phrases(
    good: Sequence[PagePhrases], bad: Sequence[PagePhrases], most: int
) -> list[WeightedPhrase]:
    """Phrases that tell good pages from bad ones, the best first.

    Weight = ln ψ · ln(1 + hosts). Where two hosts have good pages, two must have the phrase; where
    there is one host, two of its pages, if it has two.
    """
    hosts = _hosts_with_phrase(good)
    if len({page.host for page in good}) > 1:
        keys = sorted(key for key, count in hosts.items() if count > 1)
    else:
        times = Counter(key for page in good for key in page.phrases)
        keys = sorted(key for key, count in times.items() if count >= min(2, len(good)))
    odds = odds_ratio(*_contingency_table(keys, good, bad))
    worth = [log(odds[n]) * log(1 + hosts[key]) for n, key in enumerate(keys)]
    terms = [
        WeightedPhrase(key, w, hosts[key]) for key, w in zip(keys, worth, strict=True) if w > 1e-9
    ]
    # Of equals the longer one: it says more.
    return sorted(terms, key=lambda term: (-round(term.weight, 9), -len(term.key)))[:most]


def unwanted_phrases(
    good: Sequence[PagePhrases], bad: Sequence[PagePhrases], spared: Iterable[str], most: int
) -> list[WeightedPhrase]:
    """Phrases to leave out of results: on three bad hosts, on hardly a good page, ψ surely < 1.

    They have several words: a single one, though no good page is about it, stands on many.
    ``spared`` are stems that no such phrase may hold: the topic's own.
    """
    hosts, own = _hosts_with_phrase(bad), set(spared)
    keys = sorted(
        key
        for key, count in hosts.items()
        if count >= _MIN_BAD_HOSTS and " " in key and own.isdisjoint(key.split())
    )
    table = _contingency_table(keys, good, bad)
    harm, goods = table[0], table[0] + table[2]
    below, error = np.log(odds_ratio(*table)), np.sqrt((1 / (table + 0.5)).sum(axis=0))
    sure = (below + _Z_SCORE * error < 0) & (harm <= _MAX_GOOD_SHARE * goods)
    terms = [
        WeightedPhrase(key, float(below[n]) * log(1 + hosts[key]), hosts[key])
        for n, key in enumerate(keys)
        if sure[n]
    ]
    return sorted(terms, key=lambda term: (round(term.weight, 9), -len(term.key)))[:most]


def _hosts_with_phrase(pages: Iterable[PagePhrases]) -> Counter[str]:
    """How many hosts have each phrase."""
    on: dict[str, set[str]] = {}
    for page in pages:
        on.setdefault(page.host, set()).update(page.phrases)
    hosts: Counter[str] = Counter()
    for keys in on.values():
        hosts.update(keys)
    return hosts


def _contingency_table(
    keys: Sequence[str], good: Sequence[PagePhrases], bad: Sequence[PagePhrases]
) -> Floats:
    """p11, p10, p01 and p00 of each phrase: good and bad pages that have it, and that lack it."""
    up, down = damped_weights(good), damped_weights(bad)
    p11, p10 = _weighted_counts(keys, good, up), _weighted_counts(keys, bad, down)
    return np.array([p11, p10, up.sum() - p11, max(_ASSUMED_BAD, down.sum()) - p10])


def _weighted_counts(keys: Sequence[str], pages: Sequence[PagePhrases], weights: Floats) -> Floats:
    """How much the pages that have a phrase count together, for each of these phrases."""
    place = {key: n for n, key in enumerate(keys)}
    total = np.zeros(len(keys))
    for page, weight in zip(pages, weights, strict=True):
        total[[place[key] for key in page.phrases.keys() & place.keys()]] += weight
    return total


# -- Combinations of phrases --


_EXTENDED_PAIRS = 10
"""Best pairs that triples are made from."""
_MIN_SHARED_PAGES = 2
"""Good pages that must have all phrases of a query."""
_MAX_COMBINATIONS = 30
"""Pairs and triples that are kept."""
MAX_REASON_PAGES = 5
"""Pages named as a query's reason."""

Bools = NDArray[np.bool_]
ScoredPhrases = tuple[tuple[int, ...], float]
"""Places of phrases, and their score."""


class PhraseMiner:
    """Which pages have which of the best phrases, and what these are worth together."""

    def __init__(
        self,
        terms: Sequence[WeightedPhrase],
        good: Sequence[PagePhrases],
        bad: Sequence[PagePhrases],
    ) -> None:
        self._terms, self._good, self._bads = terms, good, len(bad)
        self._up, self._down = damped_weights(good), damped_weights(bad)
        self._has, self._lacks = _incidence_table(terms, good), _incidence_table(terms, bad)
        hosts = {name: n for n, name in enumerate({page.host: None for page in good})}
        self._hosts = np.array([hosts[page.host] for page in good])
        self._least = min(2, len(hosts))
        self._stems = [frozenset(term.key.split()) for term in terms]
        self._pairs: list[ScoredPhrases] | None = None

    def singles(self) -> list[ScoredPhrases]:
        return [((n,), term.weight) for n, term in enumerate(self._terms)]

    def pairs(self) -> list[ScoredPhrases]:
        """w_a + w_b + ln lift_good(a, b) - ln lift_bad(a, b), for what stands on pages together."""
        if self._pairs is None:
            found: list[ScoredPhrases] = []
            for one, other in combinations(range(len(self._terms)), 2):
                if self._can_combine(one, other):
                    weight = self._terms[one].weight + self._added_weight(one, other)
                    found.append(((one, other), weight))
            self._pairs = _best_scored(found)
        return self._pairs

    def triples(self) -> list[ScoredPhrases]:
        """The best pairs, each with every other phrase, and the pair counting as one phrase."""
        made: dict[tuple[int, ...], float] = {}
        for pair, score in self.pairs()[:_EXTENDED_PAIRS]:
            for other in range(len(self._terms)):
                if other not in pair and self._can_combine(*pair, other):
                    triple = tuple(sorted((*pair, other)))
                    weight = score + self._added_weight(*pair, other)
                    made[triple] = max(made.get(triple, -np.inf), weight)
        return _best_scored(list(made.items()))

    def pages_with(self, places: Sequence[int]) -> tuple[Url, ...]:
        """Good pages with all these phrases: people's first, and of different hosts first."""
        times: Counter[str] = Counter()
        ordered = []
        for n in np.flatnonzero(self._pages_with_all(self._has, places)).tolist():
            page = self._good[n]
            ordered.append((-page.weight, times[page.host], n))
            times[page.host] += 1
        return tuple(self._good[n].url for _, _, n in sorted(ordered)[:MAX_REASON_PAGES])

    def reason_for(self, places: Sequence[int]) -> str:
        both = self._pages_with_all(self._has, places)
        bad = self._pages_with_all(self._lacks, places)
        hosts = len(set(self._hosts[both].tolist()))
        sites = "1 host" if hosts == 1 else f"{hosts} hosts"
        pages = "page" if len(self._good) == 1 else "pages"
        reason = f"on {int(both.sum())} of {len(self._good)} good {pages} ({sites})"
        return f"{reason} and {int(bad.sum())} of {self._bads} bad ones" if self._bads else reason

    def _can_combine(self, *places: int) -> bool:
        """Whether enough good pages of enough hosts have them all, and no word comes twice."""
        *before, last = (self._stems[n] for n in places)
        if any(not stems.isdisjoint(last) for stems in before):
            return False
        both = self._pages_with_all(self._has, places)
        return int(both.sum()) >= _MIN_SHARED_PAGES and len(set(self._hosts[both])) >= self._least

    def _added_weight(self, *places: int) -> float:
        """What the last phrase adds to those before it."""
        first, last = places[:-1], places[-1]
        good = _lift(self._pages_with_all(self._has, first), self._has[:, last], self._up)
        bad = _lift(self._pages_with_all(self._lacks, first), self._lacks[:, last], self._down)
        return self._terms[last].weight + log(good) - log(bad)

    def _pages_with_all(self, table: Bools, places: Sequence[int]) -> Bools:
        return np.asarray(table[:, list(places)].all(axis=1), np.bool_)


def _lift(one: Bools, other: Bools, weights: Floats) -> float:
    """How much oftener two things stand together than if they knew nothing of each other.

    ½ more on both sides, so that what was never seen says nothing.
    """
    total = float(weights.sum())
    expected = float(weights[one].sum()) * float(weights[other].sum()) / total if total else 0.0
    return (float(weights[one & other].sum()) + 0.5) / (expected + 0.5)


def _incidence_table(terms: Sequence[WeightedPhrase], pages: Sequence[PagePhrases]) -> Bools:
    table = [[term.key in page.phrases for term in terms] for page in pages]
    return np.array(table, np.bool_).reshape(len(pages), len(terms))


def _best_scored(found: list[ScoredPhrases]) -> list[ScoredPhrases]:
    return sorted(found, key=lambda one: (-round(one[1], 9), one[0]))[:_MAX_COMBINATIONS]
