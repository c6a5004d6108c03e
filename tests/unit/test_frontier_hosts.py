from __future__ import annotations

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.config.settings import PolitenessSettings
from honeyguide.net.politeness import HostDelayPolicy

seconds = st.floats(0.0, 1000.0)


@given(st.none() | seconds, seconds)
def test_a_rest_is_never_shortened(crawl_delay: float | None, elapsed: float) -> None:
    politeness = HostDelayPolicy(PolitenessSettings(), 1)
    rest = politeness.delay_after("a.org", crawl_delay, elapsed)
    least = max(1.0, min(2.0 * elapsed, 30.0), crawl_delay or 0.0)
    assert least <= rest <= 1.5 * least


def test_jitter_spreads_over_half_of_the_rest() -> None:
    politeness = HostDelayPolicy(PolitenessSettings(), 1)
    rests = [politeness.delay_after("a.org", None, 1.0) for _ in range(500)]
    assert min(rests) < 2.1
    assert max(rests) > 2.9
    again = HostDelayPolicy(PolitenessSettings(), 1)
    assert rests == [again.delay_after("a.org", None, 1.0) for _ in range(500)]


def test_a_crawl_delay_beyond_a_minute_is_for_parking() -> None:
    politeness = HostDelayPolicy(PolitenessSettings(), 1)
    assert [politeness.is_too_slow(d) for d in (None, 5.0, 60.0, 60.5, inf)] == [
        False, False, False, True, True,
    ]  # fmt: skip
    assert politeness.delay_after("a.org", 3600.0, 0.1) == 3600.0
    assert 60.0 <= politeness.delay_after("a.org", 60.0, 0.1) <= 90.0


@pytest.mark.parametrize("odd", [nan, -1.0, -inf])
def test_odd_numbers_do_no_harm(odd: float) -> None:
    politeness = HostDelayPolicy(PolitenessSettings(), 1)
    assert 1.0 <= politeness.delay_after("a.org", odd, 0.1) <= 1.5
    assert 1.0 <= politeness.delay_after("a.org", None, odd) <= 45.0
    assert 30.0 <= politeness.delay_after("a.org", None, inf) <= 45.0


def test_this_machine_and_the_lab_have_a_rest_of_their_own() -> None:
    fast = HostDelayPolicy(PolitenessSettings(loopback_delay_s=0.0), 1)
    assert fast.delay_after("127.0.0.1", None, 9.0) == 0.0
    assert fast.delay_after("a.org", None, 9.0, lab=True) == 0.0
    assert fast.delay_after("localhost", 2.0, 9.0) == 2.0
    assert fast.delay_after("a.org", None, 0.0) >= 1.0
    slow = HostDelayPolicy(PolitenessSettings(loopback_delay_s=4.0), 1)
    assert 4.0 <= slow.delay_after("[::1]", None, 0.1) <= 6.0
