"""Meegahapola et al., MTCCDW: three configurations, the rule of admission, nothing lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.config.settings import PolitenessSettings, WatchSettings
from honeyguide.errors import ConfigError, FetchError
from honeyguide.net.politeness import HostDelayPolicy, PolitenessGate
from honeyguide.net.robots import RobotsCache
from honeyguide.store.versions import body_digest
from honeyguide.types import Request, Response, Url
from honeyguide.watch.configurations import (
    DocumentQueue,
    FlowFigures,
    ThreadedRevisitFlow,
    choose_threads,
)
from honeyguide.watch.revisit_flow import DuePage, RevisitOutcome

Outcomes = list[RevisitOutcome[str]]


class TenthChangedWeb:
    """Pages whose number divides by ten have changed; latencies and failures by chance."""

    def __init__(self, seed: int = 0, failing: float = 0.0, slow: float = 0.0005) -> None:
        self.seed, self.failing, self.slow = seed, failing, slow
        self.asked: list[str] = []
        self.busy = self.most = 0
        self.robots = ""

    async def fetch(self, request: Request) -> Response:
        self.asked.append(request.url)
        if request.url.endswith("robots.txt"):
            return self._response(request.url, self.robots)
        number = int(request.url.rpartition("/")[2])
        dice = Random(f"{self.seed} {number}")
        self.busy += 1
        self.most = max(self.most, self.busy)
        await asyncio.sleep(dice.random() * self.slow)
        self.busy -= 1
        if dice.random() < self.failing:
            raise FetchError(request.url, "nobody")
        return self._response(request.url, "new" if number % 10 == 0 else "old")

    def _response(self, url: str, body: str) -> Response:
        data = body.encode()
        return Response(Url(url), 200, (), data, data, b"", b"", "192.0.2.1", time.time(), 0.0)

    async def aclose(self) -> None:
        pass


def run(
    web: TenthChangedWeb,
    pages: int,
    given: tuple[int, ...],
    capacity: int = 500,
    compare: Callable[[str, DuePage, Response], str] | None = None,
    meanwhile: Callable[[ThreadedRevisitFlow[str, str]], None] | None = None,
) -> tuple[Outcomes, FlowFigures]:
    """Pages of hosts on this machine, whose delay is off and whose robots.txt is asked for."""

    def compare_texts(old: str, _page: DuePage, response: Response) -> str:
        return f"{old} → {response.body.decode()}"

    async def due() -> AsyncIterator[DuePage]:
        for n in range(pages):
            url = Url(f"http://127.0.0.{1 + n % 20}/{n}")
            yield DuePage(url, n, digest=body_digest(b"old"), size=3)

    async def main() -> tuple[Outcomes, FlowFigures]:
        delays = HostDelayPolicy(PolitenessSettings(loopback_delay_s=0.0), seed=1)
        flow: ThreadedRevisitFlow[str, str] = ThreadedRevisitFlow(
            web, PolitenessGate(RobotsCache(), delays), lambda page: f"old {page.key}",
            compare or compare_texts, threads=given, capacity=capacity, per_host=1_000,
        )  # fmt: skip
        found = []
        async for outcome in flow.run(due()):
            found.append(outcome)
            if meanwhile is not None:
                meanwhile(flow)
        return found, flow.figures

    before = threading.active_count()
    result = asyncio.run(asyncio.wait_for(main(), 60))
    assert threading.active_count() <= before
    return result


@settings(max_examples=25, deadline=None)
@given(
    pages=st.integers(0, 60),
    n=st.integers(1, 12),
    m=st.integers(1, 4),
    k=st.integers(1, 4),
    spare=st.integers(0, 20),
    failing=st.sampled_from([0.0, 0.1, 1.0]),
    seed=st.integers(0, 1000),
)
def test_every_page_is_compared_once_and_no_queue_overflows(
    pages: int, n: int, m: int, k: int, spare: int, failing: float, seed: int
) -> None:
    capacity = max(n, m) + spare
    told = []
    for chosen in ((1,), (n, m), (n, m, k)):
        web = TenthChangedWeb(seed, failing)
        found, figures = run(web, pages, chosen, capacity)
        assert sorted(outcome.page.key for outcome in found) == list(range(pages))
        for outcome in found:
            if outcome.state != "failed":
                changed = outcome.page.key % 10 == 0
                assert outcome.state == ("changed" if changed else "unchanged")
                assert outcome.found == (f"old {outcome.page.key} → new" if changed else None)
        assert figures.longest_queue <= capacity
        assert web.most <= chosen[0]
        assert sum(url.endswith("robots.txt") for url in web.asked) == min(pages, 20)
        told.append({outcome.page.key: outcome.state for outcome in found})
    assert told[0] == told[1] == told[2]


def test_robots_forbid_in_every_configuration() -> None:
    for chosen in ((1,), (4, 2), (4, 2, 2)):
        web = TenthChangedWeb()
        web.robots = "User-agent: *\nDisallow: /"
        found, _ = run(web, 10, chosen)
        assert {outcome.state for outcome in found} == {"failed"}
        assert all(url.endswith("robots.txt") for url in web.asked)


def test_threads_wait_together_and_one_waits_alone() -> None:
    """The point of the paper, roughly: 40 pages of some 10 ms."""

    def seconds(given: tuple[int, ...]) -> float:
        began = time.monotonic()
        run(TenthChangedWeb(slow=0.02), 40, given)
        return time.monotonic() - began

    alone = seconds((1,))
    assert alone >= 0.3
    for chosen in ((20, 2), (20, 2, 2)):
        assert seconds(chosen) < alone / 1.5


@pytest.mark.parametrize("given", [(1,), (4, 2), (4, 2, 2)])
def test_a_comparison_that_fails_costs_its_page_only(given: tuple[int, ...]) -> None:
    def compare(_old: str, page: DuePage, _response: Response) -> str:
        if page.key == 10:
            raise ValueError("a bug of ours")
        return "compared"

    found, _ = run(TenthChangedWeb(), 30, given, compare=compare)
    states = {outcome.page.key: outcome.state for outcome in found}
    assert len(states) == 30
    assert [key for key, state in states.items() if state == "failed"] == [10]
    assert (states[0], states[1]) == ("changed", "unchanged")


@pytest.mark.parametrize("given", [(1,), (4, 2), (4, 2, 2)])
def test_whoever_takes_the_outcomes_may_fail_or_stop(given: tuple[int, ...]) -> None:
    def fail(_flow: Any) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        run(TenthChangedWeb(), 200, given, meanwhile=fail)
    found, _ = run(TenthChangedWeb(), 200, given, meanwhile=lambda flow: flow.stop())
    assert 1 <= len(found) <= 1 + given[0] + 20


def admitted(queue: DocumentQueue[int], most: int) -> int:
    """How many producers may begin before one has to wait."""
    done: list[int] = []

    def ask() -> None:
        while len(done) < most and queue.wait_for_room():
            done.append(1)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(0.1)
    queue.stop()
    thread.join()
    return len(done)


def test_a_place_is_set_aside_for_every_producer() -> None:
    """500 places and 100 producers: nobody begins once 401 documents wait."""

    def filled(documents: int) -> DocumentQueue[int]:
        queue: DocumentQueue[int] = DocumentQueue(500, producers=100)
        for document in range(documents):
            assert queue.wait_for_room()
            queue.put_item(document)
        return queue

    assert admitted(filled(400), 1) == 1
    assert admitted(filled(401), 1) == 0


def test_a_document_less_wakes_every_producer_that_may_go() -> None:
    queue: DocumentQueue[int] = DocumentQueue(10, producers=10)
    queue.put_item(0)
    through: list[bool] = []
    waiting = [
        threading.Thread(target=lambda: through.append(queue.wait_for_room()), daemon=True)
        for _ in range(9)
    ]
    for thread in waiting:
        thread.start()
    waiting[0].join(0.05)
    assert not through
    assert queue.take_item() == 0
    for thread in waiting:
        thread.join(5)
    assert through == [True] * 9


def test_a_stopped_queue_lets_everybody_go() -> None:
    queue: DocumentQueue[int] = DocumentQueue(1, producers=1)
    got: list[object] = []
    waiting = threading.Thread(target=lambda: got.append(queue.take_item()), daemon=True)
    waiting.start()
    queue.stop()
    waiting.join(5)
    assert got == [None]
    assert not queue.wait_for_room()


def test_threads_are_the_published_ones_or_those_that_fit() -> None:
    def threads(which: str, *numbers: int, queue: int = 500) -> tuple[int, ...]:
        chosen = WatchSettings(configuration=which, threads=numbers, queue=queue)  # type: ignore[arg-type]
        return choose_threads(chosen)

    assert threads("adaptive") == ()
    assert threads("1") == (1,)
    assert threads("2") == (78, 6, 6)
    assert threads("3") == (78, 11)
    assert threads("3", 32, 4) == (32, 4)
    for wrong in (("3", 1, 2, 3), ("2", 5, 5), ("adaptive", 5), ("1", 4), ("3", 0, 1)):
        with pytest.raises(ConfigError, match="threads"):
            threads(*wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="queue = 20 is too short for 78"):
        threads("3", queue=20)
