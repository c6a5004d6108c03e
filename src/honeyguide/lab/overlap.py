"""How much two crawls found alike: sites, documents, key words and key phrases.

After Xu, Yoon & Tourassi 2014, who compared two crawlers' results so: key words by the 300 best,
documents by a cosine of at least 0.9, and sites. They leave the weights open; ours are
(1 + ln tf)·ln(1 + N/df) over both crawls together, and a crawl's key words are those with the
largest sum of weights in vectors of length 1; its key phrases are RAKE's. A share is given of each
crawl, because a large one may hold a small one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt

from honeyguide.api.collection import Collection
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.text.keywords import key_phrases
from honeyguide.text.language import split_words, stems_of, stop_words
from honeyguide.text.normalise import is_too_short
from honeyguide.url import domain_of, host_of

MIN_COSINE = 0.9
"""Cosine from which two documents are one."""
_MAX_KEY_WORDS = 300
_WINDOWS = (50, 100, 200, 300, 500, 1000)
"""Sizes for which the key words are compared again."""
_MAX_CHARACTERS = 20_000
"""Characters of a text that are read."""

TermVector = dict[str, float]


@dataclass(frozen=True, slots=True)
class ComparedDocument:
    """What is compared of a page."""

    site: str
    counts: Counter[str]
    """Stem → how often it occurs."""
    phrases: Mapping[str, str] = field(default_factory=dict)
    """Its key phrases: stems → as they stand in the text."""
    visit: int = 0


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


@dataclass(frozen=True, slots=True)
class KeyWordWindow:
    """The best so many key words and key phrases of each crawl."""

    size: int
    words: SharedCounts
    phrases: SharedCounts


@dataclass(frozen=True, slots=True)
class OverlapPart:
    """What the crawls shared after a share of the visits of each."""

    share: float
    overlap: CrawlOverlap


@dataclass(frozen=True, slots=True)
class CollectionOverlap(CrawlOverlap):
    """The same of two collections, with the phrases themselves."""

    phrases: SharedCounts
    """The best 300 key phrases (RAKE) of each crawl."""
    both: tuple[str, ...]
    """Of these, the ones that both crawls have, the best first …"""
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    """… and those of one crawl alone."""
    windows: tuple[KeyWordWindow, ...]
    over_time: tuple[OverlapPart, ...]


def measure_overlap(
    first: Collection,
    second: Collection,
    most: int = 5000,
    parts: int = 0,
    told: Callable[[int, int], None] = lambda *_: None,
) -> CollectionOverlap:
    """Compare the relevant pages of two collections, the first so many of each; also after each of
    so many ``parts`` of their visits. ``told`` is called with pages read and pages to read."""
    language = first.settings.topic.keyword_language
    if language != second.settings.topic.keyword_language:
        raise ConfigError(f"{first.name} and {second.name} are crawls in different languages")
    of = sum(min(most, one.status(hosts=0).relevant) for one in (first, second))
    ours, our_last = _relevant_documents(first, language, most, lambda n: told(n, of))
    theirs, their_last = _relevant_documents(
        second, language, most, lambda n: told(len(ours) + n, of)
    )
    found = compare_documents(ours, theirs)
    ranked = rank_phrases(ours, theirs)
    names = {key: name for one in (*theirs, *ours) for key, name in one.phrases.items()}
    best, others = (dict.fromkeys(one[:_MAX_KEY_WORDS]) for one in ranked)
    words = [_rank_words(one) for one in _unit_vectors(ours, theirs)]
    return CollectionOverlap(
        found.sites,
        found.documents,
        found.words,
        _shared_counts(set(best), set(others)),
        tuple(names[key] for key in best if key in others),
        tuple(names[key] for key in best if key not in others),
        tuple(names[key] for key in others if key not in best),
        tuple(
            KeyWordWindow(
                size,
                *(_shared_counts(set(a[:size]), set(b[:size])) for a, b in (words, ranked)),
            )
            for size in _WINDOWS
        ),
        tuple(
            OverlapPart(
                n / parts,
                compare_documents(
                    [one for one in ours if one.visit * parts <= n * our_last],
                    [one for one in theirs if one.visit * parts <= n * their_last],
                ),
            )
            for n in range(1, parts + 1)
        ),
    )


def _relevant_documents(
    collection: Collection, language: str, most: int, told: Callable[[int], None]
) -> tuple[list[ComparedDocument], int]:
    """The newest text of each relevant page, and the number of the last visit."""
    found = []
    with Store.open(collection.folder, "read") as store:
        pages = store.visits.iter_visits(relevant=True, page=True, limit=most)
        for row in {row.url: row for row in pages}.values():
            text = f"{row.title}\n{store.visits.page_text(row.id)[1]}"
            phrases = {one.key: one.name for one in key_phrases(text, language)}
            made = to_document(row.url, text, language)
            found.append(replace(made, phrases=phrases, visit=row.id))
            told(len(found))
        return found, store.visits.last_id()


def rank_phrases(
    first: Sequence[ComparedDocument], second: Sequence[ComparedDocument]
) -> tuple[list[str], list[str]]:
    """The key phrases of each crawl, the best first: by the number of its pages that have one as a
    key phrase, times ln(1 + N/df) over both crawls together."""
    counts = [Counter(key for one in side for key in one.phrases) for side in (first, second)]
    total, together = len(first) + len(second), counts[0] + counts[1]
    weights = (
        {key: times * log(1 + total / together[key]) for key, times in side.items()}
        for side in counts
    )
    one, other = (sorted(side, key=lambda key: (-side[key], key)) for side in weights)
    return one, other


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
    rarity = _term_rarity(first, second)
    ours, theirs = _unit_vectors(first, second)
    return CrawlOverlap(
        _shared_counts({one.site for one in first}, {one.site for one in second}),
        SharedCounts(
            len(ours),
            len(theirs),
            _count_alike(ours, theirs, rarity),
            _count_alike(theirs, ours, rarity),
        ),
        _shared_counts(
            set(_rank_words(ours)[:_MAX_KEY_WORDS]), set(_rank_words(theirs)[:_MAX_KEY_WORDS])
        ),
    )


def _term_rarity(
    first: Sequence[ComparedDocument], second: Sequence[ComparedDocument]
) -> TermVector:
    frequency = Counter(term for one in (*first, *second) for term in one.counts)
    total = len(first) + len(second)
    return {term: log(1 + total / count) for term, count in frequency.items()}


def _unit_vectors(
    first: Sequence[ComparedDocument], second: Sequence[ComparedDocument]
) -> tuple[list[TermVector], list[TermVector]]:
    rarity = _term_rarity(first, second)
    ours, theirs = ([_unit_vector(one.counts, rarity) for one in side] for side in (first, second))
    return ours, theirs


def _shared_counts(ours: set[str], theirs: set[str]) -> SharedCounts:
    both = len(ours & theirs)
    return SharedCounts(len(ours), len(theirs), both, both)


def _unit_vector(counts: Counter[str], rarity: TermVector) -> TermVector:
    weights = {term: (1 + log(count)) * rarity[term] for term, count in counts.items()}
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {term: weight / length for term, weight in weights.items()}


def _rank_words(vectors: Iterable[TermVector]) -> list[str]:
    sums: Counter[str] = Counter()
    for vector in vectors:
        for term, weight in vector.items():
            sums[term] += weight  # type: ignore[assignment] # a Counter adds floats as well
    return sorted(sums, key=lambda term: (-sums[term], term))


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
