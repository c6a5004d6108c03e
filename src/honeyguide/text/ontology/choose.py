"""Which concepts lie near a topic: d(t, c), the number of edges between them.

Zheng, Kang & Kim 2008, section 3.2: keep {c : d(t, c) ≤ k}. The paper leaves open which edges
count and in which direction; we walk is-a, inst and prop both ways, each of which can be left
out, and stop at ``most`` concepts, the nearest first and then by the alphabet, because their
number grows exponentially with k.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.ontology import KINDS, Kind, Ontology
from honeyguide.text.tokens import fold, stems_of, stop_words, words
from honeyguide.types import Concept

MOST = 200
_COMPARED = 3_000
"""Names that a misspelt topic is compared with: comparing is slow."""


class Found(NamedTuple):
    """A concept that was reached, and the one over which it was."""

    number: int
    distance: int
    via: int
    """-1 for the topic itself."""
    concept: Concept


def choose(
    ontology: Ontology,
    topic: str,
    distance: int = 3,
    relations: Sequence[Kind] = KINDS,
    most: int = MOST,
) -> tuple[Found, ...]:
    """What lies within that distance of the topic, nearest first, then by the alphabet."""
    level = _named(ontology, topic)
    if not level:
        raise ConfigError(_missing(ontology, topic))
    via = dict.fromkeys(level, -1)
    seen = np.zeros(len(ontology.ids), np.bool_)
    found: list[Found] = []
    for steps in range(distance + 1):
        seen[level] = True
        level.sort(key=lambda n: (fold(ontology.names[n]), n))
        # A concept without a name leads on to others, but there is nothing to look for.
        found += [_found(ontology, n, steps, via[n]) for n in level if ontology.names[n]]
        if len(found) >= most or steps == distance:
            break
        beyond = _beyond(ontology, level, seen, relations)
        if not beyond:
            break
        via.update(beyond)
        level = list(beyond)
    return tuple(found[:most])


def split(name: str, language: str = "en") -> tuple[str, ...]:
    """A composite name as the stems of its words: "Gene or Genome" → gene, genom.

    Stop words go; a name that consists of nothing else keeps its longer words.
    """
    stems, stops = stems_of(language), stop_words(language)
    said = [w for w in words(name, language) if len(w) > 1 and not w.isnumeric()]
    kept = [w for w in said if w not in stops] or [w for w in said if len(w) > 3]
    return tuple(dict.fromkeys(stems[word] for word in kept))


def _beyond(
    ontology: Ontology, level: list[int], seen: NDArray[np.bool_], relations: Sequence[Kind]
) -> dict[int, int]:
    """What is one edge away and new, each with the first of ``level`` that leads there."""
    here = np.full(len(seen), -1, np.int32)
    here[level] = np.arange(len(level), dtype=np.int32)
    first: dict[int, int] = {}
    for kind in relations:
        for edges in (ontology.edges[kind], ontology.edges[kind][:, ::-1]):
            one, other = edges[:, 0], edges[:, 1]
            new = (here[one] >= 0) & ~seen[other]
            for place, target in zip(here[one[new]].tolist(), other[new].tolist(), strict=True):
                first[target] = min(place, first.get(target, place))
    return {target: level[place] for target, place in first.items()}


def _found(ontology: Ontology, number: int, steps: int, via: int) -> Found:
    said = ontology.synonyms.get(number, ())
    return Found(number, steps, via, Concept(ontology.names[number], steps, said))


def _named(ontology: Ontology, topic: str) -> list[int]:
    """The concepts of that name or identifier; if there are none, those with such a synonym."""
    wanted = fold(" ".join(topic.split()))
    named = [
        number
        for number, (key, name) in enumerate(zip(ontology.ids, ontology.names, strict=True))
        if name and (fold(name) == wanted or key == topic)
    ]
    return named or [
        number
        for number, said in ontology.synonyms.items()
        if ontology.names[number] and any(fold(s) == wanted for s in said)
    ]


def _missing(ontology: Ontology, topic: str) -> str:
    wanted = fold(topic)
    parts = {w for w in words(topic) if len(w) > 2}
    alike = {
        fold(name): name
        for name in ontology.names
        if name and (fold(name[:1]) == wanted[:1] or not parts.isdisjoint(words(name)))
    }
    pool = dict(islice(alike.items(), _COMPARED))
    near = [pool[key] for key in get_close_matches(wanted, pool, 4, 0.5)]
    if not near:
        near = [name for name in ontology.names if name][:4]
    said = ", ".join(repr(name) for name in near)
    return (
        f"topic.concept: {ontology.source} has no concept {topic!r}; "
        f"it has {said} and others, {len(ontology):,} in all"
    )
