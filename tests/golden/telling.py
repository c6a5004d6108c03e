"""The command line in this process, quicker than a process for each question."""

from __future__ import annotations

import contextlib
import io
import sys
import unicodedata
from collections.abc import Iterator

from honeyguide.cli.main import run


def told(*words: object) -> tuple[int, str, str]:
    """Exit code, what was printed, and what was said beside."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.argv = sys.argv, ["honeyguide", *map(str, words)]
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.argv = before
    return code, out.getvalue(), err.getvalue()


def helps() -> Iterator[tuple[str, str]]:
    """Every command with its help, from the outermost inwards."""
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        words = waiting.pop(0)
        code, out, _ = told(*words, "--help")
        assert code == 0, words
        yield " ".join(("honeyguide", *words)), out
        waiting += [(*words, name) for name in _commands(out)]


def _commands(text: str) -> Iterator[str]:
    """The names in the box of commands."""
    _, _, box = text.partition("─ Commands ─")
    for line in box.splitlines()[1:]:
        if not line.startswith("│"):
            return
        if line[2] != " ":
            yield line[2:].split()[0]


def drawn(text: str) -> str:
    """Without blanks at the ends of lines."""
    lines = unicodedata.normalize("NFC", text).splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
