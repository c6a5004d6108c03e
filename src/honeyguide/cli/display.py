"""Progress while a crawl runs: one live line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from honeyguide.crawl.progress import Progress


class Display:
    """Call it with each :class:`Progress`; it draws on stderr."""

    def __init__(self, title: str, budget: int = 0, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._title = title
        self._budget = budget
        self._quiet = quiet
        self._live = (
            Live(console=self._console, transient=True, refresh_per_second=4)
            if self._console.is_terminal and not quiet
            else None
        )
        self._began = time.monotonic()
        self._first: int | None = None
        self._said = self._began

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        if self._first is None:
            self._first = progress.visits
        now = time.monotonic()
        rate = (progress.visits - self._first) / max(0.001, now - self._began)
        if self._live is not None:
            self._live.update(self._table(progress, rate))
        elif not self._quiet and now - self._said >= 10:
            self._said = now
            self._console.print(
                f"{self._title}: {progress.visits} visits, {progress.relevant} relevant "
                f"(harvest {progress.harvest:.0%}), {rate:.1f} visits/s, "
                f"{progress.waiting} links wait, {progress.sites} sites",
                highlight=False,
            )

    def _table(self, progress: Progress, rate: float) -> Table:
        table = Table.grid(padding=(0, 2))
        share = f" of {self._budget}" if self._budget else ""
        table.add_row(
            f"[bold]{self._title}[/bold]",
            f"{progress.visits}{share} visits",
            f"[green]{progress.relevant} relevant[/green]",
            f"harvest [bold]{progress.harvest:.0%}[/bold]",
            f"{rate:.1f}/s",
            f"{progress.waiting} wait, {progress.sites} sites",
            f"{progress.failures} failed",
        )
        if progress.now:
            shown = progress.now if len(progress.now) <= 90 else progress.now[:87] + "…"
            grid = Table.grid()
            grid.add_row(table)
            grid.add_row(f"  [dim]{_plain(shown)}[/dim]")
            return grid
        return table


def _plain(text: str) -> str:
    """Addresses come from the web: no markup and no control characters from there."""
    return "".join(c for c in text if c.isprintable()).replace("[", r"\[")
