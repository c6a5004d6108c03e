"""``honeyguide cluster``"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import count, plain, say
from honeyguide.cli.options import Command, Group, Json, Name

if TYPE_CHECKING:
    from honeyguide.cluster.status import Standing

app = typer.Typer(cls=Group, no_args_is_help=True)


@app.callback()
def cluster() -> None:
    """Crawls on the machines of a cluster: how they stand.

    Examples:

    `honeyguide cluster status birds`

    `honeyguide cluster recall birds`
    """


@app.command("status", cls=Command)
def status(
    name: Name,
    address: Annotated[
        str | None,
        typer.Option("--cluster", metavar="ADDRESS", help="Where the cluster is now, if it moved."),
    ] = None,
    as_json: Json = False,
) -> None:
    """How each shard stands, also while nobody coordinates them.

    Examples:

    `honeyguide cluster status birds`
    """
    from honeyguide.cluster.status import look
    from honeyguide.crawl.collection import Collection

    found = look(Collection(name).folder, address or "")
    if as_json:
        typer.echo(json.dumps(found.facts()))
    else:
        _table(found)


@app.command("recall", cls=Command)
def recall(name: Name) -> None:
    """Bring shards home from the vault when their cluster is no more.

    Whoever still has them is refused by the vault from now on, and stops.

    Examples:

    `honeyguide cluster recall birds`
    """
    from honeyguide.cluster.remote_state import recall as bring
    from honeyguide.crawl.collection import Collection
    from honeyguide.store.store import Store

    collection = Collection(name)
    with Store.open(collection.folder, "crawl", collection.settings.store) as store:
        for warning in bring(store, say):
            say(f"honeyguide: {plain(warning)}")
    typer.echo(f"The shards of {collection.name} are home: honeyguide crawl {name} goes on here.")


def _table(found: Standing) -> None:
    from rich.console import Console
    from rich.table import Table

    if found.trouble:
        say(f"honeyguide: {plain(found.trouble)}; below is what the vault says")
    table = Table("shard", "machine", "epoch", "visits", "waiting", "letters", "saved", "window")
    for row in found.rows:
        ago = time.time() - row.saved_at if row.saved_at else None
        cells = (row.shard, row.machine, row.epoch, row.visits, row.waiting, row.letters)
        window = None if row.window_s is None else f"{row.window_s:g} s"
        saved = None if ago is None else f"{max(ago, 0):.0f} s ago"
        shown = ("" if cell is None else plain(str(cell)) for cell in (*cells, saved, window))
        table.add_row(*shown)
    Console().print(table)
    where = f"at {found.address}, vault {found.vault}" if found.away else "at home"
    typer.echo(f"{count(found.visits, 'visit')} gathered; the shards are {where}.")
    if found.lost:
        typer.echo(f"The WARC records of {count(found.lost, 'visit')} were lost with machines.")
