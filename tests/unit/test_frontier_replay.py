"""Queues after opening are as exact as if every link had been pushed one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.frontier.replay import _order_by_rank, _sort_places

few = st.integers(2**64 - 4, 2**64 - 1) | st.integers(0, 3)
"""Ranks and hosts are often equal, and then who came first goes first."""


@given(st.lists(few, max_size=60))
def test_equal_ranks_stay_in_order(numbers: list[int]) -> None:
    ranks = np.array(numbers, np.uint64)
    assert _order_by_rank(ranks).tolist() == np.argsort(ranks, kind="stable").tolist()


@given(st.lists(st.integers(2**32 - 3, 2**32 - 1) | st.integers(0, 3), max_size=60))
def test_equal_hosts_stay_in_order(numbers: list[int]) -> None:
    hosts = np.array(numbers, np.uint64)
    expected = np.argsort(hosts, kind="stable").tolist()
    assert _sort_places(hosts, np.arange(len(hosts))).tolist() == expected
