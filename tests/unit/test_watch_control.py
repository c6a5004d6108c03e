"""How many at once: the controllers are told measurements and nothing else."""

from __future__ import annotations

import math
import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches
from honeyguide.watch.visit.comparison import CompareConcurrency, InPlaceLimit


class Network:
    """Answers after ``latency``; beyond ``capacity`` under way, those behind queue up."""

    def __init__(self, capacity: float, latency: float) -> None:
        self.capacity, self.latency, self.now = capacity, latency, 0.0
        self.answers = 0

    def answer(self, fetchers: FetchConcurrency, host: str = "a", times: float = 1.0) -> None:
        under_way = fetchers.limit
        self.answers += 1
        ahead = min(under_way, self.answers)
        elapsed = self.latency * times * max(1.0, ahead / self.capacity)
        self.now += elapsed / under_way
        fetchers.record_answer(host, elapsed, under_way, self.now)


def test_it_grows_while_answers_come_as_fast_as_ever() -> None:
    fetchers, network = FetchConcurrency(500, start=8), Network(math.inf, 0.1)
    for _ in range(2000):
        network.answer(fetchers)
    assert fetchers.limit == 500


def test_it_is_one_step_of_the_formula() -> None:
    fetchers = FetchConcurrency(1000, start=100)
    for tick in range(4):  # until the rate is known it stays
        assert fetchers.limit == 100
        fetchers.record_answer("a", 1.0, 100, tick / 50)
    assert fetchers.limit == 102  # 100 + 0.2·√100
    fetchers = FetchConcurrency(1000, start=100)
    fetchers.record_answer("a", 1.0, 0, 0)  # tells what is usual, and changes nothing
    assert fetchers.limit == 100
    fetchers.record_answer("a", 3.0, 100, 1)  # 1.5·1/3 = ½: 0.8·100 + 0.2·(50 + 10)
    assert fetchers.limit == 92


def test_slow_answers_make_it_shrink() -> None:
    fetchers = FetchConcurrency(1000, start=400)
    fetchers.record_answer("a", 0.1, 0, 0)
    for tick in range(10):
        fetchers.record_answer("a", 2.0, fetchers.limit, tick / 100)
    assert fetchers.limit < 200


@pytest.mark.parametrize("start", [4, 50, 800])
def test_it_settles_near_what_the_network_bears(start: int) -> None:
    """Enough to keep it busy, and not several times as many."""
    fetchers, network = FetchConcurrency(10_000, start=start), Network(50, 0.1)
    for _ in range(20_000):
        network.answer(fetchers)
        if network.now > 5:
            assert 40 <= fetchers.limit <= 200
    assert network.now > 6


def test_long_latency_gets_the_many_it_needs() -> None:
    """A thousand answers a second, each after 0.86 s, are 860 under way."""
    fetchers, network = FetchConcurrency(2000), Network(860, 0.86)
    for _ in range(2000):
        network.answer(fetchers)
    assert fetchers.limit >= 860


def test_a_slow_host_after_a_fast_one_is_no_congestion() -> None:
    fetchers, network = FetchConcurrency(1000, start=100), Network(math.inf, 0.1)
    for _ in range(50):
        network.answer(fetchers, "fast", 0.1)
        before = fetchers.limit
        network.answer(fetchers, "slow", 10)
        assert fetchers.limit >= before


def test_until_the_first_answer_it_grows_with_time() -> None:
    fetchers = FetchConcurrency(700, start=200)
    pace = FetchConcurrency.PACE_S
    assert fetchers.grows_at(10.0) == 10 + pace
    assert (fetchers.grows_at(10 + pace / 2), fetchers.limit) == (10 + pace, 200)
    assert (fetchers.grows_at(10.25), fetchers.limit) == (10.25 + pace, 400)
    fetchers.record_answer("a", 0.3, 400, 10.3)
    assert (fetchers.grows_at(11.0), fetchers.limit) == (None, 400)
    alone = FetchConcurrency(5, start=5)
    assert alone.grows_at(0.0) is None


def test_a_limit_that_does_not_bind_is_not_changed() -> None:
    fetchers = FetchConcurrency(1000, start=100)
    for tick in range(50):
        fetchers.record_answer("a", 0.1, 10, tick)
    assert fetchers.limit == 100


def test_timeouts_halve_it_once_for_all_that_was_under_way() -> None:
    fetchers = FetchConcurrency(100, start=100)
    for tick in range(200):
        fetchers.record_answer("a", 0.1, 1, tick)
    for _ in range(60):
        fetchers.record_loss("a")
    assert fetchers.limit == 25  # after the first, and after fifty more
    fetchers.halve()
    assert fetchers.limit == 12


def test_a_host_that_never_answered_says_nothing_of_us() -> None:
    fetchers = FetchConcurrency(100, start=100)
    for _ in range(1000):
        fetchers.record_loss("dead")
    assert fetchers.limit == 100


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.floats(allow_nan=True, allow_infinity=True),
            st.integers(0, 2000),
            st.floats(0, 1e9),
        ),
        max_size=60,
    )
)
def test_whatever_it_is_told_it_keeps_to_its_bounds(
    told: list[tuple[str, float, int, float]],
) -> None:
    fetchers = FetchConcurrency(300, start=20, least=3)
    for host, elapsed, under_way, now in told:
        fetchers.record_answer(host, elapsed, under_way, now)
        fetchers.record_loss(host)
        assert 3 <= fetchers.limit <= 300


def test_sockets_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"soft": 1024}
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (limits["soft"], -1))
    assert affordable_fetches() == 640
    limits["soft"] = 256
    assert affordable_fetches() == 16
    limits["soft"] = resource.RLIM_INFINITY
    assert affordable_fetches(700) == 700


def load(
    comparers: CompareConcurrency, rate: float, seconds: float, start: float, service: float
) -> float:
    """Bodies come at a rate, and none waits."""
    now = start
    while now < start + seconds:
        now += 1 / rate
        comparers.record_arrival(now)
        comparers.record_start(0.0, now)
        comparers.record_comparison(service)
    return now


def test_there_are_as_many_comparers_as_the_load_asks_for() -> None:
    comparers = CompareConcurrency(8)
    assert comparers.count == 1
    load(comparers, rate=20, seconds=10, start=0, service=0.1)
    assert comparers.count == math.ceil(20 * 0.1 / 0.7) == 3


def test_there_are_never_more_than_cores() -> None:
    comparers = CompareConcurrency(2)
    load(comparers, rate=100, seconds=10, start=0, service=1.0)
    assert comparers.count == 2


def test_old_bodies_get_one_more_after_three_seconds() -> None:
    comparers = CompareConcurrency(8)
    comparers.record_comparison(0.01)
    for tick in range(25):
        comparers.record_start(0.3, tick / 10)
    assert comparers.count == 1
    for tick in range(25, 65):
        comparers.record_start(0.3, tick / 10)
    assert comparers.count == 3  # one after 3 s, one after 6 s
    for tick in range(65, 100):
        comparers.record_start(0.1, tick / 10)
    assert comparers.count == 3


def test_it_shrinks_after_half_a_quiet_minute() -> None:
    comparers = CompareConcurrency(8)
    end = load(comparers, rate=20, seconds=10, start=0, service=0.1)
    assert comparers.count == 3
    for tick in range(29):
        comparers.record_arrival(end + 4 + tick)
    assert comparers.count == 3
    for tick in range(29, 40):
        comparers.record_arrival(end + 4 + tick)
    assert comparers.count == 1


def test_a_comparison_that_holds_everybody_up_lowers_the_size_in_place() -> None:
    in_place = InPlaceLimit(65_536)
    in_place.record_comparison(60_000, 0.04)
    assert in_place.limit == 65_536
    in_place.record_comparison(60_000, 0.2)
    assert in_place.limit == 30_000
    in_place.record_comparison(100, 0.2)
    assert in_place.limit == InPlaceLimit.LEAST
    for _ in range(200):
        in_place.record_comparison(3_000, 0.001)
    assert in_place.limit == 65_536
