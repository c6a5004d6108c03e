"""Looking for the topic's concept in an ontology, before there is a topic."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest

from honeyguide.text.ontology.load import OURS, load
from honeyguide.text.ontology.ontology import Ontology
from honeyguide.text.tokens import fold

__all__ = ["OURS", "Match", "Ontology", "load", "matching"]


@dataclass(frozen=True, slots=True)
class Match:
    """A concept whose name, or another name, is like what was typed."""

    name: str
    id: str
    synonyms: tuple[str, ...]


def matching(ontology: Ontology, text: str, most: int = 20) -> list[Match]:
    """Concepts to choose from: what begins with the text first, then what has it in the middle,
    then those with such a synonym; the shorter first."""
    wanted = fold(" ".join(text.split()))
    ranked: list[tuple[int, int, str, int]] = []
    for number, name in enumerate(ontology.names):
        if not name:
            continue
        folded = fold(name)
        if wanted in folded:
            # 0: it is the name; 1: the name begins with it; 2: one of its words does; 3: else.
            place = 0 if folded == wanted else 1 if folded.startswith(wanted) else 3
            place = 2 if place == 3 and f" {wanted}" in folded else place
        elif any(wanted in fold(other) for other in ontology.synonyms.get(number, ())):
            place = 4
        else:
            continue
        ranked.append((place, len(name), name, number))
    return [
        Match(name, ontology.ids[number], ontology.synonyms.get(number, ())[:5])
        for _, _, name, number in nsmallest(most, ranked)
    ]
