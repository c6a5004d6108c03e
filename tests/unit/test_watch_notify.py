"""Who is told of what, and when: rules, quiet hours, digests."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Change, PageEdit
from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.watch.notify.delivery import (
    NotifyRule,
    WaitingChange,
    due_time,
    is_wanted,
    parse_quiet_hours,
    quiet_until,
    ready_batches,
    time_zone,
    wake_at,
)

BERLIN = "Europe/Berlin"


def at(text: str, name: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(name)).timestamp()


def change(*edits: PageEdit, url: str = "https://www.example.org/news/1", **more: Any) -> Change:
    values: dict[str, Any] = {"at": 1000.0, "kinds": ("content",), "significance": 0.4, **more}
    return Change(Url(url), edits=edits, **values)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (NotifyRule("c"), True),
        (NotifyRule("c", kinds=("gone", "data")), False),
        (NotifyRule("c", significance=0.4), True),
        (NotifyRule("c", significance=0.41), False),
        (NotifyRule("c", pages=("example.org",)), True),
        (NotifyRule("c", pages=("*.example.org",)), True),
        (NotifyRule("c", pages=("ample.org", "example.com")), False),
        (NotifyRule("c", pages=("https://www.example.org/news/*",)), True),
        (NotifyRule("c", pages=("https://WWW.example.org/news/1",)), True),
        (NotifyRule("c", pages=("https://www.example.org/",)), False),
        (NotifyRule("c", words=("prices", "nothing")), True),
        (NotifyRule("c", words=("new price",)), True),
        (NotifyRule("c", words=("price new",)), False),
        (NotifyRule("c", words=("ticket",)), False),
    ],
)
def test_every_condition_must_hold(rule: NotifyRule, told: bool) -> None:
    edit = PageEdit("changed", "p", "A ticket costs 5", "A ticket costs 6: our new price!")
    assert is_wanted(rule, change(edit)) is told


def test_a_word_counts_when_it_comes_or_goes() -> None:
    rule = NotifyRule("c", words=("İstanbul",), language="tr")
    gone = PageEdit("removed", "p", "ISPARTA ve İSTANBUL", "")
    stays = PageEdit("changed", "p", "istanbul 1", "istanbul 2")
    moved = PageEdit("moved", "p", "istanbul", "istanbul")
    assert is_wanted(rule, change(gone))
    assert not is_wanted(rule, change(stays, moved))


def test_significance_is_not_asked_of_a_page_that_is_gone() -> None:
    rule = NotifyRule("c", significance=0.9)
    assert is_wanted(rule, change(kinds=("gone",), significance=0.0))
    assert not is_wanted(rule, change(kinds=("content", "links"), significance=0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": ("contents",)},
        {"significance": 1.1},
        {"significance": float("nan")},
        {"digest": "monthly"},
        {"hour": 24},
        {"weekday": "Monday"},
        {"quiet_hours": "22-7"},
        {"quiet_hours": "22:00-22:00"},
        {"quiet_hours": "24:00-07:00"},
        {"time_zone": "Europe"},
        {"time_zone": "Mars/Base"},
        {"time_zone": "../../etc/passwd"},
        {"time_zone": "a\0b"},
        {"words": ("!?",)},
        {"language": "English"},
    ],
)
def test_a_rule_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        NotifyRule("c", **wrong)


@pytest.mark.parametrize(
    ("rule", "found", "told"),
    [
        (NotifyRule("c"), "2026-01-15T23:30", "2026-01-15T23:30"),
        (NotifyRule("c", quiet_hours="22:00-07:00"), "2026-01-15T21:59", "2026-01-15T21:59"),
        (NotifyRule("c", quiet_hours="22:00-07:00"), "2026-01-15T22:00", "2026-01-16T07:00"),
        (NotifyRule("c", quiet_hours="22:00-07:00"), "2026-01-16T06:59", "2026-01-16T07:00"),
        (NotifyRule("c", quiet_hours="22:00-07:00"), "2026-01-16T07:00", "2026-01-16T07:00"),
        (NotifyRule("c", quiet_hours="12:00-14:00"), "2026-01-16T13:00", "2026-01-16T14:00"),
        (NotifyRule("c", digest="hourly"), "2026-01-15T10:00", "2026-01-15T11:00"),
        (NotifyRule("c", digest="hourly", quiet_hours="22:00-07:00"), "2026-01-15T21:30",
         "2026-01-16T07:00"),
        (NotifyRule("c", digest="daily"), "2026-01-15T07:59", "2026-01-15T08:00"),
        (NotifyRule("c", digest="daily"), "2026-01-15T08:00", "2026-01-16T08:00"),
        (NotifyRule("c", digest="daily", hour=6, quiet_hours="22:00-07:00"), "2026-01-15T23:00",
         "2026-01-16T07:00"),
        (NotifyRule("c", digest="weekly", weekday="friday"), "2026-01-15T12:00",
         "2026-01-16T08:00"),
        (NotifyRule("c", digest="weekly", weekday="friday"), "2026-01-16T09:00",
         "2026-01-23T08:00"),
        # The night in which the clock goes forward, and the one in which it goes back.
        (NotifyRule("c", quiet_hours="22:00-02:30"), "2026-03-28T23:00", "2026-03-29T03:30"),
        (NotifyRule("c", digest="daily"), "2026-03-28T09:00", "2026-03-29T08:00"),
        (NotifyRule("c", digest="daily"), "2026-10-24T09:00", "2026-10-25T08:00"),
    ],
)  # fmt: skip
def test_when_it_is_told(rule: NotifyRule, found: str, told: str) -> None:
    here = NotifyRule(
        **{name: getattr(rule, name) for name in rule.__slots__} | {"time_zone": BERLIN}
    )
    assert due_time(here, at(found)) == at(told)


def test_quiet_hours_end_where_the_clock_shows_the_hour_twice() -> None:
    first = at("2026-10-25T02:10")
    assert quiet_until("22:00-02:30", first, time_zone(BERLIN)) == first + 1200
    assert quiet_until("22:00-02:30", first + 3600, time_zone(BERLIN)) == first + 4800


ZONES = st.sampled_from(
    ["UTC", BERLIN, "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Cairo"]
)
MINUTES = st.integers(0, 24 * 60 - 1)


def clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


@given(MINUTES, MINUTES, ZONES, st.integers(0, 2_000_000_000))
def test_quiet_hours_end(start: int, end: int, name: str, now: int) -> None:
    if start == end:
        return
    quiet = f"{clock(start)}-{clock(end)}"
    until = quiet_until(quiet, now, time_zone(name))
    assert now <= until <= now + 26 * 3600
    if (start - end) % 1440 > 120:  # else the clock may be put over all that is not quiet
        assert quiet_until(quiet, until, time_zone(name)) == until


@given(
    st.sampled_from(["each", "hourly", "daily", "weekly"]),
    st.integers(0, 23),
    ZONES,
    st.sampled_from(["", "22:00-07:00", "09:00-17:30"]),
    st.floats(0, 4e9),
    st.floats(0, 1e6),
)
def test_what_is_found_later_is_told_no_earlier(
    digest: Any, hour: int, name: str, quiet: str, first: float, more: float
) -> None:
    rule = NotifyRule("c", digest=digest, hour=hour, time_zone=name, quiet_hours=quiet)
    assert first <= due_time(rule, first) <= due_time(rule, first + more)
    assert due_time(rule, first) <= first + 9 * 86400


@pytest.mark.parametrize("odd", [1e300, -1e300, float("inf"), float("nan")])
@pytest.mark.parametrize("digest", ["each", "daily", "weekly"])
def test_times_that_no_calendar_knows_do_no_harm(odd: float, digest: Any) -> None:
    rule = NotifyRule("c", digest=digest, quiet_hours="22:00-07:00", time_zone=BERLIN)
    assert isinstance(due_time(rule, odd), float)


def test_each_is_told_at_once_and_the_same_edit_once() -> None:
    footer = PageEdit("changed", "footer", "© 2025", "© 2026")
    pages = [change(footer, url=f"https://a.org/{n}") for n in range(40)]
    other = change(PageEdit("added", "p", "", "news"), url="https://b.org/")
    waiting = [WaitingChange(n, one) for n, one in enumerate([*pages, other])]
    assert [len(batch) for batch in ready_batches(NotifyRule("c"), waiting, 1000.0)] == [40, 1]
    assert ready_batches(NotifyRule("c"), waiting, 999.0) == []
    assert ready_batches(NotifyRule("c"), [], 1e9) == []


def test_a_flood_is_one_message() -> None:
    waiting = [
        WaitingChange(n, change(PageEdit("added", "p", "", f"news {n}"), url=f"https://a.org/{n}"))
        for n in range(11)
    ]
    assert len(ready_batches(NotifyRule("c"), waiting[:10], 1000.0)) == 10
    assert len(ready_batches(NotifyRule("c"), waiting, 1000.0)) == 1


def test_a_digest_waits_for_its_hour_and_takes_all() -> None:
    rule = NotifyRule("c", digest="daily", time_zone=BERLIN, quiet_hours="22:00-07:00")
    old = WaitingChange(1, change(at=at("2026-01-15T09:00")))
    young = WaitingChange(2, change(at=at("2026-01-16T07:59")))
    assert wake_at(rule, [young, old]) == at("2026-01-16T08:00")
    assert wake_at(rule, []) is None
    assert ready_batches(rule, [old, young], at("2026-01-16T07:59")) == []
    assert ready_batches(rule, [old, young], at("2026-01-16T08:00")) == [(old, young)]
    assert ready_batches(rule, [old, young], at("2026-01-16T23:00")) == [], "quiet again"


def test_what_weighs_too_little_is_not_wanted() -> None:
    rule = NotifyRule("c", significance=0.75)
    past = [change(significance=n / 10, url=f"https://a.org/{n}") for n in range(10)]
    assert [one.significance for one in past if is_wanted(rule, one)] == [0.8, 0.9]


@given(st.text(max_size=20))
def test_spans_are_read_or_refused(text: str) -> None:
    try:
        start, end = parse_quiet_hours(text)
    except ConfigError:
        return
    assert start != end
