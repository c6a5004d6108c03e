"""What a visit is worth: the formulas, their inverses, and the published optimum."""

from __future__ import annotations

import numpy as np
import pytest
from bench.revisit.study import balance_price
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.watch.schedule.prices import AGE, FRESH, SQRT, VALUES, VisitValue

EVERY = pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
RATES = st.floats(5e-4, 50)
WEIGHTS = st.floats(1e-3, 1e3)


def test_the_published_table_of_cho_and_garcia_molina() -> None:
    rates, ones = np.array([1.0, 2, 3, 4, 5]), np.ones(5)
    price = balance_price(FRESH, rates, ones, 5)
    visits = [round(1 / FRESH.wait(rate, 1.0, price), 2) for rate in rates.tolist()]
    assert visits == [1.15, 1.36, 1.35, 1.14, 0.0]


@EVERY
@given(rate=RATES, weight=WEIGHTS, days=st.floats(1e-3, 1e3))
def test_waiting_undoes_worth(value: VisitValue, rate: float, weight: float, days: float) -> None:
    if value is FRESH and rate * days > 15:
        return  # so near its bound that moments cannot be told apart
    worth = float(value.worth(rate, weight, days))
    assert value.wait(rate, weight, worth) == pytest.approx(days, rel=1e-5)


@EVERY
@given(rate=RATES, days=st.floats(1e-3, 1e3))
def test_worth_grows_with_time_and_weight(value: VisitValue, rate: float, days: float) -> None:
    assert value.worth(rate, 1.0, days * 1.5) >= value.worth(rate, 1.0, days) > 0
    assert value.worth(rate, 2.0, days) == pytest.approx(2 * value.worth(rate, 1.0, days))


def test_what_changes_too_fast_is_given_up_for_freshness_only() -> None:
    assert FRESH.wait(50.0, 1.0, 1.0) == np.inf
    assert AGE.wait(50.0, 1.0, 1.0) < 2
    assert SQRT.wait(50.0, 1.0, 1.0) == pytest.approx(0.2)


def test_age_is_the_gain_of_a_visit() -> None:
    """The derivative of the mean age by the frequency, from the definition of age itself."""
    rate, interval, step = 0.7, 2.0, 1e-4

    def mean_age(days: float) -> float:
        moments = np.linspace(0, days, 20_001)
        # Aged a at the moment t: it changed first a before, with density D·exp(-D(t - a)).
        ages = moments - (1 - np.exp(-rate * moments)) / rate
        return float(np.mean((ages[1:] + ages[:-1]) / 2))

    slope = (mean_age(interval + step) - mean_age(interval - step)) / (2 * step)
    assert AGE.worth(rate, 1.0, interval) == pytest.approx(slope * interval**2, rel=1e-4)


@EVERY
def test_a_balanced_price_spends_the_budget(value: VisitValue) -> None:
    rates = np.array([0.01, 0.1, 1.0, 10.0])
    weights = np.array([1.0, 5.0, 2.0, 1.0])
    price = balance_price(value, rates, weights, 3.0)
    pages = zip(rates.tolist(), weights.tolist(), strict=True)
    assert sum(1 / value.wait(*page, price) for page in pages) == pytest.approx(3.0, rel=1e-6)
