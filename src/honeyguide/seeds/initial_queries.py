"""Queries before anything is known but the topic: its keywords and its description.

Keywords are asked as they were given. Of a description only words are taken, since it was written
for people: nobody's page holds a piece of it word for word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple

from honeyguide.seeds.generic_words import vague
from honeyguide.seeds.query import Query, fold, phrase
from honeyguide.text.keywords import phrases
from honeyguide.text.language import Language

Stated = Literal["", "keywords", "description"]
"""What of a topic a query was made from; description: of that alone."""

_TERMS = 12
"""Keywords and words of the description that are combined …"""
_KEYWORDS = 30
"""… and keywords that are asked for by themselves."""
_LENGTH = 60
_DESCRIBED, _VAGUE = 0.5, 0.2
"""What a word of the description counts beside a keyword, and one that tells no subject."""
_WHY = {(True, False): "keywords", (False, True): "description"}


class Start(NamedTuple):
    """A query that the topic's own words make."""

    query: Query
    score: float
    why: str
    stated: Stated


def from_topic(keywords: Sequence[str], description: str, tongue: Language) -> list[Start]:
    """Singles, pairs and triples of the topic's own words.

    Earlier keywords count for more, by a little; the score of several terms is their sum. What of
    the description tells no subject is not asked for alone.
    """
    weights: dict[str, float] = {}
    names: dict[str, str] = {}
    for n, word in enumerate(keywords[:_KEYWORDS]):
        _take(word, 1.0 - n / (2 * _KEYWORDS), weights, names)
    named = set(weights)
    for n, word in enumerate(_described(description, tongue)):
        worth = _VAGUE if vague(word, tongue.code) else _DESCRIBED
        _take(word, worth * (1.0 - n / (2 * _TERMS)), weights, names)
    terms = sorted(weights, key=lambda key: -weights[key])
    alone = [key for key in terms if key in named or not vague(key, tongue.code)]
    stems = {key: {tongue.stems[word] for word in tongue.words(key)} for key in terms}
    made: list[Start] = []
    for size in (1, 2, 3):
        for some in combinations((alone or terms) if size == 1 else terms[:_TERMS], size):
            if all(stems[a].isdisjoint(stems[b]) for a, b in combinations(some, 2)):
                query = Query(tuple(names[key] for key in some))
                own = [key in named for key in some]
                why = _WHY.get((all(own), not any(own)), "keywords and description")
                score = sum(weights[key] for key in some)
                stated: Stated = "keywords" if any(own) else "description"
                made.append(Start(query, score, f"the topic's {why}", stated))
    return sorted(made, key=lambda one: (len(one.query.terms), -one.score))


def _described(description: str, tongue: Language) -> list[str]:
    """Its words, those of its best phrases first; where a script has no blanks, the phrases."""
    found = phrases(description, tongue.code, share=1.0, most=_TERMS)
    return list(dict.fromkeys(word for said in found for word in said.name.split()))[:_TERMS]


def _take(word: str, weight: float, weights: dict[str, float], names: dict[str, str]) -> None:
    name = phrase(word)
    if name and len(name) <= _LENGTH and (key := fold(name)) not in weights:
        weights[key], names[key] = weight, name
