"""``honeyguide status``"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated

import typer

from honeyguide.cli.options import Json, Name


def status(
    name: Name,
    hosts: Annotated[int, typer.Option("--hosts", help="How many hosts to list.")] = 10,
    as_json: Json = False,
) -> None:
    """Show how a collection stands; also while it is being crawled.

    Examples:

    `honeyguide status birds`

    `honeyguide status birds --json`
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from honeyguide.crawl.collection import Collection
    from honeyguide.store.lock import holder
    from honeyguide.store.store import Store

    collection = Collection(name)
    with Store.open(collection.folder, "read") as store:
        counts = store.counts()
        rows = store.hosts(limit=hosts)
        generations = store.generations()
    running = holder(collection.folder / "lock")
    if as_json:
        facts = asdict(counts) | {
            "harvest": counts.harvest,
            "crawler_pid": running,
            "generation": generations[-1].number if generations else None,
            "per_host": [row._asdict() for row in rows],
        }
        typer.echo(json.dumps(facts))
        return
    out = Console(highlight=False, soft_wrap=True)
    state = f"being crawled by process {running}" if running else "not being crawled"
    out.print(f"[bold]{escape(str(name))}[/bold]: {state}")
    out.print(
        f"{counts.visits} visits · {counts.pages} pages · [green]{counts.relevant} relevant[/green]"
        f" · harvest rate [bold]{counts.harvest:.0%}[/bold] · {counts.bytes / 1e6:.1f} MB · "
        f"{counts.hosts} hosts · strategy {collection.settings.crawl.strategy}, "
        f"generation {generations[-1].number if generations else 0}"
    )
    if counts.first and counts.last:
        stamp = "%Y-%m-%d %H:%M:%S"
        first, last = (time.strftime(stamp, time.localtime(t)) for t in (counts.first, counts.last))
        out.print(f"from {first} to {last}")
    if counts.failures:
        kinds = ", ".join(f"{kind} {n}" for kind, n in sorted(counts.failures.items()))
        out.print(f"failures: {kinds}")
    if rows:
        table = Table(box=None, header_style="dim", pad_edge=False)
        for title in ("host", "visits", "relevant", "failures"):
            table.add_column(title, justify="left" if title == "host" else "right")
        for row in rows:
            table.add_row(escape(row.host), str(row.visits), str(row.relevant), str(row.failures))
        out.print(table)
