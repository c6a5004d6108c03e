"""How often pages change: beliefs, what looks teach, what siblings tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.types import Url
from honeyguide.watch.schedule.change_rate import (
    DAY,
    FASTEST,
    SLOWEST,
    START_BELIEF,
    Belief,
    RatePriors,
    estimate_rate,
    initial_belief,
    pack_belief,
    unpack_belief,
    update_belief,
    url_pattern,
)

NEWS = Url("https://example.org/news/2024/one.html")


def looks(changes: list[bool], days: float = 1.0, belief: Belief = START_BELIEF) -> Belief:
    for number, changed in enumerate(changes):
        now = (number + 1) * days * DAY
        belief = update_belief(
            belief, START_BELIEF, last=number * days * DAY, now=now, changed=float(changed)
        )
    return belief


@pytest.mark.parametrize("true", [0.1, 0.5, 1.0, 2.0])
def test_it_finds_the_rate(true: float) -> None:
    dice = np.random.default_rng(7)
    found = []
    for _ in range(40):
        now, belief = 0.0, START_BELIEF
        for _ in range(60):
            wait = dice.uniform(0.2, 3)
            changed = dice.random() < -math.expm1(-true * wait)
            new = now + wait * DAY
            belief = update_belief(
                belief, START_BELIEF, last=now, now=new, changed=changed, gamma=1.0
            )
            now = new
        found.append(math.log(estimate_rate(belief).per_day / true))
    assert abs(np.median(found)) < 0.15
    assert np.sqrt(np.mean(np.square(found))) < 0.6


def test_the_band_holds_the_truth_as_often_as_it_says() -> None:
    dice = np.random.default_rng(1)
    inside = 0
    for _ in range(300):
        true = math.exp(dice.uniform(math.log(0.01), math.log(5)))
        belief = START_BELIEF
        for n in range(20):
            changed = dice.random() < -math.expm1(-true)
            belief = update_belief(
                belief, START_BELIEF, last=n * DAY, now=(n + 1) * DAY, changed=changed, gamma=1.0
            )
        low, high = estimate_rate(belief).low, estimate_rate(belief).high
        inside += low <= true <= high
    assert 0.72 < inside / 300 < 0.9


def test_always_and_never_changed_stay_finite() -> None:
    never, always = estimate_rate(looks([False] * 200)), estimate_rate(looks([True] * 200))
    assert SLOWEST < never.per_day < 0.02
    assert 3 < always.per_day < FASTEST


def test_old_habits_are_forgotten() -> None:
    quiet = looks([False] * 100)
    lively = looks([True] * 15, belief=quiet)
    assert estimate_rate(lively).per_day > 30 * estimate_rate(quiet).per_day


def test_a_known_moment_says_more_than_that_it_changed() -> None:
    plain = update_belief(START_BELIEF, START_BELIEF, last=0, now=10 * DAY, changed=1.0)
    fresh = update_belief(
        START_BELIEF, START_BELIEF, last=0, now=10 * DAY, changed=1.0, modified=9.9 * DAY
    )
    early = update_belief(
        START_BELIEF, START_BELIEF, last=0, now=10 * DAY, changed=1.0, modified=0.5 * DAY
    )
    assert (
        estimate_rate(early).per_day < estimate_rate(plain).per_day < estimate_rate(fresh).per_day
    )
    band = estimate_rate(early)
    assert band.high / band.low < estimate_rate(plain).high / estimate_rate(plain).low


def test_times_that_cannot_be_are_not_believed() -> None:
    plain = update_belief(START_BELIEF, START_BELIEF, last=0, now=10 * DAY, changed=1.0)
    for modified in (-5 * DAY, 10 * DAY, 10 * DAY - 5, 11 * DAY, math.nan, math.inf):
        assert plain == update_belief(
            START_BELIEF, START_BELIEF, last=0, now=10 * DAY, changed=1.0, modified=modified
        )


def test_a_first_visit_learns_from_what_the_page_says_of_itself() -> None:
    old = estimate_rate(initial_belief(START_BELIEF, now=1000 * DAY, modified=0.0)).per_day
    new = estimate_rate(initial_belief(START_BELIEF, now=1000 * DAY, modified=999.9 * DAY)).per_day
    assert old < estimate_rate(START_BELIEF).per_day / 3 < new / 3
    for modified in (None, math.nan, 1000 * DAY - 1, 2000 * DAY):
        assert initial_belief(START_BELIEF, now=1000 * DAY, modified=modified) == START_BELIEF


def test_half_a_change_lies_between() -> None:
    none, half, whole = (
        estimate_rate(update_belief(START_BELIEF, START_BELIEF, last=0, now=DAY, changed=c)).per_day
        for c in (0.0, 0.5, 1.0)
    )
    assert none < half < whole


@given(
    belief=st.binary(max_size=80) | st.binary(min_size=64, max_size=64),
    last=st.floats(),
    now=st.floats(),
    changed=st.floats(),
    modified=st.none() | st.floats(),
)
def test_nothing_hostile_breaks_it(
    belief: bytes, last: float, now: float, changed: float, modified: float | None
) -> None:
    new = update_belief(belief, belief, last=last, now=now, changed=changed, modified=modified)
    begun = initial_belief(belief, now=now, modified=modified)
    for one in (new, begun):
        low, middle, high = (
            estimate_rate(one).low,
            estimate_rate(one).per_day,
            estimate_rate(one).high,
        )
        assert SLOWEST * 0.999 <= low <= middle <= high <= FASTEST * 1.001


@given(st.lists(st.tuples(st.booleans(), st.floats(1e-6, 1e4)), max_size=40))
def test_any_history_gives_a_belief_that_packs(history: list[tuple[bool, float]]) -> None:
    now, belief = 0.0, START_BELIEF
    for changed, days in history:
        belief = update_belief(
            belief, START_BELIEF, last=now, now=now + days * DAY, changed=float(changed)
        )
        now += days * DAY
    assert len(belief) == 64
    assert np.array_equal(unpack_belief(pack_belief(unpack_belief(belief))), unpack_belief(belief))


def test_patterns_of_addresses() -> None:
    assert url_pattern(NEWS) == "example.org/news/#/*"
    assert url_pattern(Url("https://example.org/")) == "example.org/*"
    assert (
        url_pattern(Url("https://example.org/a/b2/c/d/e/f?id=7&q=x")) == "example.org/a/#/c/*?id&q"
    )
    assert len(url_pattern(Url("https://example.org/" + "x" * 9000 + "/?" + "y" * 9000))) < 200


def test_a_new_page_is_like_its_siblings() -> None:
    priors = RatePriors()
    assert estimate_rate(priors.prior_for(NEWS)).per_day == pytest.approx(
        estimate_rate(START_BELIEF).per_day, rel=1e-2
    )
    for n in range(20):
        priors.learn(Url(f"https://example.org/news/{n}/x.html"), looks([True] * 10))
        priors.learn(Url(f"https://example.org/law/{n}/x.html"), looks([False] * 30))
    news = estimate_rate(priors.prior_for(NEWS)).per_day
    law = estimate_rate(priors.prior_for(Url("https://example.org/law/77/y.html"))).per_day
    other = estimate_rate(priors.prior_for(Url("https://example.org/shop/y.html"))).per_day
    elsewhere = estimate_rate(priors.prior_for(Url("https://example.net/news/1/y.html"))).per_day
    assert law < other < news
    assert elsewhere == pytest.approx(estimate_rate(START_BELIEF).per_day, rel=1e-2)


def test_a_page_counts_once_however_often_it_is_told() -> None:
    often, once = RatePriors(), RatePriors()
    old = b""
    for n in range(1, 30):
        new = looks([True] * n)
        often.learn(NEWS, new, old)
        old = new
    once.learn(NEWS, old)
    assert estimate_rate(often.prior_for(NEWS)).per_day == pytest.approx(
        estimate_rate(once.prior_for(NEWS)).per_day, rel=1e-2
    )


def test_all_at_once_is_the_same_as_one_by_one() -> None:
    pages = [(Url(f"https://h{n % 3}.example/p/{n}"), looks([n % 2 == 0] * 5)) for n in range(50)]
    one, all_ = RatePriors(), RatePriors()
    for url, belief in pages:
        one.learn(url, belief)
    all_.learn_all(pages)
    assert all(one.prior_for(url) == all_.prior_for(url) for url, _ in pages)


def test_priors_are_bounded() -> None:
    priors = RatePriors(most=100)
    priors.learn_all((Url(f"https://h{n}.example/"), START_BELIEF) for n in range(5000))
    assert len(priors) <= 100
    for n in range(500):
        priors.learn(Url(f"https://g{n}.example/"), START_BELIEF)
        priors.learn(Url(f"https://h{n}.example/"), looks([True]), START_BELIEF)
    assert len(priors) <= 100
    assert estimate_rate(priors.prior_for(Url("https://h499.example/"))).per_day > 0
