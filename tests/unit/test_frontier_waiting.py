"""What waits keeps waiting, however it is moved about."""

from __future__ import annotations

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.host_queues import MIN_HOT
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.frontier.rows import COLD
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog


def test_a_batch_that_makes_a_host_tidy_up_loses_nothing() -> None:
    """Once a link that entered cold was swept out by a later link of the same push."""
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), now=0.0)
    host = frontier._heap.get_host("h")
    pushed, visited, score = 66, 0, 0.1

    def link(number: int, worth: float) -> Candidate:
        return Candidate(Link(Url(f"http://h/{number}")), worth)

    frontier.push([link(n, 0.1) for n in range(pushed)])
    for _ in range(4000):
        if host.stale > MIN_HOT + (len(host.cold or ()) + 60) // 2:
            break
        if len(host.hot) >= 2 * host._max_hot():  # just before a spill, a visit makes room
            visited += _visit(frontier)
        cold = [n for n in range(pushed) if frontier._rows.state[n] == COLD]
        if cold:
            score += 0.0001
            frontier.push([link(cold[0], score)])
        else:
            frontier.push([link(pushed, 0.0)])
            pushed += 1
    room = 2 * host._max_hot() - len(host.hot)
    batch = [link(pushed, 0.0), *(link(pushed + 1 + n, 0.99) for n in range(room + 3))]
    frontier.push(batch)
    pushed += len(batch)
    while frontier.wake_at() is not None:
        visited += _visit(frontier)
    assert visited == pushed


def _visit(frontier: LinkFrontier) -> int:
    candidate = frontier.pop(1.0)
    assert candidate is not None
    frontier.finish(candidate, 1.0, 0.0)
    return 1
