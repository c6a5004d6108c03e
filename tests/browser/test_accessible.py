"""What axe-core finds on every screen, light and dark.

The checker is not a dependency: ``make browser`` fetches it, and without it these are skipped.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.browser.looking import Looking
from tests.browser.served import NEW, SEARCH
from tests.browser.test_screens import SCREENS

AXE = Path(sys.prefix) / "axe.min.js"
"""In the virtual environment: nothing of it can get into the repository."""
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}


def found(looking: Looking) -> list[str]:
    if not AXE.exists():
        pytest.skip("needs axe-core: make browser")
    if not looking.page.evaluate("() => Boolean(window.axe)"):
        looking.page.evaluate(AXE.read_text("utf-8"))
    broken = looking.page.evaluate("rules => axe.run(document, rules)", RULES)["violations"]
    return [f"{one['id']}: {node['html'][:160]}" for one in broken for node in one["nodes"][:3]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_in_the_way(looking: Looking, scheme: str) -> None:
    looking.page.emulate_media(color_scheme=scheme)
    assert found(looking) == []
    for screen in SCREENS:
        looking.go(SEARCH, screen)
        assert not (broken := found(looking)), (screen, broken)
    looking.at("#/new")
    assert not (broken := found(looking)), broken


def test_neither_on_empty_screens(looking: Looking) -> None:
    looking.allowed = ("409",)
    for screen in SCREENS:
        looking.go(NEW, screen)
        assert not (broken := found(looking)), (screen, broken)
