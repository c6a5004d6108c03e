from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConfigError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import (
    BestFirstOrder,
    BreadthFirstOrder,
    BulkOrder,
    ProportionalOrder,
    make_order,
)
from honeyguide.frontier.rows import key_from_rank, rank_from_key, ranks_from_keys
from honeyguide.protocols import FrontierOrder
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog

numbers = st.floats(allow_nan=False)


@given(numbers, numbers)
def test_ranks_sort_the_other_way_round(one: float, two: float) -> None:
    assert (rank_from_key(one) < rank_from_key(two)) == (one > two)
    assert key_from_rank(rank_from_key(one)) == one
    assert ranks_from_keys(np.array([one, two])).tolist() == [
        rank_from_key(one),
        rank_from_key(two),
    ]


@pytest.mark.parametrize("order", [BestFirstOrder(), BreadthFirstOrder()])
def test_one_key_is_as_good_as_many(order: BulkOrder) -> None:
    scores = np.array([0.0, 0.25, 1.0], np.float32)
    depths = np.array([3, 0, 65535], np.uint16)
    pairs = zip(scores.tolist(), depths.tolist(), strict=True)
    assert order.keys(scores, depths).tolist() == [order.sort_key(*pair) for pair in pairs]


def test_the_names_of_the_settings() -> None:
    order: FrontierOrder = make_order("best", 1)
    assert isinstance(order, BestFirstOrder)
    assert isinstance(make_order("breadth", 1), BreadthFirstOrder)
    assert isinstance(make_order("proportional", 1), ProportionalOrder)
    with pytest.raises(ConfigError, match=r"crawl\.order: 'worst'"):
        make_order("worst", 1)


def test_breadth_first_goes_by_depth_then_arrival() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BreadthFirstOrder())
    depths = [2, 0, 1, 1, 0, 70000, -1]
    frontier.push(
        Candidate(Link(Url(f"http://h{n}.org/"), depth=depth), n / 8)
        for n, depth in enumerate(depths)
    )
    popped = [candidate.link.url[8] for _ in depths if (candidate := frontier.pop(0.0))]
    assert popped == ["1", "4", "6", "2", "3", "0", "5"]


@pytest.mark.parametrize(("beta", "expected"), [(1.0, 4.0), (2.0, 16.0), (0.0, 1.0)])
def test_the_first_choice_is_proportional_to_the_score(beta: float, expected: float) -> None:
    first: Counter[float] = Counter()
    order = ProportionalOrder(3, beta)
    for _ in range(4000):
        first[max([0.2, 0.8], key=lambda score: order.sort_key(score, 0))] += 1
    assert first[0.8] / first[0.2] == pytest.approx(expected, rel=0.2)


def test_later_choices_are_proportional_too() -> None:
    """Links that enter late are not put last: time goes on as links are served."""
    wins = 0
    for seed in range(300):
        frontier = LinkFrontier(MemoryFrontierLog(), ProportionalOrder(seed))
        for n in range(30):
            frontier.push([Candidate(Link(Url(f"http://h{n}.org/")), 0.5)])
            if n >= 10:
                frontier.pop(0.0)
        frontier.push([Candidate(Link(Url("http://late.org/")), 0.5)])
        candidate = frontier.pop(0.0)
        assert candidate is not None
        wins += candidate.link.url == "http://late.org/"
    assert 10 <= wins <= 55, f"a chance of 1 in 11, so some 27 of 300, not {wins}"


def test_a_score_of_nothing_still_has_a_chance() -> None:
    order = ProportionalOrder(1)
    assert order.sort_key(0.0, 0) > -inf
    order.mark_served(-5.0)
    order.mark_served(-3.0)
    assert order.sort_key(0.9, 0) < -5.0, "the clock never runs back"
