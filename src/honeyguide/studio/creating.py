"""A topic from the browser: what was typed, pasted and uploaded becomes a collection, or nothing.

It is made in a folder beside its place and moved there whole, so that a mistake leaves no half of
it behind.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from honeyguide.crawl import examples, topic_file
from honeyguide.crawl.create import create
from honeyguide.crawl.engine_state import agree
from honeyguide.crawl.ontologies import OURS
from honeyguide.crawl.settings_hints import lab_address, remarks
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent
from honeyguide.seeds.engine_factory import check as check_engine
from honeyguide.studio import name_checks as names
from honeyguide.studio.form_errors import Mistake, naming, naming_keys
from honeyguide.studio.routes import Here
from honeyguide.studio.seeds import Address, address
from honeyguide.studio.uploads import LARGEST, Upload, Uploads

Word = Annotated[str, Meta(max_length=200)]
Code = Annotated[str, Meta(max_length=10)]


class NewTopic(Struct, forbid_unknown_fields=True):
    """What a person says of a new topic."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    contact: Annotated[str, Meta(max_length=200)]
    description: Annotated[str, Meta(max_length=5_000)] = ""
    seeds: Annotated[list[Address], Meta(max_length=2_000)] = []
    keywords: Annotated[list[Word], Meta(max_length=500)] = []
    good: Annotated[list[Address], Meta(max_length=500)] = []
    bad: Annotated[list[Address], Meta(max_length=500)] = []
    good_files: Annotated[list[Upload], Meta(max_length=50)] = []
    bad_files: Annotated[list[Upload], Meta(max_length=50)] = []
    good_texts: Annotated[list[str], Meta(max_length=50)] = []
    """Pasted."""
    bad_texts: Annotated[list[str], Meta(max_length=50)] = []
    ontology: Annotated[str, Meta(max_length=40)] = ""
    """cell, mammal, or an upload's id."""
    concept: Word = ""
    language: Annotated[list[Code], Meta(max_length=20)] = []
    words: Code = ""
    strategy: Annotated[str, Meta(max_length=60)] = ""
    pages: Annotated[int, Meta(ge=0, le=100_000_000)] = 1000
    scope: Literal["everything", "domain", "host", "prefix"] = "everything"
    lab: Annotated[str, Meta(max_length=100)] = ""
    search_engine: Annotated[str, Meta(max_length=60)] = ""
    """searxng, brave, json, or a plug-in's name; '': no search engine is asked."""
    search_url: Annotated[str, Meta(max_length=2_000)] = ""
    queries: Annotated[list[Annotated[str, Meta(max_length=400)]], Meta(max_length=200)] = []
    """What it is asked first."""


class Made(Struct):
    name: str
    notes: list[str]
    """What is worth knowing, though nothing is wrong."""


def make(here: Here, body: NewTopic) -> Made:
    """Make a collection of a new topic."""
    name = body.name.strip()
    if why := names.unfit(name):
        raise Mistake("name", f"{name!r} cannot be the name: {why}")
    place = here.root / name
    if place.exists():
        raise Mistake("name", f"there is a folder {name!r} already; choose another name")
    _check(body)
    with _beside(here.root) as folder:
        with naming_keys():
            found = create(folder / name, **_arguments(here, body, folder))
        settings = found.settings
        if body.ontology and body.ontology not in OURS:
            _bring(here.shared.get(here.root, Uploads).path(body.ontology), folder / name)
        try:
            (folder / name).rename(place)
        except OSError as error:
            taken = error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
            why = "is there already" if taken else str(error.strerror)
            raise Mistake("name", f"{name!r}: {why}") from error
    notes = list(remarks(settings.topic))
    try:
        agree(settings, place)  # who types an engine's address wants it asked
    except ConfigError as error:
        notes.append(str(error))
    if settings.crawl.strategy == "breadth" and not body.strategy:
        notes.append(
            "Nothing says yet what is relevant: every page will count, and links are followed in "
            "order. Add keywords, a description, or examples."
        )
    return Made(name, notes)


def _check(body: NewTopic) -> None:
    """What :func:`create` would tell in the words of the command line."""
    try:
        user_agent(body.contact.strip(), "0")
    except ConfigError as error:
        raise Mistake(
            "contact",
            "the contact does not say how to reach you: write an e-mail address or a web page "
            "(http://…), so that the owner of a site can complain",
        ) from error
    if body.search_engine:
        try:
            check_engine(body.search_engine, body.search_url.strip())
        except ConfigError as error:
            key, _, said = str(error).partition(": ")
            raise Mistake(key.replace(".", "_"), said) from error
    if not any(text.strip() for text in (*body.seeds, *body.good)) and not body.search_engine:
        raise Mistake(
            "seeds",
            "there are no seeds: write at least one address to begin with, or choose a search "
            "engine",
        )


def _arguments(here: Here, body: NewTopic, folder: Path) -> dict[str, Any]:
    lab = bool(body.lab.strip())
    tables: dict[str, Any] = {"scope": {"rule": body.scope}} if body.scope != "everything" else {}
    if lab:
        with naming("lab"):
            tables["fetch"] = {"lab": lab_address(body.lab)}
        tables["politeness"] = {"loopback_delay_s": 0.0}
    if body.search_engine:
        search = {"engine": body.search_engine, "url": body.search_url.strip()}
        asked = [text.strip() for text in body.queries if text.strip()]
        tables["search"] = {key: value for key, value in search.items() if value} | (
            {"queries": asked} if asked else {}
        )
        if lab:
            tables["search"]["per_minute"] = 0.0  # nobody there is troubled by haste
    ontology = body.ontology
    if ontology and ontology not in OURS:
        ontology = str(here.shared.get(here.root, Uploads).path(ontology))
    return {
        **{key: addresses(key, getattr(body, key), lab) for key in ("seeds", "good", "bad")},
        "good_files": _written(folder, "good", body.good_files, body.good_texts),
        "bad_files": _written(folder, "bad", body.bad_files, body.bad_texts),
        "ontology": ontology,
        **{key: getattr(body, key) for key in _AS_SAID},
        **tables,
    }


_AS_SAID = (
    "contact", "description", "keywords", "concept", "language", "words", "strategy", "pages"
)  # fmt: skip


def addresses(field: str, texts: list[str], lab: bool) -> list[str]:
    """As they were typed, made whole."""
    with naming(field):
        return [str(address(text, lab=lab)) for text in texts if text.strip()]


def _written(beside: Path, kind: str, files: list[Upload], texts: list[str]) -> list[str]:
    """Uploads and pasted texts as files, from where they are copied into the collection."""
    pasted = [
        Upload("pasted.txt", text.encode("utf-8", "replace")) for text in texts if text.strip()
    ]
    folder = beside / kind
    folder.mkdir()
    paths = []
    for number, file in enumerate((*files, *pasted), 1):
        field = f"{kind}_files" if number <= len(files) else f"{kind}_texts"
        if len(file.content) > LARGEST:
            raise Mistake(field, f"{file.name} is larger than {LARGEST // 1_000_000} MB")
        # Each in a folder of its own: two files may have the same name.
        path = folder / str(number) / names.file(file.name, "example")
        path.parent.mkdir()
        path.write_bytes(file.content)
        try:
            examples.checked([str(path)], field)
        except ConfigError as error:
            # The person knows the file by its name, and not by where we put it.
            what = file.name if number <= len(files) else "the pasted text"
            why = "holds no text that can be read; give HTML, or plain text"
            raise Mistake(field, f"{what} {why}") from error
        paths.append(str(path))
    return paths


def _bring(ontology: Path, folder: Path) -> None:
    """The ontology into the collection, which then names it by its name: it may be moved."""
    (folder / ontology.name).write_bytes(ontology.read_bytes())
    file = folder / "topic.toml"
    text = file.read_text("utf-8")
    file.write_text(
        text.replace(topic_file.toml(str(ontology)), topic_file.toml(ontology.name)), "utf-8"
    )


@contextmanager
def _beside(root: Path) -> Iterator[Path]:
    """A folder on the same disk that nobody takes for a collection; gone afterwards."""
    try:
        with TemporaryDirectory(prefix=".new-", dir=root) as folder:
            yield Path(folder)
    except OSError as error:
        raise ConfigError(f"nothing can be written in {root}: {error.strerror}") from error
