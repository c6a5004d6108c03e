"""The YAML of job files, read strictly: documents of top-level keys.

Of a job we carry over a few texts that stand at the top of its document; whatever is nested
below another key (filters, headers) only matters by its key. So this reads documents, keys, and
plain, quoted and block texts and lists of texts as YAML has them, and keeps all else as
:attr:`Mark.NESTED`. Nothing is ever expanded: an alias is :attr:`Mark.ALIAS`, so that there are
no bombs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.watch.lists.job_text import flow_end, flow_list, folded, quoted, uncommented


class Mark(Enum):
    """A value that is no text of its own."""

    NESTED = "nested"
    ALIAS = "alias"


Value = str | tuple[str, ...] | Mark


class Job(NamedTuple):
    """One document."""

    line: int
    """Where its first key stands, from 1."""
    keys: dict[str, Value]


_FENCE = re.compile(r"(?:---|\.\.\.)(?:\s|$)").match
_KEY = re.compile(
    r"""("[^"\\]*+"\s*+|'[^']*+'\s*+|[^\s"'\[\]{}#&*!|>%@`,?:][^#:]*+):(?:\s+|$)"""
).match
_BLOCK = re.compile(r"[|>][-+1-9]{0,2}\s*(?:#.*)?$").match
_PROPERTIES = re.compile(r"(?:[&!]\S*(?:\s+|$))*").match
_ITEM = re.compile(r"-(?:\s+|$)").match
_FAR = 1000
"""Lines that one value may take."""


def jobs(text: str) -> Iterator[Job]:
    """The documents of a file; a ConfigError that names the line where it cannot be read."""
    lines = re.split(r"\r\n|[\r\n\x85\u2028\u2029]", text.removeprefix("\ufeff"))
    start = 0
    for number, line in enumerate([*lines, "---"]):
        if not _FENCE(line):
            continue
        try:
            job = _document(lines[start:number])
        except _Odd as odd:
            raise ConfigError(f"line {start + odd.place + 1}: {odd.fix}") from None
        if job:
            yield job._replace(line=start + job.line)
        start = number + 1
        if uncommented(line[3:]):
            raise ConfigError(f"line {start}: write the job below the line ---, not beside it")


class _Odd(Exception):
    """Something that cannot be read, with its place in the document."""

    def __init__(self, place: int, fix: str) -> None:
        super().__init__(fix)
        self.place = place
        self.fix = fix


def _document(lines: Sequence[str]) -> Job | None:
    keys: dict[str, Value] = {}
    place, first, base = 0, -1, 0
    while place < len(lines):
        line = lines[place]
        text = line.strip()
        if not text or text.startswith("#") or (first < 0 and line.startswith("%")):
            place += 1
            continue
        if first < 0:
            first, base = place, _indent(line, place)
        found = _KEY(line, base) if _indent(line, place) == base else None
        if not found or _ITEM(text):
            raise _Odd(place, _advice(text))
        value, place = _value(lines, place, line[found.end() :], base)
        keys[found[1].strip("\"' \t")] = value
    return Job(first + 1, keys) if keys else None


def _value(lines: Sequence[str], place: int, rest: str, base: int) -> tuple[Value, int]:
    """The value that begins behind a key, and the line after it."""
    properties = _PROPERTIES(rest)
    rest = rest[properties.end() :] if properties else rest
    if _BLOCK(rest):
        after = _below(lines, place + 1, base, block=True)
        block = [line.strip() for line in lines[place + 1 : after]]
        joined = "\n".join(block) if rest[0] == "|" else folded(block)
        return joined.strip(), after
    if rest[:1] in "\"'[{" and rest.strip():
        return _closed(lines, place, rest)
    after = _below(lines, place + 1, base, items=not uncommented(rest))
    below = [line for line in lines[place + 1 : after] if not line.lstrip().startswith("#")]
    if not uncommented(rest):
        return _nested(lines, place, after), after
    if rest.startswith("*"):
        return Mark.ALIAS, after
    return _plain([rest, *below], place), after


def _nested(lines: Sequence[str], place: int, after: int) -> Value:
    """What stands below a key that has nothing beside it."""
    inside = [
        (number, line)
        for number, line in enumerate(lines[place + 1 : after], place + 1)
        if uncommented(line)
    ]
    if not inside:
        return ""
    number, line = inside[0]
    text = line.strip()
    if not _ITEM(text):
        if _is_pair(text):
            return Mark.NESTED
        if text[0] in "\"'[{":
            return _closed(lines, number, text)[0]
        return _plain([line for _, line in inside], number)
    return _items(lines, number, after)


def _items(lines: Sequence[str], place: int, after: int) -> Value:
    """A list of texts from one line to before the other."""
    depth = _indent(lines[place], place)
    items: list[tuple[int, list[str]]] = []
    for number in range(place, after):
        line = lines[number]
        text = line.strip()
        if not uncommented(line) and not (items and _is_open(items[-1][1])):
            continue
        if items and (not text or _indent(line, number) > depth):
            items[-1][1].append(text)
        elif mark := _ITEM(text):
            items.append((number, [text[mark.end() :]]))
        else:
            raise _Odd(number, "this belongs neither to the list above nor to a key")
    if any(_is_deep(parts[0]) for _, parts in items):
        return Mark.NESTED
    return tuple(_one(parts, number) for number, parts in items)


def _is_open(parts: Sequence[str]) -> bool:
    """Whether a quoted text has not ended yet, so that what looks like a comment is part of it."""
    return parts[0][:1] in ("'", '"') and len(parts) < 100 and quoted("\n".join(parts)) is None


def _is_deep(text: str) -> bool:
    """Whether an item of a list is more than a text."""
    return not text or text[0] in "[{&*!|>" or bool(_ITEM(text)) or _is_pair(text)


def _is_pair(text: str) -> bool:
    """Whether a line holds a key and a value, or begins a long key."""
    if text[0] in "\"'":
        found = quoted(text)
        return bool(found and text[found[1] :].lstrip().startswith(":"))
    return text[0] not in "[{" and bool(re.search(r":(?:\s|$)|^\?(?:\s|$)", uncommented(text)))


def _one(parts: Sequence[str], place: int) -> str:
    """A text that is an item."""
    mark = parts[0][0]
    if mark not in "\"'":
        return _plain(parts, place)
    text = "\n".join(parts)
    found = quoted(text)
    if found is None or uncommented(text[found[1] :]):
        raise _Odd(place, f"the text that begins with {mark} must end with it")
    return found[0]


def _closed(lines: Sequence[str], place: int, rest: str) -> tuple[Value, int]:
    """A quoted text, or something in brackets, which may end on a later line."""
    mark, far = rest[0], 1
    while True:
        text = "\n".join([rest, *lines[place + 1 : place + far]])
        found = quoted(text) if mark in "\"'" else _bracketed(text)
        if found:
            break
        if far > _FAR or place + far >= len(lines):
            raise _Odd(place, f"what begins with {mark} does not end")
        far *= 4  # most values end in the first line; those that do not shall not cost the square
    value, end = found
    tail = uncommented(text[end:].partition("\n")[0])
    if tail:
        raise _Odd(place, f"there is more behind the end of the value: {tail[:40]!r}")
    return value, place + 1 + text.count("\n", 0, end)


def _bracketed(text: str) -> tuple[Value, int] | None:
    end = flow_end(text)
    if end < 0:
        return None
    items = flow_list(text[1 : end - 1]) if text[0] == "[" else None
    return Mark.NESTED if items is None else items, end


def _plain(parts: Sequence[str], place: int) -> str:
    """A text without quotes; its further lines are folded into it."""
    if (mark := parts[0].strip()[:1]) and mark in "@`|>%]},":
        raise _Odd(place, f"a text that begins with {mark} must stand in quotes")
    text = folded([uncommented(part) for part in parts]).strip()
    if re.search(r":(?:\s|$)", text):
        raise _Odd(place, "a text with a colon and a space in it must stand in quotes")
    return text


def _below(
    lines: Sequence[str], place: int, base: int, *, items: bool = False, block: bool = False
) -> int:
    """The first line that does not belong to the value: it stands no deeper than the key.

    The items of a list may stand right below their key, and comments anywhere but in a block.
    """
    while place < len(lines):
        line = lines[place]
        text = line.strip()
        comment = text.startswith("#") and not block
        if text and not comment:
            depth = _indent(line, place, block=block)
            if depth < base or (depth == base and not (items and _ITEM(text))):
                break
        place += 1
    return place


def _indent(line: str, place: int, *, block: bool = False) -> int:
    depth = len(line) - len(line.lstrip(" "))
    if line[depth : depth + 1] == "\t" and not (block and depth):
        raise _Odd(place, "indent with spaces: YAML allows no tabs")
    return depth


def _advice(text: str) -> str:
    if text.startswith("{"):
        return "write each key of the job on a line of its own, not in braces"
    if _ITEM(text):
        return "separate jobs by a line ---, not as items of a list"
    return f"expected a key and a value, such as url: https://example.org/, not {text[:40]!r}"
