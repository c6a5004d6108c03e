"""``honeyguide export``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, cast, get_args

import typer

from honeyguide.cli.options import Json, Name

_ENDINGS = {".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".gz": "warc"}


def export(
    name: Name,
    to: Annotated[
        Path, typer.Option("--to", "-o", help="The file to write; its ending says the format.")
    ],
    kind: Annotated[str, typer.Option("--format", "-f", help="parquet, csv, jsonl or warc.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every visit, failures too, not only relevant pages.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the collection to a file that others can use.

    Examples:

    `honeyguide export birds --to birds.parquet`

    `honeyguide export birds --to everything.csv --all`

    `honeyguide export birds --to birds.warc.gz`
    """
    from rich.console import Console

    from honeyguide.crawl.collection import Collection
    from honeyguide.errors import ConfigError
    from honeyguide.store.export import Format
    from honeyguide.store.export import export as write
    from honeyguide.store.store import Store

    collection = Collection(name)
    form = kind or _ENDINGS.get(to.suffix.lower(), "")
    if form not in get_args(Format):
        raise ConfigError(
            f"which format? Name the file {to.stem}.parquet, .csv, .jsonl or .warc.gz, or add "
            f"--format; {form or to.suffix or to.name!r} is none of them"
        )
    with (
        Store.open(collection.folder, "read") as store,
        Console(stderr=True).status(f"writing {to} …") as shown,
    ):
        count = write(
            store,
            to,
            cast("Format", form),
            relevant=None if everything else True,
            progress=lambda n: shown.update(f"writing {to}: {n} rows …"),
        )
    if as_json:
        typer.echo(json.dumps({"file": str(to), "format": form, "rows": count}))
    else:
        typer.echo(f"{count} rows written to {to}.")
        if not count and not everything:
            typer.echo("No relevant page yet; --all exports every visit.", err=True)
