"""The queue between threads: places are reserved, nobody waits for ever, everybody goes home."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from bench.watch.mtccdw import DocumentQueue, ThreadedSteps, run_two_stages


def admitted(queue: DocumentQueue[int], most: int) -> int:
    """How many producers may begin before one has to wait."""
    done: list[int] = []

    def ask() -> None:
        while len(done) < most and queue.reserve_place():
            done.append(1)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(0.1)
    queue.stop()
    thread.join()
    return len(done)


def test_the_exact_rule_counts_crawls_under_way() -> None:
    assert admitted(DocumentQueue(5, producers=100), 50) == 5
    queue: DocumentQueue[int] = DocumentQueue(5, producers=100)
    for document in range(3):
        assert queue.reserve_place()
        queue.put(document)
    assert queue.reserve_place()
    queue.release_place()
    assert admitted(queue, 50) == 2


def test_the_papers_rule_sets_a_place_aside_for_every_producer() -> None:
    """500 places and 100 producers: nobody begins once 401 documents wait."""

    def filled(documents: int) -> DocumentQueue[int]:
        queue: DocumentQueue[int] = DocumentQueue(500, producers=100, paper_rule=True)
        for document in range(documents):
            assert queue.reserve_place()
            queue.put(document)
        return queue

    assert admitted(filled(400), 1) == 1
    assert admitted(filled(401), 1) == 0
    with pytest.raises(ValueError, match="not enough for 100 producers"):
        DocumentQueue(99, producers=100, paper_rule=True)


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_consumers_end_after_the_last_producer() -> None:
    queue: DocumentQueue[int] = DocumentQueue(5, producers=2)
    taken: list[int | None] = []
    waiting = beside(lambda: taken.append(queue.take()))
    assert queue.reserve_place()
    queue.put(1)
    waiting.join(5)
    assert taken == [1]
    queue.remove_producer()
    waiting = beside(lambda: taken.append(queue.take()))
    waiting.join(0.05)
    assert waiting.is_alive()
    queue.remove_producer()
    waiting.join(5)
    assert taken == [1, None]


def test_what_waits_is_taken_before_the_end() -> None:
    queue: DocumentQueue[int] = DocumentQueue(5, producers=1)
    for document in range(3):
        assert queue.reserve_place()
        queue.put(document)
    queue.remove_producer()
    assert [queue.take() for _ in range(4)] == [0, 1, 2, None]


def test_a_released_place_is_for_the_next() -> None:
    queue: DocumentQueue[int] = DocumentQueue(1, producers=2)
    assert queue.reserve_place()
    got: list[bool] = []
    waiting = beside(lambda: got.append(queue.reserve_place()))
    waiting.join(0.05)
    assert not got
    queue.release_place()
    waiting.join(5)
    assert got == [True]


def test_a_stopped_queue_lets_everybody_go() -> None:
    queue: DocumentQueue[int] = DocumentQueue(1, producers=1)
    assert queue.reserve_place()
    queue.put(1)
    got: list[object] = []
    waiting = beside(lambda: got.append(queue.reserve_place()))
    queue.stop()
    waiting.join(5)
    assert got == [False]
    assert queue.take() is None


def test_the_papers_rule_wakes_every_producer_that_may_go() -> None:
    """Ten places, ten producers: one document less is room for all of them."""
    queue: DocumentQueue[int] = DocumentQueue(10, producers=10, paper_rule=True)
    assert queue.reserve_place()
    queue.put(0)
    through: list[bool] = []
    waiting = [beside(lambda: through.append(queue.reserve_place())) for _ in range(9)]
    waiting[0].join(0.05)
    assert not through
    assert queue.take() == 0
    for thread in waiting:
        thread.join(5)
    assert through == [True] * 9


def test_a_stage_needs_a_thread_and_a_queue_a_place() -> None:
    steps: ThreadedSteps[int, int, int, int] = ThreadedSteps(int, int, max, lambda _: None)
    with pytest.raises(ValueError, match="thread"):
        run_two_stages([1], steps, producers=0)
    with pytest.raises(ValueError, match="places"):
        run_two_stages([1], steps, capacity=0)
