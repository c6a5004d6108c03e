"""Queries before anything is known but the topic: its keywords and its description."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from honeyguide.seeds.query import Query, fold, phrase
from honeyguide.text.keywords import phrases
from honeyguide.text.language import Language

_TERMS = 12
"""Keywords and phrases of the description that are combined …"""
_KEYWORDS = 30
"""… and keywords that are asked for by themselves."""
_LENGTH = 60
_DESCRIBED = 0.5
"""What a phrase of the description counts beside a keyword."""


def from_topic(
    keywords: Sequence[str], description: str, tongue: Language
) -> list[tuple[Query, float, str]]:
    """Singles, pairs and triples of the topic's own words: query, score and reason.

    Earlier keywords count for more, by a little; the score of several terms is their sum.
    """
    weights: dict[str, float] = {}
    names: dict[str, str] = {}
    for n, word in enumerate(keywords[:_KEYWORDS]):
        _take(word, 1.0 - n / (2 * _KEYWORDS), weights, names)
    for n, said in enumerate(phrases(description, tongue.code, share=1.0, most=_TERMS)):
        _take(said.name, _DESCRIBED * (1.0 - n / (2 * _TERMS)), weights, names)
    terms = sorted(weights, key=lambda key: -weights[key])
    stems = {key: {tongue.stems[word] for word in tongue.words(key)} for key in terms}
    made: list[tuple[Query, float, str]] = []
    for size in (1, 2, 3):
        for some in combinations(terms if size == 1 else terms[:_TERMS], size):
            if all(stems[a].isdisjoint(stems[b]) for a, b in combinations(some, 2)):
                query = Query(tuple(names[key] for key in some))
                made.append((query, sum(weights[key] for key in some), _why(some, weights)))
    return sorted(made, key=lambda one: (len(one[0].terms), -one[1]))


def _take(word: str, weight: float, weights: dict[str, float], names: dict[str, str]) -> None:
    name = phrase(word)
    if name and len(name) <= _LENGTH and (key := fold(name)) not in weights:
        weights[key], names[key] = weight, name


def _why(some: Sequence[str], weights: dict[str, float]) -> str:
    described = sum(weights[key] <= _DESCRIBED for key in some)
    if not described:
        return "the topic's keywords"
    both = "keywords and description" if described < len(some) else "description"
    return f"the topic's {both}"
