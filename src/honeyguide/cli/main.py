"""The command line: results on stdout, talk on stderr, documented exit codes.

0 done   1 our own bug   2 a mistake in settings or arguments   3 the collection is damaged
4 another process crawls it   5 it was made by a newer version   6 nothing could be fetched
7 a strategy cannot be used   8 the disk is full   130 stopped by a second Ctrl-C
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from honeyguide.cli import (
    ask,
    changes,
    classify,
    crawl,
    demo,
    explain,
    export,
    generations,
    judge,
    lab,
    label,
    new,
    ontology,
    serve,
    settings,
    status,
    strategies,
    train,
    version,
    watch,
)
from honeyguide.cli.options import Command, Group
from honeyguide.cli.words import plain, say
from honeyguide.errors import HoneyguideError

app = typer.Typer(
    name="honeyguide",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help=(
        "Say what you are looking for; Honeyguide leads you across the web to the pages that "
        "matter.\n\nStart with `honeyguide demo`, or with `honeyguide new NAME`."
    ),
)


@app.callback()
def honeyguide(
    told: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which version this is.", callback=version.tell, is_eager=True
        ),
    ] = False,
) -> None:
    """What every command has in common: nothing but ``--version``."""


app.command("new", cls=Command)(new.new)
app.command("crawl", cls=Command)(crawl.crawl)
app.command("status", cls=Command)(status.status)
app.command("explain", cls=Command)(explain.explain)
app.command("export", cls=Command)(export.export)
app.command("label", cls=Command)(label.label)
app.command("ask", cls=Command)(ask.ask)
app.command("judge", cls=Command)(judge.judge)
app.command("train", cls=Command)(train.train)
app.command("classify", cls=Command)(classify.classify)
app.command("serve", cls=Command)(serve.serve)
app.command("watch", cls=Command)(watch.watch)
app.command("changes", cls=Command)(changes.changes)
app.command("diff", cls=Command)(changes.diff)
app.command("history", cls=Command)(changes.history)
app.command("strategies", cls=Command)(strategies.strategies)
app.command("generations", cls=Command)(generations.generations)
app.command("settings", cls=Command)(settings.settings)
app.command("demo", cls=Command)(demo.demo)
app.add_typer(lab.app, name="lab")
app.add_typer(ontology.app, name="ontology")
app.command("version", cls=Command)(version.version)


def run() -> None:
    """What the ``honeyguide`` script calls."""
    try:
        app()
    except HoneyguideError as error:
        say(f"honeyguide: {plain(str(error))}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("honeyguide: stopped; run the same command again to go on")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    run()
