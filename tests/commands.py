"""The command line inside this process: quicker than a process for each question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from honeyguide.cli.main import run


class Said(NamedTuple):
    code: int
    out: str
    err: str


Told = Callable[..., Said]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    """Run ``honeyguide WORDS…`` as its script would."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("honeyguide.cli.formatting.shutil.which", lambda name: f"/bin/{name}")

    def tell(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["honeyguide", *map(str, words)])
        try:
            run()
        except SystemExit as ended:
            code = int(ended.code or 0)
        else:
            code = 0
        return Said(code, *capsys.readouterr())

    return tell
