"""A topic beside a few words, by the cosine of their tf-idf vectors; and the key words of pages.

A term weighs (1 + ln tf)·(1 + ln((1 + N)/(1 + df))), where N pages have been read and df of them
have the term. Nobody knows the web's pages beforehand, so N and df grow as pages are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import log, sqrt

from honeyguide.text.language import LONGEST, language_of
from honeyguide.types import Page

_SHOWN = 5_000
"""Characters of a page's text that are read for its key words."""
_SHORT = 300
"""Characters of an anchor, a title, a heading or a description: they may be endless."""
_HEADINGS = 20
_TITLE, _HEADED = 4, 2
"""A word in the title, and one in a heading or the description, counts as so many in the text."""
_TERMS = 200_000
"""Terms whose pages are counted: the web invents words without end."""

Rarity = Callable[[str], float]


class Rarities:
    """Told of pages; says how rare a term is among them."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._read = 0
        self._with: dict[str, int] = {}

    def of(self, stem: str) -> float:
        return 1 + log((1 + self._read) / (1 + self._with.get(stem, 0)))

    def keywords(self, page: Page, most: int) -> tuple[str, ...]:
        """Read a page: the terms that weigh most in it, the heaviest first."""
        said = Counter(_stems(page.text[:_SHOWN], self._language))
        _add(said, (page.title,), _TITLE, self._language)
        _add(said, (page.description, *page.headings[:_HEADINGS]), _HEADED, self._language)
        self._read += 1
        counts = self._with
        for stem in said:
            if stem in counts:
                counts[stem] += 1
            elif len(counts) < _TERMS:
                counts[stem] = 1
        weights = {stem: (1 + log(n)) * self.of(stem) for stem, n in said.items()}
        return tuple(sorted(weights, key=lambda stem: (-weights[stem], stem))[:most])


class Profile:
    """What a topic is about: the terms of its keywords and its description."""

    def __init__(self, keywords: Sequence[str], description: str, language: str) -> None:
        self._language = language
        self._counts = Counter(_stems(" ".join((*keywords, description)), language))

    def weighed(self, rarity: Rarity) -> dict[str, float]:
        """Its vector, of length 1."""
        weights = {stem: (1 + log(n)) * rarity(stem) for stem, n in self._counts.items()}
        length = sqrt(sum(w * w for w in weights.values()))
        return {stem: w / length for stem, w in weights.items()}

    def alike(self, text: str) -> float:
        """The cosine with a few words by themselves, when nobody knows how rare words are."""
        return cosine(self.weighed(_flat), _stems(text[:_SHORT], self._language), _flat)


@lru_cache(maxsize=16)
def profile(keywords: tuple[str, ...], description: str, language: str) -> Profile:
    """The same words give the same object: strategies are plain values and hold no caches."""
    return Profile(keywords, description, language)


def anchored(anchor: str, keywords: Sequence[str], language: str) -> list[str]:
    """The terms of an anchor, and the key words of the page that it stands on."""
    return [*_anchor(anchor[:_SHORT], language), *keywords]


@lru_cache(maxsize=20_000)
def _anchor(anchor: str, language: str) -> tuple[str, ...]:
    """A waiting link is looked at again and again."""
    return tuple(_stems(anchor, language))


def cosine(unit: Mapping[str, float], terms: Sequence[str], rarity: Rarity) -> float:
    """Between a vector of length 1 and these terms; 0 where they have nothing in common."""
    if unit.keys().isdisjoint(terms):
        return 0.0
    common = length = 0.0
    for stem, n in Counter(terms).items():
        weight = (1 + log(n)) * rarity(stem)
        common += weight * unit.get(stem, 0.0)
        length += weight * weight
    return min(1.0, common / sqrt(length))


def _stems(text: str, language: str) -> list[str]:
    tongue = language_of(language)
    stems, stops = tongue.stems, tongue.stops
    return [stems[w] for w in tongue.words(text) if w not in stops and len(w) <= LONGEST]


def _add(said: Counter[str], texts: Iterable[str], times: int, language: str) -> None:
    for stem in _stems("\n".join(text[:_SHORT] for text in texts), language):
        said[stem] += times


def _flat(_: str) -> float:
    return 1.0
