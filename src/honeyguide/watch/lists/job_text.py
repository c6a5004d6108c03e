"""Texts as YAML writes them: quoted, folded over lines, in brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SINGLE = re.compile(r"'([^']*+(?:''[^']*+)*+)'").match
_DOUBLE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.S).match
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)[ \t]*|(.))"
    r"|([ \t\n]+)"
)
_BREAK = re.compile(r"([ \t\n]+)")
_LETTERS = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_PART = re.compile(r""""(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|\s#[^\n]*|[\[\]{}]""", re.S)
_HIGHEST = 0x10FFFF
_LIST, _ITEMS = 20_000, 100
"""Characters and items of a list of tags."""


def uncommented(text: str) -> str:
    """The text without the comment at its end: a sign # at the start or behind a space."""
    return "" if text.lstrip().startswith("#") else re.split(r"\s#", text, maxsplit=1)[0].strip()


def folded(lines: Sequence[str]) -> str:
    """A break is a space; with empty lines, as many breaks as there are empty lines."""
    return _BREAK.sub(_fold, "\n".join(lines))


def quoted(text: str) -> tuple[str, int] | None:
    """The quoted text that this begins with, and where it ends; None if it does not end."""
    if text.startswith("'"):
        found = _SINGLE(text)
        return (_BREAK.sub(_fold, found[1]).replace("''", "'"), found.end()) if found else None
    found = _DOUBLE(text)
    return (_ESCAPE.sub(_letter, found[1]), found.end()) if found else None


def flow_end(text: str) -> int:
    """Where the bracket closes that this begins with; -1 if it does not."""
    depth = 0
    for found in _PART.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
            if not depth:
                return found.end()
    return -1


def flow_list(text: str) -> tuple[str, ...] | None:
    """The texts between the brackets; None where there are brackets, braces or pairs inside."""
    items: list[str] = []
    rest = "\n".join(uncommented(line) for line in text.split("\n"))[:_LIST].strip()
    while rest and len(items) < _ITEMS:
        if rest[0] in "\"'":
            found = quoted(rest)
            if found is None:
                return None
            item, rest = found[0], rest[found[1] :].lstrip()
            if rest and rest[0] != ",":
                return None
            rest = rest[1:].lstrip()
        else:
            item, _, rest = (part.strip() for part in rest.partition(","))
            if re.search(r"[\[\]{}&*!]|:(?:\s|$)", item):
                return None
        items.append(folded([item]))
    return tuple(item for item in items if item)


def _fold(found: re.Match[str]) -> str:
    return _space(found[1])


def _space(run: str) -> str:
    breaks = run.count("\n")
    return "\n" * (breaks - 1) or " " if breaks else run


def _letter(found: re.Match[str]) -> str:
    for code in found.group(1, 2, 3):
        if code:
            number = int(code, 16)
            return chr(number) if number <= _HIGHEST else "\ufffd"
    if found[4]:
        return ""
    if found[5]:
        return _LETTERS.get(found[5], found[5])
    return _space(found[6])
