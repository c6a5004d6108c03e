"""The docs must not lie: settings, strategies, errors and links are checked against the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from honeyguide import registry

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_settings_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "make_reference.py", "--check"])
    assert done.returncode == 0, "run: python tools/make_reference.py"


def test_every_strategy_has_a_page() -> None:
    for name in registry.BUILTIN_STRATEGIES:
        assert (ROOT / "docs" / "strategies" / f"{name}.md").exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} → {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_named_in_the_docs_exist(page: Path) -> None:
    for name in re.findall(r"`((?:src|tests|docs|bench|tools)/[\w./-]+\.\w+)`", page.read_text()):
        assert (ROOT / name).exists(), f"{page.name} names {name}"
