"""OWL, RDF Schema and SKOS as triples, in RDF/XML, Turtle, N-Triples or JSON-LD.

subClassOf and broader are is-a; a type outside the vocabularies is inst; domain with range,
related, and "some" restrictions of a class are prop. Other axioms of OWL say nothing about
nearness and are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.text.ontology.entities import refuse_bombs
from honeyguide.text.ontology.lines import damaged, opened
from honeyguide.text.ontology.ontology import Draft, Ontology

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
_MOST = 200_000_000
"""Triples: twice what the largest published ontologies have."""
_IRI = 1_000
"""Characters of an identifier: a long prefix is written once and filled in at every use."""
_LOCAL = re.compile(r"[#/:]([^\W\d_][^\W\d]{2,60})$").search
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|_+").sub
_FORMATS = {
    ".owl": "RDF_XML", ".rdf": "RDF_XML", ".xml": "RDF_XML", ".ttl": "TURTLE", ".n3": "N3",
    ".nt": "N_TRIPLES", ".skos": "TURTLE", ".jsonld": "JSON_LD",
}  # fmt: skip
SUFFIXES = frozenset(_FORMATS)


def read(path: Path, suffix: str, language: str) -> Ontology:
    return _Reading(path, language).of(_triples(path, suffix))


class _Reading:
    """What must be remembered between one triple and another."""

    def __init__(self, path: Path, language: str) -> None:
        self._draft = Draft(str(path))
        self._language = language
        self._worth: dict[str, int] = {}
        """How good the name is that a concept has: by its language."""
        self._no_concepts: set[str] = set()
        self._domains: dict[str, dict[str, None]] = {}
        self._ranges: dict[str, dict[str, None]] = {}
        self._restricted: list[tuple[str, str]] = []
        self._fillers: dict[str, str] = {}

    def of(self, triples: Iterator[tuple[str, str, str, str | None]]) -> Ontology:
        for triple in triples:
            self._take(*triple)
        draft = self._draft
        for concept, blank in self._restricted:
            if blank in self._fillers:
                draft.edge("prop", concept, self._fillers[blank])
        for prop, domains in self._domains.items():
            # A property with hundreds of domains and ranges says nothing of any of them.
            for domain in islice(domains, _ENDS):
                for target in islice(self._ranges.get(prop, ()), _ENDS):
                    draft.edge("prop", domain, target)
        for concept in draft.nameless():
            if local := _LOCAL(concept):
                draft.name(concept, _HUMP(" ", local[1]))
        return draft.done(without=self._no_concepts)

    def _take(self, subject: str, predicate: str, target: str, language: str | None) -> None:
        """One triple; ``language`` is None for a resource, '' for text without one."""
        draft, named = self._draft, subject[0] != "_"
        if language is not None:
            if named and predicate in _LABELS:
                self._label(subject, target, language)
            elif named and predicate in _SYNONYMS and self._worth_of(language):
                draft.synonym(subject, target)
        elif predicate == _TYPE:
            if target in _PROPERTIES:
                self._no_concepts.add(subject)
            elif named and target[0] != "_" and not target.startswith(_VOCABULARIES):
                draft.edge("inst", subject, target)
        elif predicate == _SOME:
            if target[0] != "_":
                self._fillers[subject] = target
        elif not named:
            return
        elif predicate == _SUB:
            if target[0] == "_":
                self._restricted.append((subject, target))
            elif not target.startswith(_VOCABULARIES):
                draft.edge("is-a", subject, target)
        elif predicate == _BROADER:
            draft.edge("is-a", subject, target)
        elif predicate == _NARROWER:
            draft.edge("is-a", target, subject)
        elif predicate == _RELATED:
            draft.edge("prop", subject, target)
        elif predicate in (_DOMAIN, _RANGE) and target[0] != "_":
            side = self._domains if predicate == _DOMAIN else self._ranges
            side.setdefault(subject, {})[target] = None

    def _label(self, concept: str, said: str, language: str) -> None:
        worth = self._worth_of(language)
        if worth > self._worth.get(concept, -1):
            # A label in a stranger's language is better than none, and no synonym later.
            self._draft.prefer(concept, said, keep=self._worth.get(concept, 0) > 0)
            self._worth[concept] = worth
        elif worth:
            self._draft.name(concept, said)

    def _worth_of(self, language: str) -> int:
        tag = language.partition("-")[0].lower()
        return 3 if tag == self._language else {"": 2, "en": 1}.get(tag, 0)


def _triples(path: Path, suffix: str) -> Iterator[tuple[str, str, str, str | None]]:
    """Subject, predicate, object and the object's language; blank nodes begin with ``_``."""
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
        refuse_bombs(path)
    with opened(path) as file:
        try:
            for number, quad in enumerate(ox.parse(file, form, base_iri=base, lenient=True)):
                if number >= _MOST:
                    raise ConfigError(f"{path} has more than {_MOST:,} triples: give a part of it")
                predicate = quad.predicate.value
                if predicate not in _TOLD and len(predicate) <= _IRI:
                    continue
                one, target = quad.subject, quad.object
                subject = one.value if isinstance(one, named) else str(one)
                said = isinstance(target, literal)
                other = target.value if said or isinstance(target, named) else str(target)
                if max(len(subject), len(predicate), 0 if said else len(other)) > _IRI:
                    raise ConfigError(f"{path} has a name of more than {_IRI:,} characters")
                yield subject, predicate, other, target.language or "" if said else None
        except (IndexError, MemoryError) as error:
            raise ConfigError(f"the ontology {path} cannot be read: {error!r}") from error
        except SyntaxError as error:
            if "LoadDocumentCallback" in str(error):  # nobody gave the parser the net, nor shall
                raise ConfigError(
                    f"the ontology {path} cannot be read: its @context lies elsewhere, and nothing "
                    "is fetched for it. Put the context itself in its place"
                ) from error
            raise damaged(path, error.lineno or 0, error.msg or str(error)) from error
        except ValueError as error:
            raise ConfigError(f"the ontology {path} cannot be read: {error}") from error
