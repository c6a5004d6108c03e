"""Prompts and progress displays of the terminal; imported where needed, because rich is slow to
load.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from math import inf
from typing import Self

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text

from honeyguide.api.user_urls import parse_seed_url
from honeyguide.cli.formatting import count_noun, format_time, make_console, safe_text, say
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import make_user_agent
from honeyguide.run_status import RunStatus, visit_rate

_KEY_POLL_S = 0.2


def ask_keywords() -> list[str]:
    _print_line("What are you looking for? Words and phrases, separated by commas.")
    return [word.strip() for word in _prompt_text("Keywords").split(",") if word.strip()]


def ask_seeds(*, lab: bool = False) -> list[str]:
    """At least one address."""
    _print_line(
        "Where should the crawl start? One address, then Enter; an empty one ends the list."
    )
    seeds: list[str] = []
    while True:
        answer = _prompt_text("Seed", lambda text: str(parse_seed_url(text, lab=lab)))
        if answer:
            seeds.append(answer)
        elif seeds:
            return seeds
        else:
            _print_line("  At least one is needed, such as https://en.wikipedia.org/wiki/Bird")


def ask_contact() -> str:
    _print_line("Sites should be able to reach you: an e-mail address or a web page.")
    while not (answer := _prompt_text("Contact", _check_contact)):
        _print_line("  It is needed: the owner of a site must be able to complain.")
    return answer


def _check_contact(text: str) -> str:
    try:
        make_user_agent(text, "0")
    except ConfigError:
        raise ConfigError(f"{text!r} is neither an e-mail address nor a http:// page") from None
    return text


def _prompt_text(question: str, check: Callable[[str], str] = str) -> str:
    while True:
        answer = prompt_line(question)
        if not answer:
            return ""
        try:
            return check(answer)
        except ConfigError as error:
            _print_line(f"  {error}")


def prompt_line(question: str) -> str:
    """What is typed after the question, on stderr; Enter alone gives ''."""
    return str(typer.prompt(question, default="", show_default=False, err=True)).strip()


def can_read_keys() -> bool:
    """Whether somebody sits there and types to us, not to another program."""
    try:
        import termios  # noqa: F401 - Windows has none

        return sys.stderr.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (ImportError, OSError, ValueError):
        return False


def read_key(keys: str, over: threading.Event, within_s: float = inf) -> str:
    """The first of these keys that is pressed; '' after any other, when it is ``over``, or after so
    many seconds. Ctrl-C stays what it is."""
    import select
    import termios
    import tty

    fd, until = sys.stdin.fileno(), time.monotonic() + within_s
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        while not over.is_set() and time.monotonic() < until:
            if select.select([fd], [], [], _KEY_POLL_S)[0]:
                key = os.read(fd, 1).decode("ascii", "replace").lower()
                return key if key and key in keys else ""
        return ""
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _print_line(text: str) -> None:
    typer.echo(text, err=True)


# --------------------------------------------------------------------------------------------------
# Progress while a crawl runs: live lines on a terminal, a plain line now and then elsewhere.
# --------------------------------------------------------------------------------------------------


_EVERY_S = 10.0
"""How often something is said where no live line can be."""


class CrawlDisplay:
    """Call it with each :class:`RunStatus`; it draws on stderr."""

    def __init__(self, title: str, budget: int = 0, quiet: bool = False) -> None:
        self._console = make_console(stderr=True)
        self._title = safe_text(title)
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
        self._doing = ""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def print_note(self, text: str) -> None:
        """Something that is said once, beside the lines that change."""
        if self._live is not None:
            self._console.print(safe_text(text))
        else:
            say(safe_text(text))

    def __call__(self, progress: RunStatus) -> None:
        if self._first is None:
            self._first = progress.visits
        now = time.monotonic()
        rate = visit_rate(progress.visits - self._first, now - self._began)
        if self._live is not None:
            self._live.update(self.render_lines(progress, rate, self._console.width, time.time()))
        elif not self._quiet:
            self._log_progress(progress, rate, now)

    def render_lines(self, progress: RunStatus, rate: float, width: int, now: float) -> Group:
        """At most four lines: the numbers, what goes on, an engine that is silent, and the latest
        failure."""
        lines = [_first_fitting(self._number_forms(progress, rate), width)]
        going_on = _first_fitting(
            [Text(text) for text in current_activity(progress, now)], width - 2
        )
        if going_on.plain:
            lines.append(Text("  ").append_text(going_on))
        if progress.unanswered:
            lines.append(
                Text("  ").append_text(
                    _first_fitting(list(map(Text, silent_engine(progress))), width)
                )
            )
        if progress.last_failure:
            lines.append(Text(f"  {safe_text(progress.last_failure)}", style="dim"))
        for line in lines:
            line.no_wrap = True
            line.overflow = "ellipsis"
        return Group(*lines)

    def _number_forms(self, progress: RunStatus, rate: float) -> list[Text]:
        """The same numbers, ever shorter."""
        title = self._title if len(self._title) <= 20 else self._title[:19] + "…"
        of = f" of {self._budget}" if self._budget else ""
        per = f"/{self._budget}" if self._budget else ""
        found, harvest = f"{progress.relevant} relevant", f"{progress.harvest:.0%}"
        links, sites = count_noun(progress.waiting, "link"), count_noun(progress.sites, "site")
        visits, failed = progress.visits, f"{progress.failures} failed"
        noun = "visit" if (self._budget or visits) == 1 else "visits"
        n = sum(progress.foreign.values())
        long, short = ((f"{n} in other languages",), (f"{n} foreign",)) if n else ((), ())
        if progress.asked:
            long = (*long, count_noun(progress.asked, "question asked", "questions asked"))
            short = (*short, f"{progress.asked} asked")
        forms = (
            (f"{visits}{of} {noun}", found, f"harvest {harvest}", f"{rate:.1f}/s",
             f"{links} waiting, {sites}", failed, *long),
            (f"{visits}{per}", found, f"harvest {harvest}", f"{rate:.1f}/s",
             f"{progress.waiting} wait", failed, *short),
            (f"{visits}{per}", found, f"{harvest}", f"{rate:.1f}/s"),
        )  # fmt: skip
        return [_style_parts(title, form) for form in forms]

    def _log_progress(self, progress: RunStatus, rate: float, now: float) -> None:
        """A log, not a screen: one line now and then, and one when it stops or begins to do
        something that others wait for."""
        if progress.doing != self._doing:
            self._doing = progress.doing
            if self._doing:
                self._console.print(f"{self._title}: {safe_text(self._doing)}")
        stops = progress.stopping and not self._stopping
        if now - self._said < _EVERY_S and not stops:
            return
        self._said, self._stopping = now, progress.stopping
        self._console.print(
            f"{self._title}: {count_noun(progress.visits, 'visit')}, {progress.relevant} relevant "
            f"(harvest {progress.harvest:.0%}), {rate:.1f} visits/s, "
            f"{count_noun(progress.waiting, 'link')} waiting, {count_noun(progress.sites, 'site')}"
            + (f", {sum(progress.foreign.values())} in other languages" if progress.foreign else "")
            + (f", {count_noun(progress.asked, 'question')} asked" if progress.asked else "")
            + (f" · {next(silent_engine(progress))}" if progress.unanswered else "")
            + (" · stopping" if progress.stopping else "")
        )


def silent_engine(progress: RunStatus) -> Iterator[str]:
    """That the search engine does not answer, and when it is asked again; and again in fewer
    words."""
    again = "not asked again in this run"
    if progress.ask_at is not None:
        again = f"asked again at {format_time(progress.ask_at, '%H:%M', 'some time')}"
    yield f"{safe_text(progress.unanswered)}; {again}"
    yield f"the engine does not answer; {again}"


def current_activity(progress: RunStatus, now: float) -> Iterator[str]:
    """What goes on, in words, and again in fewer."""
    if progress.doing:
        yield safe_text(progress.doing)
    elif progress.stopping:
        answers = count_noun(progress.busy, "answer")
        yield f"stopping: waiting a few seconds for {answers} (Ctrl-C again to stop now)"
        yield f"stopping: {answers} to come (Ctrl-C again: now)"
    elif progress.now is not None:
        yield safe_text(progress.now)
    elif progress.next_at is not None and progress.next_at - now < 1e9:
        seconds = max(1, round(progress.next_at - now))
        wait = f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"
        yield f"all hosts are waiting; next in {wait}"
    else:
        yield ""


def _style_parts(title: str, parts: tuple[str, ...]) -> Text:
    line = Text(title, style="bold")
    for place, part in enumerate(parts):
        style = {1: "not bold green", 2: "bold"}.get(place, "not bold")
        line.append("  ").append(part, style=style)
    return line


def _first_fitting(forms: list[Text], width: int) -> Text:
    """The first form that fits, or else the last."""
    return next((form for form in forms if form.cell_len <= width), forms[-1])
