"""Ranking anew must cost little at a time, and still reach every link."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify

import pytest

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.host_queues import smallest_items
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.types import Link, Url
from tests.contracts.logs import MemoryFrontierLog
from tests.contracts.test_frontier import link


@pytest.fixture
def frontier() -> LinkFrontier:
    return LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), now=0.0)


def test_reranks_without_end_reach_every_link_of_a_frontier_that_grows(
    frontier: LinkFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More links come in than a step scores, and nothing is ever ranked to the end."""
    monkeypatch.setattr("honeyguide.frontier.waiting_links.SLICE_LINKS", 20)
    monkeypatch.setattr("honeyguide.frontier.waiting_links.TURNS_PER_STEP", 2)
    frontier.push(link(f"http://h{n % 7}.org/{n}", 0.5) for n in range(600))
    ranked: dict[Url, int] = {}
    turn = 0

    def rank(links: Sequence[Link]) -> list[float]:
        ranked.update((one.url, turn) for one in links)
        return [0.5] * len(links)

    for turn in range(400):
        if turn % 3 == 0:
            frontier.rerank_all(rank)
        frontier.push(link(f"http://g{n % 7}.org/{turn}/{n}", 0.5) for n in range(15))
        if turn == 59:
            assert {f"http://h{n % 7}.org/{n}" for n in range(600)} <= ranked.keys()
    # The sweep from turn 60 on has the 1,455 rows of the rerank before it, 20 every other turn.
    assert min(ranked[Url(f"http://h{n % 7}.org/{n}")] for n in range(600)) >= 200


def test_a_rerank_costs_no_more_than_its_bounds(frontier: LinkFrontier) -> None:
    frontier.push(link(f"http://h{n % 50}.org/{n}", n % 101 / 101) for n in range(20_000))
    frontier.flush()
    frontier.confirm_flush()
    scored: list[int] = []

    def rank(links: Sequence[Link]) -> list[float]:
        scored.append(len(links))
        return [0.5] * len(links)

    frontier.rerank_all(rank)
    assert 512 <= sum(scored) <= 1024, "those in front"
    scored.clear()
    frontier.rerank_all(rank)
    assert not scored, "but not again before the ring has turned"
    for turn in range(10):
        frontier.push([link(f"http://new.org/{turn}")])
        candidate = frontier.pop(turn)
        assert candidate is not None
        frontier.finish(candidate, turn, 1.0)
    assert scored == [64, 64], "some at every fifth turn of the ring"
    scored.clear()
    frontier.rerank_all(rank)
    assert 0 < sum(scored) <= 10 * 5, "and those in front as the turns have earned"


def test_links_in_front_are_read_from_the_log_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A strategy that learns every few pages asks for nearly the same links each time."""

    class Counting(MemoryFrontierLog):
        reads = 0

        def read_text(self, entry: int) -> bytes:
            self.reads += 1
            return super().read_text(entry)

    log = Counting()
    frontier = LinkFrontier(log, BestFirstOrder(), now=0.0)
    for page in range(100):
        frontier.push(link(f"http://h{n}.org/{page}", page / 100) for n in range(50))
        frontier.flush()
        frontier.confirm_flush()
    ranked: list[Link] = []

    def rank(links: Sequence[Link]) -> list[float]:
        ranked[:] = links
        return [1.0] * len(links)

    frontier.rerank_all(rank)
    before = log.reads
    monkeypatch.setattr(frontier._rerank, "_earned", 1024)
    frontier.rerank_all(rank)
    assert before > 0
    assert log.reads == before
    candidate = frontier.pop(0.0)
    assert candidate is not None
    assert log.reads == before, "and they are popped next"
    assert candidate.link == ranked[0], "the eldest, as all of them are worth the same"
    assert len(ranked) >= 50 * 8


def test_hosts_that_rest_are_in_front_too(frontier: LinkFrontier) -> None:
    """Good hosts are asked all the time, and rest nearly always."""
    frontier.push(link(f"http://h{n % 40}.org/{n}", n % 40 / 40) for n in range(4000))
    candidate = frontier.pop(0.0)
    assert candidate is not None
    frontier.finish(candidate, 0.0, 60.0)
    met: set[str] = set()

    def rank(links: Sequence[Link]) -> list[float]:
        met.update(one.url.split("/")[2] for one in links)
        return [0.5] * len(links)

    frontier.rerank_all(rank)
    assert "h39.org" in met


@pytest.mark.parametrize("most", [0, 1, 5, 40, 99])
def test_the_first_of_a_heap(most: int) -> None:
    heap = [n * 7919 % 101 for n in range(40)]
    heapify(heap)
    before = list(heap)
    assert smallest_items(heap, most) == sorted(heap)[:most]
    assert heap == before
