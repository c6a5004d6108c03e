"""``honeyguide version``, ``settings`` and ``strategies``."""

from __future__ import annotations

import platform
from dataclasses import asdict
from pathlib import Path

import typer

from honeyguide.cli.formatting import print_json, say
from honeyguide.cli.options import JsonOption, argument, open_collection
from honeyguide.errors import ConfigError, suggest_name


def version(as_json: JsonOption = False) -> None:
    """Print the version.

    Example: `honeyguide version --json`
    """
    from honeyguide import __version__

    if as_json:
        facts = {"honeyguide": __version__, "python": platform.python_version()}
        print_json(facts)
    else:
        typer.echo(f"Honeyguide {__version__} on Python {platform.python_version()}")


def show_version(wanted: bool) -> None:
    """``honeyguide --version``, as other programs have it."""
    if wanted:
        version()
        raise typer.Exit


# --------------------------------------------------------------------------------------------------
# ``honeyguide settings``
# --------------------------------------------------------------------------------------------------


def table_names() -> list[str]:
    from honeyguide.config.topic_file import settings_tables

    return list(settings_tables())


def settings(
    table: str = argument(
        "TABLE", "Only this table: topic, crawl, scope, …", "", autocompletion=table_names
    ),
    as_json: JsonOption = False,
) -> None:
    """Print every key that a topic.toml may have, with its default and meaning.

    Examples:

    `honeyguide settings`

    `honeyguide settings scope`
    """
    from rich.table import Table as Grid

    from honeyguide.cli.formatting import make_console
    from honeyguide.config.topic_file import settings_tables, to_toml

    known = settings_tables()
    wanted = table.strip("[]")
    if wanted and wanted not in known:
        hint = suggest_name(wanted, known)
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
        print_json(facts)
        return
    out = make_console()
    for each in shown:
        out.print(f"[{each.name}]", style="bold")
        if each.meaning:
            out.print(each.meaning, style="dim")
        grid = Grid.grid(padding=(0, 2))
        for key in each.keys:
            meaning = key.meaning.replace("``", "")
            allowed = f"({', '.join(key.choices)})" if key.choices else "" if meaning else key.kind
            grid.add_row(f"{key.name} = {to_toml(key.default)}", f"{meaning} {allowed}".strip())
        out.print(grid)
        out.print()
    if not wanted:
        out.print("[strategy]", style="bold")
        out.print("Parameters of the chosen strategy by name, such as anchor_weight = 0.8")


# --------------------------------------------------------------------------------------------------
# ``honeyguide strategies``
# --------------------------------------------------------------------------------------------------


def strategies(
    name: Path | None = argument("[NAME]", "A collection.", None),
    as_json: JsonOption = False,
) -> None:
    """List the strategies, and which of them the topic has enough input for.

    Examples:

    `honeyguide strategies`

    `honeyguide strategies birds`
    """
    from honeyguide.crawl.from_settings import strategy_choices

    collection = open_collection(name) if name is not None else None
    topic = asdict(collection.settings.topic) if collection is not None else {}
    found = strategy_choices(topic)
    if as_json:
        rows = [
            {"name": c.name, "about": c.about, "learns": c.traits.learns, "needs": c.traits.needs}
            | ({"missing": c.missing} if collection is not None else {})
            for c in found
        ]
        print_json(rows)
        return
    chosen = collection.settings.crawl.strategy if collection is not None else ""
    starts = {c.name: _start_hint(c.traits.needs, c.missing, collection is not None) for c in found}
    width = max(map(len, starts.values()))
    for choice in found:
        mark = "*" if choice.name == chosen else " "
        learns = "learns" if choice.traits.learns else ""
        start = starts[choice.name]
        typer.echo(f"{mark} {choice.name:17} {learns:7} {start:{width}}  {choice.about}")
    say(
        "Two can be one: hybrid_svm+honeyguide judges pages by the first, ranks links by the other."
    )
    if collection is not None:
        say("* is used now; change crawl.strategy in topic.toml to use another.")


def _start_hint(needs: tuple[str, ...], missing: tuple[str, ...], asked: bool) -> str:
    if asked and missing:
        return f"add {' or '.join(missing)}"
    return f"from {' or '.join(needs)}" if needs else ""
