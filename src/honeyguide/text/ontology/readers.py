"""Readers of ontology files in text formats: edge lists, MeSH, OBO, indented trees, UMLS.

Files may be compressed with gzip and are read line by line with limits. Errors of the system become
a ConfigError. UMLS rows in other languages, suppressed names and relations between concepts without
a name are dropped while they are read.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.ontology import RELATION_KINDS, Ontology, OntologyDraft

_CHUNK = 1 << 19
_LONGEST = 1_000_000
_MOST = 8_000_000_000
"""Limits in bytes: read at once, of a line, and of a file. A small .gz file can unpack to one
endless line."""


@contextmanager
def open_ontology_file(path: Path) -> Iterator[IO[bytes]]:
    try:
        if path.exists() and not path.is_file():
            # Opening a pipe would wait for somebody at its other end.
            raise ConfigError(f"the ontology {path} is not a plain file")
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            yield file  # type: ignore[misc]  # GzipFile reads as any file does
    except FileNotFoundError:
        raise ConfigError(f"the ontology {path} does not exist") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"the ontology {path} cannot be read: {error}") from error


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Each line without its end, with its number from 1; bytes that are not UTF-8 are replaced."""
    number, size, rest = 1, 0, b""
    with open_ontology_file(path) as file:
        # Whole chunks are cut at once: a line at a time takes three times as long.
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            if size == len(chunk):
                chunk = chunk.removeprefix(b"\xef\xbb\xbf")
            if size > _MOST:
                raise damaged_line_error(path, number, "the file is too large")
            whole, end, tail = (rest + chunk).rpartition(b"\n")
            if end:
                lines = whole.decode("utf-8", "replace").replace("\r", "").split("\n")
                yield from enumerate(lines, number)
                number += len(lines)
            rest = tail
            if len(rest) > _LONGEST:
                raise damaged_line_error(path, number, f"longer than {_LONGEST:,} bytes")
    if rest:
        yield number, rest.decode("utf-8", "replace").replace("\r", "")


def damaged_line_error(path: Path, line: int, what: str) -> ConfigError:
    return ConfigError(f"the ontology {path} is damaged in line {line}: {what}")


# --- Edge lists in CSV and JSON ---


_HEADERS = frozenset({"child", "source", "from", "concept"})
_MAX_JSON_BYTES = 100_000_000
"""Largest JSON file in bytes: it is read whole."""


def read_edge_csv(path: Path) -> Ontology:
    """``child,relation,parent`` lines with ``,`` ``;`` or tabs; two columns mean is-a.

    The relation is ``is-a``, ``inst``, ``prop``, or ``synonym``: then the third column is another
    name of the first.
    """
    draft, first, wide = OntologyDraft(str(path)), True, 0
    for number, row in _csv_rows(path):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        header, first = first and cells[0].lower() in _HEADERS, False
        if header:
            wide = len(cells)
            continue
        if wide == 3 and len(cells) == 2:
            raise damaged_line_error(
                path, number, "the head of the table has three columns, this line two"
            )
        problem = _add_edge_row(draft, cells)
        if problem:
            raise damaged_line_error(path, number, problem)
    return draft.build()


def read_edge_json(path: Path) -> Ontology:
    """A list of such triples or pairs, or an object with such a list in ``edges``."""
    with open_ontology_file(path) as file:
        raw = file.read(_MAX_JSON_BYTES + 1)
    if len(raw) > _MAX_JSON_BYTES:
        raise ConfigError(f"the ontology {path} is too large for JSON: write it as CSV")
    try:
        document = json.loads(raw)
    except json.JSONDecodeError as error:
        raise damaged_line_error(path, error.lineno, error.msg) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the ontology {path} is not JSON: {error}") from error
    edges = document.get("edges") if isinstance(document, dict) else document
    if not isinstance(edges, list):
        raise ConfigError(f"the ontology {path} has no list of edges [child, relation, parent]")
    draft = OntologyDraft(str(path))
    for number, edge in enumerate(edges, 1):
        problem = _add_edge_row(draft, edge if isinstance(edge, list) else [])
        if problem:
            raise ConfigError(f"the ontology {path} is damaged in edge {number}: {problem}")
    return draft.build()


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows of a CSV file, one for each line: names have no line breaks."""
    mark = ""
    for number, line in numbered_lines(path):
        if not mark and line.strip() and not line.startswith("#"):
            mark = next((m for m in "\t;," if m in line), ",")
        try:
            yield number, next(csv.reader([line], delimiter=mark or ","), [])
        except csv.Error as error:
            raise damaged_line_error(path, number, str(error)) from error


def _add_edge_row(draft: OntologyDraft, cells: Iterable[Any]) -> str:
    """Add one edge; returns what is wrong with it, or ''."""
    parts = list(cells)
    if len(parts) == 2:
        if _relation_name(parts[1]) in (*RELATION_KINDS, "synonym"):
            return f"an edge is child, relation, parent, and nothing comes after {parts[1]!r}"
        parts.insert(1, "is-a")
    if len(parts) != 3 or not all(isinstance(s, str) and s.strip() for s in parts):
        return "an edge is child, relation, parent"
    child, relation, parent = (s.strip() for s in parts)
    relation = _relation_name(relation)
    if relation == "synonym":
        draft.add_synonym(_concept_key(draft, child), parent)
    elif relation in RELATION_KINDS:
        draft.add_edge(relation, _concept_key(draft, child), _concept_key(draft, parent))
    else:
        return f"{relation[:40]!r} is none of {', '.join(RELATION_KINDS)}, synonym"
    return ""


def _relation_name(cell: Any) -> str:
    return str(cell).strip().lower().replace("_", "-")


def _concept_key(draft: OntologyDraft, name: str) -> str:
    """The concept with that name, ignoring case; the first spelling is shown."""
    concept = name.lower()
    if concept not in draft:
        draft.add_name(concept, name)
    return concept


# --- MeSH tree files ---


def read_mesh(path: Path) -> Ontology:
    """MeSH tree files (mtrees). A heading may stand at several places of the tree; each gives it a
    parent."""
    draft = OntologyDraft(str(path))
    places: dict[str, str] = {}
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        heading, semicolon, place = line.rpartition(";")
        heading, place = heading.strip(), place.strip()
        if not semicolon or not heading or not place[:1].isalpha():
            raise damaged_line_error(
                path, number, f"{line.strip()[:40]!r} is not like 'Heading;A01.236'"
            )
        draft.add_name(heading, turn_heading(heading))
        if turn_heading(heading) != heading:
            draft.add_synonym(heading, heading)
        places[place] = heading
    for place, heading in places.items():
        parent = places.get(place.rpartition(".")[0])
        if parent is not None:
            draft.add_edge("is-a", heading, parent)
    return draft.build()


def turn_heading(heading: str) -> str:
    """Library headings put the noun first: "Genitalia, Female" becomes "Female Genitalia"."""
    noun, comma, rest = heading.partition(", ")
    return f"{rest} {noun}" if comma and ", " not in rest else heading


# --- OBO flat files ---


_SYNONYM = re.compile(r'"((?:[^"\\]|\\.){1,400})"').match
_PASSED = frozenset({"def", "xref", "comment", "property_value", "subset", "namespace"})
_ESCAPE = re.compile(r"\\(.)").sub


def read_obo(path: Path) -> Ontology:
    """OBO 1.2 and 1.4: terms and instances; is_a, instance_of, and relationship and intersection_of
    as prop."""
    draft, concept, stanza = OntologyDraft(str(path)), "", ""
    obsolete: set[str] = set()
    for number, line in numbered_lines(path):
        if not line or line[0] == "!":
            continue
        if line[0] == "[":
            stanza, concept = line.strip(), ""
            if not stanza.endswith("]"):
                raise damaged_line_error(path, number, f"{stanza[:40]!r} is not a stanza")
            continue
        if stanza not in ("[Term]", "[Instance]"):
            continue
        tag, colon, value = line.partition(":")
        if not colon:
            raise damaged_line_error(path, number, f"{line[:40]!r} is not like 'tag: value'")
        if tag in _PASSED:
            continue
        if tag == "id":
            concept = _first_word(value)
        elif not concept:
            raise damaged_line_error(path, number, f"a {stanza} that does not begin with its id")
        elif tag == "name":
            draft.add_name(concept, _ESCAPE(r"\1", value))
        elif tag == "synonym":
            if quoted := _SYNONYM(value.lstrip()):
                draft.add_synonym(concept, _ESCAPE(r"\1", quoted[1]))
        elif tag == "is_a" and (target := _first_word(value)):
            draft.add_edge("is-a", concept, target)
        elif tag == "instance_of" and (target := _first_word(value)):
            draft.add_edge("inst", concept, target)
        elif tag in ("relationship", "intersection_of"):
            # "part_of X": a property. "X" alone, a genus, is said by is_a as well.
            words = _strip_modifiers(value).split()
            if len(words) > 1:
                draft.add_edge("prop", concept, words[1])
        elif tag == "is_obsolete" and value.strip() == "true":
            obsolete.add(concept)
    return draft.build(without=obsolete)


def _strip_modifiers(value: str) -> str:
    """A value without its trailing comment and modifiers."""
    return value.partition(" !")[0].partition(" {")[0]


def _first_word(value: str) -> str:
    words = _strip_modifiers(value).split(None, 1)
    return words[0] if words else ""


# --- Indented trees ---


def read_indented_tree(path: Path) -> Ontology:
    """One concept a line, indented deeper than the one it is a kind of.

    An identifier and a depth may follow the name, separated by tabs, as in listings of the UMLS
    Semantic Network; a depth has priority over the indentation. ``#`` begins a comment.
    """
    draft = OntologyDraft(str(path))
    above: list[tuple[int, str]] = []
    """The way from the root to the line before, with depths."""
    for number, line in numbered_lines(path):
        text = line.expandtabs(8) if line[:1] == "\t" else line
        body = text.strip()
        if not body or body[0] == "#":
            continue
        name, *more = (part.strip() for part in body.split("\t"))
        if not name or len(name) > 200:
            raise damaged_line_error(path, number, f"{body[:40]!r} is not the name of a concept")
        depth = len(text) - len(text.lstrip())
        if len(more) > 1 and more[1].isdecimal():
            depth = int(more[1][:6])
        concept = more[0] if more and more[0] else name
        draft.add_name(concept, name)
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            draft.add_edge("is-a", concept, above[-1][1])
        above.append((depth, concept))
    return draft.build()


# --- UMLS: Metathesaurus (RRF) and Semantic Network ---


_LANGUAGES = {
    "ar": "ARA", "cs": "CZE", "da": "DAN", "de": "GER", "el": "GRE", "en": "ENG", "es": "SPA",
    "et": "EST", "eu": "BAQ", "fi": "FIN", "fr": "FRE", "he": "HEB", "hr": "SCR", "hu": "HUN",
    "it": "ITA", "ja": "JPN", "ko": "KOR", "lt": "LIT", "lv": "LAV", "nl": "DUT", "no": "NOR",
    "pl": "POL", "pt": "POR", "ru": "RUS", "sv": "SWE", "tr": "TUR", "uk": "UKR", "zh": "CHI",
}  # fmt: skip


def find_umls_file(folder: Path, name: str) -> Path | None:
    """The file with that name in the folder, perhaps compressed with gzip."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def read_metathesaurus(names: Path, relations: Path | None, language: str) -> Ontology:
    """MRCONSO, and MRREL if it is there. PAR, CHD, RB and RN are is-a, RO is prop."""
    draft = OntologyDraft(str(names))
    wanted = _LANGUAGES.get(language, language.upper())
    for row in _pipe_rows(names, 18):
        concept, lat, ts, stt, ispref, name, suppress = (row[i] for i in (0, 1, 2, 4, 6, 14, 16))
        if lat != wanted or suppress not in ("N", ""):
            continue
        if ts == "P" and stt == "PF" and ispref == "Y":
            draft.prefer_name(concept, name)
        else:
            draft.add_name(concept, name)
    if relations is not None:
        for row in _pipe_rows(relations, 16):
            one, relation, other, suppress = row[0], row[3], row[4], row[14]
            if suppress not in ("N", "") or one not in draft or other not in draft:
                continue
            # MRREL says what the second concept is to the first.
            if relation in ("PAR", "RB"):
                draft.add_edge("is-a", one, other)
            elif relation in ("CHD", "RN"):
                draft.add_edge("is-a", other, one)
            elif relation == "RO":
                draft.add_edge("prop", one, other)
    try:
        return draft.build()
    except ConfigError as error:
        raise ConfigError(f"{error} in {wanted}; set topic.language to a language of it") from error


def read_semantic_network(definitions: Path, structure: Path | None) -> Ontology:
    """SRDEF for the types and their tree, SRSTR or SRSTRE2 for the other relations.

    SRSTRE holds the closure of is-a, in which an ancestor is as near as a parent: the tree
    numbers of SRDEF say what is direct.
    """
    draft = OntologyDraft(str(definitions))
    places: dict[str, str] = {}
    for row in _pipe_rows(definitions, 4):
        if row[0] == "STY":
            draft.add_name(row[2], row[2])
            places[row[3]] = row[2]
    for place, name in places.items():
        parent = places.get(_parent_place(place))
        if parent is not None:
            draft.add_edge("is-a", name, parent)
    if structure is not None:
        for row in _pipe_rows(structure, 3):
            if row[1] != "isa" and row[0] in draft and row[2] in draft:
                draft.add_edge("prop", row[0], row[2])
    return draft.build()


def _parent_place(place: str) -> str:
    """The tree number of the parent: A1.2.1 → A1.2, A1 → A."""
    if "." in place:
        return place.rpartition(".")[0]
    return place[:1] if len(place) > 1 else ""


def _pipe_rows(path: Path, columns: int) -> Iterator[list[str]]:
    for number, line in numbered_lines(path):
        if line.strip():
            row = line.split("|")
            if len(row) < columns:
                raise damaged_line_error(path, number, f"{len(row)} columns, not {columns}")
            yield row
