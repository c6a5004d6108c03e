"""An ontology from a file or folder, the format told by its name, else by its first lines."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import cast

from honeyguide.config import TopicSettings
from honeyguide.errors import ConfigError
from honeyguide.text.ontology import edges, mesh, obo, rdf, tree, umls
from honeyguide.text.ontology.choose import Found, choose
from honeyguide.text.ontology.lines import opened
from honeyguide.text.ontology.ontology import KINDS, Kind, Ontology
from honeyguide.types import Concept

_DATA = Path(__file__).parent / "data"
OURS = {"cell": _DATA / "cell.obo", "mammal": _DATA / "mammal.csv"}
"""Small ontologies of our own, to try and to copy."""


def load(source: str, language: str = "en") -> Ontology:
    """The ontology in that file or folder, or ours of that name."""
    path = _place(source)
    if path.is_dir():
        return _folder(path, language)
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    upper = path.name.upper()
    if upper.startswith(("MRCONSO", "SRDEF")):
        return _folder(path.parent, language)
    if suffix == ".obo":
        return obo.read(path)
    if suffix == ".bin" or upper.startswith("MTREES"):
        return mesh.read(path)
    if suffix == ".json":
        return edges.read_json(path)
    if suffix == ".csv":
        return edges.read_csv(path)
    if suffix in rdf.SUFFIXES - {".xml", ".owl"}:
        return rdf.read(path, suffix, language)
    return _by_content(path, language)


def concepts_of(topic: TopicSettings) -> tuple[Concept, ...]:
    """The topic's concepts; without an ontology, its keywords are the topic themselves."""
    if not topic.ontology:
        return tuple(Concept(keyword, 0) for keyword in topic.keywords)
    return tuple(found.concept for found in near(topic))


def near(topic: TopicSettings) -> tuple[Found, ...]:
    """What lies near the topic, with the way there."""
    relations = topic.relations or KINDS
    return concepts_near(topic.ontology, topic.concept, topic.distance, relations, topic.spoken)


def concepts_near(
    source: str, topic: str, distance: int, relations: tuple[str, ...], language: str
) -> tuple[Found, ...]:
    """What :func:`load` and :func:`choose` say together; the same file is not read twice."""
    if not topic.strip():
        raise ConfigError(f"topic.concept: say which concept of {source} is your topic")
    wrong = [kind for kind in relations if kind not in KINDS]
    if wrong:
        raise ConfigError(f"topic.relations may hold {', '.join(KINDS)}, and not {wrong[0]!r}")
    try:
        state = _place(source).stat()
    except OSError as error:
        raise ConfigError(
            f"topic.ontology: {source} cannot be opened ({error.strerror}); "
            f"ours are {', '.join(OURS)}"
        ) from error
    stamp = (state.st_mtime_ns, state.st_size)
    return _near(source, stamp, topic, distance, cast("tuple[Kind, ...]", relations), language)


@lru_cache(maxsize=8)
def _near(
    source: str,
    stamp: tuple[int, int],  # noqa: ARG001 - a file that changed is read again
    topic: str,
    distance: int,
    relations: tuple[Kind, ...],
    language: str,
) -> tuple[Found, ...]:
    return choose(load(source, language), topic, distance, relations)


def _place(source: str) -> Path:
    path = Path(source).expanduser()
    return path if path.exists() else OURS.get(source, path)


def _folder(folder: Path, language: str) -> Ontology:
    """A folder of UMLS files."""
    if names := umls.find(folder, "MRCONSO.RRF"):
        return umls.read_metathesaurus(names, umls.find(folder, "MRREL.RRF"), language)
    if types := umls.find(folder, "SRDEF"):
        relations = umls.find(folder, "SRSTR") or umls.find(folder, "SRSTRE2")
        return umls.read_network(types, relations)
    raise ConfigError(
        f"topic.ontology: the folder {folder} holds neither MRCONSO.RRF nor SRDEF; name a file"
    )


def _by_content(path: Path, language: str) -> Ontology:
    with opened(path) as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    text = head.decode("utf-8", "replace").lstrip()  # texts know more blanks than bytes do
    if text.startswith("<") and ("<" in text[1:] or _is_xml(text)):
        return rdf.read(path, ".owl" if _is_xml(text) else ".ttl", language)
    if text.startswith(("@prefix", "@base", "PREFIX", "BASE")):
        return rdf.read(path, ".ttl", language)
    if text.startswith(("format-version:", "[Term]")):
        return obo.read(path)
    if text.startswith(("[", "{")):
        return edges.read_json(path)
    if "\0" in text or not text:
        raise ConfigError(f"topic.ontology: {path} is {'no text' if text else 'empty'}")
    if text.startswith(("Ontology(", "Prefix(")):
        raise ConfigError(
            f"topic.ontology: {path} is OWL in functional syntax; save it as RDF/XML or Turtle"
        )
    if path.name.lower().removesuffix(".gz").endswith((".owl", ".xml")):
        raise ConfigError(f"topic.ontology: {path} is no ontology: neither RDF/XML nor Turtle")
    first = next(line for line in text.splitlines() if line.strip())
    if ";" in first and first.rpartition(";")[2].strip()[1:3].isdecimal():
        return mesh.read(path)
    if "," in first:
        return edges.read_csv(path)
    return tree.read(path)


def _is_xml(text: str) -> bool:
    return text.startswith(("<?xml", "<!", "<rdf", "<owl"))
