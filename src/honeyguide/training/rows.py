"""Rows of a JSONL or a CSV file, one at a time: a file may be larger than memory."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.training.encodings import Lines, TooLong, checked, encoding_of, opened

BYTES = 2_000_000
"""Of one file, or one line: what is longer is no text that a person wrote."""
_TEXTS = ("text", "html", "body", "content")
_LABELS = ("label", "category", "class", "target")
_BETWEEN = ",;\t|"
_STATED = re.compile(r'"?sep=([,;\t|])"?\s*\Z').match
"""A line that Excel writes before all others."""


class Columns(NamedTuple):
    """What the fields of a file are called; '': whichever of the usual names is there."""

    text: str = ""
    label: str = ""
    encoding: str = ""
    """Of the file; '': found out."""


@dataclass
class Tally:
    """What came up while documents were read."""

    left: Counter[str] = field(default_factory=Counter)
    """Why documents were left out, and how many."""
    encodings: Counter[str] = field(default_factory=Counter)
    """Files in each encoding but UTF-8."""
    lost: int = 0
    """Letters that could not be read."""

    def read_as(self, encoding: str) -> None:
        if not encoding.lower().startswith(("utf-8", "utf8")):
            self.encodings[encoding] += 1


class Row(NamedTuple):
    where: str
    """File and line, for people."""
    name: str
    """Of the column with the text."""
    text: Any
    label: Any


def rows(path: Path, columns: Columns, tally: Tally, language: str = "") -> Iterator[Row]:
    """Every row; a ConfigError names the line that cannot be one."""
    encoding = checked(columns.encoding) if columns.encoding else encoding_of(path, language)
    tally.read_as(encoding)
    with opened(path) as file:
        lines = Lines(file, encoding, BYTES)
        name = path.name.lower().removesuffix(".gz")
        if name.endswith((".csv", ".tsv")):
            yield from _table(path, lines, columns)
        else:
            yield from _objects(path, lines, columns, tally)
        tally.lost += lines.lost


def _objects(path: Path, lines: Lines, columns: Columns, tally: Tally) -> Iterator[Row]:
    while True:
        try:
            line = next(lines, None)
        except TooLong:
            tally.left["lines that are too long"] += 1
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
        label = wanted(row, columns.label, _LABELS, "label", where)
        text = wanted(row, columns.text, _TEXTS, "text", where)
        yield Row(where, text, row[text], row[label])


def _table(path: Path, lines: Lines, columns: Columns) -> Iterator[Row]:
    start, taken = 1, 0

    def within(head: str) -> Iterator[str]:
        """The lines; those of one record together are bounded as well."""
        nonlocal taken
        for line in chain([head] if head else [], lines):
            taken += len(line)
            if taken > 2 * BYTES:
                raise csv.Error(f"a record is longer than {2 * BYTES} characters")
            yield line

    try:
        with _fields(BYTES):
            head = next(lines, "")
            if stated := _STATED(head):
                head = next(lines, "")
            start = lines.number
            between = stated[1] if stated else _between(head, columns)
            found = csv.reader(within(head), delimiter=between)
            names = [name.strip() for name in next(found, [])]
            if not names:
                return
            where = f"{path}, line {start}"
            label = names.index(wanted(names, columns.label, _LABELS, "label", where))
            text = names.index(wanted(names, columns.text, _TEXTS, "text", where))
            start, taken = lines.number + 1, 0
            for values in found:
                if values:  # not so of an empty line
                    values += [""] * (len(names) - len(values))
                    yield Row(f"{path}, line {start}", names[text], values[text], values[label])
                start, taken = lines.number + 1, 0
    except TooLong as error:
        raise ConfigError(f"{path}, line {lines.number}: {error}") from error
    except csv.Error as error:
        # A quotation mark that nobody closed is noticed much later.
        raise ConfigError(f"{path}, from line {start} on: {error}") from error


def _between(head: str, columns: Columns) -> str:
    """What stands between columns: whatever gives those that are wanted, then the most of them."""

    def worth(mark: str) -> tuple[int, int]:
        names = next(csv.reader([head], delimiter=mark), [])
        wishes = ((columns.text, _TEXTS), (columns.label, _LABELS))
        return sum(bool(_found(names, *wish)) for wish in wishes), len(names)

    return max(_BETWEEN, key=worth)


def wanted(names: Iterable[Any], chosen: str, usual: tuple[str, ...], what: str, where: str) -> str:
    """The name of a column or key, as it is written there."""
    names = [name for name in names if name]
    if name := _found(names, chosen, usual):
        return name
    has, wish = ", ".join(names)[:200], repr(chosen) if chosen else " or ".join(usual)
    raise ConfigError(
        f"{where}: there is no {wish} in it, only: {has}. Say which it is with --{what} NAME"
    )


def _found(names: Iterable[str], chosen: str, usual: tuple[str, ...]) -> str:
    known = {name.strip().lower(): name for name in names}
    return next((known[w] for w in ((chosen.lower(),) if chosen else usual) if w in known), "")


@contextmanager
def _fields(most: int) -> Iterator[None]:
    """csv has one limit for the whole process."""
    before = csv.field_size_limit(most)
    try:
        yield
    finally:
        csv.field_size_limit(before)
