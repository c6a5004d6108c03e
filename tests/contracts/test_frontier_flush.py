"""A transaction can fail after the frontier wrote into it; memory and log agree all the same."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog
from tests.contracts.test_frontier import drain, link


class Full(Exception):
    pass


def fail(store: Store, frontier: LinkFrontier) -> None:
    """The transaction is rolled back after all was written."""
    with suppress(Full), store.transaction():
        frontier.flush()
        raise Full


def keep(store: Store, frontier: LinkFrontier) -> None:
    with store.transaction():
        frontier.flush()
    frontier.confirm_flush()


def told(frontier: LinkFrontier) -> list[tuple[Link, float, float, int]]:
    return [(c.link, c.score, c.initial_score, c.tries) for c in drain(frontier, 1000.0)]


def events(frontier: LinkFrontier, batch: int) -> None:
    """Something of everything that a log tells."""
    now = batch * 10.0
    frontier.push(
        link(f"http://h{n % 4}.org/{batch}-{n}", n / 8, anchor=f"{n}", inlinks=1 + n % 3)
        for n in range(7)
    )
    frontier.push([link("http://h1.org/0-1", 0.9), link("http://h2.org/0-2", 0.1)])
    first, second = frontier.pop(now), frontier.pop(now)
    assert first is not None
    assert second is not None
    frontier.finish(first, now, 1.0)
    frontier.retry(second, now, 1.0, now + 5.0)
    frontier.park_host(f"p{batch}.org", 900.0)


@pytest.mark.parametrize("pattern", ["f", "ff", "fk", "kf", "ffk", "kffkfk", "fkfkff"])
def test_what_a_failed_transaction_lost_is_written_again(tmp_path: Path, pattern: str) -> None:
    with Store.open(tmp_path / "good", "crawl") as store:
        honest = LinkFrontier(store.frontier_log, BestFirstOrder())
        for batch in range(len(pattern)):
            events(honest, batch)
        keep(store, honest)
        expected = told(LinkFrontier(store.frontier_log, BestFirstOrder(), now=1000.0))
    with Store.open(tmp_path / "bad", "crawl") as store:
        frontier = LinkFrontier(store.frontier_log, BestFirstOrder())
        for batch, act in enumerate(pattern):
            events(frontier, batch)
            (fail if act == "f" else keep)(store, frontier)
        keep(store, frontier)
        reopened = LinkFrontier(store.frontier_log, BestFirstOrder(), now=1000.0)
        assert told(reopened) == expected
        assert sorted(told(frontier)) == sorted(expected), "memory and log agree"
        names = [view.host for view in reopened.iter_hosts()]
        assert len(names) == len(set(names)) == 4 + len(pattern)


def test_links_stay_readable_whatever_became_of_their_transaction(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        frontier = LinkFrontier(store.frontier_log, BestFirstOrder())
        frontier.push(link(f"http://h{n}.org/", 1 - n / 10) for n in range(9))
        fail(store, frontier)
        frontier.push([link("http://late.org/", 0.01)])
        popped = [frontier.pop(0.0), frontier.pop(0.0)]
        keep(store, frontier)
        popped += [frontier.pop(0.0) for _ in range(8)]
        assert [c.link.url for c in popped if c] == [
            *(f"http://h{n}.org/" for n in range(9)), "http://late.org/",
        ]  # fmt: skip


def test_a_flush_that_breaks_half_way_keeps_everything(tmp_path: Path) -> None:
    with Store.open(tmp_path, "crawl") as store:
        frontier = LinkFrontier(store.frontier_log, BestFirstOrder())
        frontier.push(link(f"http://h{n % 5}.org/{n}") for n in range(9000))
        append, calls = store.frontier_log.append, 0

        def breaking(index: bytes, text: bytes) -> int:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise Full
            return append(index, text)

        store.frontier_log.append = breaking  # type: ignore[method-assign]
        with pytest.raises(Full), store.transaction():
            frontier.flush()
        assert list(store.frontier_log.scan_entries()) == []
        keep(store, frontier)
        assert len(LinkFrontier(store.frontier_log, BestFirstOrder())) == 9000


def test_a_flush_alone_is_settled_by_the_next() -> None:
    log = MemoryFrontierLog()
    frontier = LinkFrontier(log, BestFirstOrder())
    for n in range(5):
        frontier.push([link(f"http://h{n}.org/"), link("http://h0.org/")])
        frontier.flush()
    frontier.flush()
    assert len(list(log.scan_entries())) == 5
    again = LinkFrontier(log, BestFirstOrder())
    assert [c.link.inlinks for c in drain(again)] == [6, 1, 1, 1, 1]
    assert frontier._links.written == 5
    assert frontier._links.fresh == []


def test_confirming_without_a_flush_does_nothing() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder())
    frontier.confirm_flush()
    frontier.push([Candidate(Link(Url("http://a.org/")), 0.5)])
    frontier.confirm_flush()
    frontier.flush()
    frontier.confirm_flush()
    frontier.confirm_flush()
    assert len(frontier) == 1
