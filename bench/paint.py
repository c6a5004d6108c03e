"""How soon each screen of the studio is painted on a large collection, in headless Chromium.

    python -m bench.paint FOLDER [--write]

FOLDER is what ``python bench/studio.py --folder FOLDER`` made. Every screen is opened in a page of
its own by its address: milliseconds from the navigation to the browser's first contentful paint, and
until everything on the screen stands. With --write the figures go to bench/results/paint.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from tests.browser.driving import browser
from tests.browser.served import studio

RESULT = Path(__file__).parent / "results" / "paint.json"
SCREENS = ("live", "label", "queries", "collection", "changes", "compare", "steer")
_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_STANDS = (
    "() => document.querySelector('main h1') && !document.querySelector('main .loading')"
    " && !document.querySelector('main [aria-busy=true], main.waiting') && performance.now()"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    found: dict[str, list[int]] = {}
    with studio(chosen.folder.parent) as shown, browser() as chromium:
        context = chromium.new_context()
        page = context.new_page()
        page.goto(shown.address)
        page.get_by_role("heading", name="Topics").wait_for()
        for screen in SCREENS:
            page = context.new_page()
            page.goto(f"{shown.origin}/#/c/{chosen.folder.name}/{screen}")
            stands = page.wait_for_function(_STANDS).json_value()
            painted = page.wait_for_function(_PAINTED).json_value()
            found[screen] = [round(painted), round(stands)]
            page.close()
            sys.stdout.write(f"{screen:12} painted {painted:6.0f} ms, stands {stands:6.0f} ms\n")
    if chosen.write:
        load = round(os.getloadavg()[0], 1)
        RESULT.write_text(json.dumps({"milliseconds": found, "load": load}, indent=1) + "\n")


if __name__ == "__main__":
    main()
