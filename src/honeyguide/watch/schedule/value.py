"""What a visit is worth: three answers, and after how long each of them is worth its price.

A page changes as a Poisson process at a rate D a day, counts with a weight µ, and was last seen τ
days ago; x = Dτ. Where every page is visited at equal intervals and no visit could be moved to
another page with profit, all pages are visited at the same value V, the price of a visit (λ):

    fresh    V = µ/D · g(x)              the most copies that are up to date
    age      V = µ/D² · (x²/2 - g(x))    the least mean age of copies: changes are told soonest
    sqrt     V = µ/D · x²/2              every hour of every missed change counts: f ~ √(µD)

with g(x) = 1 - e⁻ˣ(1 + x). The first is the optimum of Cho and Garcia-Molina (2003); it is bounded
by µ/D, so it never again visits what changes too fast, and is not for those who wait for news. The
other two grow without bounds: no page starves. Days everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Numbers = Floats | float
ValueName = Literal["age", "fresh", "sqrt"]

_SMALL = 0.03
"""Below it, x²/2 - g(x) would drown in rounding: a series stands in."""
_STEPS = 40
"""Newton's method ends after five or so; a bound, because no input may hang us."""
_CLOSE = 1e-12


class VisitValue(NamedTuple):
    """A value of visits. ``worth`` and ``waits`` take arrays, ``wait`` numbers."""

    name: ValueName
    worth: Callable[[Numbers, Numbers, Numbers], Floats]
    """(rate, weight, days since the last visit) → V."""
    waits: Callable[[Numbers, Numbers, Numbers], Floats]
    """(rate, weight, price) → days until V reaches the price; infinite if it never does."""
    wait: Callable[[float, float, float], float]
    """The same for one page."""


def _g(x: Floats) -> Floats:
    return np.asarray(-np.expm1(-x) - x * np.exp(-x))


def _h(x: Floats) -> Floats:
    """x²/2 - g(x), which is x³/3 at first and x²/2 - 1 in the end."""
    series = x * x * x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144)))
    return np.where(x < _SMALL, series, x * x / 2 - _g(x))


def _h_one(x: float) -> float:
    if x < _SMALL:
        return x * x * x * (1 / 3 - x * (1 / 8 - x * (1 / 30 - x / 144)))
    return x * x / 2 + math.expm1(-x) + x * math.exp(-x)


def _h_inverse(y: Floats) -> Floats:
    """Newton from the right: h is convex, so every step stays there."""
    y = np.maximum(y, 1e-300)
    x = np.cbrt(3 * y) + np.sqrt(2 * y)
    for _ in range(_STEPS):
        step = (_h(x) - y) / (-x * np.expm1(-x))
        x = x - step
        if np.all(np.abs(step) <= _CLOSE * x):
            break
    return x


def _h_inverse_one(y: float) -> float:
    y = max(y, 1e-300)
    x = math.cbrt(3 * y) + math.sqrt(2 * y)
    for _ in range(_STEPS):
        step = (_h_one(x) - y) / (-x * math.expm1(-x))
        x -= step
        if abs(step) <= _CLOSE * x:
            break
    return x


def _g_inverse(y: Floats) -> Floats:
    """Newton on x - ln(1 + x) = -ln(1 - y), which is convex as well; infinite from y = 1."""
    reached = y < 1
    level = -np.log1p(-np.where(reached, np.maximum(y, 1e-300), 0.5))
    x = np.sqrt(2 * level) + level * (2 / 3)
    for _ in range(_STEPS):
        # Too small for ln(1 + x) to tell it from x: there the first guess is right.
        step = np.where(x < 1e-5, 0.0, (x - np.log1p(x) - level) * (1 + x) / x)
        x = x - step
        if np.all(np.abs(step) <= _CLOSE * x):
            break
    return np.where(reached, x, np.inf)


def _worth_fresh(rate: Numbers, weight: Numbers, days: Numbers) -> Floats:
    return np.asarray(weight / rate * _g(np.asarray(rate * days)))


def _waits_fresh(rate: Numbers, weight: Numbers, price: Numbers) -> Floats:
    return np.asarray(_g_inverse(np.asarray(price * rate / weight)) / rate)


def _wait_fresh(rate: float, weight: float, price: float) -> float:
    return float(_g_inverse(np.asarray(price * rate / weight))) / rate


def _worth_age(rate: Numbers, weight: Numbers, days: Numbers) -> Floats:
    return np.asarray(weight / (rate * rate) * _h(np.asarray(rate * days)))


def _waits_age(rate: Numbers, weight: Numbers, price: Numbers) -> Floats:
    return np.asarray(_h_inverse(np.asarray(price * rate * rate / weight)) / rate)


def _wait_age(rate: float, weight: float, price: float) -> float:
    return _h_inverse_one(price * rate * rate / weight) / rate


def _worth_sqrt(rate: Numbers, weight: Numbers, days: Numbers) -> Floats:
    return np.asarray(weight * rate * days * days / 2)


def _waits_sqrt(rate: Numbers, weight: Numbers, price: Numbers) -> Floats:
    return np.asarray(np.sqrt(2 * price / (weight * rate)))


def _wait_sqrt(rate: float, weight: float, price: float) -> float:
    return math.sqrt(2 * price / (weight * rate))


AGE = VisitValue("age", _worth_age, _waits_age, _wait_age)
FRESH = VisitValue("fresh", _worth_fresh, _waits_fresh, _wait_fresh)
SQRT = VisitValue("sqrt", _worth_sqrt, _waits_sqrt, _wait_sqrt)
VALUES: dict[ValueName, VisitValue] = {"age": AGE, "fresh": FRESH, "sqrt": SQRT}


def balance_price(value: VisitValue, rates: Numbers, weights: Numbers, visits: float) -> float:
    """The price at which these pages need so many visits a day in all.

    >>> rates = np.array([1.0, 2, 3, 4, 5])
    >>> price = balance(FRESH, rates, np.ones(5), 5)
    >>> " ".join(f"{f:.2f}" for f in 1 / FRESH.waits(rates, np.ones(5), price))
    '1.15 1.36 1.35 1.14 0.00'
    """
    low, high = math.log(1e-18), math.log(1e18)
    for _ in range(80):
        middle = (low + high) / 2
        asked = float(np.sum(1 / value.waits(rates, weights, math.exp(middle))))
        low, high = (middle, high) if asked > visits else (low, middle)
    return math.exp((low + high) / 2)
