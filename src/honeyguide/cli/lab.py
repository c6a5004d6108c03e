"""``honeyguide lab``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True, help="Recorded webs, served locally, to try and compare crawlers."
)


@app.callback()
def lab() -> None:
    """Recorded webs, served locally, to try and compare crawlers."""


@app.command("serve")
def serve(
    web: Annotated[
        list[Path] | None,
        typer.Argument(help="WARC files or gzip'd JSON lines; none: the embedded demo web."),
    ] = None,
    port: Annotated[int, typer.Option("--port", "-p", help="0: any free port.")] = 8787,
    latency: Annotated[float, typer.Option("--latency", help="Seconds before an answer.")] = 0.0,
) -> None:
    """Serve a recorded web under its own host names, as a forward proxy for any crawler.

    Examples:

    `honeyguide lab serve` then, in another terminal,
    `curl -x http://127.0.0.1:8787 http://www.sqlite.org/fts5.html`

    `honeyguide lab serve pages.warc.gz --port 9000`
    """
    from honeyguide.lab.demo_web import load
    from honeyguide.lab.serve import run
    from honeyguide.lab.serving import Serving
    from honeyguide.lab.web import RecordedWeb

    recorded = RecordedWeb.load(web) if web else load()
    typer.echo(f"{len(recorded)} pages on {len(recorded.hosts)} hosts", err=True)
    run(
        recorded,
        port=port,
        serving=Serving(latency_s=latency),
        ready=lambda address: typer.echo(
            f'serving at {address}; crawl it with fetch.lab = "{address}" in topic.toml, or use '
            "it as HTTP proxy. Ctrl-C ends it.",
            err=True,
        ),
    )
