"""OWL, RDF Schema and SKOS as triples, in RDF/XML, Turtle, N-Triples or JSON-LD.

subClassOf and broader are is-a; a type outside the vocabularies is inst; domain with range,
related, and "some" restrictions of a class are prop. Other axioms of OWL have no part in the
distance and are skipped.

XML entities can stand for long texts and fill any memory. The parser replaces them wherever they
are declared, so the whole file is checked before it is parsed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.ontology import Ontology, OntologyDraft
from honeyguide.text.ontology.readers import damaged_line_error, open_ontology_file

_DECLARED = b"<!ENTITY"
_DECLARATION = re.compile(
    rb"<!ENTITY[ \t\r\n]*(?:%[ \t\r\n]*)?([A-Za-z_:][A-Za-z0-9_.:-]{0,99})[ \t\r\n]+"
    rb"(?:\"([^\"]*)\"|'([^']*)')"
)
_USED = re.compile(rb"&([A-Za-z_:][A-Za-z0-9_.:-]{0,99});").findall
_HEAD = 1 << 20
"""Bytes within which all declarations must stand."""
_LONG = 1_000
"""Bytes of one entity."""
_CHUNK = 1 << 20
_REACH = 128
"""Longest use of an entity, and longest beginning of a declaration, in bytes."""
MAX_ENTITY_BYTES = 50_000_000
"""Bytes that entities may add to a small file; in a larger file as many as it has."""


def refuse_entity_bombs(path: Path) -> None:
    """Raise ConfigError if an entity contains another one or much text, or if all uses add up to
    too much."""
    with open_ontology_file(path) as file:
        head = file.read(_HEAD)
        lengths = _entity_lengths(path, head)
        size, uses, rest = 0, Counter[bytes](), b""
        chunk = head
        while chunk:
            size += len(chunk)
            piece = rest + chunk
            if size > _HEAD and _DECLARED in piece:
                raise _refused_error(path, "its XML entities are declared too late")
            # What may go on in the next piece is left for it.
            cut = max(0, len(piece) - len(_DECLARED) + 1)
            begun = piece.find(b"&", max(0, len(piece) - _REACH), cut)
            cut = begun if begun >= 0 else cut
            if lengths:
                uses.update(name for name in _USED(piece, 0, cut) if name in lengths)
            rest = piece[cut:]
            chunk = file.read(_CHUNK)
    uses.update(name for name in _USED(rest) if name in lengths)
    added = sum(count * lengths[name] for name, count in uses.items())
    if added > max(MAX_ENTITY_BYTES, size):
        raise _refused_error(path, f"its XML entities make {added:,} bytes of it")


def _entity_lengths(path: Path, head: bytes) -> dict[bytes, int]:
    """The lengths of the entities by name."""
    lengths: dict[bytes, int] = {}
    place = head.find(_DECLARED)
    while place >= 0:
        found = _DECLARATION.match(head, place)
        if found is None:
            raise _refused_error(path, "its XML entities are external, or have no end")
        value = found[2] if found[2] is not None else found[3]
        if b"&" in value or b"%" in value or len(value) > _LONG:
            raise _refused_error(path, "its XML entities are too much")
        lengths[found[1]] = max(len(value), lengths.get(found[1], 0))
        place = head.find(_DECLARED, place + 1)
    return lengths


def _refused_error(path: Path, why: str) -> ConfigError:
    return ConfigError(f"the ontology {path} cannot be read: {why}")


# --- Triples ---


_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_TYPE, _SUB, _SOME = f"{_RDF}type", f"{_RDFS}subClassOf", f"{_OWL}someValuesFrom"
_DOMAIN, _RANGE = f"{_RDFS}domain", f"{_RDFS}range"
_BROADER, _NARROWER, _RELATED = f"{_SKOS}broader", f"{_SKOS}narrower", f"{_SKOS}related"
_VOCABULARIES = (_RDF, _RDFS, _OWL, _SKOS)
_PROPERTIES = frozenset(
    {f"{_RDF}Property", f"{_SKOS}ConceptScheme", f"{_SKOS}Collection", f"{_OWL}Ontology"}
    | {f"{_OWL}{kind}Property" for kind in ("Object", "Datatype", "Annotation", "Ontology")}
)
_LABELS = frozenset({f"{_RDFS}label", f"{_SKOS}prefLabel"})
_SYNONYMS = frozenset(
    {f"{_SKOS}altLabel"} | {f"{_OBO}has{k}Synonym" for k in ("Exact", "Related", "Narrow")}
)
_TOLD = _LABELS | _SYNONYMS | {
    _TYPE, _SUB, _SOME, _DOMAIN, _RANGE, _BROADER, _NARROWER, _RELATED,
}  # fmt: skip
_ENDS = 300
_XML = frozenset({".owl", ".rdf", ".xml"})
_MAX_TRIPLES = 200_000_000
"""Twice the triples of the largest published ontologies."""
_IRI = 1_000
"""Characters of an identifier. A long prefix is written once and inserted at every use."""
_LOCAL = re.compile(r"[#/:]([^\W\d_][^\W\d]{2,60})$").search
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_+").sub
_FORMATS = {
    ".owl": "RDF_XML", ".rdf": "RDF_XML", ".xml": "RDF_XML", ".ttl": "TURTLE", ".n3": "N3",
    ".nt": "N_TRIPLES", ".skos": "TURTLE", ".jsonld": "JSON_LD",
}  # fmt: skip
RDF_SUFFIXES = frozenset(_FORMATS)


def read_rdf(path: Path, suffix: str, language: str) -> Ontology:
    return _TripleReader(path, language).read_triples(_parse_triples(path, suffix))


class _TripleReader:
    """Collects triples into an ontology."""

    def __init__(self, path: Path, language: str) -> None:
        self._draft = OntologyDraft(str(path))
        self._language = language
        self._worth: dict[str, int] = {}
        """Concept → rank of the language of its name."""
        self._no_concepts: set[str] = set()
        self._domains: dict[str, dict[str, None]] = {}
        self._ranges: dict[str, dict[str, None]] = {}
        self._restricted: list[tuple[str, str]] = []
        self._fillers: dict[str, str] = {}

    def read_triples(self, triples: Iterator[tuple[str, str, str, str | None]]) -> Ontology:
        for triple in triples:
            self._add_triple(*triple)
        draft = self._draft
        for concept, blank in self._restricted:
            if blank in self._fillers:
                draft.add_edge("prop", concept, self._fillers[blank])
        for prop, domains in self._domains.items():
            # A property with hundreds of domains and ranges says nothing of any of them.
            for domain in islice(domains, _ENDS):
                for target in islice(self._ranges.get(prop, ()), _ENDS):
                    draft.add_edge("prop", domain, target)
        for concept in draft.nameless_concepts():
            if local := _LOCAL(concept):
                draft.add_name(concept, _HUMP(" ", local[1]))
        return draft.build(without=self._no_concepts)

    def _add_triple(self, subject: str, predicate: str, target: str, language: str | None) -> None:
        """Add one triple; ``language`` is None for a resource and '' for text without a
        language."""
        draft, named = self._draft, subject[0] != "_"
        if language is not None:
            if named and predicate in _LABELS:
                self._add_label(subject, target, language)
            elif named and predicate in _SYNONYMS and self._language_rank(language):
                draft.add_synonym(subject, target)
        elif predicate == _TYPE:
            if target in _PROPERTIES:
                self._no_concepts.add(subject)
            elif named and target[0] != "_" and not target.startswith(_VOCABULARIES):
                draft.add_edge("inst", subject, target)
        elif predicate == _SOME:
            if target[0] != "_":
                self._fillers[subject] = target
        elif not named:
            return
        elif predicate == _SUB:
            if target[0] == "_":
                self._restricted.append((subject, target))
            elif not target.startswith(_VOCABULARIES):
                draft.add_edge("is-a", subject, target)
        elif predicate == _BROADER:
            draft.add_edge("is-a", subject, target)
        elif predicate == _NARROWER:
            draft.add_edge("is-a", target, subject)
        elif predicate == _RELATED:
            draft.add_edge("prop", subject, target)
        elif predicate in (_DOMAIN, _RANGE) and target[0] != "_":
            side = self._domains if predicate == _DOMAIN else self._ranges
            side.setdefault(subject, {})[target] = None

    def _add_label(self, concept: str, label: str, language: str) -> None:
        worth = self._language_rank(language)
        if worth > self._worth.get(concept, -1):
            # A label in a stranger's language is better than none, and no synonym later.
            self._draft.prefer_name(concept, label, keep=self._worth.get(concept, 0) > 0)
            self._worth[concept] = worth
        elif worth:
            self._draft.add_name(concept, label)

    def _language_rank(self, language: str) -> int:
        tag = language.partition("-")[0].lower()
        return 3 if tag == self._language else {"": 2, "en": 1}.get(tag, 0)


def _parse_triples(path: Path, suffix: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Subject, predicate, object and language of the object; blank nodes begin with ``_``."""
    try:
        import pyoxigraph as ox
    except ImportError as error:
        raise ConfigError(
            f"{path} is RDF, and reading it needs an extra: pip install 'honeyguide[ontology]'"
        ) from error
    form: Any = getattr(ox.RdfFormat, _FORMATS[suffix])
    literal, named = ox.Literal, ox.NamedNode
    base = path.absolute().as_uri()
    if suffix in _XML:
        refuse_entity_bombs(path)
    with open_ontology_file(path) as file:
        try:
            for number, quad in enumerate(ox.parse(file, form, base_iri=base, lenient=True)):
                if number >= _MAX_TRIPLES:
                    raise ConfigError(
                        f"{path} has more than {_MAX_TRIPLES:,} triples: give a part of it"
                    )
                predicate = quad.predicate.value
                if predicate not in _TOLD and len(predicate) <= _IRI:
                    continue
                source, target = quad.subject, quad.object
                subject = source.value if isinstance(source, named) else str(source)
                is_text = isinstance(target, literal)
                other = target.value if is_text or isinstance(target, named) else str(target)
                if max(len(subject), len(predicate), 0 if is_text else len(other)) > _IRI:
                    raise ConfigError(f"{path} has a name of more than {_IRI:,} characters")
                yield subject, predicate, other, target.language or "" if is_text else None
        except (IndexError, MemoryError) as error:
            raise ConfigError(f"the ontology {path} cannot be read: {error!r}") from error
        except SyntaxError as error:
            if "LoadDocumentCallback" in str(error):  # nobody gave the parser the net, nor shall
                raise ConfigError(
                    f"the ontology {path} cannot be read: its @context is on another server, and "
                    "Honeyguide does not fetch it. Put the context itself in its place"
                ) from error
            raise damaged_line_error(path, error.lineno or 0, error.msg or str(error)) from error
        except ValueError as error:
            raise ConfigError(f"the ontology {path} cannot be read: {error}") from error
