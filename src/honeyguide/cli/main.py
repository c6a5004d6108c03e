"""The command line: results on stdout, talk on stderr, documented exit codes.

0 done   1 our own bug   2 a mistake in settings or arguments   3 the collection is damaged
4 another process crawls it   5 it was made by a newer version   6 nothing could be fetched
7 a strategy cannot be used   8 the disk is full   130 stopped by a second Ctrl-C
"""

from __future__ import annotations

import sys

import typer

from honeyguide.cli import crawl, demo, explain, export, lab, label, new, status, version
from honeyguide.errors import HoneyguideError

app = typer.Typer(
    name="honeyguide",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help=(
        "Say what you are looking for; Honeyguide leads you across the web to the pages that "
        "matter.\n\nStart with `honeyguide demo`, or with `honeyguide new NAME`."
    ),
)
app.command("new")(new.new)
app.command("crawl")(crawl.crawl)
app.command("status")(status.status)
app.command("explain")(explain.explain)
app.command("export")(export.export)
app.command("label")(label.label)
app.command("demo")(demo.demo)
app.add_typer(lab.app, name="lab")
app.command("version")(version.version)


def run() -> None:
    """What the ``honeyguide`` script calls."""
    try:
        app()
    except HoneyguideError as error:
        typer.echo(f"honeyguide: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("honeyguide: stopped; run the same command again to go on", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    run()
