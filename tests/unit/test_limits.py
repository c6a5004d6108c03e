from __future__ import annotations

import math

import pytest

from honeyguide.crawl.limits import Breath, Enough, Quota, Streaks, memory_used


def test_breath_grows_and_falls() -> None:
    breath = Breath(32)
    assert breath.limit == 8
    for _ in range(10):
        breath.adapt(0.0, 0.3)
    assert breath.limit == 32
    breath.adapt(0.5, 0.3)
    assert breath.limit == 21
    for _ in range(20):
        breath.adapt(0.0, 0.95)
    assert breath.limit == 1, "short of memory, but never at a stand-still"
    assert Breath(3).limit == 3


def test_memory_is_a_share() -> None:
    assert 0 <= memory_used() <= 1


def test_quota_grows_with_yield() -> None:
    quota = Quota(base=10, bonus=5)
    quota.count("trap.org", 10)
    assert quota.spent("trap.org")
    quota.count("rich.org", 10, 1)
    assert not quota.spent("rich.org")
    quota.count("rich.org", 5)
    assert quota.spent("rich.org")
    assert not Quota(0).spent("any.org"), "0 means no limit"
    assert quota.domains() == 2


@pytest.mark.parametrize("status", [500, 503, 429])
def test_streaks_end_with_the_first_good_answer(status: int) -> None:
    streaks = Streaks()
    assert streaks.fail("a.org", "dns") == 1
    assert streaks.fail("a.org", "wrong_type") == 1
    assert streaks.after("a.org", status) == 2
    assert streaks.after("a.org", 404) == 0
    assert streaks.fail("a.org", "connect") == 1


def test_enough_names_its_reason() -> None:
    free = [1e6]
    enough = Enough(pages=10, hours=0, free_mb=lambda: free[0], min_free_mb=200)
    assert enough.room(9)
    assert not enough.room(10)
    assert enough.reason(9) == ""
    assert "crawl.pages" in enough.reason(10)
    free[0] = 100
    assert enough.reason(0) == "", "the disk is not asked every time"
    enough = Enough(pages=0, hours=0, free_mb=lambda: free[0], min_free_mb=200)
    assert enough.room(10**9)
    assert "100 MB" in enough.reason(0)
    enough = Enough(pages=0, hours=1e-12, free_mb=lambda: math.inf, min_free_mb=200)
    assert "crawl.hours" in enough.reason(0)
    enough.asked = True
    assert enough.reason(0) == "you asked for it"
