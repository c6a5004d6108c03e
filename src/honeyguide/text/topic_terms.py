"""A topic as people state it in words: keywords, a description, the concepts of an ontology.

Who names one keyword means all of the topic by it, who names eight means a part of it by each: the
fewer are named, the more each counts, and a page with the only keyword in its title is relevant.
A concept is worth less with every step that it lies from the topic.
"""

from __future__ import annotations

from functools import lru_cache

from honeyguide.text.language import language_of
from honeyguide.text.relevance import HINT, Relevance, strength
from honeyguide.text.terms import Terms
from honeyguide.types import Concept

_SHORT = 100
"""Words that a text is thought to have at least."""
_STEP = 0.5
"""What a concept is worth for each step that it lies from the topic."""


@lru_cache(maxsize=16)
def stated(
    keywords: tuple[str, ...],
    description: str,
    concepts: tuple[Concept, ...],
    language: str,
) -> Relevance | None:
    """None: nothing was stated. The same words give the same object."""
    worth: dict[str, float] = dict.fromkeys(keywords, 1.0)
    for concept in sorted(concepts, key=lambda c: c.distance):
        for name in (concept.name, *concept.synonyms):
            worth.setdefault(name, _STEP ** max(concept.distance, 0))
    # Without keywords or concepts the description's words are all there is.
    for hint in language_of(language).hints(description):
        worth.setdefault(hint, 0.0 if keywords or concepts else 1.0)
    terms = Terms(tuple(worth), language)
    if not len(terms):
        return None
    worths: dict[tuple[str, ...], float] = {}
    for name, value in worth.items():
        for phrase in Terms((name,), language).phrases:
            worths.setdefault(phrase, value)
    strengths = [worths[p] * strength(p) if worths[p] else HINT for p in terms.phrases]
    named = (*keywords, *(c.name for c in concepts if c.distance <= 0))
    count = len(Terms(named, language)) or len(terms)
    return Relevance(terms, strengths, 1 + 1 / max(count, 1), _SHORT)
