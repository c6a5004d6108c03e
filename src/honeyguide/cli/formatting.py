"""Words for people: text from the web made harmless, numbers with their nouns, hints that work."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

COMMAND_NAMES = (
    "new", "crawl", "status", "advise", "explain", "export", "report", "label", "ask", "teach",
    "generations", "judge", "learn", "train", "classify", "watch", "changes", "diff", "history",
    "settings", "demo", "lab", "ontology", "cluster", "queries", "serve", "strategies", "version",
)  # fmt: skip
_COMMAND_HINT = re.compile(rf"(?<![\w/.-])honeyguide (?=(?:{'|'.join(COMMAND_NAMES)})\b)")


def safe_text(text: str) -> str:
    """One line that only shows: nothing from the web may steer a terminal, or hide or turn text.

    White space of any kind becomes blanks; control characters, bidirectional controls,
    zero-width and other invisible characters go. Consoles from :func:`make_console` take no markup,
    so square brackets are just that.
    """
    spaced = " ".join(text.split())
    return spaced if spaced.isprintable() else "".join(c for c in spaced if c.isprintable())


def count_noun(number: int, noun: str, nouns: str = "") -> str:
    """``1 visit``, ``2 visits``."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def format_time(at: float, pattern: str = "%Y-%m-%d %H:%M:%S", never: str = "at no time") -> str:
    """A moment in local time; ``never`` for a number that is no moment."""
    try:
        return time.strftime(pattern, time.localtime(at))
    except (ValueError, OverflowError, OSError):
        return never


def print_table(titles: Sequence[str], rows: Iterable[Sequence[object]], **style: Any) -> None:
    """Rows under their titles: the first column to the left, numbers to the right."""
    from rich.table import Table

    table = Table(**({"box": None, "header_style": "dim", "pad_edge": False} | style))
    for place, title in enumerate(titles):
        table.add_column(title, justify="right" if place else "left")
    for row in rows:
        table.add_row(*(safe_text(str(cell)) for cell in row))
    make_console().print(table)


def make_console(*, stderr: bool = False) -> Console:
    """Where text from the web may be printed, once it is :func:`safe_text`."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar while work lasts; yields a function of how many are done, and of how many."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())  # fmt: skip
    console = make_console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, of: bar.update(task, completed=done, total=of)


def say(text: str) -> None:
    """Talk, which is not the result: on stderr."""
    typer.echo(runnable_hints(text), err=True)


def say_safely(text: str) -> None:
    """Talk that may repeat text from the web."""
    say(safe_text(text))


def print_json(value: object) -> None:
    """A result for machines: one line on stdout."""
    typer.echo(json.dumps(value))


def shell_quote(name: object) -> str:
    """As it must be typed in a shell."""
    return shlex.quote(str(name))


def runnable_hints(text: str) -> str:
    """The text with ``honeyguide COMMAND`` in it as this user can run it."""
    return _COMMAND_HINT.sub(lambda _: f"{program_name()} ", text)


def program_name() -> str:
    """Our command: its name where the shell finds it, else the path of what runs now."""
    if shutil.which("honeyguide"):
        return "honeyguide"
    script = Path(sys.argv[0])
    if script.stem == "honeyguide":
        return _relative_command(script)
    return f"{_relative_command(Path(sys.executable))} -m honeyguide.cli.main"


def _relative_command(path: Path) -> str:
    path = Path.cwd() / path
    if not path.is_relative_to(Path.cwd()):
        return shell_quote(path)
    short = str(path.relative_to(Path.cwd()))
    return shell_quote(short if "/" in short else f"./{short}")
