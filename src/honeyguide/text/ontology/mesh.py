"""MeSH tree files (mtrees): one ``Heading;A01.236.249`` a line.

A heading may stand at several places of the tree; it is one concept, and each place gives it a
parent.
"""

from __future__ import annotations

from pathlib import Path

from honeyguide.text.ontology.lines import damaged, lines
from honeyguide.text.ontology.ontology import Draft, Ontology


def read(path: Path) -> Ontology:
    draft = Draft(str(path))
    places: dict[str, str] = {}
    for number, line in lines(path):
        if not line.strip():
            continue
        heading, semicolon, place = line.rpartition(";")
        heading, place = heading.strip(), place.strip()
        if not semicolon or not heading or not place[:1].isalpha():
            raise damaged(path, number, f"{line.strip()[:40]!r} is no 'Heading;A01.236'")
        draft.name(heading, turned(heading))
        if turned(heading) != heading:
            draft.synonym(heading, heading)
        places[place] = heading
    for place, heading in places.items():
        parent = places.get(place.rpartition(".")[0])
        if parent is not None:
            draft.edge("is-a", heading, parent)
    return draft.done()


def turned(heading: str) -> str:
    """Library headings put the noun first: "Genitalia, Female" is said "Female Genitalia"."""
    noun, comma, rest = heading.partition(", ")
    return f"{rest} {noun}" if comma and ", " not in rest else heading
