"""Crawls in simulated time take the very decisions that they took when they were recorded.

Every strategy on three webs, and the settings that change what a crawl does. Scores are compared
bit for bit on the kind of processor that they were recorded on. On another one, OpenBLAS takes
other kernels: measured with those of a Nehalem, all strategies but ``honeyguide`` gave the same
bits, and scores of that one were off by 3e-8. There, scores may be 1e-5 away and digests are not
looked at.

Is another result wanted? ``python -m tests.golden.record --crawls`` writes it down.
"""

from __future__ import annotations

from typing import Any

import pytest

from honeyguide import registry
from tests.golden.keeping import difference, machine, other, read, recorded
from tests.golden.reading import SHOWN
from tests.golden.webs import CASES, STRATEGIES


@pytest.fixture(scope="module")
def now(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return recorded("crawls", tmp_path_factory.mktemp("crawls"))


def test_every_strategy_is_recorded() -> None:
    assert set(registry.strategy_names()) == set(STRATEGIES)


@pytest.mark.parametrize("name", CASES)
def test_the_same_visits(name: str, now: Any) -> None:
    kept = read("crawls")
    exact = kept["machine"] == machine()
    wanted, found = kept["crawls"][name], now["crawls"][name]
    assert "error" not in found, found["error"]
    told = difference(wanted["visits"], found["visits"], SHOWN, exact)
    assert not told, f"{name}, {told}"
    if exact:
        others = other(wanted["digests"], found["digests"])
        assert not others, f"{name}: other values of {others}"
