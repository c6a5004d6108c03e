"""Texts as sparse tf-idf vectors over a lexicon, and topics compared with few words.

Words are folded, stop words left out, the rest stemmed; a term weighs (1 + ln tf)·ln(N/df) and each
vector has length 1 (Iliou et al., section 3.1, name the steps and leave the formula open). The
words of many short texts are looked up in one pass: a general vectoriser takes ten times as long
for the links of a page.

For topics and key words of pages a term weighs (1 + ln tf)·(1 + ln((1 + N)/(1 + df))), where N
pages were read so far and df of them contain the term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.text.language import MAX_WORD_CHARS, BoundedMemo, language_of
from honeyguide.types import Page, Reason

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]

MAX_PAGE_CHARS = 20_000
"""Characters of a page that are read: some 3,000 words."""
TEXT_BREAK = "\x1f"
"""Separates texts that are read in one pass."""
UNKNOWN_PLACE, BREAK_PLACE = -1, -2
"""Places of a word that the lexicon does not contain, and of a break."""
_MEMO = 50_000
_REMEMBERED = 256
"""Texts whose stems are cached, some 40 KB each."""
_LONG = 1_000
"""Characters of a text that is worth caching."""
_LARGEST = 500_000
"""Most terms of a lexicon: the web has words without end."""


class SparseRows(NamedTuple):
    """Sparse vectors, one for each text: row i lies between ``starts[i]`` and ``starts[i+1]``."""

    values: Floats
    places: Ints
    starts: Ints

    def row(self, number: int = 0) -> tuple[Floats, Ints]:
        part = slice(self.starts[number], self.starts[number + 1])
        return self.values[part], self.places[part]

    def without_each(self) -> SparseRows:
        """The first row without its first term, without its second, and so on, each of length 1
        again."""
        values, places = self.row()
        terms, rest = len(places), max(len(places) - 1, 0)
        others = ~np.eye(terms, dtype=bool)
        left = np.broadcast_to(values, others.shape)[others].reshape(terms, rest)
        lengths = np.sqrt((left * left).sum(axis=1, keepdims=True))
        left = left / np.where(lengths > 0, lengths, 1)
        starts = np.arange(terms + 1, dtype=np.int32) * np.int32(rest)
        return SparseRows(left.ravel(), np.broadcast_to(places, others.shape)[others], starts)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The terms of the training texts and how rare each of them is."""

    terms: str
    """Stems joined by spaces, in the order of their places: one value is quick to save."""
    rarity: Floats
    """ln(N/df) of each term."""
    language: str = "en"

    def __post_init__(self) -> None:
        if len(self.rarity) != (self.terms.count(" ") + 1 if self.terms else 0):
            raise ModelError("a saved lexicon is damaged: its parts are not equally long")

    def __len__(self) -> int:
        return len(self.rarity)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.terms.split(" ")) if self.terms else ()

    @cached_property
    def _place_of_stem(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.names)}

    @cached_property
    def _places(self) -> StemPlaces:
        return StemPlaces(self._place_of_stem, self.language)

    def to_rows(self, texts: Sequence[str]) -> SparseRows:
        """A vector of length 1 for each text; zeros where no word is known."""
        if len(texts) == 1 and len(texts[0]) > _LONG:
            places, counts = _place_counts(
                stem_counts(texts[0], self.language), self._place_of_stem
            )
            numbers = np.zeros(len(places), dtype=np.int64)
        else:
            numbers, places, counts = count_places(texts, self._places, self.language)
        return _weighted_rows(numbers, places, counts, self.rarity, len(texts))

    def top_reasons(self, places: Ints, shares: Floats) -> tuple[Reason, ...]:
        """The terms that count most for or against."""
        return tuple(
            Reason(f"“{self.names[p]}”", share) for p, share in largest_shares(places, shares)
        )


class StemPlaces(BoundedMemo[int]):
    """Word → the place of its stem, cached."""

    def __init__(self, places: dict[str, int], language: str) -> None:
        super().__init__(self._place_of, _MEMO)
        self._of_stem = places
        self._stems, self._stops = language_of(language).stems, language_of(language).stop_words

    def _place_of(self, word: str) -> int:
        if word == TEXT_BREAK:
            return BREAK_PLACE
        return UNKNOWN_PLACE if word in self._stops else self._find_place(self._stems[word])

    def _find_place(self, stem: str) -> int:
        return self._of_stem.get(stem, UNKNOWN_PLACE)


class GrowingPlaces(StemPlaces):
    """Gives each new stem the next place in the dictionary that it was made with."""

    def _find_place(self, stem: str) -> int:
        if len(self._of_stem) >= _LARGEST:
            return super()._find_place(stem)
        return self._of_stem.setdefault(stem, len(self._of_stem))


def fit_lexicon(
    texts: Sequence[str], language: str = "en", least: int = 1, *, digits: bool = True
) -> tuple[Lexicon, SparseRows]:
    """The lexicon of these texts, and their vectors. ``least``: texts that contain a term; what
    stands in fewer is left out, and so are numbers without ``digits``."""
    read = [stem_counts(text, language) for text in texts]
    seen = Counter(stem for stems, _ in read for stem in stems)
    chosen = (
        stem for stem, times in seen.items() if times >= least and (digits or not stem.isdigit())
    )
    stems = {stem: place for place, stem in enumerate(islice(chosen, _LARGEST))}
    found = [_place_counts(counted, stems) for counted in read]
    numbers = np.repeat(np.arange(len(texts)), [len(places) for places, _ in found])
    places = _join_arrays([places for places, _ in found])
    counts = _join_arrays([counts for _, counts in found])
    within = np.bincount(places, minlength=len(stems))
    rarity = np.log(len(texts) / np.maximum(within, 1))
    rows = _weighted_rows(numbers, places, counts, rarity, len(texts))
    return Lexicon(" ".join(stems), rarity, language), rows


@lru_cache(maxsize=_REMEMBERED)
def stem_counts(text: str, language: str) -> tuple[tuple[str, ...], Ints]:
    """The stems of a text in the order of their appearance, and how often each occurs.

    Cached: a page is judged when it is fetched and read again whenever it is an example.
    """
    reader = language_of(language)
    text = reader.separate_words(text.replace(TEXT_BREAK, " "))
    words = reader.word_pattern(TEXT_BREAK).findall(text)
    counts = Counter(map(_stem_lookup(language).__getitem__, words))
    counts.pop("", None)
    return tuple(counts), np.fromiter(counts.values(), np.int64, len(counts))


@lru_cache(maxsize=8)
def _stem_lookup(language: str) -> BoundedMemo[str]:
    """Word → its stem, '' for a stop word."""
    stems, stops = language_of(language).stems, language_of(language).stop_words
    return BoundedMemo(lambda word: "" if word in stops else stems[word], _MEMO)


def _place_counts(
    counted: tuple[tuple[str, ...], Ints], places: dict[str, int]
) -> tuple[Ints, Ints]:
    """Places of the terms of a text in ascending order, and how often each occurs."""
    stems, counts = counted
    found = np.array([places.get(stem, UNKNOWN_PLACE) for stem in stems], dtype=np.int64)
    known = np.flatnonzero(found >= 0)
    order = known[np.argsort(found[known])]
    return found[order], counts[order]


def count_places(
    texts: Sequence[str], places: StemPlaces, language: str
) -> tuple[Ints, Ints, Ints]:
    """The terms of each text: number of the text, place of the term, count; sorted by number and
    place."""
    joined = TEXT_BREAK.join(texts)
    if joined.count(TEXT_BREAK) != len(texts) - 1:
        joined = TEXT_BREAK.join(text.replace(TEXT_BREAK, " ") for text in texts)
    reader = language_of(language)
    words = reader.word_pattern(TEXT_BREAK).findall(reader.separate_words(joined))
    found = np.array(list(map(places.__getitem__, words)), dtype=np.int64)
    known = found >= 0
    numbers = np.cumsum(found == BREAK_PLACE)[known]
    size = int(found.max(initial=0)) + 1
    keys, counts = np.unique(numbers * size + found[known], return_counts=True)
    return (*np.divmod(keys, size), counts)


def largest_shares(places: Ints, shares: Floats, most: int = 5) -> list[tuple[int, float]]:
    """The places with the largest shares for or against."""
    best = np.argsort(-np.abs(shares), kind="stable")[:most]
    pairs = zip(places[best].tolist(), shares[best].tolist(), strict=True)
    return [(place, rounded) for place, share in pairs if (rounded := round(share, 4))]


def page_text(page: Page) -> str:
    """The part of a page that is read."""
    zones = (page.title, page.description, *page.headings[:40], page.text[:MAX_PAGE_CHARS])
    return "\n".join(zones)[:MAX_PAGE_CHARS]


def _weighted_rows(
    numbers: Ints, places: Ints, counts: Ints, rarity: Floats, texts: int
) -> SparseRows:
    values = (1 + np.log(counts)) * rarity[places]
    lengths = np.sqrt(np.bincount(numbers, values * values, texts))
    lengths[lengths == 0] = 1
    starts = np.zeros(texts + 1, dtype=np.int32)
    np.cumsum(np.bincount(numbers, minlength=texts), out=starts[1:])
    return SparseRows(values / lengths[numbers], places.astype(np.int32), starts)


def _join_arrays(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


# --- Topics and key words by cosine ---


_SHOWN = 5_000
"""Characters of the text of a page that are read for its key words."""
_SHORT = 300
"""Characters of an anchor, title, heading or description."""
_HEADINGS = 20
_TITLE, _HEADED = 4, 2
"""How often a word in the title, and one in a heading or the description, counts."""
_TERMS = 200_000
"""Terms whose pages are counted: the web has words without end."""

Rarity = Callable[[str], float]


class TermRarities:
    """Counts terms of pages and tells how rare a term is among them."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._read = 0
        self._with: dict[str, int] = {}

    def rarity_of(self, stem: str) -> float:
        return 1 + log((1 + self._read) / (1 + self._with.get(stem, 0)))

    def page_keywords(self, page: Page, most: int) -> tuple[str, ...]:
        """Count a page; returns the terms with the largest weights in it, the heaviest first."""
        counts = Counter(_content_stems(page.text[:_SHOWN], self._language))
        _add_stems(counts, (page.title,), _TITLE, self._language)
        _add_stems(counts, (page.description, *page.headings[:_HEADINGS]), _HEADED, self._language)
        self._read += 1
        pages_with = self._with
        for stem in counts:
            if stem in pages_with:
                pages_with[stem] += 1
            elif len(pages_with) < _TERMS:
                pages_with[stem] = 1
        weights = {stem: (1 + log(n)) * self.rarity_of(stem) for stem, n in counts.items()}
        return tuple(sorted(weights, key=lambda stem: (-weights[stem], stem))[:most])


class TopicProfile:
    """The terms of the keywords and the description of a topic."""

    def __init__(self, keywords: Sequence[str], description: str, language: str) -> None:
        self._language = language
        self._counts = Counter(_content_stems(" ".join((*keywords, description)), language))

    def unit_vector(self, rarity: Rarity) -> dict[str, float]:
        """Its vector, of length 1."""
        weights = {stem: (1 + log(n)) * rarity(stem) for stem, n in self._counts.items()}
        length = sqrt(sum(w * w for w in weights.values()))
        return {stem: w / length for stem, w in weights.items()}

    def similarity_to(self, text: str) -> float:
        """The cosine with a short text when it is not known how rare words are."""
        terms = _content_stems(text[:_SHORT], self._language)
        return cosine_similarity(self.unit_vector(_equal_rarity), terms, _equal_rarity)


@lru_cache(maxsize=16)
def topic_profile(keywords: tuple[str, ...], description: str, language: str) -> TopicProfile:
    """A cached profile: strategies are plain values and hold no caches."""
    return TopicProfile(keywords, description, language)


def anchor_terms(anchor: str, keywords: Sequence[str], language: str) -> list[str]:
    """The terms of an anchor, and the key words of the page that contains it."""
    return [*_anchor_stems(anchor[:_SHORT], language), *keywords]


@lru_cache(maxsize=20_000)
def _anchor_stems(anchor: str, language: str) -> tuple[str, ...]:
    """Cached: a waiting link is scored many times."""
    return tuple(_content_stems(anchor, language))


def cosine_similarity(unit: Mapping[str, float], terms: Sequence[str], rarity: Rarity) -> float:
    """Between a vector of length 1 and these terms; 0 where they have nothing in common."""
    if unit.keys().isdisjoint(terms):
        return 0.0
    common = length = 0.0
    for stem, n in Counter(terms).items():
        weight = (1 + log(n)) * rarity(stem)
        common += weight * unit.get(stem, 0.0)
        length += weight * weight
    return min(1.0, common / sqrt(length))


def _content_stems(text: str, language: str) -> list[str]:
    reader = language_of(language)
    stems, stops = reader.stems, reader.stop_words
    return [stems[w] for w in reader.words(text) if w not in stops and len(w) <= MAX_WORD_CHARS]


def _add_stems(counts: Counter[str], texts: Iterable[str], times: int, language: str) -> None:
    for stem in _content_stems("\n".join(text[:_SHORT] for text in texts), language):
        counts[stem] += times


def _equal_rarity(_: str) -> float:
    return 1.0
