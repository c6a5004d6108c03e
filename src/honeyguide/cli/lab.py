"""``honeyguide lab``"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.compare import compare
from honeyguide.cli.formatting import count, say
from honeyguide.cli.lab_options import Aliases, Disallow, Errors, RobotsFile, Strip, rules
from honeyguide.cli.options import Command, Group
from honeyguide.cli.overlap import overlap
from honeyguide.cli.paper import paper
from honeyguide.cli.revisit import revisit

if TYPE_CHECKING:
    from honeyguide.lab.engine import LabEngine
    from honeyguide.lab.responses import Serving
    from honeyguide.lab.web import Web

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Recorded webs, served locally, to try and compare crawlers.",
)


@app.callback()
def lab() -> None:
    """Recorded webs, served locally, to try and compare crawlers."""


app.command("compare", cls=Command)(compare)
app.command("overlap", cls=Command)(overlap)
app.command("revisit", cls=Command)(revisit)
app.command("paper", cls=Command)(paper)


@app.command("serve", cls=Command)
def serve(
    web: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="WARC files or gzip'd JSON lines; none: the embedded demo web.",
            show_default=False,
        ),
    ] = None,
    made: Annotated[
        str,
        typer.Option("--made", metavar="PLAN", help="A made web instead: seed=7,pages=100000."),
    ] = "",
    port: Annotated[
        int, typer.Option("--port", "-p", metavar="N", help="0: any free port.")
    ] = 8787,
    latency: Annotated[
        float, typer.Option("--latency", metavar="S", help="Seconds before an answer.", min=0)
    ] = 0.0,
    disallow: Disallow = None,
    robots: RobotsFile = None,
    strip: Strip = None,
    aliases: Aliases = None,
    errors: Errors = 0.0,
    closed: Annotated[
        bool, typer.Option("--closed", help="Take out links to pages that were not recorded.")
    ] = False,
    engine: Annotated[
        bool, typer.Option("--engine", help="A search engine beside the web, at search.lab.")
    ] = False,
    reach: Annotated[
        float,
        typer.Option("--engine-reach", metavar="SHARE", help="Share of the pages that it knows."),
    ] = 1.0,
    thinks: Annotated[
        float,
        typer.Option("--engine-latency", metavar="S", min=0, help="Seconds until it answers."),
    ] = 0.0,
    fault: Annotated[
        str,
        typer.Option(
            "--engine-fault",
            metavar="HOW",
            help="down, slow, limited, garbage, html, million or hostile.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Serve a recorded web under its own host names, as a forward proxy for any crawler.

    Examples:

    `honeyguide lab serve` then, in another terminal,
    `curl -x http://127.0.0.1:8787 http://www.sqlite.org/fts5.html`, or
    `honeyguide new bees --lab http://127.0.0.1:8787 -s http://www.sqlite.org/`

    `honeyguide lab serve pages.warc.gz --port 9000`

    `honeyguide lab serve --made seed=7,pages=100000 --errors 0.05 --latency 0.2`

    `honeyguide lab serve pages.jsonl.gz --disallow /index/ --strip h3#siteSub`

    `honeyguide lab serve --engine` then
    `curl 'http://127.0.0.1:8787/search?q=borg+backup&format=json'`
    """
    from honeyguide.errors import ConfigError
    from honeyguide.lab.demo_web import load
    from honeyguide.lab.engine import ADDRESS
    from honeyguide.lab.made.parameters import plan_of
    from honeyguide.lab.made.web import MadeWeb
    from honeyguide.lab.responses import Serving
    from honeyguide.lab.serve import run
    from honeyguide.lab.trials import redirects
    from honeyguide.lab.web import RecordedWeb

    if not 0 <= port <= 65535:
        raise ConfigError(f"there is no port {port}; choose one up to 65535, or --port 0")
    serving = Serving(
        robots=rules(robots, disallow) or None,
        latency_s=latency,
        strip=tuple(strip or ()),
        aliases=redirects(aliases or ()),
        error_rate=errors,
        closed=closed and not made,
    )
    served: Web = MadeWeb(plan_of(made)) if made else RecordedWeb.load(web) if web else load()
    say(f"{count(len(served), 'page')} on {count(len(served.hosts), 'host')}")
    beside = _engine(served, serving, reach, thinks, fault) if engine or fault else None

    def ready(address: str) -> None:
        say(
            f"serving at {address}; crawl it with: honeyguide new NAME --lab {address}, or "
            "use it as HTTP proxy. Ctrl-C ends it."
        )
        if beside is not None:
            say(
                f"a search engine that knows {count(len(beside.index), 'page')} answers at "
                f"{address}/search?q=…&format=json; for a crawl of this web, in its topic.toml:\n"
                f'\n[search]\nengine = "searxng"\nurl = "{ADDRESS}"\n'
            )

    try:
        run(served, port=port, serving=serving, engine=beside, ready=ready)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} is in use; is a lab running already? try --port 0"
            ) from error
        if error.errno == errno.EACCES:
            raise ConfigError(f"port {port} is not for everybody; try --port 0") from error
        raise


def _engine(web: Web, serving: Serving, reach: float, latency_s: float, fault: str) -> LabEngine:
    """Reading a large web takes a while: say how far it is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from honeyguide.lab.engine import engine_over

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("indexing", total=None)
        return engine_over(
            web,
            serving,
            reach=reach,
            latency_s=latency_s,
            fault=fault,
            progress=lambda done, of: bar.update(task, completed=done, total=of),
        )
