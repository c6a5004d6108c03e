"""``honeyguide version``"""

from __future__ import annotations

import json
import platform

import typer

from honeyguide.cli.options import Json


def version(as_json: Json = False) -> None:
    """Say which version this is.

    Example: `honeyguide version --json`
    """
    from honeyguide import __version__

    if as_json:
        facts = {"honeyguide": __version__, "python": platform.python_version()}
        typer.echo(json.dumps(facts))
    else:
        typer.echo(f"Honeyguide {__version__} on Python {platform.python_version()}")


def tell(wanted: bool) -> None:
    """``honeyguide --version``, as other programs have it."""
    if wanted:
        version()
        raise typer.Exit
