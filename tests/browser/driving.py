"""The browser that is driven: the system's Chromium, headless."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip


def program() -> str:
    """Where it is: as the environment says, as systems call it, or where Playwright puts its own;
    '': nowhere."""
    if said := os.environ.get("HONEYGUIDE_CHROMIUM", ""):
        return said
    kept = Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome")
    found = [*filter(None, map(shutil.which, _NAMES)), *map(str, sorted(kept))]
    return found[0] if found else ""


@contextmanager
def browser() -> Iterator[Any]:
    """While it is open, no event loop can be started in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        opened = running.chromium.launch(executable_path=program(), args=list(_FLAGS))
        try:
            yield opened
        finally:
            opened.close()
