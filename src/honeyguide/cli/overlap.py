"""``honeyguide lab overlap``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.formatting import console, plain
from honeyguide.cli.options import Json


def overlap(
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A collection's folder.", show_default=False)
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one's.", show_default=False)],
    most: Annotated[
        int, typer.Option("--most", metavar="N", min=1, help="Relevant pages compared of each.")
    ] = 5000,
    as_json: Json = False,
) -> None:
    """Compare what two crawls found: sites, documents and key words they share.

    Examples:

    `honeyguide lab overlap birds birds-by-hand`

    `honeyguide lab overlap birds birds-by-hand --json`
    """
    from dataclasses import asdict

    from rich.table import Table

    from honeyguide.crawl.collection import Collection
    from honeyguide.lab.overlap import overlap as measure

    one, two = Collection(first), Collection(second)
    found = measure(one, two, most)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("")
    for name in (one.name, two.name):
        table.add_column(plain(name), justify="right")
        table.add_column("of them shared", justify="right")
    for what, row in (
        ("sites", found.sites),
        ("documents", found.documents),
        ("key words", found.words),
    ):
        here, there = row.shares
        table.add_row(what, str(row.first), f"{here:.1%}", str(row.second), f"{there:.1%}")
    console().print(table)
