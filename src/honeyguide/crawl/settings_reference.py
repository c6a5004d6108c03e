"""Every key of topic.toml with its type, default and meaning, read from config.py itself."""

from __future__ import annotations

import ast
import inspect
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from honeyguide import config, search_settings, watch_settings

_KINDS = {str: "text", int: "whole number", float: "number", bool: "true/false"}


_LISTS = frozenset({"notify"})
"""Tables of which there may be several; further topics have the keys of the first."""


class Key(NamedTuple):
    name: str
    kind: str
    """In words; empty where ``choices`` says it all."""
    choices: tuple[str, ...]
    default: Any
    meaning: str


class Table(NamedTuple):
    name: str
    meaning: str
    keys: tuple[Key, ...]


def tables() -> dict[str, Table]:
    """The tables of a settings file in their order; ``[strategy]`` is not among them."""
    said = _meanings()
    found = {}
    for name, hint in get_type_hints(config.Settings).items():
        if get_origin(hint) is tuple and name in _LISTS:
            hint = get_args(hint)[0]  # told as one of them
        if isinstance(hint, type) and is_dataclass(hint):
            hints = get_type_hints(hint)
            keys = tuple(
                Key(
                    item.name,
                    *_kind(hints[item.name]),
                    None if item.default is MISSING else item.default,
                    said.get((hint.__name__, item.name), ""),
                )
                for item in fields(hint)
            )
            found[name] = Table(name, said.get((hint.__name__, ""), ""), keys)
    return found


def _kind(hint: Any) -> tuple[str, tuple[str, ...]]:
    origin = get_origin(hint)
    if origin is Literal:
        return "", get_args(hint)
    return ("list of text" if origin is tuple else _KINDS[hint]), ()


def _meanings() -> dict[tuple[str, str], str]:
    """(class, field) → the text below the field, and (class, '') → the class's own."""
    try:
        modules = (config, search_settings, watch_settings)
        source = "\n".join(inspect.getsource(module) for module in modules)
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
