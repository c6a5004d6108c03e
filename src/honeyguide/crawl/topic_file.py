"""Writing topic.toml: what was chosen, and the most useful other keys as comments."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from honeyguide.crawl.settings_reference import Key, Table, tables
from honeyguide.errors import ConfigError

USEFUL = frozenset({
    "topic.description", "topic.keywords", "topic.seeds", "topic.good", "topic.bad",
    "topic.language", "topic.words", "topic.threshold", "crawl.strategy", "crawl.pages",
    "crawl.hours", "crawl.depth", "crawl.concurrency", "scope.rule", "scope.include",
    "scope.exclude", "scope.pages_per_domain", "fetch.contact", "fetch.proxy", "politeness.delay_s",
    "search.engine", "search.url", "search.queries", "watch.requests_per_hour",
})  # fmt: skip
"""Keys that every new file names, with their defaults, where they were not chosen."""

_HEAD = """\
# What this collection is about and how it is crawled; yours to edit.
# A line that begins with "# " and a key shows a default: remove the "# " to change it.
# honeyguide settings prints every key. A key that does not exist is an error.
"""
_COMMENT_AT = 30


def write(folder: Path, chosen: dict[str, dict[str, Any]]) -> None:
    """Make the folder and its topic.toml."""
    text = compose(chosen)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "topic.toml").write_text(text, "utf-8")
    except OSError as error:
        raise ConfigError(f"{folder}/topic.toml cannot be written: {error}") from error


def compose(chosen: dict[str, dict[str, Any]]) -> str:
    lines = [_HEAD]
    known = tables()
    for table in (*known.values(), *(Table(n, "", ()) for n in chosen if n not in known)):
        given = dict(chosen.get(table.name, {}))
        said = [line for key in table.keys if (line := _line(table.name, key, given))]
        said += [f"{name} = {toml(value)}" for name, value in given.items()]
        if said:
            lines += [f"[{table.name}]", *said, ""]
    text = "\n".join(lines)
    try:
        text.encode()
        tomllib.loads(text)
    except (UnicodeEncodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"these settings are no valid text: {error}") from error
    return text


def _line(table: str, key: Key, given: dict[str, Any]) -> str:
    """The key as it was chosen, or its default as a comment; '' if it is of little use."""
    if key.name in given:
        line = f"{key.name} = {toml(given.pop(key.name))}"
    elif f"{table}.{key.name}" in USEFUL:
        line = f"# {key.name} = {toml(key.default)}"
    else:
        return ""
    meaning = key.meaning.replace("``", "") or ", ".join(key.choices)
    return line if "\n" in line or not meaning else f"{line:<{_COMMENT_AT}}  # {meaning}"


def toml(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, list | tuple):
        if len(value) > 1:
            return "[\n" + "".join(f"  {toml(item)},\n" for item in value) + "]"
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float):
        return repr(value)  # JSON has another word for infinity
    # JSON's strings, whole numbers and truth values are TOML's too, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
