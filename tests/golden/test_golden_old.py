"""Collections of before open, say what they said, and are crawled and watched further alike.

The collections in ``old/`` were made by the code of the day that recorded them and stay as they
are; ``data/old.json.gz`` has what was read in them: through the command line, Python and SQL, as
exported files, and what came of crawling and watching on. Both are of one commit.

Is another result wanted? ``python -m tests.golden.record --old`` writes it down.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.keeping import OLD, difference, machine, other, read, recorded
from tests.golden.reading import SHOWN
from tests.golden.sharding import COMPARED

NAMES = sorted(path.name.partition(".")[0] for path in OLD.iterdir())
COLLECTIONS = [name for name in NAMES if name != "vault"]


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return recorded("old", tmp_path_factory.mktemp("old"))


@pytest.mark.parametrize("name", NAMES)
def test_it_says_the_same(name: str, now: Any) -> None:
    wanted, found = read("old")["facts"][name], now["facts"][name]
    for part in wanted:
        if part in ("crawled on", "watched on"):
            continue
        assert not other(wanted[part], found[part]), f"{part}: {other(wanted[part], found[part])}"
        assert found[part] == wanted[part]


@pytest.mark.parametrize("name", COLLECTIONS)
def test_it_goes_on_alike(name: str, now: Any) -> None:
    kept = read("old")
    wanted, found = kept["facts"][name], now["facts"][name]
    if name == "watched":
        assert not other(wanted["watched on"], found["watched on"])
        return
    exact = kept["machine"] == machine()
    columns = COMPARED if name == "sharded" else SHOWN
    told = difference(wanted["crawled on"], found["crawled on"], columns, exact)
    assert not told, told
