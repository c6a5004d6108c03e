"""``honeyguide lab paper``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.options import Json


def paper(
    number: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="000: Iliou et al. 2017, 001: Zheng et al. 2008, 004: Xu et al. 2014.",
            show_default=False,
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="Where wikipedia-schools-2007.jsonl.gz lies; none: the embedded demo web.",
            show_default=False,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option("--draws", metavar="N", min=1, help="Sets of pages or seeds for each topic."),
    ] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Results.")] = Path(
        "papers"
    ),
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=0, help="0: all cores.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Do a founding paper's experiment again, and show our figures beside the paper's.

    Goes on where an interrupted study ended; more draws add only what is missing.

    Examples:

    `honeyguide lab paper 000`

    `honeyguide lab paper 001 recorded-webs --draws 5 --json`
    """
    from honeyguide.cli.formatting import say
    from honeyguide.cli.lab_progress import counted
    from honeyguide.lab.papers.study import carry_out, markdown, study

    chosen = study(number)
    jobs = chosen.jobs(folder, draws)
    with counted(f"paper {number}", out) as done:
        outcomes = carry_out(number, jobs, out, workers=workers, done=done)
    tables = chosen.tables(outcomes)
    page = markdown(chosen, tables)
    (out / f"{number}.md").write_text(page, "utf-8")
    if as_json:
        typer.echo(json.dumps({"title": chosen.TITLE, "tables": [t._asdict() for t in tables]}))
    else:
        typer.echo(page, nl=False)
        say(f"The same in {out / f'{number}.md'}, every draw in {out / f'{number}.jsonl'}")
