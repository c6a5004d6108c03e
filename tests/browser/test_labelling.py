"""Labels given with the keyboard while a crawl runs behind the screen, and what they are worth."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.lab.responses import ServingOptions
from honeyguide.lab.web import RecordedWeb
from honeyguide.store.store import Store
from tests.browser.keyboard import label
from tests.browser.looking import Looking
from tests.browser.served import searching
from tests.browser.test_screens import SCREENS
from tests.lab_thread import serve_in_thread

ROOT = Path(__file__).parents[2]


@pytest.fixture
def running(looking: Looking, web: RecordedWeb) -> Iterator[str]:
    """A crawl of a slow lab, started and stopped with the buttons of the studio."""
    name = "running"
    with serve_in_thread(web, ServingOptions(latency_s=0.15)) as lab:
        searching(looking.shown.root / name, lab, pages=5000)
        looking.go(name, "start")
        looking.page.get_by_role("button", name="Start the crawl").click()
        looking.go(name, "live")
        looking.page.wait_for_function(
            "() => Number(document.querySelector('main .facts dd').innerText) >= 30", timeout=30_000
        )
        yield name
        looking.go(name, "start")
        looking.page.get_by_role("button", name="Stop").first.click()
        looking.page.get_by_role("button", name="Start the crawl").wait_for(timeout=20_000)


def test_label_twenty_pages_while_it_crawls(
    looking: Looking, running: str, web: RecordedWeb
) -> None:
    folder = looking.shown.root / running
    looking.go(running, "label")
    given = label(looking.page, lambda url: "full-text-search" in web.labels_of(url), 20)
    assert len(given) == 20
    with Store.open(folder, "read") as store:
        kept = {one.url: one.value >= 0.5 for _, one in store.labels.effective_after()}
    assert kept == given
    for screen in SCREENS:
        looking.go(running, screen)
        assert looking.page.locator("main .notice.error").count() == 0, (screen, looking.text)
    live = _learned(folder)
    looking.go(running, "compare")
    looking.page.wait_for_function(
        "least => document.querySelectorAll('main table tbody tr').length > least", arg=live
    )


def _learned(folder: Path) -> int:
    """The generation that decides after labels were given."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with Store.open(folder, "read") as store:
            if (live := store.generations.live_number() or 0) >= 1:
                return live
        time.sleep(0.2)
    raise AssertionError("the crawl learned nothing from twenty labels")


@pytest.mark.slow
def test_labels_raise_the_harvest_of_the_next_200_pages(drivable: None) -> None:
    """One seed of bench/labelling.py, which has more; the crawls are simulated."""
    command = [sys.executable, "-m", "bench.labelling", "--seeds", "1", "--topics", "django"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["labels"] == 20
    assert found["with_labels"] > found["without"]
