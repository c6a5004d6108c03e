"""Pages wait for their host: one at a time, rested, and few hosts of a site at once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.net.host_queue import HostQueues
from honeyguide.types import Url
from honeyguide.watch.revisit_flow import DuePage


def page(host: str, number: int = 0) -> DuePage:
    return DuePage(Url(f"http://{host}/{number}"), number)


def site(host: str) -> str:
    return host.rpartition(".")[2]


def test_a_host_is_asked_one_page_at_a_time_and_rests() -> None:
    lanes = HostQueues[DuePage](site)
    lanes.add("a", page("a", 1))
    lanes.add("a", page("a", 2))
    lanes.add("b", page("b", 3))
    assert lanes.next_page(0) == ("a", page("a", 1))
    assert lanes.next_page(0) == ("b", page("b", 3))
    assert lanes.next_page(0) is None
    assert lanes.wake_at() is None
    lanes.release_host("a", 1, rest=5)
    assert lanes.next_page(5.9) is None
    assert lanes.wake_at() == 6
    assert lanes.next_page(6) == ("a", page("a", 2))
    assert len(lanes) == 0


def test_a_host_rests_also_for_pages_that_come_later() -> None:
    lanes = HostQueues[DuePage](site)
    lanes.add("a", page("a"))
    lanes.next_page(0)
    lanes.release_host("a", 0, rest=10)
    lanes.add("a", page("a", 1))
    assert lanes.next_page(9) is None
    assert lanes.next_page(10) is not None


def test_pages_go_back_to_the_front() -> None:
    lanes = HostQueues[DuePage](site)
    lanes.add("a", page("a", 1))
    lanes.add("a", page("a", 2))
    assert lanes.next_page(0) == ("a", page("a", 1))
    lanes.release_host("a", 0, rest=0)
    lanes.add("a", page("a", 1), front=True)
    assert lanes.next_page(0) == ("a", page("a", 1))


def test_a_claimed_host_is_busy() -> None:
    lanes = HostQueues[DuePage](site)
    assert lanes.claim_host("a", 0) == 0
    assert lanes.claim_host("a", 0) > 0
    lanes.add("a", page("a"))
    assert lanes.next_page(0) is None
    lanes.release_host("a", 1, rest=2)
    assert lanes.claim_host("a", 2) == 3
    assert lanes.next_page(3) is not None


def test_emptied_hosts_and_cleared_lanes_have_nothing() -> None:
    lanes = HostQueues[DuePage](site)
    for number in range(3):
        lanes.add("a", page("a", number))
    lanes.add("b", page("b"))
    assert [due.key for due in lanes.empty_host("a")] == [0, 1, 2]
    assert len(lanes) == 1
    assert lanes.next_page(0) == ("b", page("b"))
    lanes.add("c", page("c"))
    lanes.clear()
    assert len(lanes) == 0
    assert lanes.next_page(9) is None


@settings(max_examples=60, deadline=None)
@given(
    places=st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xy")), max_size=40),
    per_host=st.integers(1, 3),
    per_site=st.integers(1, 3),
    rests=st.lists(st.integers(0, 5), min_size=1, max_size=10),
)
def test_everybody_goes_once_and_no_host_or_site_is_hurried(
    places: list[tuple[str, str]], per_host: int, per_site: int, rests: list[int]
) -> None:
    lanes = HostQueues[DuePage](site, per_host=per_host, per_site=per_site)
    for number, (name, place) in enumerate(places):
        lanes.add(f"{name}.{place}", page(f"{name}.{place}", number))
    seen: list[int] = []
    busy: list[str] = []
    free: dict[str, float] = {}
    now, turn = 0.0, 0
    while len(seen) < len(places):
        while (taken := lanes.next_page(now)) is not None:
            name, due = taken
            assert free.get(name, 0) <= now
            seen.append(due.key)
            busy.append(name)
            assert busy.count(name) <= per_host
            assert len({other for other in busy if site(other) == site(name)}) <= per_site
        if busy:
            name, rest = busy.pop(turn % len(busy)), rests[turn % len(rests)]
            lanes.release_host(name, now, rest)
            free[name] = max(free.get(name, 0), now + rest)
        else:
            wake = lanes.wake_at()
            assert wake is not None
            now = max(now, wake)
        turn += 1
    assert sorted(seen) == list(range(len(places)))
    lanes.forget_idle(now)
