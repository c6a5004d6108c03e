"""Labelled documents from a folder of folders, a JSONL or a CSV file, one at a time, each
bounded.

Names of files and folders may come from strangers and are made harmless when they are read.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from honeyguide.errors import ConfigError, ParseError
from honeyguide.parse.read import parse_body
from honeyguide.training import labelled_rows
from honeyguide.types import Link, Page, Url

_LONGEST = 100


def visible_text(text: str) -> str:
    """One line of visible characters: controls, invisible characters and lone surrogates are
    removed."""
    return " ".join("".join(c for c in text if c.isprintable() or c.isspace()).split())


def category_name(text: str) -> str:
    """The name of a category, normalised; '' if nothing is left."""
    # Cut first: composing a long run of accents takes its time.
    return normalize("NFC", visible_text(text.lstrip()[: 4 * _LONGEST]))[:_LONGEST].strip()


# --- Documents ---


_ROW_FILES = (".jsonl", ".ndjson", ".csv", ".tsv")
_ENDINGS = {".txt": "text/plain", ".text": "text/plain", ".md": "text/plain"}
_HTML = ("text/html", "application/xhtml+xml")


class LabelledDocument(NamedTuple):
    """A page with its category."""

    page: Page
    label: str


def read_documents(
    source: Path,
    columns: labelled_rows.ColumnNames,
    tally: labelled_rows.ReadingTally,
    language: str = "",
) -> Iterator[LabelledDocument]:
    """All documents that can be read; ``tally`` counts the others. ``language`` helps to detect the
    encoding."""
    if source.is_dir():
        return _folder_documents(source, columns, tally)
    if not source.is_file():
        raise ConfigError(f"{source} does not exist")
    if source.name.lower().removesuffix(".gz").endswith(_ROW_FILES):
        found = labelled_rows.read_rows(source, columns, tally, language)
        return (document for row in found for document in _row_documents(row, tally))
    raise ConfigError(
        f"{source}: give a folder with a folder for each category, or a file that ends in "
        ".jsonl, .csv or .tsv (or these with .gz)"
    )


def parse_document(body: bytes, name: str, *, html: bool | None = None, encoding: str = "") -> Page:
    """A file as a page; ParseError if it is no text. Its ending tells the format."""
    kind = _ENDINGS.get(Path(name).suffix.lower()) or mimetypes.guess_type(name)[0] or ""
    if html is not None:
        kind = "text/html" if html else "text/plain"
    elif kind not in (*_HTML, "text/plain"):
        kind = "text/html" if body.lstrip()[:1] == b"<" else "text/plain"
    if encoding:
        kind += f"; charset={encoding}"
    elif kind == "text/plain":
        kind += _utf8_charset(body)
    url = Url("file://localhost/document")
    return parse_body(body, Link(url), kind)


def page_from_text(text: str, *, html: bool) -> Page:
    """The page of one text of a file with many."""
    text = text[: labelled_rows.MAX_TEXT_BYTES]
    if not html:
        return Page(Url("file://localhost/document"), text=text.strip())
    return parse_document(text.encode("utf-8", "replace"), "", html=True)


def _utf8_charset(body: bytes) -> str:
    """Plain text has no declaration; if it is valid UTF-8, it is UTF-8."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "; charset=utf-8"


def _folder_documents(
    folder: Path, columns: labelled_rows.ColumnNames, tally: labelled_rows.ReadingTally
) -> Iterator[LabelledDocument]:
    encoding = labelled_rows.check_encoding(columns.encoding) if columns.encoding else ""
    found = sorted(path for path in _skip_links(folder.iterdir(), tally) if path.is_dir())
    if not found:
        raise ConfigError(f"{folder} has no folders in it; make one for each category")
    for place in found:
        label = category_name(place.name)
        for path in sorted(path for path in _skip_links(place.rglob("*"), tally) if path.is_file()):
            if not label:
                tally.left_out["no label"] += 1
                continue
            try:
                with path.open("rb") as file:
                    page = parse_document(
                        file.read(labelled_rows.MAX_TEXT_BYTES), path.name, encoding=encoding
                    )
            except OSError as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
            except ParseError:
                tally.left_out["no text"] += 1
                continue
            tally.count_encoding(page.charset)
            tally.lost += page.title.count("\ufffd") + page.text.count("\ufffd")
            yield LabelledDocument(page, label)


def _skip_links(paths: Iterable[Path], tally: labelled_rows.ReadingTally) -> Iterator[Path]:
    """The files of a folder without links: a link in a stranger's folder may lead to the user's own
    files, and a model reveals which words were in them."""
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            tally.left_out["links, which are not followed"] += 1
        else:
            yield path


def _row_documents(
    row: labelled_rows.LabelledRow, tally: labelled_rows.ReadingTally
) -> Iterator[LabelledDocument]:
    label, text = row.label, row.text
    if isinstance(label, bool | int | float):
        label = str(label)
    if not isinstance(label, str) or not (name := category_name(label)):
        tally.left_out["no label"] += 1
        return
    if not isinstance(text, str) or not text.strip():
        tally.left_out["no text"] += 1
        return
    try:
        page = page_from_text(text, html=row.name.lower() == "html")
    except ParseError:
        tally.left_out["no text"] += 1
        return
    yield LabelledDocument(page, name)
