from __future__ import annotations

import math

import pytest

from honeyguide.crawl.stopping import StopConditions
from honeyguide.net.concurrency import memory_used
from honeyguide.net.politeness import DomainQuota, FailureStreaks


def test_memory_is_a_share() -> None:
    assert 0 <= memory_used() <= 1


def test_quota_grows_with_yield() -> None:
    quota = DomainQuota(base=10, bonus=5)
    quota.count_visits("trap.org", 10)
    assert quota.is_spent("trap.org")
    quota.count_visits("rich.org", 10, 1)
    assert not quota.is_spent("rich.org")
    quota.count_visits("rich.org", 5)
    assert quota.is_spent("rich.org")
    assert not DomainQuota(0).is_spent("any.org"), "0 means no limit"
    assert quota.domain_count() == 2


@pytest.mark.parametrize("status", [500, 503, 429])
def test_streaks_end_with_the_first_good_answer(status: int) -> None:
    streaks = FailureStreaks()
    assert streaks.record_failure("a.org", "dns") == 1
    assert streaks.record_failure("a.org", "wrong_type") == 1
    assert streaks.record_status("a.org", status) == 2
    assert streaks.record_status("a.org", 404) == 0
    assert streaks.record_failure("a.org", "connect") == 1


def test_enough_names_its_reason() -> None:
    free = [1e6]
    enough = StopConditions(pages=10, hours=0, free_mb=lambda: free[0], min_free_mb=200)
    assert enough.has_room(9)
    assert not enough.has_room(10)
    assert enough.stop_reason(9) == ""
    assert "crawl.pages" in enough.stop_reason(10)
    free[0] = 100
    assert enough.stop_reason(0) == "", "the disk is not asked every time"
    enough = StopConditions(pages=0, hours=0, free_mb=lambda: free[0], min_free_mb=200)
    assert enough.has_room(10**9)
    assert "100 MB" in enough.stop_reason(0)
    enough = StopConditions(pages=0, hours=1e-12, free_mb=lambda: math.inf, min_free_mb=200)
    assert "crawl.hours" in enough.stop_reason(0)
    enough.asked = True
    assert enough.stop_reason(0) == "you asked for it"
