"""Meegahapola et al., MTCCDW: three configurations, the reservation rule, nothing lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import Random

import pytest
from bench.watch.mtccdw import (
    ThreadedSteps,
    ThreadRunResult,
    run_one_thread,
    run_three_stages,
    run_two_stages,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.errors import FetchTimeout

Report = tuple[int, bool]


def steps(
    published: list[Report], seed: int = 0, failing: float = 0.0, slow: float = 0.0005
) -> ThreadedSteps[int, str, int, Report]:
    """Pages whose number divides by ten have changed; latencies and failures by chance."""

    def wait(number: int, what: str) -> None:
        dice = Random(f"{seed} {number} {what}")
        time.sleep(dice.random() * slow)
        if dice.random() < failing:
            raise FetchTimeout(f"http://a/{number}", what)

    def crawl(number: int) -> str:
        wait(number, "crawl")
        return f"{number} {'new' if number % 10 == 0 else 'old'}"

    def old(document: str) -> int:
        wait(int(document.split()[0]), "old")
        return int(document.split()[0])

    def compare(number: int, document: str) -> Report:
        wait(number, "compare")
        assert document.startswith(f"{number} ")
        return number, document.endswith("new")

    return ThreadedSteps(crawl, old, compare, published.append)


def settle(ran: ThreadRunResult[int], published: list[Report], pages: int) -> None:
    """Everything exactly once, changes right, nothing invented."""
    failed = [link for link, _ in ran.failures]
    assert sorted([*failed, *(number for number, _ in published)]) == list(range(pages))
    assert all(changed == (number % 10 == 0) for number, changed in published)
    assert (ran.pages, ran.published) == (pages, len(published))


@settings(max_examples=40, deadline=None)
@given(
    pages=st.integers(0, 60),
    n=st.integers(1, 12),
    m=st.integers(1, 4),
    k=st.integers(1, 4),
    capacity=st.integers(1, 20),
    paper_rule=st.booleans(),
    failing=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 1000),
)
def test_every_page_is_compared_once_and_no_queue_overflows(
    pages: int, n: int, m: int, k: int, capacity: int, paper_rule: bool, failing: float, seed: int
) -> None:
    capacity = max(capacity, n, m) if paper_rule else capacity
    before = threading.active_count()
    two: list[Report] = []
    three: list[Report] = []
    ran = run_two_stages(
        range(pages), steps(two, seed, failing), producers=n, consumers=m, capacity=capacity,
        paper_rule=paper_rule,
    )  # fmt: skip
    settle(ran, two, pages)
    assert ran.fullest <= capacity
    ran = run_three_stages(
        range(pages), steps(three, seed, failing), crawlers=n, bringers=m, comparers=k,
        capacity=capacity, paper_rule=paper_rule,
    )  # fmt: skip
    settle(ran, three, pages)
    assert ran.fullest <= capacity
    assert sorted(two) == sorted(three)
    assert threading.active_count() == before


def test_one_thread_goes_page_after_page() -> None:
    published: list[Report] = []
    ran = run_one_thread(range(30), steps(published, failing=0.1))
    settle(ran, published, 30)
    assert [number for number, _ in published] == sorted(number for number, _ in published)


def test_effective_time_is_seconds_per_page() -> None:
    ticks = iter((10.0, 12.0))
    ran = run_two_stages(range(500), steps([], slow=0), clock=lambda: next(ticks))
    assert ran.effective_ms == pytest.approx(4.0)
    assert run_one_thread([], steps([])).effective_ms == 0.0


def test_threads_wait_together_and_one_waits_alone() -> None:
    """The point of the paper, roughly: 40 pages of 5 ms."""

    def sleepy(number: int) -> str:
        time.sleep(0.005)
        return f"{number} old"

    parts = steps([], slow=0)
    sleeping: ThreadedSteps[int, str, int, Report] = ThreadedSteps(
        sleepy, parts.load_old, parts.compare, parts.publish
    )
    alone = run_one_thread(range(40), sleeping)
    assert alone.seconds >= 0.2
    for ran in (
        run_two_stages(range(40), sleeping, producers=20, consumers=2),
        run_three_stages(range(40), sleeping, crawlers=20, bringers=2, comparers=2),
    ):
        assert ran.seconds < alone.seconds / 2


@pytest.mark.parametrize("run", [run_one_thread, run_two_stages, run_three_stages])
def test_a_publisher_that_fails_ends_the_run(run: Callable[..., ThreadRunResult[int]]) -> None:
    published: list[Report] = []
    parts = steps(published, slow=0)

    def full(report: Report) -> None:
        if len(published) == 5:
            raise OSError("the disk is full")
        published.append(report)

    before = threading.active_count()
    with pytest.raises(OSError, match="full"):
        run(range(200), ThreadedSteps(parts.crawl, parts.load_old, parts.compare, full))
    assert len(published) == 5
    assert threading.active_count() == before
