"""The chosen concepts as words to count on pages, and Ehrig & Maedche's weighted sum of them.

Zheng, Kang & Kim 2008, section 3.3: names are split into single words, words are stemmed, and
the input of a page is how often each of them occurs, in raw counts. We read title and main text,
of which the first 20,000 characters. The paper tags parts of speech and does not say what for;
we do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from honeyguide.text.language import language_of
from honeyguide.text.ontology.choose import split
from honeyguide.text.terms import Terms
from honeyguide.text.tokens import LONGEST, fold, stems_of, words
from honeyguide.text.word_patterns import unspaced
from honeyguide.types import Concept, Page, Reason, Verdict

_SHOWN = 20_000
_MEMO = 50_000
_PHRASES = 2_000
_REASONS = 6


class Counts(NamedTuple):
    """What was found on one page."""

    found: dict[int, int]
    """Number of an entry → how often it occurs; what does not occur is not there."""
    length: int
    """Words of the page, title included."""


class Lexicon:
    """Entries with a distance each: stems and, behind them, phrases."""

    def __init__(self, stems: Mapping[str, int], phrases: Mapping[str, int], language: str) -> None:
        """Both mappings lead to a distance."""
        self.language = language
        self._terms = Terms(tuple(phrases), language) if phrases else None
        self.names: tuple[str, ...] = (*stems, *(self._terms.names if self._terms else ()))
        by_name = {fold(name, language).strip(): near for name, near in phrases.items()}
        self.distances: tuple[int, ...] = (
            *stems.values(),
            *(by_name.get(name, 0) for name in (self._terms.names if self._terms else ())),
        )
        self._first_phrase = len(stems)
        # Of a name in a script without blanks there may be no word to count alone.
        self._unspaced = any(unspaced(word) for name in phrases for word in words(name, language))
        self._known = _Numbers(dict(zip(stems, range(len(stems)), strict=True)), language)

    def __len__(self) -> int:
        return len(self.names)

    def count(self, page: Page) -> Counts:
        known = self._known
        text = f"{page.title[:_SHOWN]}\n{page.text[:_SHOWN]}"
        said = words(text, self.language)
        found: dict[int, int] = {}
        for number in [number for word in said if (number := known[word]) >= 0]:
            found[number] = found.get(number, 0) + 1
        if self._terms is not None and (found or self._unspaced):
            for number, n in self._terms.count(text)[0].terms.items():
                found[self._first_phrase + number] = n
        return Counts(found, len(said))

    def weigh(self, counts: Counts, decay: float, per: int = 0) -> float:
        """Σ δ^d(t, c) · tf: the nearer a concept, the more each of its words counts.

        Ehrig & Maedche 2003 as Zheng, Kang & Kim 2008 compare with it. With ``per``, tf is the
        count in so many words of the page.
        """
        share = per / max(counts.length, 50) if per else 1.0
        distances = self.distances
        return share * sum(n * decay ** distances[i] for i, n in counts.found.items())

    def verdict(self, counts: Counts, decay: float, theta: float, per: int = 0) -> Verdict:
        """s / (s + θ): none of it is 0, θ is one half, and more comes near 1."""
        score = self.weigh(counts, decay, per)
        if score <= 0:
            return Verdict(0.0)
        whole = score / (score + theta)
        worth = {i: n * decay ** self.distances[i] for i, n in counts.found.items()}
        share = whole / sum(worth.values())
        return Verdict(whole, self.reasons(counts, {i: share * w for i, w in worth.items()}))

    def reasons(self, counts: Counts, weights: Mapping[int, float]) -> tuple[Reason, ...]:
        """The entries that weigh most, with how often they occur."""
        most = sorted(weights, key=lambda i: (-abs(weights[i]), i))[:_REASONS]
        return tuple(
            Reason(f"{self._shown(i)} ×{counts.found[i]}", round(weights[i], 3)) for i in most
        )

    def _shown(self, number: int) -> str:
        name = self.names[number]
        return f"{name}…" if number < self._first_phrase else f"“{name}”"


class _Numbers(dict[str, int]):
    """Word → number of its stem's entry, or -1. Fills itself; forgets when it is full."""

    def __init__(self, entries: Mapping[str, int], language: str) -> None:
        super().__init__()
        self._entries = entries
        self._stems = stems_of(language)

    def __missing__(self, word: str) -> int:
        if len(self) >= _MEMO:
            self.clear()
        number = self._entries.get(self._stems[word], -1)
        if len(word) <= LONGEST:
            self[word] = number
        return number


def lexicon(concepts: tuple[Concept, ...], language: str, phrases: bool = False) -> Lexicon:
    """The words of these concepts, each as near as the nearest concept that has it.

    With ``phrases``, which the paper has not, whole names and synonyms count besides.
    """
    return _lexicon(_Same(concepts), language, phrases)


class _Same:
    """A key for the very same tuple: to hash 200 concepts takes longer than to count a page."""

    __slots__ = ("concepts",)

    def __init__(self, concepts: tuple[Concept, ...]) -> None:
        self.concepts = concepts

    def __hash__(self) -> int:
        return id(self.concepts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.concepts is other.concepts


@lru_cache(maxsize=16)
def _lexicon(same: _Same, language: str, phrases: bool) -> Lexicon:
    tells = language_of(language).tells
    stems: dict[str, int] = {}
    whole: dict[str, int] = {}
    for concept in sorted(same.concepts, key=lambda c: c.distance):
        named = split(concept.name, language)
        for stem in filter(tells, named):
            stems.setdefault(stem, concept.distance)
        if not _in_words(concept.name, named, language) and len(whole) < _PHRASES:
            whole.setdefault(concept.name, concept.distance)
        if not phrases:
            continue
        for name in (concept.name, *concept.synonyms):
            if len(words(name, language)) > 1:
                if len(whole) < _PHRASES:
                    whole.setdefault(name, concept.distance)
            elif said := split(name, language):
                stems.setdefault(said[0], concept.distance)
    return Lexicon(stems, whole, language)


def _in_words(name: str, stems: tuple[str, ...], language: str) -> bool:
    """Whether the words of a name say what it says. Pairs of characters do not, but in Chinese."""
    if stems and all(map(language_of(language).tells, stems)):
        return True
    return not any(map(unspaced, words(name, language)))


@lru_cache(maxsize=16)
def term_lexicon(stems: tuple[str, ...], language: str) -> Lexicon:
    """Stems without an ontology: all of them the topic itself."""
    return Lexicon(dict.fromkeys(stems, 0), {}, language)


def stems_of_page(page: Page, language: str) -> frozenset[str]:
    """The distinct stems of what a lexicon would read of a page, stop words aside."""
    return frozenset(split(f"{page.title[:_SHOWN]}\n{page.text[:_SHOWN]}", language))
