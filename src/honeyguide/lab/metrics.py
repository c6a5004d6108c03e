"""Measures of crawls: harvest against the truth, means with intervals, overlap of two crawls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from honeyguide.api.collection import Collection
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.text.language import split_words, stems_of, stop_words
from honeyguide.text.normalise import is_too_short
from honeyguide.url import domain_of, host_of


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a crawl brought in, visit by visit."""

    found: tuple[int, ...]
    """Relevant pages found after each visit."""
    relevant: int
    """Relevant pages there are."""

    @property
    def rate(self) -> float:
        """Relevant visits ÷ visits."""
        return self.found[-1] / len(self.found) if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.found[-1] / self.relevant if self.found and self.relevant else 0.0

    @property
    def area(self) -> float:
        """Area under the curve of relevant pages found ÷ that of a perfect crawl; 0..1."""
        ideal = sum(min(n, self.relevant) for n in range(1, len(self.found) + 1))
        return sum(self.found) / ideal if ideal else 0.0

    def visits_to(self, count: int) -> int | None:
        """How many visits it took to find so many relevant pages; None: it did not."""
        return next((n for n, found in enumerate(self.found, 1) if found >= count), None)


def measure_harvest(truth: Iterable[bool], relevant: int) -> Harvest:
    """From the truth about each visited page, in order of the visits."""
    return Harvest(tuple(accumulate(map(int, truth))), relevant)


def sample_curve(values: Sequence[float], most: int) -> list[tuple[int, float]]:
    """At most so many (place, value) points of a curve, evenly spread, the last one included."""
    if not values:
        return []
    step = max(1, -(-len(values) // most))
    places = sorted({*range(step - 1, len(values), step), len(values) - 1})
    return [(place + 1, values[place]) for place in places]


# --------------------------------------------------------------------------------------------------
# Means with intervals: bootstrap over topics, paired differences.
# --------------------------------------------------------------------------------------------------


_DRAWS = 10_000


class BootstrapEstimate(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def bootstrap_mean(groups: Sequence[Sequence[float]], seed: int = 1) -> BootstrapEstimate:
    """The mean over groups (topics) of the means inside them (draws of seeds).

    The unit is the topic: topics are drawn with replacement, and the values of each topic as
    well, so that the interval speaks of other topics and other seeds.
    """
    filled = [np.asarray(group, float) for group in groups if len(group)]
    if not filled:
        return BootstrapEstimate(float("nan"), float("nan"), float("nan"))
    dice = np.random.default_rng(seed)
    means = np.stack(
        [g[dice.integers(0, len(g), (_DRAWS, len(g)))].mean(axis=1) for g in filled], axis=1
    )
    chosen = dice.integers(0, len(filled), (_DRAWS, len(filled)))
    spread = np.take_along_axis(means, chosen, axis=1).mean(axis=1)
    low, high = np.quantile(spread, (0.025, 0.975))
    return BootstrapEstimate(float(np.mean([g.mean() for g in filled])), float(low), float(high))


def paired_difference(
    ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], seed: int = 1
) -> BootstrapEstimate:
    """The mean difference of two strategies on the same topics and seeds."""
    return bootstrap_mean(
        # One may have fewer draws: then the first ones, which both have.
        [[a - b for a, b in zip(x, y, strict=False)] for x, y in zip(ours, theirs, strict=True)],
        seed,
    )


# --------------------------------------------------------------------------------------------------
# How much two crawls found alike: sites, documents, key words.
#
# After Xu, Yoon & Tourassi 2014, who compared two crawlers' results so: key words by the 300 best,
# documents by a cosine of at least 0.9, and sites. They leave the weights open; ours are
# (1 + ln tf)·ln(1 + N/df) over both crawls together, and a crawl's key words are those with the
# largest sum of weights in vectors of length 1. A share is given of each crawl, because a large
# one may hold a small one.
# --------------------------------------------------------------------------------------------------


MIN_COSINE = 0.9
"""Cosine from which two documents are one."""
_MAX_KEY_WORDS = 300
_MAX_CHARACTERS = 20_000
"""Characters of a text that are read."""

TermVector = dict[str, float]


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """What is compared of a page."""

    site: str
    counts: Counter[str]
    """Stem → how often it occurs."""


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """How much of each crawl the other has as well."""

    first: int
    second: int
    """How many there are in each."""
    first_shared: int
    second_shared: int

    @property
    def shares(self) -> tuple[float, float]:
        return (
            self.first_shared / self.first if self.first else 0.0,
            self.second_shared / self.second if self.second else 0.0,
        )


@dataclass(frozen=True, slots=True)
class CrawlOverlap:
    sites: SharedCounts
    """Registrable domains."""
    documents: SharedCounts
    words: SharedCounts


def measure_overlap(first: Collection, second: Collection, most: int = 5000) -> CrawlOverlap:
    """Compare the relevant pages of two collections, the first so many of each."""
    language = first.settings.topic.keyword_language
    if language != second.settings.topic.keyword_language:
        raise ConfigError(f"{first.name} and {second.name} are crawls in different languages")
    return compare_documents(
        relevant_documents(first, language, most), relevant_documents(second, language, most)
    )


def relevant_documents(collection: Collection, language: str, most: int) -> list[ComparedDocument]:
    """The newest text of each relevant page."""
    with Store.open(collection.folder, "read") as store:
        pages = store.visits.iter_visits(relevant=True, page=True, limit=most)
        latest = {row.url: row for row in pages}
        return [
            to_document(row.url, f"{row.title}\n{store.visits.page_text(row.id)[1]}", language)
            for row in latest.values()
        ]


def to_document(url: str, text: str, language: str = "en") -> ComparedDocument:
    stems, stops = stems_of(language), stop_words(language)
    words = split_words(text[:_MAX_CHARACTERS], language)
    terms = (stems[word] for word in words if not is_too_short(word) and word not in stops)
    # Not isalpha(): vowel signs are no letters to Python.
    counts = Counter(term for term in terms if not any(map(str.isdigit, term)))
    return ComparedDocument(domain_of(host_of(url)), counts)


def compare_documents(
    first: Sequence[ComparedDocument], second: Sequence[ComparedDocument]
) -> CrawlOverlap:
    """The same of any documents."""
    frequency = Counter(term for one in (*first, *second) for term in one.counts)
    total = len(first) + len(second)
    rarity = {term: log(1 + total / count) for term, count in frequency.items()}
    ours = [_unit_vector(one.counts, rarity) for one in first]
    theirs = [_unit_vector(one.counts, rarity) for one in second]
    return CrawlOverlap(
        _shared_counts({one.site for one in first}, {one.site for one in second}),
        SharedCounts(
            len(ours),
            len(theirs),
            _count_alike(ours, theirs, rarity),
            _count_alike(theirs, ours, rarity),
        ),
        _shared_counts(_key_words(ours), _key_words(theirs)),
    )


def _shared_counts(ours: set[str], theirs: set[str]) -> SharedCounts:
    both = len(ours & theirs)
    return SharedCounts(len(ours), len(theirs), both, both)


def _unit_vector(counts: Counter[str], rarity: TermVector) -> TermVector:
    weights = {term: (1 + log(count)) * rarity[term] for term, count in counts.items()}
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}


def _key_words(vectors: Iterable[TermVector]) -> set[str]:
    sums: Counter[str] = Counter()
    for vector in vectors:
        for term, weight in vector.items():
            sums[term] += weight  # type: ignore[assignment] # a Counter adds floats as well
    return set(sorted(sums, key=lambda term: (-sums[term], term))[:_MAX_KEY_WORDS])


def _count_alike(
    ours: Sequence[TermVector], theirs: Sequence[TermVector], rarity: TermVector
) -> int:
    """How many of ours have one of theirs that is alike."""
    holders: dict[str, list[int]] = {}
    for number, vector in enumerate(theirs):
        for term in vector:
            holders.setdefault(term, []).append(number)
    alike = 0
    for vector in ours:
        candidates: dict[int, None] = {}
        # What shares none of the rarest terms can reach no more than the length of the rest, so
        # only holders of enough of them to leave a short rest need a look.
        rest = 1.0
        for term in sorted(vector, key=lambda term: -rarity[term]):
            if rest < MIN_COSINE * MIN_COSINE - 1e-9:
                break
            rest -= vector[term] ** 2
            candidates.update(dict.fromkeys(holders.get(term, ())))
        alike += any(_cosine(vector, theirs[number]) >= MIN_COSINE for number in candidates)
    return alike


def _cosine(one: TermVector, two: TermVector) -> float:
    if len(two) < len(one):
        one, two = two, one
    return sum(weight * two.get(term, 0.0) for term, weight in one.items())
