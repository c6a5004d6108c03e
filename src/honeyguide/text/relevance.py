"""How much a text is about some terms: a BM25-like score between 0 and 1, with reasons.

Each term's frequency saturates as in BM25 (Robertson & Zaragoza 2009, section 3.4: k1, b) and
long pages need more of it. Where BM25 adds the terms up without bound, we join them as
independent evidence, 1 - Π(1 - strength·tf/(tf + k)), so that the score lies in 0..1 and a
page need not contain every keyword that a user thought of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from honeyguide.text.language import language_of
from honeyguide.text.terms import Count, Terms
from honeyguide.types import Page, Reason, Verdict

_K1, _B, _TYPICAL = 3.0, 0.75, 400.0
"""Saturation, length normalisation, and the length in words of a typical main text."""
_TITLE, _HEADINGS = 4, 2
"""A word in the title counts as so many in the text."""
_SHOWN = 10_000
"""Characters of the main text that are read: enough to judge, and the ring stays fast."""
_PART, HINT = 0.06, 0.05
"""Strength of a single word out of a phrase, and of a word that only the description has."""
_REASONS = 6


class Relevance:
    """Terms with strengths, ready to judge pages and short texts."""

    def __init__(
        self, terms: Terms, strength: list[float], stress: float = 1.0, short: int = 50
    ) -> None:
        """``stress``: how much more than its own evidence a page is believed; ``short``: words that
        a text is thought to have at least, since one mention in a few words proves little."""
        self.terms = terms
        self._strength = strength
        self._stress = stress
        self._short = short

    def judge(self, page: Page) -> Verdict:
        """The verdict on a page from title, headings, description and main text."""
        counts, length = self.terms.count(page.text[:_SHOWN])
        zones = (page.title, " . ".join(page.headings[:40]), page.description)
        weights = (_TITLE, _HEADINGS, 1)
        for zone, weight in zip(self.terms.count_all(zones), weights, strict=True):
            if zone is not None:
                for number, n in zone.terms.items():
                    counts.terms[number] = counts.terms.get(number, 0) + weight * n
                for stem, n in zone.parts.items():
                    counts.parts[stem] = counts.parts.get(stem, 0) + weight * n
        k = _K1 * (1 - _B + _B * max(length, self._short) / _TYPICAL)
        doubt = 1.0
        reasons = []
        for number, n in counts.terms.items():
            evidence = self._strength[number] * n / (n + k)
            doubt *= 1 - evidence
            reasons.append((evidence, f"“{self.terms.names[number]}” ×{n}"))
        for stem, n in counts.parts.items():
            evidence = _PART * n / (n + k)
            doubt *= 1 - evidence
            reasons.append((evidence, f"{stem}… ×{n}"))
        reasons.sort(reverse=True)
        told = tuple(Reason(what, round(e, 3)) for e, what in reasons[:_REASONS])
        return Verdict(1 - doubt**self._stress, told)

    def of_each(self, texts: Sequence[str]) -> list[float]:
        """Evidence in a few words each, such as anchors: 0..1, no saturation."""
        return [self._of(count) if count else 0.0 for count in self.terms.count_all(texts)]

    def _of(self, count: Count) -> float:
        doubt = 1.0
        for number in count.terms:
            doubt *= 1 - self._strength[number]
        for _ in count.parts:
            doubt *= 1 - _PART
        return 1 - doubt


def strength(phrase: Sequence[str]) -> float:
    """A phrase says more than a word: 0.6, 0.75, 0.88, 0.95."""
    return min(0.95, 0.6 + 0.15 * (len(phrase) - 1) - 0.02 * max(0, len(phrase) - 2))


@lru_cache(maxsize=16)
def relevance(keywords: tuple[str, ...], description: str, language: str) -> Relevance:
    """The same words give the same object: strategies are plain values and hold no caches."""
    hints = language_of(language).hints(description)
    # Without keywords the description's words are all there is.
    terms = Terms((*keywords, *hints), language)
    named = len(Terms(keywords, language)) if keywords else len(terms)
    strengths = [strength(p) if n < named else HINT for n, p in enumerate(terms.phrases)]
    return Relevance(terms, strengths)
