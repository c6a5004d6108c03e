"""The chosen concepts as words to count on pages, and the weighted sum of Ehrig & Maedche.

Zheng, Kang & Kim 2008, sections 3.1 and 3.2: names are split into single words, words are stemmed,
and the input of a page is how often each of them occurs. The title and the first 20,000 characters
of the main text are read. The paper tags parts of speech without saying what for; that step is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from honeyguide.text.language import BoundedMemo, fold_text, language_of, split_words, stems_of
from honeyguide.text.normalise import is_unspaced
from honeyguide.text.ontology.ontology import name_stems
from honeyguide.text.relevance import TermMatcher
from honeyguide.types import Concept, Page, Reason, Verdict

_SHOWN = 20_000
_MEMO = 50_000
_PHRASES = 2_000
_REASONS = 6


class ConceptCounts(NamedTuple):
    """The concepts that occur on one page."""

    found: dict[int, int]
    """Number of an entry → how often it occurs; entries that do not occur are absent."""
    length: int
    """Words of the page, title included."""


class ConceptLexicon:
    """Entries with a distance each: stems first, then phrases."""

    def __init__(self, stems: Mapping[str, int], phrases: Mapping[str, int], language: str) -> None:
        """Both mappings give a distance for each entry."""
        self.language = language
        self._terms = TermMatcher(tuple(phrases), language) if phrases else None
        self.names: tuple[str, ...] = (*stems, *(self._terms.names if self._terms else ()))
        by_name = {fold_text(name, language).strip(): near for name, near in phrases.items()}
        self.distances: tuple[int, ...] = (
            *stems.values(),
            *(by_name.get(name, 0) for name in (self._terms.names if self._terms else ())),
        )
        self._first_phrase = len(stems)
        # Of a name in a script without blanks there may be no word to count alone.
        self._unspaced = any(
            is_unspaced(word) for name in phrases for word in split_words(name, language)
        )
        numbers, stem_of = {stem: n for n, stem in enumerate(stems)}, stems_of(language)
        self._known = BoundedMemo(lambda word: numbers.get(stem_of[word], -1), _MEMO)
        """Word → number of its stem's entry, or -1."""

    def __len__(self) -> int:
        return len(self.names)

    def count_page(self, page: Page) -> ConceptCounts:
        known = self._known
        text = f"{page.title[:_SHOWN]}\n{page.text[:_SHOWN]}"
        words = split_words(text, self.language)
        found: dict[int, int] = {}
        for number in [number for word in words if (number := known[word]) >= 0]:
            found[number] = found.get(number, 0) + 1
        if self._terms is not None and (found or self._unspaced):
            for number, n in self._terms.count_terms(text)[0].terms.items():
                found[self._first_phrase + number] = n
        return ConceptCounts(found, len(words))

    def weighted_sum(self, counts: ConceptCounts, decay: float, per: int = 0) -> float:
        """Σ δ^d(t, c) · tf: the nearer a concept, the more each of its words counts.

        Ehrig & Maedche 2003, with which Zheng, Kang & Kim 2008 compare. With ``per``, tf is the
        count in so many words of the page.
        """
        share = per / max(counts.length, 50) if per else 1.0
        distances = self.distances
        return share * sum(n * decay ** distances[i] for i, n in counts.found.items())

    def verdict(self, counts: ConceptCounts, decay: float, theta: float, per: int = 0) -> Verdict:
        """s / (s + θ): 0 without any word, one half at θ, near 1 for much more."""
        score = self.weighted_sum(counts, decay, per)
        if score <= 0:
            return Verdict(0.0)
        whole = score / (score + theta)
        worth = {i: n * decay ** self.distances[i] for i, n in counts.found.items()}
        share = whole / sum(worth.values())
        return Verdict(whole, self.top_reasons(counts, {i: share * w for i, w in worth.items()}))

    def top_reasons(
        self, counts: ConceptCounts, weights: Mapping[int, float]
    ) -> tuple[Reason, ...]:
        """The entries with the largest weights, and how often they occur."""
        reasons = []
        for i in sorted(weights, key=lambda i: (-abs(weights[i]), i))[:_REASONS]:
            name = f"{self.names[i]}…" if i < self._first_phrase else f"“{self.names[i]}”"
            reasons.append(Reason(f"{name} ×{counts.found[i]}", round(weights[i], 3)))
        return tuple(reasons)


def concept_lexicon(
    concepts: tuple[Concept, ...], language: str, phrases: bool = False
) -> ConceptLexicon:
    """The words of these concepts, each with the distance of the nearest concept that has it.

    With ``phrases``, which is not in the paper, whole names and synonyms count as well.
    """
    return _build_lexicon(_IdentityKey(concepts), language, phrases)


@dataclass(frozen=True, eq=False)
class _IdentityKey:
    """A cache key for the same tuple: hashing 200 concepts takes longer than counting a page."""

    concepts: tuple[Concept, ...]

    def __hash__(self) -> int:
        return id(self.concepts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _IdentityKey) and self.concepts is other.concepts


@lru_cache(maxsize=16)
def _build_lexicon(same: _IdentityKey, language: str, phrases: bool) -> ConceptLexicon:
    tells = language_of(language).is_telling
    stems: dict[str, int] = {}
    whole: dict[str, int] = {}
    for concept in sorted(same.concepts, key=lambda c: c.distance):
        stems_of_name = name_stems(concept.name, language)
        for stem in filter(tells, stems_of_name):
            stems.setdefault(stem, concept.distance)
        if not _words_suffice(concept.name, stems_of_name, language) and len(whole) < _PHRASES:
            whole.setdefault(concept.name, concept.distance)
        if not phrases:
            continue
        for name in (concept.name, *concept.synonyms):
            if len(split_words(name, language)) > 1:
                if len(whole) < _PHRASES:
                    whole.setdefault(name, concept.distance)
            elif name_parts := name_stems(name, language):
                stems.setdefault(name_parts[0], concept.distance)
    return ConceptLexicon(stems, whole, language)


def _words_suffice(name: str, stems: tuple[str, ...], language: str) -> bool:
    """Whether the words of a name mean what the name means. Pairs of characters do not, except in
    Chinese."""
    if stems and all(map(language_of(language).is_telling, stems)):
        return True
    return not any(map(is_unspaced, split_words(name, language)))


@lru_cache(maxsize=16)
def term_lexicon(stems: tuple[str, ...], language: str) -> ConceptLexicon:
    """Stems without an ontology: all of them have distance 0."""
    return ConceptLexicon(dict.fromkeys(stems, 0), {}, language)


def page_stems(page: Page, language: str) -> frozenset[str]:
    """The distinct stems of what a lexicon reads of a page, without stop words."""
    return frozenset(name_stems(f"{page.title[:_SHOWN]}\n{page.text[:_SHOWN]}", language))
