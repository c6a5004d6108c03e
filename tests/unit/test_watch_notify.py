"""Who is told of what, and when: rules, quiet hours, digests."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.change import Change, Edit
from honeyguide.errors import ConfigError
from honeyguide.types import Url
from honeyguide.watch.telling.notify import (
    Rule,
    Waiting,
    due,
    ready,
    unwanted,
    wake_at,
    wanted,
    would_have,
)
from honeyguide.watch.telling.quiet_hours import quiet_until, span, zone

BERLIN = "Europe/Berlin"


def at(text: str, name: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(name)).timestamp()


def change(*edits: Edit, url: str = "https://www.example.org/news/1", **more: Any) -> Change:
    values: dict[str, Any] = {"at": 1000.0, "kinds": ("content",), "significance": 0.4, **more}
    return Change(Url(url), edits=edits, **values)


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (Rule("c"), True),
        (Rule("c", kinds=("gone", "data")), False),
        (Rule("c", significance=0.4), True),
        (Rule("c", significance=0.41), False),
        (Rule("c", pages=("example.org",)), True),
        (Rule("c", pages=("*.example.org",)), True),
        (Rule("c", pages=("ample.org", "example.com")), False),
        (Rule("c", pages=("https://www.example.org/news/*",)), True),
        (Rule("c", pages=("https://WWW.example.org/news/1",)), True),
        (Rule("c", pages=("https://www.example.org/",)), False),
        (Rule("c", words=("prices", "nothing")), True),
        (Rule("c", words=("new price",)), True),
        (Rule("c", words=("price new",)), False),
        (Rule("c", words=("ticket",)), False),
    ],
)
def test_every_condition_must_hold(rule: Rule, told: bool) -> None:
    edit = Edit("changed", "p", "A ticket costs 5", "A ticket costs 6: our new price!")
    assert wanted(rule, change(edit)) is told
    assert bool(unwanted(rule, change(edit))) is not told


def test_a_word_counts_when_it_comes_or_goes() -> None:
    rule = Rule("c", words=("İstanbul",), language="tr")
    gone = Edit("removed", "p", "ISPARTA ve İSTANBUL", "")
    stays = Edit("changed", "p", "istanbul 1", "istanbul 2")
    moved = Edit("moved", "p", "istanbul", "istanbul")
    assert wanted(rule, change(gone))
    assert not wanted(rule, change(stays, moved))


def test_significance_is_not_asked_of_a_page_that_is_gone() -> None:
    rule = Rule("c", significance=0.9)
    assert wanted(rule, change(kinds=("gone",), significance=0.0))
    assert not wanted(rule, change(kinds=("content", "links"), significance=0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kinds": ("contents",)},
        {"significance": 1.1},
        {"significance": float("nan")},
        {"digest": "monthly"},
        {"hour": 24},
        {"weekday": "Monday"},
        {"quiet": "22-7"},
        {"quiet": "22:00-22:00"},
        {"quiet": "24:00-07:00"},
        {"zone": "Europe"},
        {"zone": "Mars/Base"},
        {"zone": "../../etc/passwd"},
        {"zone": "a\0b"},
        {"words": ("!?",)},
        {"language": "English"},
    ],
)
def test_a_rule_that_cannot_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Rule("c", **wrong)


@pytest.mark.parametrize(
    ("rule", "found", "told"),
    [
        (Rule("c"), "2026-01-15T23:30", "2026-01-15T23:30"),
        (Rule("c", quiet="22:00-07:00"), "2026-01-15T21:59", "2026-01-15T21:59"),
        (Rule("c", quiet="22:00-07:00"), "2026-01-15T22:00", "2026-01-16T07:00"),
        (Rule("c", quiet="22:00-07:00"), "2026-01-16T06:59", "2026-01-16T07:00"),
        (Rule("c", quiet="22:00-07:00"), "2026-01-16T07:00", "2026-01-16T07:00"),
        (Rule("c", quiet="12:00-14:00"), "2026-01-16T13:00", "2026-01-16T14:00"),
        (Rule("c", digest="hourly"), "2026-01-15T10:00", "2026-01-15T11:00"),
        (Rule("c", digest="hourly", quiet="22:00-07:00"), "2026-01-15T21:30", "2026-01-16T07:00"),
        (Rule("c", digest="daily"), "2026-01-15T07:59", "2026-01-15T08:00"),
        (Rule("c", digest="daily"), "2026-01-15T08:00", "2026-01-16T08:00"),
        (Rule("c", digest="daily", hour=6, quiet="22:00-07:00"), "2026-01-15T23:00",
         "2026-01-16T07:00"),
        (Rule("c", digest="weekly", weekday="friday"), "2026-01-15T12:00", "2026-01-16T08:00"),
        (Rule("c", digest="weekly", weekday="friday"), "2026-01-16T09:00", "2026-01-23T08:00"),
        # The night in which the clock goes forward, and the one in which it goes back.
        (Rule("c", quiet="22:00-02:30"), "2026-03-28T23:00", "2026-03-29T03:30"),
        (Rule("c", digest="daily"), "2026-03-28T09:00", "2026-03-29T08:00"),
        (Rule("c", digest="daily"), "2026-10-24T09:00", "2026-10-25T08:00"),
    ],
)  # fmt: skip
def test_when_it_is_told(rule: Rule, found: str, told: str) -> None:
    here = Rule(**{name: getattr(rule, name) for name in rule.__slots__} | {"zone": BERLIN})
    assert due(here, at(found)) == at(told)


def test_quiet_hours_end_where_the_clock_shows_the_hour_twice() -> None:
    first = at("2026-10-25T02:10")
    assert quiet_until("22:00-02:30", first, zone(BERLIN)) == first + 1200
    assert quiet_until("22:00-02:30", first + 3600, zone(BERLIN)) == first + 4800


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
    until = quiet_until(quiet, now, zone(name))
    assert now <= until <= now + 26 * 3600
    if (start - end) % 1440 > 120:  # else the clock may be put over all that is not quiet
        assert quiet_until(quiet, until, zone(name)) == until


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
    rule = Rule("c", digest=digest, hour=hour, zone=name, quiet=quiet)
    assert first <= due(rule, first) <= due(rule, first + more)
    assert due(rule, first) <= first + 9 * 86400


@pytest.mark.parametrize("odd", [1e300, -1e300, float("inf"), float("nan")])
@pytest.mark.parametrize("digest", ["each", "daily", "weekly"])
def test_times_that_no_calendar_knows_do_no_harm(odd: float, digest: Any) -> None:
    rule = Rule("c", digest=digest, quiet="22:00-07:00", zone=BERLIN)
    assert isinstance(due(rule, odd), float)


def test_each_is_told_at_once_and_the_same_edit_once() -> None:
    footer = Edit("changed", "footer", "© 2025", "© 2026")
    pages = [change(footer, url=f"https://a.org/{n}") for n in range(40)]
    other = change(Edit("added", "p", "", "news"), url="https://b.org/")
    waiting = [Waiting(n, one) for n, one in enumerate([*pages, other])]
    assert [len(batch) for batch in ready(Rule("c"), waiting, 1000.0)] == [40, 1]
    assert ready(Rule("c"), waiting, 999.0) == []
    assert ready(Rule("c"), [], 1e9) == []


def test_a_flood_is_one_message() -> None:
    waiting = [
        Waiting(n, change(Edit("added", "p", "", f"news {n}"), url=f"https://a.org/{n}"))
        for n in range(11)
    ]
    assert len(ready(Rule("c"), waiting[:10], 1000.0)) == 10
    assert len(ready(Rule("c"), waiting, 1000.0)) == 1


def test_a_digest_waits_for_its_hour_and_takes_all() -> None:
    rule = Rule("c", digest="daily", zone=BERLIN, quiet="22:00-07:00")
    old = Waiting(1, change(at=at("2026-01-15T09:00")))
    young = Waiting(2, change(at=at("2026-01-16T07:59")))
    assert wake_at(rule, [young, old]) == at("2026-01-16T08:00")
    assert wake_at(rule, []) is None
    assert ready(rule, [old, young], at("2026-01-16T07:59")) == []
    assert ready(rule, [old, young], at("2026-01-16T08:00")) == [(old, young)]
    assert ready(rule, [old, young], at("2026-01-16T23:00")) == [], "quiet again"


def test_a_rule_is_tried_on_the_past() -> None:
    past = [change(significance=n / 10, url=f"https://a.org/{n}") for n in range(10)]
    trial = would_have(Rule("c", significance=0.75), past)
    assert [one.significance for one in trial.told] == [0.8, 0.9]
    assert len(trial.kept) == 8
    assert trial.kept[0][1] == "significance 0.00 is under 0.75"


@given(st.text(max_size=20))
def test_spans_are_read_or_refused(text: str) -> None:
    try:
        start, end = span(text)
    except ConfigError:
        return
    assert start != end
