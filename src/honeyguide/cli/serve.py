"""``honeyguide serve``"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from honeyguide.cli.options import Json
from honeyguide.cli.words import count, say

Port = Annotated[
    int, typer.Option("--port", metavar="N", help="Listen there; else any free port.", min=0)
]
Open = Annotated[bool, typer.Option("--open", help="Open the browser.")]


def serve(
    name: Annotated[
        Path,
        typer.Argument(
            metavar="[NAME]",
            help="A collection, or the folder that holds your collections; else this folder.",
            show_default=False,
        ),
    ] = Path(),
    port: Port = 0,
    open_: Open = False,
    as_json: Json = False,
) -> None:
    """Open the studio: look, label and steer in the browser. Ctrl-C ends it.

    It listens on this machine only, and only to whoever has the address it prints. Crawls that were
    started in it end with it, cleanly.

    Examples:

    `honeyguide serve`

    `honeyguide serve birds --open`
    """
    show(name, port, open_=open_, as_json=as_json)


def show(
    name: Path, port: int, *, open_: bool, as_json: bool, crawl: Sequence[str] | None = None
) -> None:
    """Serve; first start to crawl with these options, where there are any."""
    from honeyguide.studio.serving import studio

    folder = name.parent if name.name == "topic.toml" else name
    folder = folder.resolve()
    one = (folder / "topic.toml").is_file()
    opened = studio(folder.parent if one else folder, port)
    place = f"#/c/{quote(folder.name)}/live" if one else ""
    address = opened.gate.address + place

    def ready() -> None:
        if as_json:
            typer.echo(json.dumps({"address": address, "port": opened.gate.port}))
        else:
            typer.echo(address)
            say("The studio is open at this address; keep it to yourself. Ctrl-C ends it.")
        if open_:
            import webbrowser

            webbrowser.open(opened.gate.ticket() + place)
        if crawl is not None:
            opened.runs.start(folder, "crawl", crawl)

    opened.serve(ready, lambda running: say(f"Waiting for {count(running, 'run')} to end …"))
    say("The studio is closed.")
