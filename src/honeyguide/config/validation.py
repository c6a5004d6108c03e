"""Frozen dataclasses from dictionaries, read strictly: what is not known is named, not ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from honeyguide.errors import ConfigError, suggest_name


def build_dataclass(cls: type[Any], raw: dict[str, Any], where: str, prefix: str) -> Any:
    """A frozen dataclass from a dictionary; unknown keys and wrong types fail by name."""
    hints = get_type_hints(cls)
    known = [f.name for f in fields(cls)]
    values: dict[str, Any] = {}
    for key, value in raw.items():
        if key not in known:
            raise unknown_key_error(key, known, where, prefix)
        values[key] = _convert_value(hints[key], value, where, f"{prefix}{key}")
    return cls(**values)


def unknown_key_error(key: str, known: Sequence[str], where: str, prefix: str) -> ConfigError:
    """What to say of a key that nobody knows: the nearest right one, or all of them."""
    hint = suggest_name(key, known, prefix + "{}") if known else "there is none to set"
    return ConfigError(f"{where}: unknown setting {prefix}{key}; {hint}")


def _convert_value(hint: Any, value: Any, where: str, key: str) -> Any:
    """One value, turned into the field's type, or a ConfigError."""
    origin = get_origin(hint)
    if is_dataclass(hint) and isinstance(value, dict):
        return build_dataclass(cast("type[Any]", hint), value, where, f"{key}.")
    if origin is Literal:
        if value in get_args(hint):
            return value
        choices = ", ".join(map(repr, get_args(hint)))
        raise ConfigError(f"{where}: {key} must be one of {choices}, not {value!r}")
    if origin in (Union, UnionType):
        kinds = [kind for kind in get_args(hint) if kind is not type(None)]
        return None if value is None else _convert_value(kinds[0], value, where, key)
    if origin is tuple and isinstance(value, list | tuple):
        kind = get_args(hint)[0]
        return tuple(
            _convert_value(kind, item, where, f"{key}[{i}]") for i, item in enumerate(value)
        )
    plain = dict if origin is dict else tuple if origin is tuple else hint
    if plain is float and type(value) is int:
        value = float(value)
    if type(value) is plain:
        return value
    names = {tuple: "a list", dict: "a table", str: "text", bool: "true or false"}
    wanted = names.get(plain, {int: "a whole number", float: "a number"}.get(plain, str(plain)))
    raise ConfigError(f"{where}: {key} must be {wanted}, not {value!r}")


# --------------------------------------------------------------------------------------------------
# Numbers within their range: a strategy checks its parameters when it is made, whoever sets them.
#
# What is refused is named with its value and with the range, so that the message says what to
# write.
# --------------------------------------------------------------------------------------------------


MAX_NUMBER = 1e12
"""No parameter is meant to be as large as this; infinity least of all."""


def check_within(
    made: object,
    names: str,
    least: float = 0,
    most: float = MAX_NUMBER,
    *,
    above: bool = False,
    below: bool = False,
) -> None:
    """A ConfigError unless these parameters of a strategy lie in the range; ``above`` and
    ``below``: its ends do not belong to it."""
    for name in names.split():
        check_number(f"strategy.{name}", getattr(made, name), least, most, above=above, below=below)


def check_number(
    key: str,
    value: float,
    least: float = 0,
    most: float = MAX_NUMBER,
    *,
    above: bool = False,
    below: bool = False,
) -> None:
    enough = value > least if above else value >= least
    # Nothing is true of what is not a number, so that it is refused, too.
    if enough and (value < most if below else value <= most):
        return
    first = "above" if above else "at least"
    last = "below" if below else "at most"
    raise ConfigError(f"{key} must be {first} {least:g} and {last} {most:g}, not {value:g}")
