"""The value every reader makes: concepts with names and synonyms, and edges of three kinds.

O = {C, P, I, is-a, inst, prop} of Zheng, Kang & Kim 2008, section 3.1: classes and instances
are concepts alike, and a property joins its domain with its range. Identifiers become numbers
at once, so that a million edges are one small array.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError

Kind = Literal["is-a", "inst", "prop"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_CONCEPTS, _EDGES = 5_000_000, 30_000_000
"""More than the largest ontology that people publish; what goes beyond is no ontology."""
_LONGEST, _SYNONYMS = 200, 50
"""Characters of a name, synonyms of a concept: what is more is cut off."""


@dataclass(frozen=True, slots=True, eq=False)
class Ontology:
    source: str
    """Where it was read from, for messages."""
    ids: tuple[str, ...]
    names: tuple[str, ...]
    """By the concept's number; '' for one that is only pointed at."""
    synonyms: dict[int, tuple[str, ...]]
    edges: dict[Kind, NDArray[np.int32]]
    """Rows (child, parent), (instance, class) and (domain, range), by number."""

    def __len__(self) -> int:
        return sum(1 for name in self.names if name)


class Draft:
    """An ontology while it is read. An edge may come before the names of its ends."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._synonyms: dict[int, list[str]] = {}
        self._edges: dict[Kind, array[int]] = {kind: array("i") for kind in KINDS}

    def __contains__(self, concept: str) -> bool:
        return concept in self._numbers

    def name(self, concept: str, name: str) -> None:
        """The concept's name; a second one is a synonym."""
        number, name = self._number(concept), _tidy(name)
        if not self._names[number]:
            self._names[number] = name
        elif name != self._names[number]:
            self.synonym(concept, name)

    def prefer(self, concept: str, name: str, *, keep: bool = True) -> None:
        """The name that goes before any other; the one before it stays as a synonym."""
        number = self._number(concept)
        before, self._names[number] = self._names[number], _tidy(name)
        if before and keep:
            self.synonym(concept, before)

    def nameless(self) -> list[str]:
        """What is only pointed at so far."""
        return [c for c, name in zip(self._numbers, self._names, strict=True) if not name]

    def synonym(self, concept: str, name: str) -> None:
        known = self._synonyms.setdefault(self._number(concept), [])
        name = _tidy(name)
        if name and name not in known and len(known) < _SYNONYMS:
            known.append(name)

    def edge(self, kind: Kind, one: str, other: str) -> None:
        if one == other:
            return
        edges = self._edges[kind]
        edges.append(self._number(one))
        edges.append(self._number(other))
        if len(edges) > 2 * _EDGES:
            raise ConfigError(f"{self.source} has more than {_EDGES:,} edges: give a part of it")

    def done(self, without: Collection[str] = ()) -> Ontology:
        """The finished value; concepts that are obsolete or no concepts lose their names."""
        for concept in without:
            number = self._numbers.get(concept)
            if number is not None:
                self._names[number] = ""
                self._synonyms.pop(number, None)
        if not any(self._names):
            raise ConfigError(f"{self.source} holds no concept with a name")
        return Ontology(
            self.source,
            tuple(self._numbers),
            tuple(self._names),
            {
                number: tuple(s for s in said if s != self._names[number])
                for number, said in self._synonyms.items()
            },
            {kind: _pairs(edges) for kind, edges in self._edges.items()},
        )

    def _number(self, concept: str) -> int:
        number = self._numbers.get(concept)
        if number is None:
            number = self._numbers[concept] = len(self._names)
            self._names.append("")
            if number >= _CONCEPTS:
                raise ConfigError(
                    f"{self.source} has more than {_CONCEPTS:,} concepts: give a part of it"
                )
        return number


def _pairs(edges: array[int]) -> NDArray[np.int32]:
    flat: Any = np.frombuffer(edges, dtype=np.int32) if edges else np.empty(0, np.int32)
    return np.reshape(flat, (-1, 2))


def _tidy(name: str) -> str:
    return " ".join(name[: 2 * _LONGEST].split())[:_LONGEST]
