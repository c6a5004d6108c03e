"""What every test may ask for, and how tests share several processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EADDRNOTAVAIL
from typing import Any

import pytest
from hypothesis import settings

from tests.site.behaviours import CATALOGUE
from tests.site.server import Site

# A busy machine is slow, not wrong: properties are not timed. Everywhere they look for new cases,
# but where CI decides about a change, which should not fail by the luck of the draw.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")


# -- Several processes (``pytest -n 2``, as ``make test`` has it) --

LONGEST_FIRST = ("tests/golden", "tests/browser", "tests/end_to_end")
"""Folders whose files take longest, so that no process is left alone with one at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file's tests run one after another in one process, with what its fixtures made once; so do
    all that drive a browser, which share one."""
    from xdist.scheduler import LoadScopeScheduling

    class FileScheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "tests/browser" if nodeid.startswith("tests/browser/") else nodeid.split("::")[0]

    config.option.loadscopereorder = False
    return FileScheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the user agreed to and spent is not touched by tests, nor does it touch them."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        yield


@contextmanager
def opened() -> Iterator[Site]:
    """A local web; the test is skipped where the machine has one loopback address only."""
    site = Site()
    try:
        site.__enter__()
    except OSError as error:
        if error.errno != EADDRNOTAVAIL:
            raise
        pytest.skip("needs the whole of 127.0.0.0/8 on the loopback interface")
    try:
        yield site
    finally:
        site.close()


@pytest.fixture
def site() -> Iterator[Site]:
    """A local web, empty: give it routes."""
    with opened() as site:
        yield site


@pytest.fixture(scope="module")
def wild() -> Iterator[Site]:
    """A local web with the whole catalogue of misbehaviour on every host."""
    with opened() as site:
        site.mount(None, CATALOGUE)
        yield site
