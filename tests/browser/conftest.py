"""A real headless Chromium on a real studio. Skipped where there is no browser to drive.

``make browser`` installs one. The scope is the package, because Playwright keeps an event loop
running for as long as it is open, and tests elsewhere start their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honeyguide.lab.web import RecordedWeb, load_demo_web
from tests.browser.driving import browser, program
from tests.browser.hostile import HostileSite
from tests.browser.looking import Looking, visitors, watched
from tests.browser.served import Studio, fill, studio
from tests.conftest import opened
from tests.lab_thread import serve_in_thread


@pytest.fixture(scope="package")
def drivable() -> None:
    """Asked for before anything is made."""
    pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    if not program():
        pytest.skip("needs Chromium: make browser")


@pytest.fixture(scope="package")
def web(drivable: None) -> RecordedWeb:
    """The demo web, with the truth about its pages."""
    return load_demo_web()


@pytest.fixture(scope="package")
def lab(web: RecordedWeb) -> Iterator[str]:
    with serve_in_thread(web) as address:
        yield address


@pytest.fixture(scope="package")
def shown(lab: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    """A studio with collections in it."""
    root: Path = tmp_path_factory.mktemp("studio")
    with opened() as site:
        fill(root, lab, HostileSite(site))
        with studio(root) as running:
            yield running


@pytest.fixture(scope="package")
def chromium(shown: Studio) -> Iterator[Any]:
    """After the collections were made, because crawls of this thread want the event loop."""
    with browser() as opened_one:
        yield opened_one


@pytest.fixture(scope="package")
def desk(chromium: Any) -> Iterator[Any]:
    with visitors(chromium) as context:
        yield context


@pytest.fixture(scope="package")
def hand(chromium: Any) -> Iterator[Any]:
    with visitors(chromium, phone=True) as context:
        yield context


@pytest.fixture
def looking(desk: Any, shown: Studio) -> Iterator[Looking]:
    """A visitor, signed in; whatever the browser complains of fails the test."""
    with watched(desk, shown) as visitor:
        yield visitor


@pytest.fixture(params=["desk", "hand"])
def either(request: pytest.FixtureRequest, shown: Studio) -> Iterator[Looking]:
    """The same on a desk and in a hand."""
    with watched(request.getfixturevalue(request.param), shown) as visitor:
        yield visitor
