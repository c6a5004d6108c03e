"""Queues after opening are as exact as if every link had been pushed one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.frontier.replay import _order_by_rank, _sort_places, find_logged_link
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog

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


def test_a_reopened_link_waits_again_also_after_another_start() -> None:
    log, url = MemoryFrontierLog(), Url("http://a.test/")

    def start() -> LinkFrontier:
        return LinkFrontier(log, make_order("best", 1))

    def visit(frontier: LinkFrontier) -> None:
        candidate = frontier.pop(100.0)
        assert candidate is not None
        frontier.finish(candidate, 100.0, 0.0)

    def save(frontier: LinkFrontier) -> None:
        frontier.flush()
        frontier.confirm_flush()

    frontier = start()
    frontier.push([Candidate(Link(url), 1.0, 1.0)])
    frontier.reopen([url, Url("http://never.seen/")])
    assert len(frontier) == 1, "it waits already"
    visit(frontier)
    save(frontier)
    assert frontier.still_wanted([url]) == [False]
    for _ in range(2):
        frontier = start()
        assert len(frontier) == 0
        frontier.reopen([url])
        save(frontier)
        logged = find_logged_link(log, url)
        assert logged is not None
        assert logged.state == "waiting"
        frontier = start()
        assert len(frontier) == 1
        visit(frontier)
        save(frontier)
    logged = find_logged_link(log, url)
    assert logged is not None
    assert logged.state == "done"
