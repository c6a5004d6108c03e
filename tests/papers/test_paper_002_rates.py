"""Meegahapola et al. detect changes to learn how often pages change: in rounds of equal length."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bench.revisit.study import cho_garcia_molina


def test_the_formula() -> None:
    assert cho_garcia_molina(10, 4, 2.0) == pytest.approx(-math.log(6.5 / 10.5) / 2.0)


def test_no_infinities_where_all_or_nothing_changed() -> None:
    assert cho_garcia_molina(10, 0, 1.0) == 0.0
    assert cho_garcia_molina(10, 10, 1.0) == pytest.approx(math.log(21))
    assert cho_garcia_molina(10, 99, 1.0) == cho_garcia_molina(10, 10, 1.0)


def test_nothing_was_seen() -> None:
    assert cho_garcia_molina(0, 0, 1.0) == 0.0
    assert cho_garcia_molina(5, 1, 0.0) == 0.0


@pytest.mark.parametrize("true", [0.1, 1.0, 2.0])
def test_it_is_hardly_biased_where_the_naive_count_is(true: float) -> None:
    dice = np.random.default_rng(3)
    changes = dice.binomial(50, -math.expm1(-true), 2000)
    found = np.mean([cho_garcia_molina(50, int(x), 1.0) for x in changes])
    assert found == pytest.approx(true, rel=0.03)
    if true >= 1:
        assert np.mean(changes) / 50 < 0.7 * true
