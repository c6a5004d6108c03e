"""``honeyguide settings``"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from honeyguide.cli.options import Json


def table_names() -> list[str]:
    from honeyguide.crawl.settings_reference import tables

    return list(tables())


def settings(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="Only this table: topic, crawl, scope, …",
            autocompletion=table_names,
            show_default=False,
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Print every key that a topic.toml may have, with its default and meaning.

    Examples:

    `honeyguide settings`

    `honeyguide settings scope`
    """
    from difflib import get_close_matches

    from rich.table import Table as Grid

    from honeyguide.cli.formatting import console
    from honeyguide.crawl.settings_reference import tables
    from honeyguide.crawl.topic_file import toml
    from honeyguide.errors import ConfigError

    known = tables()
    wanted = table.strip("[]")
    if wanted and wanted not in known:
        near = get_close_matches(wanted, known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        raise ConfigError(f"there is no table {table!r} in a topic.toml; {hint}")
    shown = [known[wanted]] if wanted else list(known.values())
    if as_json:
        facts = {
            each.name: {
                key.name: {
                    "type": key.kind or list(key.choices),
                    "default": key.default,
                    "meaning": key.meaning,
                }
                for key in each.keys
            }
            for each in shown
        }
        typer.echo(json.dumps(facts))
        return
    out = console()
    for each in shown:
        out.print(f"[{each.name}]", style="bold")
        if each.meaning:
            out.print(each.meaning, style="dim")
        grid = Grid.grid(padding=(0, 2))
        for key in each.keys:
            meaning = key.meaning.replace("``", "")
            allowed = f"({', '.join(key.choices)})" if key.choices else "" if meaning else key.kind
            grid.add_row(f"{key.name} = {toml(key.default)}", f"{meaning} {allowed}".strip())
        out.print(grid)
        out.print()
    if not wanted:
        out.print("[strategy]", style="bold")
        out.print("Parameters of the chosen strategy by name, such as anchor_weight = 0.8")
