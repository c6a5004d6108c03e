"""The value that every ontology reader returns, and which concepts lie near a topic.

O = {C, P, I, is-a, inst, prop} of Zheng, Kang & Kim 2008, section 3.2: classes and instances are
both concepts, and a property joins its domain with its range. Identifiers become numbers at once,
so that a million edges are one small array.

Section 3.2 selects {c : d(t, c) ≤ k}. The paper leaves open which edges count and in which
direction. Here is-a, inst and prop are walked both ways, each may be left out, and at most 200
concepts are taken, because their number grows exponentially with k.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError
from honeyguide.text.language import fold_text, split_words, stems_of, stop_words
from honeyguide.types import Concept

RelationKind = Literal["is-a", "inst", "prop"]
RELATION_KINDS: tuple[RelationKind, ...] = get_args(RelationKind)

_CONCEPTS, _EDGES = 5_000_000, 30_000_000
"""Limits: more concepts and edges than the largest published ontologies have."""
_LONGEST, _SYNONYMS = 200, 50
"""Limits: characters of a name, and synonyms of a concept. More is cut off."""


@dataclass(frozen=True, slots=True, eq=False)
class Ontology:
    """Concepts with names and synonyms, and edges of three kinds."""

    source: str
    """The file that it was read from, for messages."""
    ids: tuple[str, ...]
    names: tuple[str, ...]
    """By the number of the concept; '' for one that is only referred to."""
    synonyms: dict[int, tuple[str, ...]]
    edges: dict[RelationKind, NDArray[np.int32]]
    """Rows (child, parent), (instance, class) and (domain, range), by number."""

    def __len__(self) -> int:
        return sum(1 for name in self.names if name)


class OntologyDraft:
    """An ontology while it is read. An edge may come before the names of its ends."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._synonyms: dict[int, list[str]] = {}
        self._edges: dict[RelationKind, array[int]] = {kind: array("i") for kind in RELATION_KINDS}

    def __contains__(self, concept: str) -> bool:
        return concept in self._numbers

    def add_name(self, concept: str, name: str) -> None:
        """Set the name of a concept; a second name is a synonym."""
        number, name = self._number_of(concept), _tidy_name(name)
        if not self._names[number]:
            self._names[number] = name
        elif name != self._names[number]:
            self.add_synonym(concept, name)

    def prefer_name(self, concept: str, name: str, *, keep: bool = True) -> None:
        """Set the preferred name of a concept; with ``keep`` the former name becomes a synonym."""
        number = self._number_of(concept)
        before, self._names[number] = self._names[number], _tidy_name(name)
        if before and keep:
            self.add_synonym(concept, before)

    def nameless_concepts(self) -> list[str]:
        """Concepts that are only referred to so far."""
        return [c for c, name in zip(self._numbers, self._names, strict=True) if not name]

    def add_synonym(self, concept: str, name: str) -> None:
        known = self._synonyms.setdefault(self._number_of(concept), [])
        name = _tidy_name(name)
        if name and name not in known and len(known) < _SYNONYMS:
            known.append(name)

    def add_edge(self, kind: RelationKind, one: str, other: str) -> None:
        if one == other:
            return
        edges = self._edges[kind]
        edges.append(self._number_of(one))
        edges.append(self._number_of(other))
        if len(edges) > 2 * _EDGES:
            raise ConfigError(f"{self.source} has more than {_EDGES:,} edges: give a part of it")

    def build(self, without: Collection[str] = ()) -> Ontology:
        """The finished ontology; the concepts in ``without`` lose their names."""
        for concept in without:
            number = self._numbers.get(concept)
            if number is not None:
                self._names[number] = ""
                self._synonyms.pop(number, None)
        if not any(self._names):
            raise ConfigError(f"{self.source} holds no concept with a name")
        synonyms = {
            number: tuple(s for s in names if s != self._names[number])
            for number, names in self._synonyms.items()
        }
        edges = {kind: _edge_pairs(edges) for kind, edges in self._edges.items()}
        return Ontology(self.source, tuple(self._numbers), tuple(self._names), synonyms, edges)

    def _number_of(self, concept: str) -> int:
        number = self._numbers.get(concept)
        if number is None:
            number = self._numbers[concept] = len(self._names)
            self._names.append("")
            if number >= _CONCEPTS:
                raise ConfigError(
                    f"{self.source} has more than {_CONCEPTS:,} concepts: give a part of it"
                )
        return number


def _edge_pairs(edges: array[int]) -> NDArray[np.int32]:
    flat: Any = np.frombuffer(edges, dtype=np.int32) if edges else np.empty(0, np.int32)
    return np.reshape(flat, (-1, 2))


def _tidy_name(name: str) -> str:
    return " ".join(name[: 2 * _LONGEST].split())[:_LONGEST]


# --- Concepts near a topic ---


MAX_CONCEPTS = 200
_COMPARED = 3_000
"""Names that a misspelt topic is compared with, which is slow."""


class ReachedConcept(NamedTuple):
    """A concept near a topic."""

    number: int
    distance: int
    via: int
    """The concept through which it was reached; -1 for the topic itself."""
    concept: Concept


def nearest_concepts(
    ontology: Ontology,
    topic: str,
    distance: int = 3,
    relations: Sequence[RelationKind] = RELATION_KINDS,
) -> tuple[ReachedConcept, ...]:
    """The concepts within that distance of the topic, nearest first, then by the alphabet."""
    level = _find_named(ontology, topic)
    if not level:
        raise ConfigError(_missing_message(ontology, topic))
    via = dict.fromkeys(level, -1)
    seen = np.zeros(len(ontology.ids), np.bool_)
    found: list[ReachedConcept] = []
    for steps in range(distance + 1):
        seen[level] = True
        level.sort(key=lambda n: (fold_text(ontology.names[n]), n))
        # A concept without a name leads on to others, but there is nothing to look for.
        for n in level:
            if name := ontology.names[n]:
                concept = Concept(name, steps, ontology.synonyms.get(n, ()))
                found.append(ReachedConcept(n, steps, via[n], concept))
        if len(found) >= MAX_CONCEPTS or steps == distance:
            break
        beyond = _next_level(ontology, level, seen, relations)
        if not beyond:
            break
        via.update(beyond)
        level = list(beyond)
    return tuple(found[:MAX_CONCEPTS])


def name_stems(name: str, language: str = "en") -> tuple[str, ...]:
    """A composite name as the stems of its words: "Gene or Genome" → gene, genom.

    Stop words are left out; a name of stop words only has the stems of its longer words.
    """
    stems, stops = stems_of(language), stop_words(language)
    words = [w for w in split_words(name, language) if len(w) > 1 and not w.isnumeric()]
    telling = [w for w in words if w not in stops] or [w for w in words if len(w) > 3]
    return tuple(dict.fromkeys(stems[word] for word in telling))


def _next_level(
    ontology: Ontology, level: list[int], seen: NDArray[np.bool_], relations: Sequence[RelationKind]
) -> dict[int, int]:
    """Concepts one edge away that are new, each with the first of ``level`` that leads there."""
    place_of = np.full(len(seen), -1, np.int32)
    place_of[level] = np.arange(len(level), dtype=np.int32)
    first: dict[int, int] = {}
    for kind in relations:
        for edges in (ontology.edges[kind], ontology.edges[kind][:, ::-1]):
            one, other = edges[:, 0], edges[:, 1]
            new = (place_of[one] >= 0) & ~seen[other]
            for place, target in zip(place_of[one[new]].tolist(), other[new].tolist(), strict=True):
                first[target] = min(place, first.get(target, place))
    return {target: level[place] for target, place in first.items()}


def _find_named(ontology: Ontology, topic: str) -> list[int]:
    """The concepts with that name or identifier, or else those with such a synonym."""
    wanted = fold_text(" ".join(topic.split()))
    named = [
        number
        for number, (key, name) in enumerate(zip(ontology.ids, ontology.names, strict=True))
        if name and (fold_text(name) == wanted or key == topic)
    ]
    return named or [
        number
        for number, names in ontology.synonyms.items()
        if ontology.names[number] and any(fold_text(s) == wanted for s in names)
    ]


def _missing_message(ontology: Ontology, topic: str) -> str:
    wanted = fold_text(topic)
    parts = {w for w in split_words(topic) if len(w) > 2}
    alike = {
        fold_text(name): name
        for name in ontology.names
        if name and (fold_text(name[:1]) == wanted[:1] or not parts.isdisjoint(split_words(name)))
    }
    pool = dict(islice(alike.items(), _COMPARED))
    near = [pool[key] for key in get_close_matches(wanted, pool, 4, 0.5)]
    if not near:
        near = [name for name in ontology.names if name][:4]
    listed = ", ".join(repr(name) for name in near)
    return (
        f"topic.concept: {ontology.source} has no concept {topic!r}; "
        f"it has {listed} and others, {len(ontology):,} in all"
    )
