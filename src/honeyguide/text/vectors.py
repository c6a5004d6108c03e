"""Texts as sparse tf-idf vectors over a lexicon, fast enough for the ring.

Words are folded, stop words left out, the rest stemmed; a term weighs (1 + ln tf)·ln(N/df) and
every vector has length 1 (Iliou et al. 2017, section 3.2, name the steps and leave the formula
open). The words of many short texts are looked up in one pass: a general vectoriser takes ten
times as long for a page's links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.text.language import LONGEST, language_of
from honeyguide.types import Page, Reason

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.signedinteger[Any]]

SHOWN = 20_000
"""Characters of a page that are read: some 3,000 words, enough to judge."""
BREAK = "\x1f"
"""Stands between texts that are read in one pass."""
UNKNOWN, BETWEEN = -1, -2
"""Places of a word that the lexicon does not have, and of a break."""
_MEMO = 50_000
_REMEMBERED = 256
"""Texts whose stems are remembered, some 40 KB each."""
_LONG = 1_000
"""Characters of a text that is worth remembering."""
_LARGEST = 500_000
"""Terms of a lexicon: the web invents words without end."""


class Rows(NamedTuple):
    """Sparse vectors, one per text: row i is what stands from ``starts[i]`` to ``starts[i+1]``."""

    values: Floats
    places: Ints
    starts: Ints

    def row(self, number: int = 0) -> tuple[Floats, Ints]:
        part = slice(self.starts[number], self.starts[number + 1])
        return self.values[part], self.places[part]

    def without_each(self) -> Rows:
        """The first row, of length 1 again, without its first term, its second, and so on."""
        values, places = self.row()
        terms, rest = len(places), max(len(places) - 1, 0)
        others = ~np.eye(terms, dtype=bool)
        left = np.broadcast_to(values, others.shape)[others].reshape(terms, rest)
        lengths = np.sqrt((left * left).sum(axis=1, keepdims=True))
        left = left / np.where(lengths > 0, lengths, 1)
        starts = np.arange(terms + 1, dtype=np.int32) * np.int32(rest)
        return Rows(left.ravel(), np.broadcast_to(places, others.shape)[others], starts)


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The terms of the training texts and how rare each of them is."""

    terms: str
    """Stems with a space between, in the order of their places: one value is quick to save."""
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
    def _of_stem(self) -> dict[str, int]:
        return {term: place for place, term in enumerate(self.names)}

    @cached_property
    def _places(self) -> Places:
        return Places(self._of_stem, self.language)

    def rows(self, texts: Sequence[str]) -> Rows:
        """A vector of length 1 for each text; all zeros where no word is known."""
        if len(texts) == 1 and len(texts[0]) > _LONG:
            places, counts = _placed(texts[0], self._of_stem, self.language)
            numbers = np.zeros(len(places), dtype=np.int64)
        else:
            numbers, places, counts = count(texts, self._places, self.language)
        return _weighed(numbers, places, counts, self.rarity, len(texts))

    def telling(self, places: Ints, shares: Floats) -> tuple[Reason, ...]:
        """The terms that count most, for or against."""
        return tuple(Reason(f"“{self.names[p]}”", share) for p, share in largest(places, shares))


class Places(dict[str, int]):
    """Word → the place of its stem. Fills itself; forgets when it is full."""

    def __init__(self, places: dict[str, int], language: str) -> None:
        super().__init__()
        self._of_stem = places
        self._stems, self._stops = language_of(language).stems, language_of(language).stops
        self[BREAK] = BETWEEN

    def __missing__(self, word: str) -> int:
        if len(self) >= _MEMO:
            self.clear()
            self[BREAK] = BETWEEN
        place = UNKNOWN if word in self._stops else self._place(self._stems[word])
        if len(word) <= LONGEST:
            self[word] = place
        return place

    def _place(self, stem: str) -> int:
        return self._of_stem.get(stem, UNKNOWN)


class Growing(Places):
    """Gives every new stem the next place, in the dictionary it was made with."""

    def _place(self, stem: str) -> int:
        if len(self._of_stem) >= _LARGEST:
            return super()._place(stem)
        return self._of_stem.setdefault(stem, len(self._of_stem))


def fit(texts: Sequence[str], language: str = "en") -> tuple[Lexicon, Rows]:
    """The lexicon of these texts, and their vectors."""
    stems: dict[str, int] = {}
    found = []
    for text in texts:
        said, _ = stemmed(text, language)
        for stem in said:
            if stem not in stems and len(stems) < _LARGEST:
                stems[stem] = len(stems)
        found.append(_placed(text, stems, language))
    numbers = np.repeat(np.arange(len(texts)), [len(places) for places, _ in found])
    places = _joined([places for places, _ in found])
    counts = _joined([counts for _, counts in found])
    within = np.bincount(places, minlength=len(stems))
    rarity = np.log(len(texts) / np.maximum(within, 1))
    rows = _weighed(numbers, places, counts, rarity, len(texts))
    return Lexicon(" ".join(stems), rarity, language), rows


@lru_cache(maxsize=_REMEMBERED)
def stemmed(text: str, language: str) -> tuple[tuple[str, ...], Ints]:
    """The stems of one text in the order of their appearance, and how often each occurs.

    Remembered: a page is judged when it comes, and read again in every lesson that it is part of.
    """
    tongue = language_of(language)
    said = tongue.word(BREAK).findall(tongue.ready(text.replace(BREAK, " ")))
    counts = Counter(map(_stems_of(language).__getitem__, said))
    counts.pop("", None)
    return tuple(counts), np.fromiter(counts.values(), np.int64, len(counts))


class _Stems(dict[str, str]):
    """Word → its stem, '' for a stop word. Fills itself; forgets when it is full."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._stems, self._stops = language_of(language).stems, language_of(language).stops

    def __missing__(self, word: str) -> str:
        if len(self) >= _MEMO:
            self.clear()
        stem = "" if word in self._stops else self._stems[word]
        if len(word) <= LONGEST:
            self[word] = stem
        return stem


@lru_cache(maxsize=8)
def _stems_of(language: str) -> _Stems:
    return _Stems(language)


def _placed(text: str, places: dict[str, int], language: str) -> tuple[Ints, Ints]:
    """Places of a text's terms in rising order, and how often each occurs."""
    stems, counts = stemmed(text, language)
    found = np.array([places.get(stem, UNKNOWN) for stem in stems], dtype=np.int64)
    known = np.flatnonzero(found >= 0)
    order = known[np.argsort(found[known])]
    return found[order], counts[order]


def count(texts: Sequence[str], places: Places, language: str) -> tuple[Ints, Ints, Ints]:
    """Each text's terms: its number, the term's place, how often; sorted by number and place."""
    joined = BREAK.join(texts)
    if joined.count(BREAK) != len(texts) - 1:
        joined = BREAK.join(text.replace(BREAK, " ") for text in texts)
    tongue = language_of(language)
    said = tongue.word(BREAK).findall(tongue.ready(joined))
    found = np.array(list(map(places.__getitem__, said)), dtype=np.int64)
    known = found >= 0
    numbers = np.cumsum(found == BETWEEN)[known]
    size = int(found.max(initial=0)) + 1
    keys, counts = np.unique(numbers * size + found[known], return_counts=True)
    return (*np.divmod(keys, size), counts)


def largest(places: Ints, shares: Floats, most: int = 5) -> list[tuple[int, float]]:
    """The places with the largest shares, for or against."""
    best = np.argsort(-np.abs(shares), kind="stable")[:most]
    pairs = zip(places[best].tolist(), shares[best].tolist(), strict=True)
    return [(place, rounded) for place, share in pairs if (rounded := round(share, 4))]


def page_text(page: Page) -> str:
    """What a page says, as far as we read it."""
    zones = (page.title, page.description, *page.headings[:40], page.text[:SHOWN])
    return "\n".join(zones)[:SHOWN]


def _weighed(numbers: Ints, places: Ints, counts: Ints, rarity: Floats, texts: int) -> Rows:
    values = (1 + np.log(counts)) * rarity[places]
    lengths = np.sqrt(np.bincount(numbers, values * values, texts))
    lengths[lengths == 0] = 1
    starts = np.zeros(texts + 1, dtype=np.int32)
    np.cumsum(np.bincount(numbers, minlength=texts), out=starts[1:])
    return Rows(values / lengths[numbers], places.astype(np.int32), starts)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
