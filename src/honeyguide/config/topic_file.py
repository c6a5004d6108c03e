"""``topic.toml`` as users see it: reading it, and the reference of all its keys."""

from __future__ import annotations

import ast
import inspect
import json
import tomllib
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from honeyguide.config import settings
from honeyguide.errors import ConfigError

_TYPE_WORDS = {str: "text", int: "whole number", float: "number", bool: "true/false"}


_LIST_TABLES = frozenset({"notify"})
"""Tables of which there may be several; further topics have the keys of the first."""


class SettingsKey(NamedTuple):
    name: str
    kind: str
    """In words; empty where ``choices`` says it all."""
    choices: tuple[str, ...]
    default: Any
    meaning: str


class SettingsTable(NamedTuple):
    name: str
    meaning: str
    keys: tuple[SettingsKey, ...]


def settings_tables() -> dict[str, SettingsTable]:
    """The tables of a settings file in their order; ``[strategy]`` is not among them."""
    meanings = _key_meanings()
    found = {}
    for name, hint in get_type_hints(settings.Settings).items():
        if get_origin(hint) is tuple and name in _LIST_TABLES:
            hint = get_args(hint)[0]  # told as one of them
        if isinstance(hint, type) and is_dataclass(hint):
            hints = get_type_hints(hint)
            keys = tuple(
                SettingsKey(
                    item.name,
                    *_type_words(hints[item.name]),
                    None if item.default is MISSING else item.default,
                    meanings.get((hint.__name__, item.name), ""),
                )
                for item in fields(hint)
            )
            found[name] = SettingsTable(name, meanings.get((hint.__name__, ""), ""), keys)
    return found


def _type_words(hint: Any) -> tuple[str, tuple[str, ...]]:
    origin = get_origin(hint)
    if origin is Literal:
        return "", get_args(hint)
    if origin is tuple:
        return ("list of whole numbers" if get_args(hint)[0] is int else "list of text"), ()
    return _TYPE_WORDS[hint], ()


def _key_meanings() -> dict[tuple[str, str], str]:
    """(class, field) → the text below the field, and (class, '') → the class's own."""
    try:
        source = inspect.getsource(settings)
    except OSError:
        # Installed without its source: the keys are still right, they only go unexplained.
        return {}
    found: dict[tuple[str, str], str] = {}
    for node in ast.parse(source.replace("from __future__ import annotations", "")).body:
        if not isinstance(node, ast.ClassDef):
            continue
        found[node.name, ""] = ast.get_docstring(node) or ""
        for item, after in zip(node.body, [*node.body[1:], None], strict=True):
            if (
                isinstance(item, ast.AnnAssign)
                and isinstance(item.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
            ):
                found[node.name, item.target.id] = " ".join(str(after.value.value).split())
    return found


# --------------------------------------------------------------------------------------------------
# Writing topic.toml: what was chosen, and the most useful other keys as comments.
# --------------------------------------------------------------------------------------------------


USEFUL_KEYS = frozenset({
    "topic.description", "topic.keywords", "topic.seeds", "topic.good", "topic.bad",
    "topic.language", "topic.keyword_language", "topic.keep", "crawl.strategy", "crawl.pages",
    "crawl.hours", "crawl.depth", "crawl.concurrency", "scope.rule", "scope.include",
    "scope.exclude", "scope.pages_per_domain", "fetch.contact", "fetch.proxy", "politeness.delay_s",
    "search.engine", "search.url", "search.queries", "watch.requests_per_hour",
})  # fmt: skip
"""Keys that every new file names, with their defaults, where they were not chosen."""

_FILE_HEAD = """\
# What this collection is about and how it is crawled; yours to edit.
# A line that begins with "# " and a key shows a default: remove the "# " to change it.
# honeyguide settings prints every key. A key that does not exist is an error.
"""
_COMMENT_AT = 30


_TOPICS_SAMPLE = """
# Further topics of the same crawl have a table each, with a name and the keys of [topic], but for
# seeds, language, keyword_language, normalise, keep and threshold:
#     [[topics]]
#     name="bats"
#     keywords=["bat", "echolocation"]
"""
"""Ends a new topic.toml with a single topic."""


def write_topic_file(
    folder: Path,
    chosen: dict[str, dict[str, Any]],
    topics: Sequence[dict[str, Any]] = (),
    notify: Sequence[dict[str, Any]] = (),
) -> None:
    """Make the folder and its topic.toml, with tables of further topics and notifications."""
    text = compose_topic_file(chosen)
    text += (_list_tables("topics", topics) or _TOPICS_SAMPLE) + _list_tables("notify", notify)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"these tables are not valid text: {error}") from error
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        (folder / "topic.toml").touch(0o600)
        (folder / "topic.toml").write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"{folder}/topic.toml cannot be written: {error}") from error


def _list_tables(name: str, tables: Sequence[dict[str, Any]]) -> str:
    return "".join(
        f"\n[[{name}]]\n" + "".join(f"{key} = {to_toml(value)}\n" for key, value in table.items())
        for table in tables
    )


def compose_topic_file(chosen: dict[str, dict[str, Any]]) -> str:
    lines = [_FILE_HEAD]
    known = settings_tables()
    for table in (*known.values(), *(SettingsTable(n, "", ()) for n in chosen if n not in known)):
        left = dict(chosen.get(table.name, {}))
        stated = [line for key in table.keys if (line := _key_line(table.name, key, left))]
        stated += [f"{name} = {to_toml(value)}" for name, value in left.items()]
        if stated:
            lines += [f"[{table.name}]", *stated, ""]
    text = "\n".join(lines)
    try:
        text.encode()
        tomllib.loads(text)
    except (UnicodeEncodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"these settings are not valid text: {error}") from error
    return text


def _key_line(table: str, key: SettingsKey, left: dict[str, Any]) -> str:
    """The key as it was chosen, or its default as a comment; '' if it is of little use."""
    if key.name in left:
        line = f"{key.name} = {to_toml(left.pop(key.name))}"
    elif f"{table}.{key.name}" in USEFUL_KEYS:
        line = f"# {key.name} = {to_toml(key.default)}"
    else:
        return ""
    meaning = key.meaning.replace("``", "") or ", ".join(key.choices)
    return line if "\n" in line or not meaning else f"{line:<{_COMMENT_AT}}  # {meaning}"


def to_toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list | tuple):
        if len(value) > 1:
            return "[\n" + "".join(f"  {to_toml(item)},\n" for item in value) + "]"
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, float):
        return repr(value)  # JSON has another word for infinity
    # JSON's strings, whole numbers and truth values are TOML's too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
