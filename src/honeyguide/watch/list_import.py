"""Reads a watch list of any known format.

Lists of addresses, CSV, changedetection.io (backup or JSON), urlwatch and webchanges job files.
What cannot be carried over is listed with a reason; a file that is none of these, or is damaged,
is a :class:`~honeyguide.errors.ConfigError` that says where and how to mend it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.watch import list_formats
from honeyguide.watch.list_formats import FORMAT_TABLES, ImportCollector
from honeyguide.watch.notify.message import clean_line

_TEXT = 20_000_000
"""Bytes of a list; a backup may be larger, as it holds every version of every page besides."""
_JOBS = re.compile(
    r"^[ \t]*(?:- )?[{\"']?(?:url|navigate|command|name|kind)[\"']?[ \t]*:(?:[ \t]|$)", re.M
)


@dataclass(frozen=True, slots=True)
class ImportedWatchList:
    """What a file gave."""

    format_name: str
    """What the file was taken for."""
    pages: tuple[list_formats.ImportedPage, ...]
    skipped: tuple[list_formats.SkippedEntry, ...]
    """What could not be carried over, in the order of the file."""


def load_watch_list(path: Path) -> ImportedWatchList:
    """The pages of a watch list on disk."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("this is not a plain file")
        with path.open("rb") as file:
            return read_watch_list(file)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def read_watch_list(file: BinaryIO) -> ImportedWatchList:
    """The pages of a watch list; its form is found out by looking, not by the file's name."""
    start = file.read(4)
    if start == b"PK\x03\x04":
        return _imported_list("changedetection.io backup", list_formats.read_backup(file))
    body = start + file.read(_TEXT)
    if len(body) > _TEXT:
        raise ConfigError(f"the list is larger than {_TEXT // 1_000_000} MB; split it")
    return _imported_list(*_read_any_format(body))


def _read_any_format(body: bytes) -> tuple[str, ImportCollector]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"line {line}: this is not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        raise ConfigError(
            "this is not a text file; known are lists, CSV, JSON, YAML and zip backups"
        )
    first = text.lstrip()[:1]
    if not first:
        raise ConfigError("the file is empty")
    if first in "{[":
        return "changedetection.io", list_formats.read_watches(_parse_json(text))
    if _JOBS.search(text):
        return "urlwatch or webchanges jobs", read_jobs(text)
    if list_formats.find_separator(text):
        return "CSV", list_formats.read_table(text)
    return "list", list_formats.read_list(text)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"line {error.lineno}: this is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"this JSON is too deep or too large to be a watch list: {error}"
        ) from error


def _imported_list(form: str, collector: ImportCollector) -> ImportedWatchList:
    return ImportedWatchList(form, tuple(collector.pages.values()), tuple(collector.skipped))


# -- Job files of urlwatch and webchanges --
#
# Of a job we carry over a few texts that stand at the top of its document; whatever is nested below
# another key (filters, headers) only matters by its key. So the events of PyYAML's parser are read
# and no objects are built: an alias is :attr:`YamlMark.ALIAS` and never expanded, depth and number
# of events are bounded.


_MAX_EVENTS, _MAX_DEPTH = 2_000_000, 100
_MAX_ITEMS = 100
"""Items of a list of tags."""


class YamlMark(Enum):
    """A value that is no text of its own."""

    NESTED = "nested"
    ALIAS = "alias"


JobValue = str | tuple[str, ...] | YamlMark


class JobDocument(NamedTuple):
    """One document."""

    line: int
    """Where its first key stands, from 1."""
    keys: dict[str, JobValue]


def parse_jobs(text: str) -> Iterator[JobDocument]:
    """The documents of a file; a ConfigError that names the line where it cannot be read."""
    events = _parse_events(text)
    for event in events:
        kind, line = _event_kind(event), event.start_mark.line + 1
        if kind == "MappingStart":
            yield JobDocument(line, _read_keys(events))
        elif kind == "SequenceStart":
            raise ConfigError(f"line {line}: separate jobs by a line ---, not as items of a list")
        elif kind == "Alias" or (kind == "Scalar" and event.value):
            raise ConfigError(
                f"line {line}: expected a key and a value, such as url: https://example.org/"
            )


def _parse_events(text: str) -> Iterator[Any]:
    """The events of PyYAML, as many as a job file may have."""
    try:
        import yaml
    except ImportError:
        raise ConfigError(
            "these are urlwatch or webchanges jobs in YAML, and reading them needs an extra: "
            "pip install 'honeyguide[yaml]'"
        ) from None
    depth = 0
    try:
        for number, event in enumerate(
            yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        ):
            kind = _event_kind(event)
            depth += kind.endswith("Start") - kind.endswith("End")
            if depth > _MAX_DEPTH or number > _MAX_EVENTS:
                how = "deep" if depth > _MAX_DEPTH else "many values"
                raise ConfigError(f"line {event.start_mark.line + 1}: too {how} for a job file")
            yield event
    except yaml.MarkedYAMLError as error:
        line, start = error.problem_mark.line + 1, error.context_mark
        began = f", {error.context} of line {start.line + 1}" if start else ""
        hint = next(
            (
                f"; {fix}"
                for part, fix in FORMAT_TABLES["yaml_hints"].items()
                if part in error.problem
            ),
            "",
        )
        raise ConfigError(f"line {line}: {error.problem}{began}{hint}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, text.find(chr(error.character))) + 1
        raise ConfigError(f"line {line}: {error.reason}") from None


def _event_kind(event: Any) -> str:
    """Scalar, Alias, MappingStart, MappingEnd, SequenceStart …"""
    return type(event).__name__.removesuffix("Event")


def _read_keys(events: Iterator[Any]) -> dict[str, JobValue]:
    """The keys of the mapping that has begun, and their values."""
    keys: dict[str, JobValue] = {}
    for event in events:
        if _event_kind(event) == "MappingEnd":
            break
        key = _read_value(events, event)
        if not isinstance(key, str):
            raise ConfigError(f"line {event.start_mark.line + 1}: expected a key that is a text")
        keys[key] = _read_value(events, next(events))
    return keys


def _read_value(events: Iterator[Any], event: Any) -> JobValue:
    """The value that begins with this event; the events after it are those behind the value."""
    kind = _event_kind(event)
    if kind == "Scalar":
        return str(event.value).strip()
    if kind == "Alias":
        return YamlMark.ALIAS
    items: list[str] = []
    flat, depth = kind == "SequenceStart", 1
    while depth:
        event = next(events)
        kind = _event_kind(event)
        depth += kind.endswith("Start") - kind.endswith("End")
        if kind == "Scalar" and depth == 1 and len(items) < _MAX_ITEMS:
            items.append(str(event.value).strip())
        flat = flat and kind in ("Scalar", "SequenceEnd")
    return tuple(item for item in items if item) if flat else YamlMark.NESTED


_SILENT_KEYS = frozenset(FORMAT_TABLES["job_keys"]["silent"])
_BROWSER_KEYS = frozenset(FORMAT_TABLES["job_keys"]["browser"])
_REASONS: dict[str, str] = FORMAT_TABLES["jobs"]
_NO = frozenset({"false", "no", "off", "n"})
_NOTHING = frozenset({"", "~", "null"}) | _NO


def read_jobs(text: str) -> ImportCollector:
    """The pages of a job file."""
    collector = ImportCollector()
    for number, job in enumerate(parse_jobs(text), 1):
        _take_job(collector, job, f"job {number} (line {job.line})")
    return collector


def _take_job(collector: ImportCollector, job: JobDocument, where: str) -> None:
    keys = job.keys
    address = keys.get("url") or keys.get("navigate") or ""
    if "command" in keys and not address:
        collector.skip_entry(
            where, _value_text(keys.get("name", "")) or "command", "commands are never run"
        )
        return
    if not isinstance(address, str):
        why = (
            "it is an alias; write it out"
            if address is YamlMark.ALIAS
            else "it is not a single text"
        )
        collector.skip_entry(where, "url", why)
        return
    if not address:
        collector.skip_entry(where, _value_text(keys.get("name", "")) or "job", "it has no url")
        return
    method = _value_text(keys.get("method", "GET")).upper() or "GET"
    if method != "GET" or keys.get("data") or keys.get("params"):
        collector.skip_entry(where, clean_line(address), list_formats.SENDS_FORM)
        return
    paused = _value_text(keys.get("enabled", "")).lower() in _NO
    marks = keys.get("tags", ())
    tags = (marks,) if isinstance(marks, str) else marks if isinstance(marks, tuple) else ()
    if not collector.add_page(
        where, address, _value_text(keys.get("name", "")), tags=tags, paused=paused
    ):
        return
    for key, value in keys.items():
        _report_key(collector, where, key, value)


def _report_key(collector: ImportCollector, where: str, key: str, value: JobValue) -> None:
    """Say of a key what becomes of it, unless nothing is lost."""
    if key == "tags" and value is YamlMark.NESTED:
        collector.skip_entry(where, key, "tags are a list of words")
    elif key == "<<":
        collector.skip_entry(
            where, key, "what is merged from another job is not read; write it out"
        )
    elif key == "navigate" or key in _BROWSER_KEYS:
        collector.skip_entry(where, clean_line(key, 40), _REASONS["use_browser"])
    elif key not in _SILENT_KEYS and _value_text(value).lower() not in _NOTHING:
        why = _REASONS.get(
            FORMAT_TABLES["job_synonyms"].get(key, key), "there is no equivalent here"
        )
        collector.skip_entry(where, clean_line(key, 40), why)


def _value_text(value: JobValue) -> str:
    """The text of a value; something for what is nested, which is not nothing."""
    if isinstance(value, str):
        return value
    return ", ".join(value) if isinstance(value, tuple) else value.value
