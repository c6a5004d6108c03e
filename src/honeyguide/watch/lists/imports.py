"""Read a watch list, whatever program wrote it.

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
from honeyguide.watch.lists.changedetection import read_backup, read_watches
from honeyguide.watch.lists.imported import Basket, Imported, Left
from honeyguide.watch.lists.plain import read_list, read_table, separator
from honeyguide.watch.lists.urlwatch import read_jobs

_TEXT = 20_000_000
"""Bytes of a list; a backup may be larger, as it holds every version of every page besides."""
_JOBS = re.compile(
    r"^[ \t]*(?:- )?[{\"']?(?:url|navigate|command|name|kind)[\"']?[ \t]*:(?:[ \t]|$)", re.M
)


@dataclass(frozen=True, slots=True)
class Imports:
    """What a file gave."""

    form: str
    """What the file was taken for."""
    pages: tuple[Imported, ...]
    left: tuple[Left, ...]
    """What could not be carried over, in the order of the file."""


def load(path: Path) -> Imports:
    """The pages of a watch list on disk."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError("this is no plain file")
        with path.open("rb") as file:
            return read(file)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def read(file: BinaryIO) -> Imports:
    """The pages of a watch list; its form is found out by looking, not by the file's name."""
    start = file.read(4)
    if start == b"PK\x03\x04":
        return _made("changedetection.io backup", read_backup(file))
    body = start + file.read(_TEXT)
    if len(body) > _TEXT:
        raise ConfigError(f"the list is larger than {_TEXT // 1_000_000} MB; split it")
    return _made(*_read(body))


def _read(body: bytes) -> tuple[str, Basket]:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"line {line}: this is not UTF-8; save the file as UTF-8") from None
    if "\0" in text:
        raise ConfigError("this is no text file; known are lists, CSV, JSON, YAML and zip backups")
    first = text.lstrip()[:1]
    if not first:
        raise ConfigError("the file is empty")
    if first in "{[":
        return "changedetection.io", read_watches(_json(text))
    if _JOBS.search(text):
        return "urlwatch or webchanges jobs", read_jobs(text)
    if separator(text):
        return "CSV", read_table(text)
    return "list", read_list(text)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(f"line {error.lineno}: this is no JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"this JSON is too deep or too large to be a watch list: {error}"
        ) from error


def _made(form: str, basket: Basket) -> Imports:
    return Imports(form, tuple(basket.pages.values()), tuple(basket.left))
