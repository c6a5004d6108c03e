"""Arguments that several commands share, and help without the words of programmers."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

Name = Annotated[
    Path, typer.Argument(metavar="NAME", help="The collection's folder.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def strategies() -> list[str]:
    from honeyguide import registry

    return registry.names()


def demo_topics() -> list[str]:
    from honeyguide.lab.demo_web import topics

    return list(topics())


_LISTS = {"{strategies}": strategies, "{topics}": demo_topics}
"""What stands in braces in a help text is looked up only when somebody reads it."""


class Command(TyperCommand):
    """A command whose help shows metavars (URL, FILE, N) and no types."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _untyped(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for param in self.params:
            for mark, names in _LISTS.items():
                help_text = getattr(param, "help", None) or ""
                if mark in help_text:
                    vars(param)["help"] = help_text.replace(mark, ", ".join(names()))
        super().format_help(ctx, formatter)


class Group(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _untyped(super().get_params(ctx))


def _untyped(params: list[Any]) -> list[Any]:
    for param in params:
        if isinstance(param, TyperArgument):
            # Typer has no setting for it: an argument's name says enough.
            param.type = copy(param.type)
            vars(param.type)["get_metavar"] = lambda **_: ""
        elif param.is_flag and param.metavar is None:
            param.metavar = ""
    return params
