"""``honeyguide lab revisit``"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from honeyguide.cli.options import Json


def revisit(
    rule: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RULE",
            help="uniform, proportional, nutch, stormcrawler, fresh-known, age-known, age, "
            "age-siblings, sqrt, watch; none: all.",
            show_default=False,
        ),
    ] = None,
    visits: Annotated[
        float, typer.Option("--visits", metavar="N", min=0.001, help="A page and day.")
    ] = 0.3,
    seeds: Annotated[
        int, typer.Option("--seeds", metavar="N", min=1, help="Webs to try them on.")
    ] = 5,
    pages: Annotated[int, typer.Option("--pages", metavar="N", min=1, help="Of each web.")] = 1000,
    days: Annotated[
        float, typer.Option("--days", metavar="N", min=1, help="The second half is measured.")
    ] = 200.0,
    drift: Annotated[
        float | None,
        typer.Option(
            "--drift",
            metavar="DAY",
            help="When all pages exchange their habits.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare rules by which crawlers come back to pages that change, at the same budget.

    age: by weight, for how long copies are out of date · fresh: the share of them that is not ·
    delay: from a change to the visit that finds it · caught: versions that are seen at all ·
    starved: pages that change and are never visited again.

    Examples:

    `honeyguide lab revisit`

    `honeyguide lab revisit nutch age watch --visits 1 --seeds 2`

    `honeyguide lab revisit age-known age watch --drift 60 --json`
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.table import Table

    from honeyguide.cli.formatting import console
    from honeyguide.lab.revisit_rules import RULES
    from honeyguide.lab.revisit_study import BASE, Study

    study = Study(tuple(rule or RULES), visits, seeds, pages, days, drift)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("revisit", total=study.steps)
        results = study.run(lambda n, name: bar.update(task, completed=n, description=name))
    if as_json:
        typer.echo(json.dumps(results.told()))
        return
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("beside uniform", justify="right", no_wrap=True)
    for name in ("fresh", "delay", "caught", "starved"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in results.figures:
        gain = results.gain(name)
        table.add_row(
            name,
            f"{results.mean(name, 'age_weighted').mean:.3f} d",
            f"{-gain.mean:+.0%} ({-gain.high:+.0%} … {-gain.low:+.0%})" if name != BASE else "",
            f"{results.mean(name, 'fresh_weighted').mean:.1%}",
            f"{results.mean(name, 'delay').mean:.2f} d",
            f"{results.mean(name, 'caught').mean:.1%}",
            f"{results.mean(name, 'starved').mean:.1%}",
        )
    console().print(table)
