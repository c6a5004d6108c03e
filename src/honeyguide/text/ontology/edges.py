"""Edge lists that people write themselves, as CSV or JSON.

CSV: ``child,relation,parent`` a line, with ``,`` ``;`` or tabs; two columns mean is-a. The
relation is ``is-a``, ``inst``, ``prop``, or ``synonym``, where the third column is another name
of the first. JSON: a list of such triples or pairs, or an object whose ``edges`` is one.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.lines import damaged, lines, opened
from honeyguide.text.ontology.ontology import KINDS, Draft, Ontology

_HEADERS = frozenset({"child", "source", "from", "concept"})
_MOST = 100_000_000
"""Bytes of a JSON file: it is read whole."""


def read_csv(path: Path) -> Ontology:
    draft, first, wide = Draft(str(path)), True, 0
    for number, row in _rows(path):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        header, first = first and cells[0].lower() in _HEADERS, False
        if header:
            wide = len(cells)
            continue
        if wide == 3 and len(cells) == 2:
            raise damaged(path, number, "the head of the table has three columns, this line two")
        problem = _add(draft, cells)
        if problem:
            raise damaged(path, number, problem)
    return draft.done()


def read_json(path: Path) -> Ontology:
    with opened(path) as file:
        raw = file.read(_MOST + 1)
    if len(raw) > _MOST:
        raise ConfigError(f"the ontology {path} is too large for JSON: write it as CSV")
    try:
        said = json.loads(raw)
    except json.JSONDecodeError as error:
        raise damaged(path, error.lineno, error.msg) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the ontology {path} is no JSON: {error}") from error
    edges = said.get("edges") if isinstance(said, dict) else said
    if not isinstance(edges, list):
        raise ConfigError(f"the ontology {path} has no list of edges [child, relation, parent]")
    draft = Draft(str(path))
    for number, edge in enumerate(edges, 1):
        problem = _add(draft, edge if isinstance(edge, list) else [])
        if problem:
            raise ConfigError(f"the ontology {path} is damaged in edge {number}: {problem}")
    return draft.done()


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """A line is a row: names with line breaks in them are no names."""
    mark = ""
    for number, line in lines(path):
        if not mark and line.strip() and not line.startswith("#"):
            mark = next((m for m in "\t;," if m in line), ",")
        try:
            yield number, next(csv.reader([line], delimiter=mark or ","), [])
        except csv.Error as error:
            raise damaged(path, number, str(error)) from error


def _add(draft: Draft, cells: Iterable[Any]) -> str:
    """Take one edge in; what is wrong with it, or ''."""
    said = list(cells)
    if len(said) == 2:
        if _relation(said[1]) in (*KINDS, "synonym"):
            return f"an edge is child, relation, parent, and nothing comes after {said[1]!r}"
        said.insert(1, "is-a")
    if len(said) != 3 or not all(isinstance(s, str) and s.strip() for s in said):
        return "an edge is child, relation, parent"
    child, relation, parent = (s.strip() for s in said)
    relation = _relation(relation)
    if relation == "synonym":
        draft.synonym(_known(draft, child), parent)
    elif relation in KINDS:
        draft.edge(relation, _known(draft, child), _known(draft, parent))
    else:
        return f"{relation[:40]!r} is none of {', '.join(KINDS)}, synonym"
    return ""


def _relation(cell: Any) -> str:
    return str(cell).strip().lower().replace("_", "-")


def _known(draft: Draft, name: str) -> str:
    """The concept of that name, whatever its capitals; as it was first written it is shown."""
    concept = name.lower()
    if concept not in draft:
        draft.name(concept, name)
    return concept
