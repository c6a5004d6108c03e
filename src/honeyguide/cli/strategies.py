"""``honeyguide strategies``"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.formatting import say
from honeyguide.cli.options import Json


def strategies(
    name: Annotated[
        Path | None, typer.Argument(metavar="[NAME]", help="A collection.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """How a crawl can decide, and which ways a topic has enough for.

    Examples:

    `honeyguide strategies`

    `honeyguide strategies birds`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.strategy_choice import choices

    collection = Collection(name) if name is not None else None
    topic = asdict(collection.settings.topic) if collection is not None else {}
    found = choices(topic)
    if as_json:
        rows = [
            {"name": c.name, "about": c.about, "learns": c.habits.learns, "needs": c.habits.needs}
            | ({"missing": c.missing} if collection is not None else {})
            for c in found
        ]
        typer.echo(json.dumps(rows))
        return
    chosen = collection.settings.crawl.strategy if collection is not None else ""
    starts = {c.name: _start(c.habits.needs, c.missing, collection is not None) for c in found}
    width = max(map(len, starts.values()))
    for choice in found:
        mark = "*" if choice.name == chosen else " "
        learns = "learns" if choice.habits.learns else ""
        start = starts[choice.name]
        typer.echo(f"{mark} {choice.name:17} {learns:7} {start:{width}}  {choice.about}")
    if collection is not None:
        say("* is used now; change crawl.strategy in topic.toml to use another.")


def _start(needs: tuple[str, ...], missing: tuple[str, ...], asked: bool) -> str:
    if asked and missing:
        return f"add {' or '.join(missing)}"
    return f"from {' or '.join(needs)}" if needs else ""
