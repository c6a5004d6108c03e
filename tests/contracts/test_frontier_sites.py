"""One owner can have hosts and links without end; a frontier can bound what it takes of them."""

from __future__ import annotations

from math import inf

import pytest

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import BestFirstOrder
from honeyguide.protocols import Frontier
from honeyguide.types import Candidate, Link, Url
from tests.contracts.logs import MemoryFrontierLog


def link(url: str, score: float = 0.5, **more: object) -> Candidate:
    return Candidate(Link(Url(url), **more), score)  # type: ignore[arg-type]


def urls(frontier: LinkFrontier, now: float, most: int = 99) -> list[Candidate]:
    """Everything that can be had now."""
    return [c for _ in range(most) if (c := frontier.pop(now))]


def test_without_limits_nobody_is_turned_away() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder())
    assert frontier.push(link(f"http://h{n}.evil.org/") for n in range(500)) == 500
    assert len(urls(frontier, 0.0, 999)) == 500
    assert frontier.dropped == 0


def test_a_site_brings_so_many_links() -> None:
    log = MemoryFrontierLog()
    frontier = LinkFrontier(log, BestFirstOrder(), site_links=3)
    page = [link(f"http://h{n % 2}.evil.org/{n}") for n in range(5)]
    other = [link(f"http://other.org/{n}") for n in range(2)]
    assert frontier.push([*page, *other, page[0], page[4]]) == 5
    assert (len(frontier), frontier.dropped) == (5, 2)
    assert frontier.push(page) == 0, "what was dropped is not remembered, nor let in"
    assert frontier.dropped == 4
    candidates = {c.link.url: c for c in urls(frontier, 0.0)}
    assert candidates["http://h0.evil.org/0"].link.inlinks == 3
    for candidate in candidates.values():
        frontier.finish(candidate, 0.0, 0.0)
    assert frontier.push(page) == 0, "what is done counts too"
    frontier.flush()
    again = LinkFrontier(log, BestFirstOrder(), site_links=3)
    assert again.push([*page, link("http://other.org/9"), link("http://other.org/10")]) == 1
    assert again.dropped == 3


def test_what_would_be_dropped_is_not_wanted() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_links=2, site_hosts=1)
    frontier.push([link("http://a.evil.org/")])
    asked = ["http://a.evil.org/", "http://a.evil.org/2", "http://b.evil.org/", "http://b.org/"]
    assert frontier.still_wanted([Url(url) for url in asked]) == [True, True, False, True]
    frontier.push([link("http://a.evil.org/2")])
    assert frontier.still_wanted([Url("http://a.evil.org:8080/3")]) == [False]
    assert frontier.dropped == 2


def test_a_site_has_so_many_hosts() -> None:
    log = MemoryFrontierLog()
    frontier = LinkFrontier(log, BestFirstOrder(), site_hosts=2)
    assert frontier.push(link(f"http://h{n}.evil.co.uk/") for n in range(9)) == 2
    assert frontier.push([link("http://h1.evil.co.uk/2"), link("http://other.co.uk/")]) == 2
    assert frontier.dropped == 7
    frontier.flush()
    assert len(list(frontier.iter_hosts())) == 3
    again = LinkFrontier(log, BestFirstOrder(), site_hosts=2)
    assert again.push([link("http://h7.evil.co.uk/"), link("http://h0.evil.co.uk/3")]) == 1
    assert again.push([link("http://127.0.0.1/"), link("http://127.0.0.2/")]) == 2


def test_a_seed_is_always_taken_in() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_links=1, site_hosts=1)
    frontier.push([link("http://a.evil.org/")])
    assert frontier.push([link("http://a.evil.org/2", channel="seed")]) == 1
    assert frontier.push([link("http://b.evil.org/", channel="seed")]) == 1
    assert frontier.push([link("http://b.evil.org/2")]) == 0


def test_so_many_hosts_of_a_site_are_asked_at_once() -> None:
    frontier: Frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_busy=2)
    frontier.push(link(f"http://h{n}.one.org/", (9 - n) / 10) for n in range(5))
    frontier.push([link("http://two.org/", 0.01)])
    first, second, third = (frontier.pop(0.0) for _ in range(3))
    assert first is not None
    assert second is not None
    assert third is not None
    found = [first.link.url, second.link.url, third.link.url]
    assert found == ["http://h0.one.org/", "http://h1.one.org/", "http://two.org/"]
    assert frontier.pop(1.0) is None
    assert frontier.wake_at() == inf, "nothing is ready until one of them is back"
    frontier.finish(second, 1.0, 60.0)
    assert frontier.wake_at() == 0.0
    fourth = frontier.pop(1.0)
    assert fourth is not None
    assert fourth.link.url == "http://h2.one.org/", "the best of those who waited"
    assert frontier.pop(1.0) is None
    frontier.defer(first, 2.0, 0.0, 2.0)
    again = frontier.pop(2.0)
    assert again is not None
    assert again.link.url == "http://h0.one.org/"
    frontier.retry(again, 2.0, 5.0, 99.0)
    frontier.finish(fourth, 2.0, 5.0)
    left = [frontier.pop(2.0), frontier.pop(2.0)]
    assert [c.link.url for c in left if c] == ["http://h3.one.org/", "http://h4.one.org/"]


def test_who_waits_for_his_site_may_leave_the_line() -> None:
    """The best of those who waited can be parked, claimed or outrun meanwhile."""
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_busy=1)
    frontier.push(link(f"http://h{n}.one.org/", (9 - n) / 10) for n in range(5))
    first = frontier.pop(0.0)
    assert first is not None
    assert frontier.pop(0.0) is None
    frontier.park_host("h1.one.org", 500.0)
    assert frontier.claim_host("h2.one.org", 0.0) == 0.0, "a claim is not held up by its own site"
    frontier.push([link("http://h4.one.org/better", 0.95)])
    frontier.finish(first, 0.0, 0.0)
    assert frontier.pop(0.0) is None, "the claimed host counts"
    frontier.release_host("h2.one.org", 0.0, 10.0)
    second = frontier.pop(0.0)
    assert second is not None
    assert second.link.url == "http://h4.one.org/better"
    frontier.finish(second, 0.0, 10.0)
    third = frontier.pop(0.0)
    assert third is not None
    assert third.link.url == "http://h3.one.org/"
    frontier.finish(third, 0.0, 10.0)
    assert frontier.pop(0.0) is None
    assert frontier.wake_at() == 10.0


def test_a_host_whose_rest_ends_while_its_site_is_full() -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_busy=1)
    frontier.push([link("http://a.one.org/1", 0.9), link("http://a.one.org/2", 0.8)])
    frontier.push([link("http://b.one.org/1", 0.1)])
    first = frontier.pop(0.0)
    assert first is not None
    frontier.finish(first, 0.0, 5.0)
    second = frontier.pop(0.0)
    assert second is not None
    assert second.link.url == "http://b.one.org/1"
    assert frontier.pop(5.0) is None
    assert frontier.wake_at() == inf
    frontier.finish(second, 6.0, 1.0)
    third = frontier.pop(6.0)
    assert third is not None
    assert third.link.url == "http://a.one.org/2"


@pytest.mark.parametrize("busy", [1, 3])
def test_a_site_of_very_many_hosts_costs_no_scan(busy: int) -> None:
    frontier = LinkFrontier(MemoryFrontierLog(), BestFirstOrder(), site_busy=busy)
    frontier.push(link(f"http://h{n}.one.org/", n / 3000) for n in range(3000))
    steps = 0
    lend = frontier._heap._unblock_site

    def counted(site: object) -> None:
        nonlocal steps
        steps += 1
        lend(site)  # type: ignore[arg-type]

    frontier._heap._unblock_site = counted  # type: ignore[method-assign]
    order = []
    out: list[Candidate] = []
    for now in range(3000):
        out += urls(frontier, float(now), busy + 1)
        assert len(out) <= busy
        order.append(out[0].link.url)
        frontier.finish(out.pop(0), float(now), 1.0)
    assert order == [f"http://h{n}.one.org/" for n in range(2999, -1, -1)]
    assert steps < 20 * 3000
