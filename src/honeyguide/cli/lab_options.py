"""Options of the lab's commands: how a recorded web is served, and which crawls are done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.formatting import progress_bar, say
from honeyguide.cli.options import option
from honeyguide.errors import ConfigError

DisallowOption = Annotated[
    list[str] | None, option("--disallow PATH", "Disallow a path for all crawlers; repeat it.")
]
RobotsOption = Annotated[
    Path | None, option("--robots FILE", "robots.txt of every host.", show_default=False)
]
StripOption = Annotated[
    list[str] | None,
    option("--strip RULE", "Elements to leave out: tag#id, tag.class, tag[name=value]."),
]
AliasesOption = Annotated[
    list[Path] | None,
    option("--aliases FILE", "Redirects: JSON lines with alias and url; repeat it."),
]
ErrorsOption = Annotated[
    float, option("--errors SHARE", "Share of answers that fail with 503.", min=0, max=1)
]
ClosedOption = Annotated[
    bool, option("--closed", "Take out links to pages that were not recorded.")
]


def robots_text(robots: Path | None, disallow: Sequence[str] | None) -> str:
    """What every host's robots.txt says; '': its own."""
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


@contextmanager
def count_jobs(what: str, out: Path) -> Iterator[Callable[[int, int], None]]:
    """A bar that counts crawls; interrupted, it says how many are kept."""
    kept = 0, 0
    try:
        with progress_bar(what) as show:

            def done(number: int, total: int) -> None:
                nonlocal kept
                kept = number, total
                show(number, total)

            yield done
    except KeyboardInterrupt:
        say(
            f"honeyguide: interrupted; {kept[0]} of {kept[1]} {what} are kept in {out}, and the "
            "same command continues with the others"
        )
        raise typer.Exit(130) from None
