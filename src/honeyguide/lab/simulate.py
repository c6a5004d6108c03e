"""A crawl in simulated time: politeness costs nothing, decisions stay the same.

The crawl loop, the frontier, the store and the strategy are the real ones. Three things differ: the
answers come straight from the lab, the event loop's clock leaps to the next thing that is due
instead of waiting for it, and a training run is computed here, at once. Its result decides only
after the time that it would have taken in its own process (:data:`TRAINING_COSTS`); the crawl goes
on meanwhile, as a real one does.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from honeyguide.config.settings import Settings
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.status import Report
from honeyguide.errors import ConnectError, FetchTimeout, TooLarge, WrongType
from honeyguide.fetch.http import READABLE_TYPES
from honeyguide.lab.responses import ENGINE_HOST, LabResponder
from honeyguide.lab.web import without_scheme
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.learning.training_feed import LabelAnswers
from honeyguide.learning.worker_process import InProcessBackend
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Request, Response
from honeyguide.url import host_of

SIMULATION_START = 1_700_000_000.0
"""When simulated crawls begin."""
_TIMEOUT_S = 60.0
"""An answer that takes longer does not come, as with a real fetcher."""

ANSWER_S = 1.0
"""Seconds until a host answers, unless something else is wished: about the pace of a crawl of one
site with the default delay."""

T = TypeVar("T")
HostLatency = Callable[[str], float]
"""Host → seconds until it answers."""


class _LeapingSelector(selectors.DefaultSelector):
    """Never waits for a timer: it moves the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0)
        if not events:
            if timeout is None:
                return super().select(None)  # no timer at all: a thread will wake us
            self.now += timeout
        return events


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop in which nobody sleeps."""

    def __init__(self) -> None:
        self._leap = _LeapingSelector()
        super().__init__(self._leap)

    def time(self) -> float:
        return self._leap.now


def run_simulated(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in simulated time."""
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


class LabFetcher:
    """The lab's answers without a network."""

    def __init__(
        self, desk: LabResponder, latency: HostLatency, clock: Callable[[], float]
    ) -> None:
        self._desk = desk
        self._latency = latency
        self._clock = clock

    async def fetch(self, request: Request) -> Response:
        began, place = self._clock(), host_of(request.url)
        if place != ENGINE_HOST:  # it says itself how long it takes
            await asyncio.sleep(self._latency(place))
        answer = self._desk.respond(without_scheme(request.url))
        if answer.wait_s:
            await asyncio.sleep(min(answer.wait_s, _TIMEOUT_S))
            if answer.wait_s > _TIMEOUT_S:
                raise FetchTimeout(request.url, f"no answer within {_TIMEOUT_S:g} seconds")
        if not answer.status:
            raise ConnectError(request.url, "the connection broke")
        response = answer.to_response(request.url)._replace(
            started=began, elapsed=self._clock() - began
        )
        kind = response.media_type
        if answer.status == 200 and not request.any_type and kind and kind not in READABLE_TYPES:
            raise WrongType(request.url, kind)
        limit = request.limit
        if limit is not None and len(response.body) > limit:
            if not request.truncate:
                raise TooLarge(request.url, f"more than {limit} bytes")
            cut = response.body[:limit]
            response = response._replace(body=cut, payload=cut)
        return response

    async def aclose(self) -> None:
        pass


class TrainingCost(NamedTuple):
    """Seconds that training runs take, measured by bench/training_time.py."""

    start: float
    """Of the first run: its process starts, and libraries are loaded."""
    run: float
    """Of every run."""
    example: float
    """Of each example."""
    tried: float
    """Of each example more, if held-out labels try the result."""

    def total_seconds(self, result: LearningResult, is_first: bool) -> float:
        tried = self.tried if result.trial is not None and result.trial.pages else 0.0
        return self.start * is_first + self.run + (self.example + tried) * result.examples


TRAINING_COSTS = {
    "hybrid_svm": TrainingCost(3.5, 0.01, 0.0005, 0.0002),
    "adaptive_links": TrainingCost(3.5, 0.02, 0.0, 0.0001),
    "user_utility": TrainingCost(0.6, 0.13, 0.0, 0.001),
}
"""By strategy; others take as long as the default one."""
_DEFAULT_COST = TrainingCost(1.0, 0.0, 0.0005, 0.0014)


def simulate_crawl(
    folder: Path,
    settings: Settings,
    desk: LabResponder,
    *,
    strategy: Strategy | None = None,
    latency: HostLatency = lambda _: ANSWER_S,
    examples: Sequence[Example] = (),
    people: LabelAnswers | None = None,
) -> Report:
    """Crawl the desk's web into a folder, in simulated time; ``people`` answer when asked."""

    cost = TRAINING_COSTS.get(settings.crawl.strategy, _DEFAULT_COST)

    async def main() -> Report:
        loop = asyncio.get_running_loop()

        def clock() -> float:
            return SIMULATION_START + loop.time()

        fetcher = LabFetcher(desk, latency, clock)
        async with open_crawl(
            folder,
            settings,
            fetcher=fetcher,
            clock=clock,
            strategy=strategy,
            examples=examples,
            people=people,
            backend=partial(InProcessBackend, duration=cost.total_seconds),
        ) as crawl:
            return await crawl.run()

    return run_simulated(main())
