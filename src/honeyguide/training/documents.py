"""Labelled texts, from a folder of folders, a JSONL or a CSV file, one at a time, each bounded."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from honeyguide.errors import ConfigError, ParseError
from honeyguide.parse.read import read
from honeyguide.training.encodings import checked
from honeyguide.training.rows import BYTES, Columns, Row, Tally, rows
from honeyguide.training.safe_names import label as label_of
from honeyguide.types import Link, Page, Response, Url

_FILES = (".jsonl", ".ndjson", ".csv", ".tsv")
_ENDINGS = {".txt": "text/plain", ".text": "text/plain", ".md": "text/plain"}
_HTML = ("text/html", "application/xhtml+xml")


class Document(NamedTuple):
    page: Page
    label: str


def documents(
    source: Path, columns: Columns, tally: Tally, language: str = ""
) -> Iterator[Document]:
    """Every document that can be read; ``tally`` counts those that cannot. Of which language they
    are helps to find out what the file is written in."""
    if source.is_dir():
        return _of_folder(source, columns, tally)
    if not source.is_file():
        raise ConfigError(f"{source} does not exist")
    if source.name.lower().removesuffix(".gz").endswith(_FILES):
        found = rows(source, columns, tally, language)
        return (document for row in found for document in _of_row(row, tally))
    raise ConfigError(
        f"{source}: give a folder with a folder for each category, or a file that ends in "
        ".jsonl, .csv or .tsv (or these with .gz)"
    )


def page_of(body: bytes, name: str, *, html: bool | None = None, encoding: str = "") -> Page:
    """A file as a page; ParseError for what is no text. Its ending says what it is."""
    kind = _ENDINGS.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0] or ""
    if html is not None:
        kind = "text/html" if html else "text/plain"
    elif kind not in (*_HTML, "text/plain"):
        kind = "text/html" if body.lstrip()[:1] == b"<" else "text/plain"
    if encoding:
        kind += f"; charset={encoding}"
    elif kind == "text/plain":
        kind += _charset(body)
    url = Url("file://localhost/document")
    answer = Response(url, 200, (("Content-Type", kind),), body, body, b"", b"", "", 0.0, 0.0)
    return read(answer, Link(url))


def page_from(text: str, *, html: bool) -> Page:
    """Text from a file of many."""
    text = text[:BYTES]
    if not html:
        return Page(Url("file://localhost/document"), text=text.strip())
    return page_of(text.encode("utf-8", "replace"), "", html=True)


def _charset(body: bytes) -> str:
    """Plain text says nothing of itself; where it is UTF-8 it cannot be much else."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "; charset=utf-8"


def _of_folder(folder: Path, columns: Columns, tally: Tally) -> Iterator[Document]:
    encoding = checked(columns.encoding) if columns.encoding else ""
    found = sorted(path for path in _own(folder.iterdir(), tally) if path.is_dir())
    if not found:
        raise ConfigError(f"{folder} has no folders in it; make one for each category")
    for place in found:
        label = label_of(place.name)
        for path in sorted(path for path in _own(place.rglob("*"), tally) if path.is_file()):
            if not label:
                tally.left["no label"] += 1
                continue
            try:
                with path.open("rb") as file:
                    page = page_of(file.read(BYTES), path.name, encoding=encoding)
            except OSError as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
            except ParseError:
                tally.left["no text"] += 1
                continue
            tally.read_as(page.charset)
            tally.lost += page.title.count("\ufffd") + page.text.count("\ufffd")
            yield Document(page, label)


def _own(paths: Iterable[Path], tally: Tally) -> Iterator[Path]:
    """What lies in a folder itself. A link in a stranger's folder may lead to the user's own
    files, and a model tells whoever gets it which words were in them."""
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            tally.left["links, which are not followed"] += 1
        else:
            yield path


def _of_row(row: Row, tally: Tally) -> Iterator[Document]:
    label, text = row.label, row.text
    if isinstance(label, bool | int | float):
        label = str(label)
    if not isinstance(label, str) or not (name := label_of(label)):
        tally.left["no label"] += 1
        return
    if not isinstance(text, str) or not text.strip():
        tally.left["no text"] += 1
        return
    try:
        page = page_from(text, html=row.name.lower() == "html")
    except ParseError:
        tally.left["no text"] += 1
        return
    yield Document(page, name)
