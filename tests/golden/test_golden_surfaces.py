"""What people and programs see from outside is what was written down in ``surfaces/``.

``openapi.json`` has every schema written out in its place, so no names of classes are in it. Those
names, which are the schemas' names in the real document, are ``openapi-schemas.json``: renaming a
class that the studio sends changes it, and nothing else may.

Is another one wanted? ``python -m tests.golden.record --surfaces`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.keeping import SURFACES, run_part

NAMES = sorted(path.name for path in SURFACES.iterdir())


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_part("surfaces", tmp_path_factory.mktemp("surfaces"))


def test_there_are_no_others(now: Path) -> None:
    assert sorted(path.name for path in now.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_same_surface(name: str, now: Path) -> None:
    assert (now / name).read_text("utf-8") == (SURFACES / name).read_text("utf-8")
