"""Changing topic.toml: single keys, and nothing else in the file.

The file is its owner's, with comments and an order of its own, so it is edited as text: a key's
statement is found and replaced. Whether that did what it should is not believed but checked: the
new text must mean what the old one meant, but for the keys that were to change; else the file is
left as it is, and its owner asked to edit it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.config.loading import RENAMED_KEYS, load_settings
from honeyguide.config.settings import Settings
from honeyguide.config.topic_file import to_toml
from honeyguide.crawl.from_settings import build_scope_filter, build_strategy
from honeyguide.errors import ConfigError
from honeyguide.learning import topics
from honeyguide.store.collection_files import open_regular

_MAX_BYTES = 1_000_000
_MAX_READS = 6
"""The file is read no more than so many times, in pieces: it may be a stranger's."""
_MAX_COMMENT = 500
_MAX_HASHES = 50
_CLOSING = re.compile(r"\]|\"\"\"|'''")


class _Statement(NamedTuple):
    table: str
    """It stands in; '' before the first one, '?' in one that is not ours."""
    start: int
    end: int
    """Its lines, the last not included."""


def change_topic_file(folder: Path, wanted: Mapping[str, Mapping[str, Any]]) -> Settings:
    """Write these keys (``{"topic": {"keywords": […]}}``) into the folder's topic.toml.

    Everything is checked as at the start of a crawl before the file is replaced, whole.
    """
    path, part = folder / "topic.toml", folder / ".topic.toml.part"
    try:
        text = _read_text(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(open_regular(part, flags), "wb") as file:
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            file.write(edit_topic_text(text, wanted).encode())
            file.flush()
            os.fsync(file.fileno())
        settings = _load_checked(part)
        part.replace(path)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"topic.toml cannot be changed: {error}") from error
    finally:
        part.unlink(missing_ok=True)
    return settings


def _read_text(path: Path) -> str:
    with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ConfigError("topic.toml is too large to be edited here; edit the file itself")
    return data.decode("utf-8")


def _load_checked(path: Path) -> Settings:
    try:
        settings = load_settings(path)
    except ConfigError as error:
        raise ConfigError(str(error).replace(f"{path}: ", "")) from error
    build_scope_filter(settings)
    build_strategy(settings)
    topics.example_labels_by_topic(settings)
    return settings


def edit_topic_text(text: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """The text with these keys set; a ConfigError if it is written in a way beyond us."""
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    try:
        goal, lines = tomllib.loads(plain), plain.split("\n")
        for table, keys in wanted.items():
            for key, value in keys.items():
                value = list(value) if isinstance(value, tuple) else value
                old = _old_name(goal.get(table, {}), table, key)
                if goal.get(table, {}).get(old or key) == value:
                    continue
                if old:
                    goal = goal | {table: _renamed(goal[table], old, key)}
                    lines = _rename_key(lines, table, old, key)
                goal = goal | {table: goal.get(table, {}) | {key: value}}
                lines = _set_key(lines, table, key, value)
        done = "\n".join(lines)
        if tomllib.loads(done) == goal:
            return done.replace("\n", newline)
    except (tomllib.TOMLDecodeError, RecursionError, TypeError, AttributeError) as error:
        raise ConfigError(f"topic.toml is not valid: {error}") from error
    raise ConfigError(
        "topic.toml is written in a way that cannot be changed here; edit the file itself"
    )


def _old_name(keys: Mapping[str, Any], table: str, key: str) -> str:
    """The old name under which the file has this key; '' if it has none."""
    for path, new in RENAMED_KEYS.items():
        where, _, old = path.partition(".")
        if (where, new) == (table, key) and old in keys and key not in keys:
            return old
    return ""


def _renamed(keys: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in keys.items()}


def _rename_key(lines: list[str], table: str, old: str, new: str) -> list[str]:
    for one in _split_statements(lines):
        if one.table == table and (found := re.match(rf"(\s*){old}(?=\s*=)", lines[one.start])):
            line = f"{found[1]}{new}{lines[one.start][found.end() :]}"
            return [*lines[: one.start], line, *lines[one.start + 1 :]]
    return lines


def _set_key(lines: list[str], table: str, key: str, value: object) -> list[str]:
    new = f"{key} = {to_toml(value)}"
    head, last = None, None
    for one in _split_statements(lines):
        if one.table != table:
            continue
        head = one.start if head is None else head
        text = "\n".join(lines[one.start : one.end])
        if re.match(rf"\s*{key}\s*=", text):
            found = _edit_list(text, key, value) or _keep_comment(text, new)
            return [*lines[: one.start], *found.split("\n"), *lines[one.end :]]
        if len(text) < _MAX_COMMENT and (default := re.match(rf"#\s?{key} = .*?(\s+# .*)?$", text)):
            last = (one, new + (default[1] or "" if "\n" not in new else ""))
    if last is not None:  # a default that stands there as a comment
        one, new = last
        return [*lines[: one.start], *new.split("\n"), *lines[one.end :]]
    if head is not None:
        return [*lines[: head + 1], *new.split("\n"), *lines[head + 1 :]]
    return [*lines, f"[{table}]", *new.split("\n"), ""]


def _edit_list(text: str, key: str, value: object) -> str:
    """A list with an entry a line: those that stay keep their lines, with what is said beside
    them; '' where that does not come out right."""
    rows = text.split("\n")
    if not isinstance(value, Sequence) or isinstance(value, str) or len(rows) < 3:
        return ""
    kept, left = [rows[0]], list(value)
    for row in rows[1:-1]:
        try:
            entries = tomllib.loads(f"x = [\n{row}\n]")["x"]
        except tomllib.TOMLDecodeError:
            return ""
        if not entries or (len(entries) == 1 and entries[0] in left):
            kept.append(row)
            left = [one for one in left if one not in entries]
    made = "\n".join([*kept, *(f"  {to_toml(one)}," for one in left), rows[-1]])
    try:
        return made if tomllib.loads(made)[key] == list(value) else ""
    except tomllib.TOMLDecodeError:
        return ""


def _keep_comment(old: str, new: str) -> str:
    """The new statement with the comment that ended the old one."""
    for place in islice((found.start() for found in re.finditer("#", old)), _MAX_HASHES):
        try:
            tomllib.loads(old[:place])
        except tomllib.TOMLDecodeError:
            continue  # inside of a string, or of a list
        return f"{new}  {old[place:]}"
    return new


def _split_statements(lines: list[str]) -> Iterator[_Statement]:
    """Headings, assignments, comments and blank lines, each with the table it stands in."""
    table, at = "", 0
    left = _MAX_READS * sum(len(line) + 1 for line in lines) + _MAX_BYTES // 10
    while at < len(lines):
        end, spent = _statement_end(lines, at, left)
        left -= spent
        if heading := re.match(r"\s*(\[?)\[\s*([\w-]+)\s*\]", lines[at]):
            table = heading[2] if not heading[1] else "?"
        elif lines[at].lstrip().startswith("["):
            table = "?"
        yield _Statement(table, at, end)
        at = end


def _statement_end(lines: list[str], start: int, most: int) -> tuple[int, int]:
    """Where the statement that begins here ends, which is as soon as what was read is whole; and
    how many characters were read for that."""
    spent = 0
    for end in range(start + 1, len(lines) + 1):
        if end > start + 1 and not _CLOSING.search(lines[end - 1]):
            continue
        piece = "\n".join(lines[start:end])
        spent += len(piece)
        if spent > most:
            break
        try:
            tomllib.loads(piece)
        except tomllib.TOMLDecodeError:
            continue
        return end, spent
    raise ConfigError("topic.toml cannot be understood here; edit the file itself")
