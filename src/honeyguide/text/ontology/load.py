"""Load an ontology from a file or folder. The name tells the format, or else the first lines."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import cast

from honeyguide.config.settings import TopicSettings
from honeyguide.errors import ConfigError
from honeyguide.text.ontology import rdf, readers
from honeyguide.text.ontology.ontology import (
    RELATION_KINDS,
    Ontology,
    ReachedConcept,
    RelationKind,
    nearest_concepts,
)
from honeyguide.text.ontology.readers import open_ontology_file
from honeyguide.types import Concept

_DATA = Path(__file__).parent / "data"
OWN_ONTOLOGIES = {"cell": _DATA / "cell.obo", "mammal": _DATA / "mammal.csv"}
"""Small ontologies that come with the package, to try and to copy."""


def load_ontology(source: str, language: str = "en") -> Ontology:
    """The ontology in that file or folder, or the built-in one of that name."""
    path = _ontology_path(source)
    if path.is_dir():
        return _load_folder(path, language)
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    upper = path.name.upper()
    if upper.startswith(("MRCONSO", "SRDEF")):
        return _load_folder(path.parent, language)
    if suffix == ".obo":
        return readers.read_obo(path)
    if suffix == ".bin" or upper.startswith("MTREES"):
        return readers.read_mesh(path)
    if suffix == ".json":
        return readers.read_edge_json(path)
    if suffix == ".csv":
        return readers.read_edge_csv(path)
    if suffix in rdf.RDF_SUFFIXES - {".xml", ".owl"}:
        return rdf.read_rdf(path, suffix, language)
    return _load_by_content(path, language)


def topic_concepts(topic: TopicSettings) -> tuple[Concept, ...]:
    """The concepts of a topic; without an ontology its keywords, at distance 0."""
    if not topic.ontology:
        return tuple(Concept(keyword, 0) for keyword in topic.keywords)
    return tuple(found.concept for found in concepts_near_topic(topic))


def concepts_near_topic(topic: TopicSettings) -> tuple[ReachedConcept, ...]:
    """The concepts near a topic, each with the one through which it was reached."""
    relations, language = topic.relations or RELATION_KINDS, topic.keyword_language
    return concepts_near(topic.ontology, topic.concept, topic.distance, relations, language)


def concepts_near(
    source: str, topic: str, distance: int, relations: tuple[str, ...], language: str
) -> tuple[ReachedConcept, ...]:
    """:func:`load_ontology` and :func:`nearest_concepts` in one; the result is cached for a
    file."""
    if not topic.strip():
        raise ConfigError(f"topic.concept: say which concept of {source} is your topic")
    wrong = [kind for kind in relations if kind not in RELATION_KINDS]
    if wrong:
        raise ConfigError(
            f"topic.relations may hold {', '.join(RELATION_KINDS)}, and not {wrong[0]!r}"
        )
    try:
        state = _ontology_path(source).stat()
    except OSError as error:
        raise ConfigError(
            f"topic.ontology: {source} cannot be opened ({error.strerror}); "
            f"ours are {', '.join(OWN_ONTOLOGIES)}"
        ) from error
    stamp = (state.st_mtime_ns, state.st_size)
    return _cached_concepts_near(
        source, stamp, topic, distance, cast("tuple[RelationKind, ...]", relations), language
    )


@lru_cache(maxsize=8)
def _cached_concepts_near(
    source: str,
    stamp: tuple[int, int],  # noqa: ARG001 - a file that changed is read again
    topic: str,
    distance: int,
    relations: tuple[RelationKind, ...],
    language: str,
) -> tuple[ReachedConcept, ...]:
    return nearest_concepts(load_ontology(source, language), topic, distance, relations)


def _ontology_path(source: str) -> Path:
    path = Path(source).expanduser()
    return path if path.exists() else OWN_ONTOLOGIES.get(source, path)


def _load_folder(folder: Path, language: str) -> Ontology:
    """The ontology in a folder of UMLS files."""
    if names := readers.find_umls_file(folder, "MRCONSO.RRF"):
        relations = readers.find_umls_file(folder, "MRREL.RRF")
        return readers.read_metathesaurus(names, relations, language)
    if types := readers.find_umls_file(folder, "SRDEF"):
        found = (readers.find_umls_file(folder, name) for name in ("SRSTR", "SRSTRE2"))
        return readers.read_semantic_network(types, next(filter(None, found), None))
    raise ConfigError(
        f"topic.ontology: the folder {folder} holds neither MRCONSO.RRF nor SRDEF; name a file"
    )


def _load_by_content(path: Path, language: str) -> Ontology:
    with open_ontology_file(path) as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    text = head.decode("utf-8", "replace").lstrip()  # texts know more blanks than bytes do
    if text.startswith("<") and ("<" in text[1:] or _is_xml(text)):
        return rdf.read_rdf(path, ".owl" if _is_xml(text) else ".ttl", language)
    if text.startswith(("@prefix", "@base", "PREFIX", "BASE")):
        return rdf.read_rdf(path, ".ttl", language)
    if text.startswith(("format-version:", "[Term]")):
        return readers.read_obo(path)
    if text.startswith(("[", "{")):
        return readers.read_edge_json(path)
    if "\0" in text or not text:
        raise ConfigError(f"topic.ontology: {path} is {'no text' if text else 'empty'}")
    if text.startswith(("Ontology(", "Prefix(")):
        raise ConfigError(
            f"topic.ontology: {path} is OWL in functional syntax; save it as RDF/XML or Turtle"
        )
    if path.name.lower().removesuffix(".gz").endswith((".owl", ".xml")):
        raise ConfigError(f"topic.ontology: {path} is not an ontology: neither RDF/XML nor Turtle")
    first = next(line for line in text.splitlines() if line.strip())
    if ";" in first and first.rpartition(";")[2].strip()[1:3].isdecimal():
        return readers.read_mesh(path)
    if "," in first:
        return readers.read_edge_csv(path)
    return readers.read_indented_tree(path)


def _is_xml(text: str) -> bool:
    return text.startswith(("<?xml", "<!", "<rdf", "<owl"))
