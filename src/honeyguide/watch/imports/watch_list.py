"""Reads a watch list of any known format.

Lists of addresses, CSV, changedetection.io (backup or JSON), urlwatch and webchanges job files.
What cannot be carried over is listed with a reason; a file that is none of these, or is damaged,
is a :class:`~honeyguide.errors.ConfigError` that says where and how to mend it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from honeyguide.errors import ConfigError
from honeyguide.watch.imports import plain
from honeyguide.watch.imports.plain import read_backup, read_watches
from honeyguide.watch.imports.urlwatch import read_jobs

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
    pages: tuple[plain.ImportedPage, ...]
    skipped: tuple[plain.SkippedEntry, ...]
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
        return _imported_list("changedetection.io backup", read_backup(file))
    body = start + file.read(_TEXT)
    if len(body) > _TEXT:
        raise ConfigError(f"the list is larger than {_TEXT // 1_000_000} MB; split it")
    return _imported_list(*_read_any_format(body))


def _read_any_format(body: bytes) -> tuple[str, plain.ImportCollector]:
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
        return "changedetection.io", read_watches(_parse_json(text))
    if _JOBS.search(text):
        return "urlwatch or webchanges jobs", read_jobs(text)
    if plain.find_separator(text):
        return "CSV", plain.read_table(text)
    return "list", plain.read_list(text)


def _parse_json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"line {error.lineno}: this is not JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"this JSON is too deep or too large to be a watch list: {error}"
        ) from error


def _imported_list(form: str, basket: plain.ImportCollector) -> ImportedWatchList:
    return ImportedWatchList(form, tuple(basket.pages.values()), tuple(basket.skipped))
