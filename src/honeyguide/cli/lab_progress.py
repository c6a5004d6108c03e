"""Many crawls of the lab: a bar that counts them, and what Ctrl-C leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from honeyguide.cli.formatting import console, say


@contextmanager
def counted(what: str, out: Path) -> Iterator[Callable[[int, int], None]]:
    """Yields who is told how many are done, of how many. Interrupted, it says what is kept."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeRemainingColumn())  # fmt: skip
    kept, of = 0, 0
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def done(number: int, total: int) -> None:
            nonlocal kept, of
            kept, of = number, total
            bar.update(task, completed=number, total=total)

        try:
            yield done
        except KeyboardInterrupt:
            bar.stop()
            say(
                f"honeyguide: interrupted; {kept} of {of} crawls are kept in {out}, and the same "
                "command goes on with the others"
            )
            raise typer.Exit(130) from None
