"""Rows of a JSONL or CSV file with texts and labels, one at a time: a file may exceed memory.

The encoding is UTF-8 if every byte fits: text in another encoding never does by accident. Otherwise
it is detected as for a page, from lines that are not ASCII.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.parse.charset import decode_body

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
