"""The command line: results on stdout, talk on stderr, documented exit codes.

0 done   1 our own bug   2 a mistake in settings or arguments   3 the collection is damaged
4 another process crawls it   5 it was made by a newer version   6 nothing could be fetched
7 a strategy cannot be used   8 the disk is full   9 a search engine did not answer
10 shards, or the machines that they run on, cannot be reached
130 stopped by a second Ctrl-C
"""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from honeyguide.cli import info
from honeyguide.cli.formatting import safe_text, say
from honeyguide.cli.options import CliCommand, CliGroup, option
from honeyguide.errors import HoneyguideError

COMMAND_MODULES = {
    "new": "new", "crawl": "crawl", "status": "status", "advise": "status", "explain": "status",
    "export": "export", "report": "export", "label": "label", "ask": "label", "teach": "teach",
    "judge": "generations", "learn": "generations", "train": "categories",
    "classify": "categories", "serve": "crawl", "watch": "watch", "changes": "watch",
    "diff": "watch", "history": "watch", "strategies": "info", "generations": "generations",
    "settings": "info", "demo": "demo", "lab": "lab", "ontology": "ontology",
    "queries": "queries", "cluster": "cluster", "version": "info",
}  # fmt: skip
"""Each command, and the file in this folder that has it: as a function, or as an ``app``."""


def build_application(only: str = "") -> typer.Typer:
    """The whole command line, or the part that one command needs: the rest is not loaded."""
    app = typer.Typer(
        name="honeyguide",
        cls=CliGroup,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        help=(
            "Say what you are looking for; Honeyguide leads you across the web to the pages that "
            "matter.\n\nStart with `honeyguide demo`, or with `honeyguide new NAME`."
        ),
    )
    app.callback()(common_options)
    for name in (only,) if only in COMMAND_MODULES else COMMAND_MODULES:
        module = import_module(f"honeyguide.cli.{COMMAND_MODULES[name]}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name, cls=CliCommand)(getattr(module, name))
    return app


def common_options(
    version: bool = option(
        "--version", "Print the version.", False, callback=info.show_version, is_eager=True
    ),
) -> None:
    """What every command has in common: nothing but ``--version``."""


def run() -> None:
    """What the ``honeyguide`` script calls."""
    try:
        build_application(sys.argv[1] if len(sys.argv) > 1 else "")()
    except HoneyguideError as error:
        say(f"honeyguide: {safe_text(str(error))}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("honeyguide: stopped; run the same command again to continue")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    run()
