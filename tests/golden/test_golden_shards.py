"""Two shards find and judge what they did when it was recorded, in whatever order.

The order of the visits is not deterministic, and with it what is learned on the way: so the whole
of a small web is crawled, nothing is learned, and visits are compared by their addresses.

Is another result wanted? ``python -m tests.golden.record --shards`` writes it down.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.keeping import difference, machine, read, recorded
from tests.golden.sharding import COMPARED


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return recorded("shards", tmp_path_factory.mktemp("shards"))


@pytest.mark.parametrize("strategy", ["breadth", "keyword", "honeyguide"])
def test_the_same_pages(strategy: str, now: Any) -> None:
    kept = read("shards")
    exact = kept["machine"] == machine()
    told = difference(kept["visits"][strategy], now["visits"][strategy], COMPARED, exact)
    assert not told, told
