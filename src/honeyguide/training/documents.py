"""Labelled documents from a folder of folders, a JSONL or a CSV file, one at a time, each
bounded: a file may exceed memory.

The encoding of a JSONL or CSV file is UTF-8 if every byte fits: text in another encoding never does
by accident. Otherwise it is detected as for a page, from lines that are not ASCII. Names of files
and folders may come from strangers and are made harmless when they are read.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import mimetypes
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple
from unicodedata import normalize

from honeyguide.errors import ConfigError, ParseError
from honeyguide.parse.charset import decode_body
from honeyguide.parse.read import parse_body
from honeyguide.types import Link, Page, Url

_BLOCK, _SAMPLE, _AHEAD = 1 << 16, 1 << 16, 1 << 22
"""Bytes: read at once, given to detection, and searched for them."""
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def detect_encoding(path: Path, language: str = "") -> str:
    """The Python name of the encoding of the file, which is read once for that."""
    with open_unpacked(path) as file:
        block = file.read(_BLOCK)
        for mark, encoding in _MARKS:
            if block.startswith(mark):
                return encoding
        decoder, known = codecs.getincrementaldecoder("utf-8")(), False
        while block:
            try:
                known |= not decoder.decode(block).isascii()
            except UnicodeDecodeError:
                # What was UTF-8 so far is UTF-8 with a fault in it.
                if known:
                    return "utf-8"
                return _guess_encoding(_foreign_sample(block, file), path, language)
            block = file.read(_BLOCK)
    return "utf-8"


def check_encoding(encoding: str) -> str:
    """Check an encoding that a user names."""
    try:
        codecs.lookup(encoding)
        "".encode(encoding)  # base64 and its like are codecs as well, but not of texts
    except (LookupError, ValueError) as error:
        raise ConfigError(
            f"--encoding: there is no {encoding!r:.40}; it is such as utf-8 or windows-1254"
        ) from error
    return encoding


@contextmanager
def open_unpacked(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of the file, unpacked."""
    make: Callable[..., Any] = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with make(path, "rb") as file:
            yield file
    except (OSError, EOFError, zlib.error, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error


class LineTooLong(Exception):
    """A line exceeds the limit."""


class BoundedLines:
    """The lines of a file, none longer than ``longest``; after one that is, the next ones
    follow."""

    def __init__(self, file: IO[bytes], encoding: str, longest: int) -> None:
        self._file = io.TextIOWrapper(file, encoding, "replace", newline="")
        self._longest = longest
        self.number = 0
        """Number of the last line."""
        self.lost = 0
        """Characters that could not be decoded."""

    def __iter__(self) -> BoundedLines:
        return self

    def __next__(self) -> str:
        line = self._file.readline(self._longest)
        if not line:
            raise StopIteration
        self.number += 1
        if self._is_cut(line):
            while self._is_cut(self._file.readline(self._longest)):
                pass
            raise LineTooLong(f"a line is longer than {self._longest} characters")
        self.lost += line.count("\ufffd")
        return line

    def _is_cut(self, line: str) -> bool:
        return len(line) >= self._longest and not line.endswith(("\n", "\r"))


def _foreign_sample(block: bytes, file: IO[bytes]) -> bytes:
    """Lines that are not ASCII, from this block on."""
    rest = block + file.read(_AHEAD)
    return b"\n".join(line for line in rest.split(b"\n") if not line.isascii())[:_SAMPLE]


def _guess_encoding(sample: bytes, path: Path, language: str) -> str:
    """The detected encoding. Turkish is a hint, since its encoding differs from the western one in
    six letters."""
    host = f"x.{language}" if language == "tr" else ""
    found = decode_body(sample, "text/plain; charset=utf-8", host)[1]
    try:
        return check_encoding(found)
    except ConfigError as error:
        raise ConfigError(
            f"{path} is not UTF-8 but {found}, it seems, which cannot be read. Save it as UTF-8, "
            "or say what it is with --encoding NAME"
        ) from error


# --- Rows ---


MAX_TEXT_BYTES = 2_000_000
"""Most bytes of one file or line."""
_TEXT_COLUMNS = ("text", "html", "body", "content")
_LABEL_COLUMNS = ("label", "category", "class", "target")
_DELIMITERS = ",;\t|"
_STATED_DELIMITER = re.compile(r'"?sep=([,;\t|])"?\s*\Z').match
"""A line that Excel writes before all others."""


class ColumnNames(NamedTuple):
    """Names of the columns of a file; '': one of the usual names."""

    text: str = ""
    label: str = ""
    encoding: str = ""
    """Of the file; '': detected."""


@dataclass
class ReadingTally:
    """What happened while documents were read."""

    left_out: Counter[str] = field(default_factory=Counter)
    """Reason → documents that were left out."""
    encodings: Counter[str] = field(default_factory=Counter)
    """Files in each encoding other than UTF-8."""
    lost: int = 0
    """Characters that could not be decoded."""

    def count_encoding(self, encoding: str) -> None:
        if not encoding.lower().startswith(("utf-8", "utf8")):
            self.encodings[encoding] += 1


class LabelledRow(NamedTuple):
    """One row."""

    where: str
    """File and line, for messages."""
    name: str
    """Name of the column with the text."""
    text: Any
    label: Any


def read_rows(
    path: Path, columns: ColumnNames, tally: ReadingTally, language: str = ""
) -> Iterator[LabelledRow]:
    """All rows; ConfigError names a line that is invalid."""
    stated = columns.encoding
    encoding = check_encoding(stated) if stated else detect_encoding(path, language)
    tally.count_encoding(encoding)
    with open_unpacked(path) as file:
        lines = BoundedLines(file, encoding, MAX_TEXT_BYTES)
        name = path.name.lower().removesuffix(".gz")
        if name.endswith((".csv", ".tsv")):
            yield from _table_rows(path, lines, columns)
        else:
            yield from _json_rows(path, lines, columns, tally)
        tally.lost += lines.lost


def _json_rows(
    path: Path, lines: BoundedLines, columns: ColumnNames, tally: ReadingTally
) -> Iterator[LabelledRow]:
    while True:
        try:
            line = next(lines, None)
        except LineTooLong:
            tally.left_out["lines that are too long"] += 1
            continue
        if line is None:
            return
        if not line.strip():
            continue
        where = f"{path}, line {lines.number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            at = f"{where}: this is not JSON: {error.msg}, character {error.pos + 1}"
            raise ConfigError(at) from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: this is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise ConfigError(f"{where}: a line must be an object {{…}}")
        label = find_column(row, columns.label, _LABEL_COLUMNS, "label", where)
        text = find_column(row, columns.text, _TEXT_COLUMNS, "text", where)
        yield LabelledRow(where, text, row[text], row[label])


def _table_rows(path: Path, lines: BoundedLines, columns: ColumnNames) -> Iterator[LabelledRow]:
    start, taken = 1, 0

    def bounded_lines(head: str) -> Iterator[str]:
        """The lines; those of one record together are bounded as well."""
        nonlocal taken
        for line in chain([head] if head else [], lines):
            taken += len(line)
            if taken > 2 * MAX_TEXT_BYTES:
                raise csv.Error(f"a record is longer than {2 * MAX_TEXT_BYTES} characters")
            yield line

    try:
        with _field_limit(MAX_TEXT_BYTES):
            head = next(lines, "")
            if stated := _STATED_DELIMITER(head):
                head = next(lines, "")
            start = lines.number
            between = stated[1] if stated else _guess_delimiter(head, columns)
            found = csv.reader(bounded_lines(head), delimiter=between)
            names = [name.strip() for name in next(found, [])]
            if not names:
                return
            where = f"{path}, line {start}"
            label = names.index(find_column(names, columns.label, _LABEL_COLUMNS, "label", where))
            text = names.index(find_column(names, columns.text, _TEXT_COLUMNS, "text", where))
            start, taken = lines.number + 1, 0
            for values in found:
                if values:  # not so of an empty line
                    where = f"{path}, line {start}"
                    values += [""] * (len(names) - len(values))
                    yield LabelledRow(where, names[text], values[text], values[label])
                start, taken = lines.number + 1, 0
    except LineTooLong as error:
        raise ConfigError(f"{path}, line {lines.number}: {error}") from error
    except csv.Error as error:
        # A quotation mark that nobody closed is noticed much later.
        raise ConfigError(f"{path}, from line {start} on: {error}") from error


def _guess_delimiter(head: str, columns: ColumnNames) -> str:
    """The delimiter that gives the expected columns, then the most columns."""

    def delimiter_score(mark: str) -> tuple[int, int]:
        names = next(csv.reader([head], delimiter=mark), [])
        wishes = ((columns.text, _TEXT_COLUMNS), (columns.label, _LABEL_COLUMNS))
        return sum(bool(_matching_name(names, *wish)) for wish in wishes), len(names)

    return max(_DELIMITERS, key=delimiter_score)


def find_column(
    names: Iterable[Any], chosen: str, usual: tuple[str, ...], what: str, where: str
) -> str:
    """The name of a column or key, as written in the file."""
    names = [name for name in names if name]
    if name := _matching_name(names, chosen, usual):
        return name
    has, expected = ", ".join(names)[:200], repr(chosen) if chosen else " or ".join(usual)
    raise ConfigError(
        f"{where}: there is no {expected} in it, only: {has}. Say which it is with --{what} NAME"
    )


def _matching_name(names: Iterable[str], chosen: str, usual: tuple[str, ...]) -> str:
    known = {name.strip().lower(): name for name in names}
    return next((known[w] for w in ((chosen.lower(),) if chosen else usual) if w in known), "")


@contextmanager
def _field_limit(most: int) -> Iterator[None]:
    """Set the limit of csv, which is global to the process, for a while."""
    before = csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(before)


# --- Names from strangers ---


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
    columns: ColumnNames,
    tally: ReadingTally,
    language: str = "",
) -> Iterator[LabelledDocument]:
    """All documents that can be read; ``tally`` counts the others. ``language`` helps to detect the
    encoding."""
    if source.is_dir():
        return _folder_documents(source, columns, tally)
    if not source.is_file():
        raise ConfigError(f"{source} does not exist")
    if source.name.lower().removesuffix(".gz").endswith(_ROW_FILES):
        found = read_rows(source, columns, tally, language)
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
    text = text[:MAX_TEXT_BYTES]
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
    folder: Path, columns: ColumnNames, tally: ReadingTally
) -> Iterator[LabelledDocument]:
    encoding = check_encoding(columns.encoding) if columns.encoding else ""
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
                    page = parse_document(file.read(MAX_TEXT_BYTES), path.name, encoding=encoding)
            except OSError as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
            except ParseError:
                tally.left_out["no text"] += 1
                continue
            tally.count_encoding(page.charset)
            tally.lost += page.title.count("\ufffd") + page.text.count("\ufffd")
            yield LabelledDocument(page, label)


def _skip_links(paths: Iterable[Path], tally: ReadingTally) -> Iterator[Path]:
    """The files of a folder without links: a link in a stranger's folder may lead to the user's own
    files, and a model reveals which words were in them."""
    for path in paths:
        if path.name.startswith("."):
            continue
        if path.is_symlink():
            tally.left_out["links, which are not followed"] += 1
        else:
            yield path


def _row_documents(row: LabelledRow, tally: ReadingTally) -> Iterator[LabelledDocument]:
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
