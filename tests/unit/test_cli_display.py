from __future__ import annotations

import io
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from honeyguide.cli.terminal import CrawlDisplay
from honeyguide.run_status import RunStatus
from honeyguide.types import Url

PROGRESS = RunStatus(
    visits=123_456,
    pages=120_000,
    relevant=45_678,
    failures=3_210,
    waiting=1_234_567,
    busy=7,
    sites=4_321,
    generation=2,
    now=Url("https://example.org/" + "long/" * 40),
)


def shown(progress: RunStatus, width: int, now: float = 0.0, title: str = "birds") -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    console.print(
        CrawlDisplay(title, 1_000_000, quiet=True).render_lines(progress, 12.34, width, now)
    )
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_each_line_fits(width: int) -> None:
    failing = replace(PROGRESS, last_failure="https://e.org/: timeout " + "x" * 300)
    for title in ("birds", "鳥" * 30, "a very long name of a collection, indeed"):
        lines = shown(failing, width, title=title)
        assert len(lines) == 3
        assert all(len(line) <= width for line in lines)


def test_the_numbers_get_shorter_with_the_room() -> None:
    wide, narrow = shown(PROGRESS, 200)[0], shown(PROGRESS, 60)[0]
    assert "123456 of 1000000 visits" in wide
    assert "1234567 links waiting, 4321 sites" in wide
    assert "birds  123456/1000000  45678 relevant  37%  12.3/s" in narrow


def test_pages_in_other_languages_are_told_where_there_is_room() -> None:
    apart = replace(PROGRESS, foreign={"de": 40, "en": 2})
    assert "42 in other languages" in shown(apart, 200)[0]
    assert "42 foreign" in shown(apart, 110)[0]
    assert all(len(line) <= 60 for line in shown(apart, 60))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "https://example.org/"),
        ({"now": None, "busy": 0, "next_at": 1048.0}, "all hosts are waiting; next in 48 s"),
        ({"now": None, "busy": 0, "next_at": 1600.0}, "all hosts are waiting; next in 10 min"),
        ({"stopping": True}, "stopping: waiting a few seconds for 7 answers (Ctrl-C again to stop"),
        ({"stopping": True, "busy": 1}, "seconds for 1 answer "),
    ],
)
def test_the_second_line_says_what_goes_on(change: dict[str, Any], said: str) -> None:
    assert said in shown(replace(PROGRESS, **change), 100, now=1000.0)[1]


def test_a_narrow_terminal_still_says_how_to_stop() -> None:
    assert "Ctrl-C again" in shown(replace(PROGRESS, stopping=True), 60)[1]


def test_nothing_to_say_takes_no_line() -> None:
    idle = replace(PROGRESS, now=None, busy=0, next_at=float("inf"))
    assert len(shown(idle, 80)) == 1


def test_the_web_cannot_draw() -> None:
    sly = replace(
        PROGRESS,
        now=Url("http://e.org/[bold]\u202e\x9b2J"),
        last_failure="\x1b]0;owned\x07 [red]x\nsecond line",
    )
    lines = shown(sly, 100, title="[blink]\x1b[2J")
    assert lines[0].startswith("[blink][2J")
    assert lines[1] == "  http://e.org/[bold]2J"
    assert lines[2] == "  ]0;owned [red]x second line"
