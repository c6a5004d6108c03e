"""The table of the papers' claims: whole, and every command and option that it names exists."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import typer.main

from honeyguide.cli.main import build_application
from honeyguide.config.topic_file import settings_tables
from honeyguide.crawl.from_settings import settable_parameters
from honeyguide.lab.variants import TEACHERS, parse_variant
from honeyguide.registry import find_strategy, strategy_names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "claims.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.split("## Parts of speech")[0].splitlines()
    if re.match(r"\| \d", line)
]
KINDS = {"algorithm", "capability", "evaluation", "future", "interface", "parameter"}
STATES = ("works", "differs", "lab only", "missing")
by_row = pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def check_command(words: list[str]) -> None:
    """Follow the words through the command line: commands, then options that they know."""
    command: Any = typer.main.get_command(build_application())
    context = command.context_class(command)
    while words and hasattr(command, "get_command") and not words[0].startswith("-"):
        command = command.get_command(context, words[0])
        assert command is not None, f"there is no command {words[0]}"
        words = words[1:]
    known = {name for param in command.get_params(context) for name in param.opts} | {"--help"}
    known |= {name for param in command.get_params(context) for name in param.secondary_opts}
    if words[:1] == ["-t"]:  # of lab compare
        given = parse_variant(words[words.index("-s") + 1])
        assert dict(given.parameters).keys() <= {*settable_parameters(find_strategy(given.name))}
    assert {word for word in words if re.match(r"--?[a-z]", word)} <= known, words


def test_all_claims_stand_in_their_order() -> None:
    assert [int(row[0]) for row in ROWS] == list(range(1, 121))


@by_row
def test_a_row_is_whole_and_what_it_names_exists(row: list[str]) -> None:
    _, kind, claim, shown, state = row
    assert kind in KINDS
    assert claim
    assert state.startswith(STATES)
    assert (shown == "none") <= state.startswith("missing")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for span in spans(shown) + spans(state):
        words = shlex.split(span)
        if words[0] == "honeyguide":
            check_command(words[1:])
        elif words[0] == "make":
            assert f"\n{words[1]}: " in makefile
        elif words[:2] == ["python", "-m"]:
            assert find_spec(f"{words[2]}.__main__") or find_spec(words[2])
        else:
            assert is_known_name(span), f"nobody knows {span}"


def is_known_name(span: str) -> bool:
    """A setting, a parameter or name of a strategy, a kind of model, or a field that is shown."""
    name = span.split(" = ")[0].rsplit(".", 1)[-1]
    tables = settings_tables()
    keys = {key.name for table in tables.values() for key in table.keys} | set(tables)
    own = {key for one in strategy_names() for key in settable_parameters(find_strategy(one))}
    others = {"effective_ms", "longest_queue", "one_layer", "sensitivity", "lab compare"}
    others |= {"--normalise", "rel=nofollow", "[search]", "[strategy] gate", "inputs"}
    return name in keys | own | set(strategy_names()) | set(TEACHERS) | others or span in others
