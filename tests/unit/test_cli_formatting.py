from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from honeyguide.cli import formatting
from honeyguide.cli.formatting import (
    count_noun,
    format_time,
    program_name,
    runnable_hints,
    safe_text,
)
from honeyguide.cli.main import COMMAND_MODULES, build_application


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;owned\x07title", "]0;ownedtitle"),
        ("\x1b[31mred", "[31mred"),
        ("a\x9b31mb", "a31mb"),
        ("abc\u202ecba", "abccba"),
        ("\u2066x\u2069\u200b\u200d\ufeff\u00ad", "x"),
        ("[bold]not bold[/bold]", "[bold]not bold[/bold]"),
        ("two\nlines\r\nand\ttab\u2028more\x85", "two lines and tab more"),
        ("lone \ud800 half", "lone  half"),
        ("kuş göçü 鳥 🐝", "kuş göçü 鳥 🐝"),
    ],
)
def test_text_from_the_web_only_shows(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@given(st.text())
def test_nothing_that_is_plain_steers_a_terminal(text: str) -> None:
    shown = safe_text(text)
    assert shown.isprintable()
    assert safe_text(shown) == " ".join(shown.split())


def test_our_consoles_take_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    formatting.make_console().print(
        safe_text("[bold]x[/bold] [link=file:///]y[/link] :bee: \x1b[2J")
    )
    assert out.getvalue() == "[bold]x[/bold] [link=file:///]y[/link] :bee: [2J\n"
    assert isinstance(formatting.make_console(), Console)


def test_numbers_and_their_nouns() -> None:
    assert [count_noun(n, "visit") for n in (0, 1, 2)] == ["0 visits", "1 visit", "2 visits"]
    assert [count_noun(n, "copy", "copies") for n in (1, 2)] == ["1 copy", "2 copies"]


def test_nonsense_is_no_time() -> None:
    assert format_time(1e300) == format_time(float("nan")) == "at no time"
    assert len(format_time(0.0)) == 19


def test_hints_name_what_can_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting.shutil, "which", lambda name: "/usr/bin/honeyguide")
    assert program_name() == "honeyguide"
    monkeypatch.setattr(formatting.shutil, "which", lambda name: None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "honeyguide")])
    hint = runnable_hints(
        "run: honeyguide crawl birds; see the honeyguide manual, a/honeyguide crawl"
    )
    assert hint == (
        "run: .venv/bin/honeyguide crawl birds; see the honeyguide manual, a/honeyguide crawl"
    )
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "honeyguide")])
    assert program_name() == "./honeyguide"
    monkeypatch.setattr(sys, "argv", ["/else where/honeyguide"])
    assert program_name() == "'/else where/honeyguide'"
    monkeypatch.setattr(sys, "argv", ["/x/cli/main.py"])
    assert program_name().endswith(" -m honeyguide.cli.main")


def test_hints_know_every_command() -> None:
    app = build_application()
    named = {command.name for command in app.registered_commands}
    assert {*formatting.COMMAND_NAMES} == named | {group.name for group in app.registered_groups}
    assert {*formatting.COMMAND_NAMES} == {*COMMAND_MODULES}


def test_a_command_loads_no_other() -> None:
    code = "import sys; from honeyguide.cli.main import build_application; "
    code += "build_application('watch'); "
    code += "print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("honeyguide.cli.")}
    assert "honeyguide.cli.watch" in loaded
    assert not {"honeyguide.cli.crawl", "honeyguide.cli.lab", "honeyguide.cli.demo"} & loaded
