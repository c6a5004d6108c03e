"""Checks of values that come from the database, which may be a stranger's.

SQLite holds any value in any column. A row whose address is none is left out; any other value
that cannot be true is as good as absent. Nobody above has to look again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any, get_type_hints

from honeyguide.types import UNREQUESTED, Url
from honeyguide.url import canonical_url

RawRow = tuple[Any, ...]
ValueCheck = Callable[[Any], Any]

MAX_URL_CHARS = 16_384
"""Characters of an address: far more than any site answers to."""
REQUESTED_SQL = "(failure IS NULL OR status IS NOT NULL OR failure NOT IN ({}))".format(
    ", ".join(f"'{kind}'" for kind in sorted(UNREQUESTED))
)
"""Whether a visit's host was asked: ``Visit.was_requested`` as SQL."""
_NAME_CHARS = 1_000
"""Of the name of a person, a topic, or a failure."""
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}").fullmatch
_HTTP_URL = re.compile(r"https?://(?:[^/]*@)?(?:\[[^\]/]+\]|[^/:@\[\]]+)(?::[0-9]*)?/").match


def number_or_zero(value: Any, otherwise: float = 0.0) -> float:
    """Any finite number."""
    return value if _is_number(value) else otherwise


def chance_or_zero(value: Any, otherwise: float = 0.0) -> float:
    """From 0 to 1."""
    return value if _is_number(value) and 0 <= value <= 1 else otherwise


def count_or_zero(value: Any) -> int:
    """Not below 0."""
    return value if type(value) is int and value >= 0 else 0


def text_or_empty(value: Any) -> str:
    return value if type(value) is str else ""


def number_or_none(value: Any) -> float | None:
    return value if _is_number(value) else None


def chance_or_none(value: Any) -> float | None:
    return value if _is_number(value) and 0 <= value <= 1 else None


def int_or_none(value: Any) -> int | None:
    return value if type(value) is int else None


def text_or_none(value: Any) -> str | None:
    return value if type(value) is str else None


def line_or_none(value: Any) -> str | None:
    """A text of one line, cut if it is longer."""
    if type(value) is not str:
        return None
    return value if len(value) <= _NAME_CHARS else value[:_NAME_CHARS]


def parse_decimal(value: Any) -> int | None:
    """A number as digits, no longer than the database's own."""
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 19 else None


def language_or_empty(value: Any) -> str:
    """Of a language."""
    return value if is_language_code(value) else ""


def is_language_code(value: Any) -> bool:
    return type(value) is str and _LANGUAGE_CODE(value) is not None


def url_or_none(value: Any) -> str | None:
    return value if is_http_url(value) else None


def as_it_is(value: Any) -> Any:
    """Read by somebody who looks for himself."""
    return value


def is_http_url(value: Any) -> bool:
    """Whether it is an http or https URL with a host, in canonical form."""
    return type(value) is str and len(value) <= MAX_URL_CHARS and _HTTP_URL(value) is not None


def checked_label(row: RawRow) -> tuple[Any, ...] | None:
    """(address, value, by, at, topic) of a label; None if it says nothing of any page."""
    address, value, by, at, topic = row
    url = canonical_url(address) if type(address) is str else None
    if url is None or not is_http_url(url) or chance_or_none(value) is None:
        return None
    return (
        url,
        float(value),
        text_or_empty(by)[:_NAME_CHARS],
        float(number_or_zero(at)),
        text_or_empty(topic)[:_NAME_CHARS],
    )


_CHECK_BY_TYPE: dict[Any, ValueCheck] = {
    int: count_or_zero,
    float: number_or_zero,
    str: text_or_empty,
    int | None: int_or_none,
    float | None: number_or_none,
    str | None: text_or_none,
    Url | None: url_or_none,
}


class RowChecker:
    """Rows of one shape; most are sound, and are known by the kinds of their values."""

    def __init__(
        self, row: type[Any], fields: dict[str, ValueCheck], blob: ValueCheck | None = None
    ) -> None:
        """Checks for the fields of a named tuple: by name, or else by type; ``blob`` for bytes.
        Two fields at least must be whole numbers."""
        by_type = _CHECK_BY_TYPE | ({} if blob is None else {bytes: blob})
        hints = get_type_hints(row)
        checks = tuple(fields.get(name) or by_type[kind] for name, kind in hints.items())
        self.checks = checks
        self._whole = itemgetter(*(n for n, check in enumerate(checks) if check is count_or_zero))
        self._exact = tuple(
            (place, check)
            for place, check in enumerate(checks)
            if check not in (count_or_zero, text_or_empty, int_or_none, text_or_none, as_it_is)
        )
        """Where a value of the right kind can still be wrong."""
        self._sound: set[tuple[type, ...]] = set()

    def __call__(self, row: RawRow) -> RawRow:
        kinds = tuple(map(type, row))
        if kinds in self._sound and min(self._whole(row)) >= 0:
            for place, check in self._exact:
                if check(row[place]) is not row[place]:
                    break
            else:
                return row
        passed = tuple(check(value) for check, value in zip(self.checks, row, strict=True))
        if all(new is old for new, old in zip(passed, row, strict=True)):
            self._sound.add(kinds)
        return passed


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or type(value) is int
