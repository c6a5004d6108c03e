"""OBO 1.2 and 1.4 flat files: Gene Ontology, Cell Ontology, Human Phenotype Ontology and kin."""

from __future__ import annotations

import re
from pathlib import Path

from honeyguide.text.ontology.lines import damaged, lines
from honeyguide.text.ontology.ontology import Draft, Ontology

_SYNONYM = re.compile(r'"((?:[^"\\]|\\.){1,400})"').match
_PASSED = frozenset({"def", "xref", "comment", "property_value", "subset", "namespace"})
_ESCAPE = re.compile(r"\\(.)").sub


def read(path: Path) -> Ontology:
    """Terms and instances; is_a, instance_of, and relationship and intersection_of as prop."""
    draft, concept, stanza = Draft(str(path)), "", ""
    obsolete: set[str] = set()
    for number, line in lines(path):
        if not line or line[0] == "!":
            continue
        if line[0] == "[":
            stanza, concept = line.strip(), ""
            if not stanza.endswith("]"):
                raise damaged(path, number, f"{stanza[:40]!r} is no stanza")
            continue
        if stanza not in ("[Term]", "[Instance]"):
            continue
        tag, colon, value = line.partition(":")
        if not colon:
            raise damaged(path, number, f"{line[:40]!r} is no 'tag: value'")
        if tag in _PASSED:
            continue
        if tag == "id":
            concept = _first(value)
        elif not concept:
            raise damaged(path, number, f"a {stanza} that does not begin with its id")
        elif tag == "name":
            draft.name(concept, _ESCAPE(r"\1", value))
        elif tag == "synonym":
            if said := _SYNONYM(value.lstrip()):
                draft.synonym(concept, _ESCAPE(r"\1", said[1]))
        elif tag == "is_a" and (target := _first(value)):
            draft.edge("is-a", concept, target)
        elif tag == "instance_of" and (target := _first(value)):
            draft.edge("inst", concept, target)
        elif tag in ("relationship", "intersection_of"):
            # "part_of X": a property. "X" alone, a genus, is said by is_a as well.
            said_of = _bare(value).split()
            if len(said_of) > 1:
                draft.edge("prop", concept, said_of[1])
        elif tag == "is_obsolete" and value.strip() == "true":
            obsolete.add(concept)
    return draft.done(without=obsolete)


def _bare(value: str) -> str:
    """A value without its trailing comment and modifiers."""
    return value.partition(" !")[0].partition(" {")[0]


def _first(value: str) -> str:
    said = _bare(value).split(None, 1)
    return said[0] if said else ""
