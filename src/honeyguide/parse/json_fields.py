"""JSON as fields: ``offers.price`` → ``12.50``. Whatever it is, the list is short and flat."""

from __future__ import annotations

import json
from collections.abc import Iterator

from honeyguide.parse.decoded import collapse

_FIELDS = 2_000
_VALUE = 500
_NAME = 200
_DEPTH = 12
_SILENT = frozenset({"@context", "@graph"})
"""Names that say nothing of the page: left out of the path."""

Field = tuple[str, str]


def fields_of(documents: object, most: int = _FIELDS) -> tuple[Field, ...]:
    """Names and values in the order of the document; the places in lists have no names."""
    found: list[Field] = []
    waiting: list[tuple[str, Iterator[tuple[str, object]]]] = [("", iter((("", documents),)))]
    while waiting and len(found) < most:
        path, items = waiting[-1]
        step = next(items, None)
        if step is None:
            waiting.pop()
            continue
        name, value = step
        if name == "@context":
            continue
        if name and name not in _SILENT:
            path = f"{path}.{name}"[:_NAME] if path else name[:_NAME]
        if isinstance(value, dict):
            if len(waiting) <= _DEPTH:
                waiting.append((path, iter([(_sane(str(key)), value[key]) for key in value])))
        elif isinstance(value, list):
            if len(waiting) <= _DEPTH:
                waiting.append((path, (("", item) for item in value)))
        elif text := _spoken(value):
            found.append((path, text))
    return tuple(found)


def json_fields(text: str, most: int) -> tuple[Field, ...] | None:
    """The fields of a JSON document; None if it is none."""
    try:
        return fields_of(json.loads(text), most)
    except (ValueError, RecursionError):
        return None


def _spoken(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 4 * _VALUE:
        return "a very large number"  # Python refuses to write out the largest
    return _sane(collapse(str(value)[: 4 * _VALUE])[:_VALUE])


def _sane(text: str) -> str:
    """JSON can spell halves of characters, which no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
