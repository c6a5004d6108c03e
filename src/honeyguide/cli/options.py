"""Arguments that several commands share, and help without the words of programmers."""

from __future__ import annotations

import re
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from honeyguide.config.settings import KEEP_WORDS

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection

_FLAGS = re.compile(r"-\S+(?: -\S+)*")


def option(usage: str, help: str, default: Any = ..., **settings: Any) -> Any:
    """An option as its help shows it, such as ``"--pages -n N"``: its names, then its value's.

    Without a default it is required.
    """
    names = _FLAGS.match(usage)
    assert names is not None
    metavar = usage[names.end() :].strip() or None
    return typer.Option(default, *names[0].split(), metavar=metavar, help=help, **settings)


def argument(metavar: str, help: str, default: Any = ..., **settings: Any) -> Any:
    """An argument and what it means; its default is never shown."""
    return typer.Argument(default, metavar=metavar, help=help, show_default=False, **settings)


CollectionName = Annotated[Path, argument("NAME", "The collection's folder.")]
JsonOption = Annotated[bool, option("--json", "Print JSON for machines.")]


def open_collection(name: Path) -> Collection:
    """The collection in that folder; loaded here, because its code is large."""
    from honeyguide.api.collection import Collection

    return Collection(name)


def keep_option(scope: str) -> Any:
    """The dial ``topic.keep``; ``scope`` says for what it counts."""
    help_text = f"How strict: strict, balanced, generous, or a precision such as 0.9; {scope}."
    return option("--keep HOW", help_text, "", autocompletion=lambda: list(KEEP_WORDS))


def strategy_choices() -> list[str]:
    from honeyguide import registry

    return registry.strategy_names()


def demo_topics() -> list[str]:
    from honeyguide.lab.web import load_demo_topics

    return list(load_demo_topics())


_HELP_LISTS = {"{strategies}": strategy_choices, "{topics}": demo_topics}
"""What stands in braces in a help text is looked up only when somebody reads it."""


class CliCommand(TyperCommand):
    """A command whose help shows metavars (URL, FILE, N) and no types."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_types(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for param in self.params:
            for mark, names in _HELP_LISTS.items():
                help_text = getattr(param, "help", None) or ""
                if mark in help_text:
                    vars(param)["help"] = help_text.replace(mark, ", ".join(names()))
        super().format_help(ctx, formatter)


class CliGroup(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _hide_types(super().get_params(ctx))


def _hide_types(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperArgument):
            # Typer has no setting for it: an argument's name says enough.
            param.type = copy(param.type)
            vars(param.type)["get_metavar"] = lambda **_: ""
        elif param.is_flag and param.metavar is None:
            param.metavar = ""
    return params
