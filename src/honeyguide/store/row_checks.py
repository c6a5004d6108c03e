"""Values as they leave the database, which may be a stranger's: checked here, once.

SQLite holds any value in any column. A row whose address is none is left out; any other value
that cannot be true is as good as absent. Nobody above has to look again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from honeyguide.url import canonical

Row = tuple[Any, ...]
Check = Callable[[Any], Any]

LONGEST = 16_384
"""Characters of an address: far more than any site answers to."""
_SHORT = 1_000
"""Of the name of a person, a topic, or a failure."""
_CODE = re.compile(r"[a-z]{2,3}").fullmatch
_ADDRESS = re.compile(r"https?://(?:[^/]*@)?(?:\[[^\]/]+\]|[^/:@\[\]]+)(?::[0-9]*)?/").match


def number(value: Any, otherwise: float = 0.0) -> float:
    """Any finite number."""
    return value if _is_number(value) else otherwise


def chance(value: Any, otherwise: float = 0.0) -> float:
    """From 0 to 1."""
    return value if _is_number(value) and 0 <= value <= 1 else otherwise


def whole(value: Any) -> int:
    """Not below 0."""
    return value if type(value) is int and value >= 0 else 0


def text(value: Any) -> str:
    return value if type(value) is str else ""


def some_number(value: Any) -> float | None:
    return value if _is_number(value) else None


def some_chance(value: Any) -> float | None:
    return value if _is_number(value) and 0 <= value <= 1 else None


def some_whole(value: Any) -> int | None:
    return value if type(value) is int else None


def some_text(value: Any) -> str | None:
    return value if type(value) is str else None


def some_word(value: Any) -> str | None:
    """A text of one line, cut if it is longer."""
    if type(value) is not str:
        return None
    return value if len(value) <= _SHORT else value[:_SHORT]


def decimal(value: Any) -> int | None:
    """A number as digits, no longer than the database's own."""
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 19 else None


def code(value: Any) -> str:
    """Of a language."""
    return value if is_code(value) else ""


def is_code(value: Any) -> bool:
    return type(value) is str and _CODE(value) is not None


def some_address(value: Any) -> str | None:
    return value if is_address(value) else None


def anything(value: Any) -> Any:
    """Read by somebody who looks for himself."""
    return value


def is_address(value: Any) -> bool:
    """Whether it is an address with a host, in the form that the rest of the house counts on."""
    return type(value) is str and len(value) <= LONGEST and _ADDRESS(value) is not None


def label(row: Row) -> tuple[Any, ...] | None:
    """(address, value, by, at, topic) of a label; None if it says nothing of any page."""
    address, value, by, at, topic = row
    url = canonical(address) if type(address) is str else None
    if url is None or not is_address(url) or some_chance(value) is None:
        return None
    return url, float(value), text(by)[:_SHORT], float(number(at)), text(topic)[:_SHORT]


class Sieve:
    """Rows of one shape; most are sound, and are known by the kinds of their values."""

    def __init__(self, checks: tuple[Check, ...]) -> None:
        """One for each place; two of them at least for whole numbers."""
        self._checks = checks
        self._whole = itemgetter(*(n for n, check in enumerate(checks) if check is whole))
        self._exact = tuple(
            (place, check)
            for place, check in enumerate(checks)
            if check not in (whole, text, some_whole, some_text, anything)
        )
        """Where a value of the right kind can still be wrong."""
        self._sound: set[tuple[type, ...]] = set()

    def __call__(self, row: Row) -> Row:
        kinds = tuple(map(type, row))
        if kinds in self._sound and min(self._whole(row)) >= 0:
            for place, check in self._exact:
                if check(row[place]) is not row[place]:
                    break
            else:
                return row
        passed = tuple(check(value) for check, value in zip(self._checks, row, strict=True))
        if all(new is old for new, old in zip(passed, row, strict=True)):
            self._sound.add(kinds)
        return passed


def _is_number(value: Any) -> bool:
    return (type(value) is float and math.isfinite(value)) or type(value) is int
