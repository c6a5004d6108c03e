"""How many at once: the controllers are told measurements and nothing else."""

from __future__ import annotations

import asyncio
import heapq
import math
import resource
from random import Random

import pytest
from bench.watch.comparison_pool import CompareConcurrency, InPlaceLimit
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches


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
        fetchers.record_loss("a", "timeout")
    assert fetchers.limit == 25  # after the first, and after fifty more
    fetchers.halve()
    assert fetchers.limit == 12


def test_a_host_that_never_answered_says_nothing_of_us() -> None:
    fetchers = FetchConcurrency(100, start=100)
    for _ in range(1000):
        fetchers.record_loss("dead", "timeout")
    assert fetchers.limit == 100


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(["timeout", "fetch", "dns"]),
            st.floats(allow_nan=True, allow_infinity=True),
            st.integers(0, 2000),
            st.floats(0, 1e9),
        ),
        max_size=60,
    )
)
def test_whatever_it_is_told_it_keeps_to_its_bounds(
    told: list[tuple[str, str, float, int, float]],
) -> None:
    fetchers = FetchConcurrency(300, start=20, least=3)
    for host, kind, elapsed, under_way, now in told:
        fetchers.record_answer(host, elapsed, under_way, now)
        fetchers.record_loss(host, kind)
        assert 3 <= fetchers.limit <= 300


def test_no_socket_halves_it_and_other_failures_do_not() -> None:
    fetchers = FetchConcurrency(100, start=100)
    for _ in range(150):
        fetchers.record_loss("a", "dns")
    assert fetchers.limit == 100
    fetchers.record_loss("a", "fetch")
    fetchers.record_loss("b", "fetch")
    assert fetchers.limit == 50


def test_lag_and_memory_bound_it_and_it_recovers() -> None:
    fetchers = FetchConcurrency(32)
    assert fetchers.limit == 32
    fetchers.adapt_to_load(0.5, 0.3)
    assert fetchers.limit == 21
    for _ in range(20):
        fetchers.adapt_to_load(0.0, 0.95)
    assert fetchers.limit == 1, "short of memory, but never at a stand-still"
    fetchers.record_answer("a", 0.1, 1, 0)
    assert fetchers.limit == 1
    for _ in range(10):
        fetchers.adapt_to_load(0.0, 0.3)
    assert fetchers.limit == 32


def test_in_simulated_time_it_is_always_the_most() -> None:
    fetchers = FetchConcurrency(100, steady=True)
    fetchers.record_answer("a", 0.1, 100, 0)
    for tick in range(300):
        fetchers.record_answer("a", 60.0, 100, tick)
        fetchers.record_loss("a", "fetch")
    assert fetchers.limit == 100
    asyncio.run(asyncio.wait_for(fetchers.watch_load(), 1))


def answers_a_second(fetchers: FetchConcurrency, differ: float, seconds: float) -> float:
    """Of 500 hosts, each with response times of its own that differ by themselves; 300 are read."""
    random, now, answers = Random(1), 0.0, 0
    usual = [random.lognormvariate(-1.5, 0.8) for _ in range(500)]
    under_way: list[tuple[float, int, float]] = []
    while now < seconds:
        while len(under_way) < fetchers.limit:
            host = random.randrange(500)
            end = now + usual[host] * random.lognormvariate(0, differ)
            heapq.heappush(under_way, (end, host, now))
        end, host, began = heapq.heappop(under_way)
        now = max(now + 1 / 300, end)
        answers += 1
        fetchers.record_answer(f"h{host}", now - began, len(under_way) + 1, now)
    return answers / seconds


@pytest.mark.parametrize("differ", [0.1, 0.5, 1.0])
def test_response_times_that_differ_by_themselves_are_no_congestion(differ: float) -> None:
    """As a crawl is set up: pages of one host take times of very different length."""
    fetchers = FetchConcurrency(256, least=32, tolerance=3.0, gain=10.0)
    assert answers_a_second(fetchers, differ, 30) > 0.95 * 300


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
