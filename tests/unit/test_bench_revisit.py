"""The lab's web of changing pages, and rules by which crawlers come back to them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from bench.revisit.__main__ import main
from bench.revisit.study import (
    REVISIT_RULES,
    ChangingWeb,
    KnownRates,
    RevisitStudy,
    SimulatedVisits,
    make_changing_web,
    measure_visits,
    simulate_visits,
)

from honeyguide.errors import ConfigError
from honeyguide.watch.schedule.prices import AGE


def world(changes: dict[int, list[float]], days: float = 10.0, pages: int = 2) -> ChangingWeb:
    keys = sorted(page * (days + 1) + at for page, times in changes.items() for at in times)
    return ChangingWeb(
        np.ones(pages), np.array([1.0, 3.0])[:pages], days, np.array([*keys, np.inf])
    )


def test_the_figures_of_a_web_that_can_be_worked_out_by_hand() -> None:
    # Page 0 changes on day 6 and is seen on day 8; page 1 on days 1 and 9, and is seen on day 4.
    web = world({0: [6.0], 1: [1.0, 9.0]})
    figures = measure_visits(web, SimulatedVisits(np.array([1, 0]), np.array([4.0, 8.0])))
    assert figures.fresh == pytest.approx(1 - (2 + 1) / 10)
    assert figures.fresh_weighted == pytest.approx(1 - (2 + 3 * 1) / 20)
    assert figures.age == pytest.approx((2 + 0.5) / 10)
    assert figures.age_weighted == pytest.approx((2 + 3 * 0.5) / 20)
    assert figures.delay == pytest.approx(2.0)
    assert figures.caught == pytest.approx(1 / 2)
    assert figures.starved == pytest.approx(1 / 2)
    assert figures.visits == pytest.approx(1 / 10)


def test_what_was_stale_before_the_second_half_is_older_in_it() -> None:
    figures = measure_visits(
        world({0: [3.0]}, pages=1), SimulatedVisits(np.array([0]), np.array([7.0]))
    )
    assert figures.age == pytest.approx((4**2 - 2**2) / 2 / 5)
    assert figures.fresh == pytest.approx(1 - 2 / 5)


def test_pages_change_as_often_as_their_rates_say() -> None:
    web = make_changing_web(pages=300, days=100, seed=3)
    counts = np.bincount((web.changes[:-1] // web.span).astype(int), minlength=300)
    often = web.rates > 0.5
    assert np.median(counts[often] / (100 * web.rates[often])) == pytest.approx(1, abs=0.05)
    assert web.rates.max() <= 24
    assert np.median(web.rates) == pytest.approx(0.1, rel=0.3)


def test_the_same_seed_makes_the_same_web() -> None:
    assert np.array_equal(
        make_changing_web(50, 20, 5).changes, make_changing_web(50, 20, 5).changes
    )
    assert not np.array_equal(
        make_changing_web(50, 20, 5).changes, make_changing_web(50, 20, 6).changes
    )


def test_choosing_several_at_once_changes_no_figure() -> None:
    web = make_changing_web(pages=800, days=20, seed=2)
    rules = (simulate_visits(web, KnownRates(web, AGE.worth), 0.3, batch=n) for n in (1, 8))
    one, eight = (measure_visits(web, visits).age_weighted for visits in rules)
    assert eight == pytest.approx(one, rel=0.02)


@pytest.mark.parametrize("rule", REVISIT_RULES)
def test_every_rule_has_the_same_budget(rule: str) -> None:
    web = make_changing_web(pages=100, days=30, seed=1)
    visits = REVISIT_RULES[rule](web, 0.5)
    assert 0.93 * 100 * 30 * 0.5 <= len(visits.at) <= 100 * 30 * 0.5 + 10
    assert np.all(np.diff(visits.at) >= 0)


def test_ours_is_better_than_uniform_and_others_worse() -> None:
    results = RevisitStudy(
        ("nutch", "age-known", "age", "watch"), seeds=1, pages=200, days=60
    ).run()
    assert results.age_gain("age-known").mean > 0.3
    assert results.age_gain("age").mean > 0.2
    assert results.age_gain("watch").mean > 0.2
    assert results.age_gain("nutch").mean < -0.5
    assert results.age_gain("uniform").mean == 0


def test_after_a_drift_what_was_learned_is_better_than_what_was_known() -> None:
    results = RevisitStudy(("age-known", "age"), seeds=1, pages=200, days=120, drift=40).run()
    assert results.age_gain("age-known").mean < 0 < results.age_gain("age").mean


@pytest.mark.parametrize(
    "wrong", [{"rules": ("nutsch",)}, {"days": 0.0}, {"pages": 10**9}, {"drift": 500.0}]
)
def test_a_study_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        RevisitStudy(**wrong)  # type: ignore[arg-type]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    size = ["--pages", "60", "--days", "30", "--seeds", "2"]
    main(["uniform", "age", *size, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert set(told) == {"uniform", "age"}
    assert len(told["age"]["seeds"]) == 2
    main(["age", *size])
    assert "| value `age`, rates learned |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nutsch"])
    assert "nutsch" in capsys.readouterr().err
