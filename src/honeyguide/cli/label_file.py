"""Labels in a file: CSV as spreadsheets write it, or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from honeyguide.api.user_urls import possible_urls
from honeyguide.errors import ConfigError

LabelPair = tuple[str, float]

_YES = frozenset({"1", "1.0", "yes", "y", "true", "good", "relevant", "+", "pos", "positive"})
_NO = frozenset({"0", "0.0", "no", "n", "false", "bad", "irrelevant", "-", "neg", "negative"})
_PROBE = 20
"""Lines that are looked at to see what separates the columns."""


def read_labels(file: Path, topic: str = "") -> list[LabelPair]:
    """The (address, label) pairs of a file, or of stdin for ``-``; mistakes name their line.

    Of several topics, those for that ``topic``: an export of ours has a column for each.
    """
    pairs, rows = [], _label_rows(file, topic)
    try:
        for line, address, word in rows:
            with _naming_line(line):
                possible_urls(address)
                pairs.append((address, label_value(word)))
    except ConfigError as error:
        raise ConfigError(
            f"{file}, {error}. None of its labels were saved: correct the line and give the file "
            "again"
        ) from error
    return pairs


def read_label_words(file: Path) -> list[tuple[str, str]]:
    """The same with labels as they are written, such as names of topics."""
    rows = _label_rows(file, "")
    try:
        return [(address, word.strip()) for _, address, word in rows]
    except ConfigError as error:
        raise ConfigError(f"{file}, {error}") from error


def _label_rows(file: Path, topic: str) -> Iterator[tuple[int, str, str]]:
    try:
        text = (
            sys.stdin.read()
            if str(file) == "-"
            else file.read_bytes().decode("utf-8-sig", errors="strict")
        )
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    rows = _read_json_lines if text.lstrip().startswith("{") else _read_csv
    return rows(text, topic)


@contextmanager
def _naming_line(line: int) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"line {line}: {error}") from error


def label_value(word: str) -> float:
    """A label's word as a number."""
    text = word.strip().lower()
    if text in _YES:
        return 1.0
    if text in _NO:
        return 0.0
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ConfigError(f"{word!r} is neither yes nor no nor between 0 and 1")
    return number


def _read_json_lines(text: str, topic: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            label = next((n for n in (f"label.{topic}", "label") if topic and n in row), "label")
            address, word = str(row["url"]), row[label]
            _refuse_topic_column(row, topic)
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ConfigError(f'line {number}: must be {{"url": …, "label": …}}') from None
        if word is not None:  # a row of our own export that nobody judged
            yield number, address, str(word)


def _read_csv(text: str, topic: str) -> Iterator[tuple[int, str, str]]:
    """Columns url and label by their headings, wherever they are; else the first two."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_guess_separator(text))
    columns: tuple[int, int] | None = None
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if columns is None:
                columns = _find_columns(row, topic) or (0, 1)
                if not is_address(row[0]):
                    with _naming_line(reader.line_num):
                        _refuse_topic_column([cell.strip().lower() for cell in row], topic)
                    continue
            if len(row) <= max(columns):
                raise ConfigError(f"line {reader.line_num}: two columns are needed: url,label")
            address, word = row[columns[0]], row[columns[1]]
            if word.strip() or columns == (0, 1):
                yield reader.line_num, address, word
    except csv.Error as error:
        raise ConfigError(f"line {reader.line_num}: this is not CSV: {error}") from error


def is_address(text: str) -> bool:
    try:
        return bool(possible_urls(text))
    except ConfigError:
        return False


def _refuse_topic_column(names: Container[str], topic: str) -> None:
    if topic and "topic" in names:
        raise ConfigError("its column “topic” is not read: make a file for each, and say --topic")


def _find_columns(row: Sequence[str], topic: str = "") -> tuple[int, int] | None:
    names = [cell.strip().lower() for cell in row]
    own = f"label.{topic}".lower()
    label = own if topic and own in names else "label"
    return (names.index("url"), names.index(label)) if {"url", label} <= {*names} else None


def _guess_separator(text: str) -> str:
    """What makes most lines an address and a label; commas, if nothing does better."""
    lines = [line for line in text.splitlines() if line.strip()][:_PROBE]
    heads = [mark for mark in ",;\t" if lines and _find_columns(lines[0].split(mark))]
    if heads:
        return heads[0]
    return max(",;\t", key=lambda mark: sum(_is_label_row(line, mark) for line in lines))


def _is_label_row(line: str, mark: str) -> bool:
    try:
        cells = next(csv.reader([line], delimiter=mark))
        return is_address(cells[0]) and label_value(cells[1]) >= 0
    except (ConfigError, csv.Error, IndexError):
        return False
