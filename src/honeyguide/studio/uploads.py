"""Ontologies that were uploaded for a topic that is not made yet, and which concepts they have."""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Annotated

from msgspec import Meta, Struct

from honeyguide.crawl.ontologies import OURS, Ontology, load, matching
from honeyguide.errors import ConfigError
from honeyguide.studio import name_checks as names
from honeyguide.studio.routes import Here, Missing, Route

LARGEST = 10_000_000
"""Bytes of an uploaded file."""
_MOST = 8
"""Uploads that are kept at once; the oldest goes."""


class Uploads:
    """Files in a folder of their own, which goes with the studio. An id is the content's digest."""

    def __init__(self, _: Path) -> None:
        self._folder = TemporaryDirectory(prefix="honeyguide-")
        self._files: dict[str, tuple[Path, Ontology]] = {}
        self._lock = Lock()

    def add(self, name: str, content: bytes) -> tuple[str, Ontology]:
        if len(content) > LARGEST:
            raise ConfigError(f"{name} is larger than {LARGEST // 1_000_000} MB")
        plain = names.file(name, "ontology")
        if plain.endswith(".gz"):
            raise ConfigError(f"{plain}: unpack the file first, then upload it")
        key = hashlib.sha256(plain.encode() + b"\0" + content).hexdigest()[:20]
        with self._lock:
            if key not in self._files:
                place = Path(self._folder.name) / key
                place.mkdir(exist_ok=True)
                path = place / plain
                path.write_bytes(content)
                self._files[key] = (path, _read(path))
                while len(self._files) > _MOST:
                    old, _ = self._files.pop(next(iter(self._files)))
                    old.unlink(missing_ok=True)
            return key, self._files[key][1]

    def ontology(self, key: str) -> Ontology:
        with self._lock:
            if key in OURS and key not in self._files:
                self._files[key] = (OURS[key], load(key))
            return self._found(key)[1]

    def path(self, key: str) -> Path:
        """The uploaded file itself."""
        with self._lock:
            return self._found(key)[0]

    def _found(self, key: str) -> tuple[Path, Ontology]:
        if key not in self._files:
            raise Missing("this ontology is not here any more; upload it again")
        return self._files[key]

    def close(self) -> None:
        self._folder.cleanup()


def _read(path: Path) -> Ontology:
    try:
        return load(str(path))
    except ConfigError as error:
        # The person knows the file by its name, and not by where we put it.
        said = str(error).replace(str(path), path.name).replace(str(path.parent), "of the upload")
        raise ConfigError(said) from error


class Upload(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=200)]
    content: bytes
    """Base64."""


class Uploaded(Struct):
    id: str
    concepts: int
    name: str


class Look(Struct):
    source: Annotated[str, Meta(max_length=40, description="cell, mammal, or an upload's id")]
    find: Annotated[str, Meta(max_length=100)] = ""
    most: Annotated[int, Meta(ge=1, le=100)] = 20


class Concept(Struct):
    name: str
    id: str
    synonyms: tuple[str, ...]


def upload(here: Here, body: Upload) -> Uploaded:
    """Bring an ontology (OBO, RDF, CSV, JSON, MeSH) to choose a concept from."""
    key, ontology = here.shared.get(here.root, Uploads).add(body.name, body.content)
    return Uploaded(key, len(ontology), names.file(body.name, "ontology"))


def concepts(here: Here, query: Look) -> list[Concept]:
    """Concepts of an ontology whose names are like what was typed."""
    ontology = here.shared.get(here.root, Uploads).ontology(query.source)
    found = matching(ontology, query.find, query.most)
    return [Concept(match.name, match.id, match.synonyms) for match in found]


ROUTES = (
    Route("POST", "/api/ontology", upload, body=Upload, returns=Uploaded, most_bytes=14_000_000),
    Route("GET", "/api/ontology/concepts", concepts, query=Look, returns=list[Concept]),
)
