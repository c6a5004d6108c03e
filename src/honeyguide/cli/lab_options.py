"""Options that say how the lab serves a web, shared by its commands."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

Disallow = Annotated[
    list[str] | None,
    typer.Option("--disallow", metavar="PATH", help="Close a path to all crawlers; repeat it."),
]
RobotsFile = Annotated[
    Path | None,
    typer.Option("--robots", metavar="FILE", help="robots.txt of every host.", show_default=False),
]
Strip = Annotated[
    list[str] | None,
    typer.Option(
        "--strip", metavar="RULE", help="Elements to leave out: tag#id, tag.class, tag[name=value]."
    ),
]
Aliases = Annotated[
    list[Path] | None,
    typer.Option(
        "--aliases", metavar="FILE", help="Redirects: JSON lines with alias and url; repeat it."
    ),
]
Errors = Annotated[
    float,
    typer.Option(
        "--errors", metavar="SHARE", min=0, max=1, help="Share of answers that fail with 503."
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Keep links to pages that were not recorded.")]


def rules(robots: Path | None, disallow: Sequence[str] | None) -> str:
    """What every host's robots.txt says; '': its own."""
    from honeyguide.errors import ConfigError

    text = ""
    if robots is not None:
        try:
            text = robots.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--robots: {robots} cannot be read: {error}") from error
    for path in disallow or ():
        if not path.startswith("/") or "\n" in path:
            raise ConfigError(f"--disallow: a path begins with a slash, not {path!r}")
    if disallow:
        lines = "".join(f"Disallow: {path}\n" for path in disallow)
        # Groups for the same crawlers are read as one.
        text = f"{text.rstrip()}\n\nUser-agent: *\n{lines}".lstrip()
    return text
