"""When to come back: the price, the budget, turns of hosts, and the reasons given."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.types import Url
from honeyguide.watch.schedule.change_rate import DAY, ChangeRate
from honeyguide.watch.schedule.prices import HOUR, TokenBucket, WatchBudget, steer_towards
from honeyguide.watch.schedule.schedule import Schedule, describe_span

NOW = 1_700_000_000.0


def url(number: int) -> Url:
    return Url(f"https://h{number}.example/")


def known(per_day: float) -> ChangeRate:
    return ChangeRate(per_day, per_day / 2, per_day * 2)


def watching(
    rates: list[float], budget: WatchBudget, *, hosts: int = 10_000, now: float = NOW
) -> Schedule:
    schedule = Schedule(budget, now)
    for number, per_day in enumerate(rates):
        host = f"h{number % hosts}.example"
        schedule.add(url(number), host, rate=known(per_day), last=now - number * 60.0)
    return schedule


def spend_time(schedule: Schedule, days: float, now: float = NOW) -> list[tuple[float, Url]]:
    """All visits of that time; nothing takes any, and rates are known."""
    went, end, steps = [], now + days * DAY, 0
    while (woken := schedule.wake_at(now)) is not None and woken < end:
        assert woken >= now
        steps = steps + 1 if woken == now else 0
        assert steps < 1000, "it must not be asked in vain again and again"
        now = woken
        while (key := schedule.due(now)) is not None:
            went.append((now, key))
            schedule.visited(key, now)
    return went


def test_the_budget_is_kept_and_used() -> None:
    schedule = watching([0.5] * 400, WatchBudget(per_hour=50))
    went = spend_time(schedule, 4)
    assert 0.97 * 4 * 24 * 50 < len(went) <= 4 * 24 * 50 + 10
    for hour in range(96):
        start = NOW + hour * HOUR
        assert sum(start <= at < start + HOUR for at, _ in went) <= 61


def test_pages_that_change_more_are_visited_more_but_none_starves() -> None:
    rates = [0.01] * 50 + [0.3] * 50 + [30.0] * 50
    went = Counter(key for _, key in spend_time(watching(rates, WatchBudget(per_hour=20)), 20))
    slow, middle, fast = (sum(went[url(n)] for n in range(a, a + 50)) / 50 for a in (0, 50, 100))
    assert 1 <= slow < middle / 1.5 < fast
    assert fast < 10 * middle
    assert len(went) == 150


def test_weight_counts() -> None:
    schedule = watching([0.2] * 60, WatchBudget(per_hour=10))
    for number in range(30):
        schedule.add(url(number), f"h{number}.example", weight=20.0, rate=known(0.2), last=NOW)
    went = Counter(key for _, key in spend_time(schedule, 20))
    assert sum(went[url(n)] for n in range(30)) > 1.5 * sum(went[url(n)] for n in range(30, 60))


def test_a_backlog_after_a_long_silence_is_worked_off_by_value() -> None:
    schedule = Schedule(WatchBudget(per_hour=100), NOW)
    for number in range(2000):
        weight = 10.0 if number % 10 == 0 else 1.0
        schedule.add(url(number), f"h{number}", rate=known(0.2), weight=weight, last=NOW - 9 * DAY)
    first = [key for at, key in spend_time(schedule, 2 / 24)]
    assert len(first) >= 195
    heavy = sum(int(key[9:].split(".")[0]) % 10 == 0 for key in first)
    assert heavy > 0.9 * min(200, len(first))


def test_few_pages_are_not_hammered_however_large_the_budget() -> None:
    schedule = watching([50.0] * 3, WatchBudget(per_hour=100_000, shortest_s=600))
    went = spend_time(schedule, 1)
    assert len(went) <= 3 * 145
    for number in range(3):
        times = [at for at, key in went if key == url(number)]
        assert min(b - a for a, b in pairwise(times)) >= 600


def test_no_page_is_left_alone_for_longer_than_said() -> None:
    budget = WatchBudget(per_hour=10, longest_s=3 * DAY, value="fresh")
    schedule = watching([0.5] * 100 + [50.0], budget)
    times = [at for at, key in spend_time(schedule, 30) if key == url(100)]
    assert len(times) >= 8


def test_hosts_are_never_visited_twice_at_once() -> None:
    schedule = watching([20.0] * 40, WatchBudget(per_hour=3600, shortest_s=1), hosts=2)
    now, busy = NOW, {}
    for _ in range(400):
        while (key := schedule.due(now)) is not None:
            host = int(key[9:].split(".")[0]) % 2
            assert host not in busy
            busy[host] = key
        for host, key in list(busy.items()):
            schedule.visited(key, now + 0.5)
            del busy[host]
        now = max(now + 0.5, schedule.wake_at(now + 0.5) or 0)


def test_a_failure_is_tried_again_when_told_and_not_before() -> None:
    schedule = watching([1.0], WatchBudget())
    now = schedule.wake_at(NOW)
    assert now is not None
    while (key := schedule.due(now)) is None:
        now = schedule.wake_at(now) or now
    schedule.failed(key, now, again=7200)
    assert schedule.due(now + 7100) is None
    why = schedule.explain_visit(key, now + 1)
    assert why is not None
    assert "failed" in why.reason
    assert why.last == NOW
    went = spend_time(schedule, 1, now + 7200)
    assert went
    assert went[0][0] < now + 7200 + WatchBudget().period_s


def test_a_page_nobody_has_seen_is_due_at_once() -> None:
    schedule = watching([0.1] * 10, WatchBudget())
    spend_time(schedule, 0.1)
    schedule.add(url(99), "h99.example")
    now = NOW + 0.1 * DAY
    why = schedule.explain_visit(url(99), now)
    assert why is not None
    assert why.last is None
    assert why.next_at == now
    assert "it has not been visited" in why.reason
    assert schedule.due(now) == url(99)


def test_removed_pages_do_not_come() -> None:
    schedule = watching([5.0] * 20, WatchBudget(per_hour=200))
    schedule.remove(url(3))
    went = {key for _, key in spend_time(schedule, 1)}
    assert went == {url(n) for n in range(20)} - {url(3)}
    schedule.remove(url(5))
    went = {key for _, key in spend_time(schedule, 1, NOW + DAY)}
    assert url(4) in went
    assert not {url(3), url(5)} & went
    assert url(3) not in schedule
    assert len(schedule) == 18
    assert schedule.explain_visit(url(3), NOW) is None


def test_a_page_removed_during_its_visit_leaves_its_host_busy() -> None:
    schedule = watching([5.0] * 3, WatchBudget(), hosts=1)
    now = NOW
    while (key := schedule.due(now)) is None:
        now = schedule.wake_at(now) or now
    schedule.remove(key)
    for later in range(0, 90_000, 100):
        assert schedule.due(now + later) is None
    schedule.visited(key, now + 90_000)
    assert schedule.due(now + 90_001) is not None
    assert key not in schedule


def test_the_reason_names_rate_band_and_next_visit() -> None:
    schedule = watching([0.25] * 50, WatchBudget(per_hour=1))
    spend_time(schedule, 10)
    why = schedule.explain_visit(url(7), NOW + 10 * DAY)
    assert why is not None
    assert why.rate == known(0.25)
    assert why.next_at >= NOW + 10 * DAY
    assert "about every 4 days (2 days to 8 days)" in why.reason
    assert "the same value as one to any other page" in why.reason


def test_discovery_competes_in_the_same_currency() -> None:
    schedule = watching([0.2] * 400, WatchBudget(per_hour=4, unseen_days=30))
    spend_time(schedule, 20)
    now = NOW + 20 * DAY
    for unseen, least, most in ((0.0, 0.0, 0.0), (0.9, 0.4, 0.6), (1e-4, 0.0, 0.1)):
        found = Counter[str]()
        end = now + 20 * DAY
        while now < end:
            kind = schedule.choose_spending(now, unseen)
            found[str(kind)] += 1
            if kind == "discover":
                schedule.discovered(now)
            elif kind == "revisit":
                key = schedule.due(now)
                assert key is not None
                schedule.visited(key, now)
            now += 300
        total = found["discover"] + found["revisit"]
        assert 0.9 * 20 * 24 * 4 < total <= 20 * 24 * 4 + 10
        # A good link is worth more than a page seen some days ago, and takes half of the budget
        # at most; one that hardly leads anywhere is worth less.
        assert least * total <= found["discover"] <= most * total, unseen


def test_nothing_to_watch_is_nothing_to_wake_for() -> None:
    schedule = Schedule(WatchBudget(), NOW)
    assert schedule.wake_at(NOW) is None
    assert schedule.due(NOW) is None
    assert schedule.choose_spending(NOW) is None
    assert schedule.choose_spending(NOW, 1.0) == "discover"
    schedule.visited(url(1), NOW)
    schedule.failed(url(1), NOW, again=1)
    schedule.remove(url(1))


def test_pages_added_later_are_planned_at_once() -> None:
    schedule = Schedule(WatchBudget(per_hour=1), NOW)
    assert schedule.due(NOW) is None
    schedule.add(url(1), "h1.example", last=NOW - 50 * DAY)
    assert schedule.wake_at(NOW + 1) == NOW + 1
    assert schedule.due(NOW + 1) == url(1)


def test_steering_is_gentle() -> None:
    assert steer_towards(1.0, 100, 100) == 1.0
    assert steer_towards(1.0, 1e9, 1) == pytest.approx(1.35, abs=0.01)
    assert steer_towards(1.0, 0, 1e9) == pytest.approx(0.74, abs=0.01)
    assert steer_towards(2.0, 110, 100) == pytest.approx(2 * 1.1**0.5)


def test_the_bucket_saves_little() -> None:
    bucket = TokenBucket(3600, NOW)
    taken = 0
    while bucket.is_ready(NOW + 1e6):
        bucket.take(NOW + 1e6)
        taken += 1
    assert taken == 10
    assert bucket.ready_at(NOW + 1e6) == pytest.approx(NOW + 1e6 + 1)


def test_spans() -> None:
    assert [describe_span(s) for s in (0.2, 1, 90, 7200, 47 * 3600, 3 * DAY, 800 * DAY, 1e300)] == [
        "0 seconds", "1 second", "90 seconds", "2 hours", "47 hours", "3 days", "2 years", "ever",
    ]  # fmt: skip


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(("add", "remove", "due", "end", "fail", "new")),
        st.integers(0, 8),
        st.floats(0.001, 1e6),
    ),
    max_size=80,
)


@settings(max_examples=60, deadline=None)
@given(actions=ACTIONS, hosts=st.integers(1, 4))
def test_whatever_happens_no_host_is_visited_twice_at_once_and_no_page_lost(
    actions: list[tuple[str, int, float]], hosts: int
) -> None:
    schedule = Schedule(WatchBudget(per_hour=100), NOW)
    now, out = NOW, dict[Url, int]()
    active: set[Url] = set()
    for action, number, amount in actions:
        key, host = url(number), number % hosts
        if action == "add":
            schedule.add(key, str(host), rate=known(amount), weight=amount, last=now - amount)
            active.add(key)
        elif action == "new":
            schedule.add(key, str(host))
            active.add(key)
        elif action == "remove":
            schedule.remove(key)
            active.discard(key)
        elif action == "due":
            now += amount
            if (taken := schedule.due(now)) is not None:
                where = int(taken[9:].split(".")[0]) % hosts
                assert taken in active
                assert where not in out.values()
                out[taken] = where
        elif action in ("end", "fail") and key in out:
            del out[key]
            if action == "end":
                schedule.visited(key, now)
            else:
                # Within the hours that the end of this test looks at.
                schedule.failed(key, now, again=amount % 3600)
        assert schedule.wake_at(now) is None or schedule.wake_at(now) >= now  # type: ignore[operator]
    for key in out:
        schedule.visited(key, now)
    seen: set[Url] = set()
    for _ in range(3000):
        if seen >= active:
            break
        now = max(now, schedule.wake_at(now) or now)
        while (key2 := schedule.due(now)) is not None:
            assert key2 in active
            seen.add(key2)
            schedule.visited(key2, now)
    assert seen == active
