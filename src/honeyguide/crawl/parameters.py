"""Which of a strategy's fields are its owner's to set under ``[strategy]``.

A field that the topic fills is set under ``[topic]``; one that a lesson fills is not set at all.
Lessons make lexicons, machines and networks, which no settings file can spell, and a few plain
numbers and words, which the strategy names in its habits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from honeyguide import parameter_checks as ranges
from honeyguide.errors import ConfigError
from honeyguide.from_dict import unknown

SHARED = ("keywords", "description", "model", "categories")
"""What a strategy takes from the topic by naming a field so."""
STATED = {name: name for name in SHARED} | {"language": "words", "concepts": "ontology"}
"""Fields that the topic fills, and the key under ``[topic]``."""
_PLAIN = (bool, int, float, str, dict, tuple)


def settable(cls: Any) -> list[str]:
    """The parameters of a strategy."""
    hints, closed = get_type_hints(cls), {*STATED, *cls.habits.learned}
    return [f.name for f in fields(cls) if f.name not in closed and _plain(hints[f.name])]


def check_names(cls: Any, given: Iterable[str]) -> None:
    known = settable(cls)
    for key in given:
        if key in STATED and key in {f.name for f in fields(cls)}:
            raise ConfigError(
                f"topic.toml: {key} belongs to the topic: set topic.{STATED[key]}, not "
                f"strategy.{key}"
            )
        if key not in known:
            raise unknown(key, known, "topic.toml", "strategy.")


def check_numbers(made: Any, given: Iterable[str]) -> None:
    """What holds for every number; narrower ranges are the strategy's own affair."""
    for key in given:
        if type(value := getattr(made, key)) in (int, float):
            ranges.check(f"topic.toml: strategy.{key}", value)


def _plain(hint: Any) -> bool:
    """Whether a settings file can hold such a value."""
    if hint in _PLAIN or get_origin(hint) is Literal:
        return True
    inside = [one for one in get_args(hint) if one not in (Ellipsis, type(None))]
    return bool(inside) and all(map(_plain, inside))
