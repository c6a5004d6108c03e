"""Progress while a crawl runs: live lines on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.text import Text

from honeyguide.cli.formatting import console, count, hour, plain, say
from honeyguide.crawl.progress import Progress

_EVERY_S = 10.0
"""How often something is said where no live line can be."""


class Display:
    """Call it with each :class:`Progress`; it draws on stderr."""

    def __init__(self, title: str, budget: int = 0, quiet: bool = False) -> None:
        self._console = console(stderr=True)
        self._title = plain(title)
        self._budget = budget
        self._quiet = quiet
        self._live = (
            Live(
                Text(f"{self._title}  starting …", style="bold", no_wrap=True, overflow="ellipsis"),
                console=self._console,
                transient=True,
                refresh_per_second=4,
            )
            if self._console.is_terminal and not quiet
            else None
        )
        self._began = time.monotonic()
        self._first: int | None = None
        self._said = self._began
        self._stopping = False

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

    def note(self, text: str) -> None:
        """Something that is said once, beside the lines that change."""
        if self._live is not None:
            self._console.print(plain(text))
        else:
            say(plain(text))

    def __call__(self, progress: Progress) -> None:
        if self._first is None:
            self._first = progress.visits
        now = time.monotonic()
        rate = (progress.visits - self._first) / max(0.001, now - self._began)
        if self._live is not None:
            self._live.update(self.drawn(progress, rate, self._console.width, time.time()))
        elif not self._quiet:
            self._tell(progress, rate, now)

    def drawn(self, progress: Progress, rate: float, width: int, now: float) -> Group:
        """At most four lines: the numbers, what goes on, an engine that is silent, and the latest
        failure."""
        lines = [_fitting(self._numbers(progress, rate), width)]
        going_on = _fitting([Text(text) for text in doing(progress, now)], width - 2)
        if going_on.plain:
            lines.append(Text("  ").append_text(going_on))
        if progress.unanswered:
            lines.append(Text("  ").append_text(_fitting(list(map(Text, silent(progress))), width)))
        if progress.last_failure:
            lines.append(Text(f"  {plain(progress.last_failure)}", style="dim"))
        for line in lines:
            line.no_wrap = True
            line.overflow = "ellipsis"
        return Group(*lines)

    def _numbers(self, progress: Progress, rate: float) -> list[Text]:
        """The same numbers, ever shorter."""
        title = self._title if len(self._title) <= 20 else self._title[:19] + "…"
        of = f" of {self._budget}" if self._budget else ""
        per = f"/{self._budget}" if self._budget else ""
        found, harvest = f"{progress.relevant} relevant", f"{progress.harvest:.0%}"
        links, sites = count(progress.waiting, "link"), count(progress.sites, "site")
        visits, failed = progress.visits, f"{progress.failures} failed"
        noun = "visit" if (self._budget or visits) == 1 else "visits"
        n = sum(progress.foreign.values())
        long, short = ((f"{n} in other languages",), (f"{n} foreign",)) if n else ((), ())
        if progress.asked:
            long = (*long, count(progress.asked, "question asked", "questions asked"))
            short = (*short, f"{progress.asked} asked")
        forms = (
            (f"{visits}{of} {noun}", found, f"harvest {harvest}", f"{rate:.1f}/s",
             f"{links} waiting, {sites}", failed, *long),
            (f"{visits}{per}", found, f"harvest {harvest}", f"{rate:.1f}/s",
             f"{progress.waiting} wait", failed, *short),
            (f"{visits}{per}", found, f"{harvest}", f"{rate:.1f}/s"),
        )  # fmt: skip
        return [_styled(title, form) for form in forms]

    def _tell(self, progress: Progress, rate: float, now: float) -> None:
        """A log, not a screen: one line now and then, and one when it stops."""
        stops = progress.stopping and not self._stopping
        if now - self._said < _EVERY_S and not stops:
            return
        self._said, self._stopping = now, progress.stopping
        self._console.print(
            f"{self._title}: {count(progress.visits, 'visit')}, {progress.relevant} relevant "
            f"(harvest {progress.harvest:.0%}), {rate:.1f} visits/s, "
            f"{count(progress.waiting, 'link')} waiting, {count(progress.sites, 'site')}"
            + (f", {sum(progress.foreign.values())} in other languages" if progress.foreign else "")
            + (f", {count(progress.asked, 'question')} asked" if progress.asked else "")
            + (f" · {next(silent(progress))}" if progress.unanswered else "")
            + (" · stopping" if progress.stopping else "")
        )


def silent(progress: Progress) -> Iterator[str]:
    """That the search engine does not answer, and when it is asked again; and again in fewer
    words."""
    soon = f"asked again at {hour(progress.ask_at)}" if progress.ask_at is not None else ""
    again = soon or "not asked again in this run"
    yield f"{plain(progress.unanswered)}; {again}"
    yield f"the engine does not answer; {again}"


def doing(progress: Progress, now: float) -> Iterator[str]:
    """What goes on, in words, and again in fewer."""
    if progress.stopping:
        answers = count(progress.busy, "answer")
        yield f"stopping: waiting a few seconds for {answers} (Ctrl-C again to stop now)"
        yield f"stopping: {answers} to come (Ctrl-C again: now)"
    elif progress.doing:
        yield plain(progress.doing)
    elif progress.now is not None:
        yield plain(progress.now)
    elif progress.next_at is not None and progress.next_at - now < 1e9:
        seconds = max(1, round(progress.next_at - now))
        wait = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
        yield f"all hosts rest; next in {wait}"
    else:
        yield ""


def _styled(title: str, parts: tuple[str, ...]) -> Text:
    line = Text(title, style="bold")
    for place, part in enumerate(parts):
        style = {1: "not bold green", 2: "bold"}.get(place, "not bold")
        line.append("  ").append(part, style=style)
    return line


def _fitting(forms: list[Text], width: int) -> Text:
    """The first form that fits, or else the last."""
    return next((form for form in forms if form.cell_len <= width), forms[-1])
