"""How much two crawls found alike: sites, documents, key words.

After Xu, Yoon & Tourassi 2014, who compared two crawlers' results so: key words by the 300 best,
documents by a cosine of at least 0.9, and sites. They leave the weights open; ours are
(1 + ln tf)·ln(1 + N/df) over both crawls together, and a crawl's key words are those with the
largest sum of weights in vectors of length 1. A share is given of each crawl, because a large
one may hold a small one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log, sqrt

from honeyguide.api.collection import Collection
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.text.language import split_words, stems_of, stop_words
from honeyguide.text.normalise import is_too_short
from honeyguide.url import domain_of, host_of

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
    said = split_words(text[:_MAX_CHARACTERS], language)
    kept = (stems[word] for word in said if not is_too_short(word) and word not in stops)
    # Not isalpha(): vowel signs are no letters to Python.
    worded = (stem for stem in kept if not any(map(str.isdigit, stem)))
    return ComparedDocument(domain_of(host_of(url)), Counter(worded))


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
    met = 0
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
        met += any(_cosine(vector, theirs[number]) >= MIN_COSINE for number in candidates)
    return met


def _cosine(one: TermVector, two: TermVector) -> float:
    if len(two) < len(one):
        one, two = two, one
    return sum(weight * two.get(term, 0.0) for term, weight in one.items())
