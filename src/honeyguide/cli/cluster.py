"""``honeyguide cluster``"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from honeyguide.cli.formatting import count_noun, print_json, safe_text, say
from honeyguide.cli.options import (
    CliCommand,
    CliGroup,
    CollectionName,
    JsonOption,
    open_collection,
    option,
)

if TYPE_CHECKING:
    from honeyguide.cluster.remote_state import ClusterStatus

app = typer.Typer(cls=CliGroup, no_args_is_help=True)


@app.callback()
def cluster_group() -> None:
    """Crawls on the machines of a cluster: their state.

    Examples:

    `honeyguide cluster status birds`

    `honeyguide cluster recall birds`
    """


@app.command("status", cls=CliCommand)
def cluster_status(
    name: CollectionName,
    address: str | None = option(
        "--cluster ADDRESS", "Where the cluster is now, if it moved.", None
    ),
    as_json: JsonOption = False,
) -> None:
    """Show the state of each shard, also while no coordinator is running.

    Examples:

    `honeyguide cluster status birds`
    """
    from honeyguide.cluster.ray_backend import ray_shard_statuses
    from honeyguide.cluster.remote_state import read_cluster_status

    found = read_cluster_status(open_collection(name).folder, ray_shard_statuses, address or "")
    if as_json:
        print_json(found.to_dict())
    else:
        _print_shards(found)


@app.command("recall", cls=CliCommand)
def recall_shards(name: CollectionName) -> None:
    """Copy shards back from the vault when their cluster no longer exists.

    A process that still holds them is refused by the vault from now on, and stops.

    Examples:

    `honeyguide cluster recall birds`
    """
    from honeyguide.cluster.remote_state import recall_shards as bring
    from honeyguide.store.store import Store

    collection = open_collection(name)
    with Store.open(collection.folder, "crawl", collection.settings.store) as store:
        for warning in bring(store, say):
            say(f"honeyguide: {safe_text(warning)}")
    typer.echo(
        f"The shards of {collection.name} are back in its folder. Continue here: "
        f"honeyguide crawl {name}"
    )


def _print_shards(found: ClusterStatus) -> None:
    from rich.console import Console
    from rich.table import Table

    if found.trouble:
        say(f"honeyguide: {safe_text(found.trouble)}; this is the state in the vault")
    table = Table("shard", "machine", "epoch", "visits", "waiting", "letters", "saved", "window")
    for row in found.rows:
        ago = time.time() - row.saved_at if row.saved_at else None
        cells = (row.shard, row.machine, row.epoch, row.visits, row.waiting, row.letters)
        window = None if row.window_s is None else f"{row.window_s:g} s"
        saved = None if ago is None else f"{max(ago, 0):.0f} s ago"
        shown = ("" if cell is None else safe_text(str(cell)) for cell in (*cells, saved, window))
        table.add_row(*shown)
    Console().print(table)
    where = f"at {found.address}, vault {found.vault}" if found.away else "in the collection folder"
    typer.echo(f"{count_noun(found.visits, 'visit')} collected; the shards are {where}.")
    if found.lost_records:
        lost = count_noun(found.lost_records, "visit")
        typer.echo(f"The WARC records of {lost} were lost with machines.")
