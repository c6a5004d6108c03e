"""Log-odds of chances: what is added up where several things speak for or against the same."""

from __future__ import annotations

import math

import numpy as np

from honeyguide.models.regressors import Floats

_CERTAIN = 0.001
"""No chance counts as less, or as more than 1 less this: log-odds have no end."""


def log_odds(chance: float) -> float:
    chance = min(max(chance, _CERTAIN), 1 - _CERTAIN)
    return math.log(chance / (1 - chance))


def all_log_odds(chances: Floats) -> Floats:
    """The same of many at once; what is no number counts as no chance."""
    held = np.clip(np.nan_to_num(chances), _CERTAIN, 1 - _CERTAIN)
    return np.asarray(np.log(held / (1 - held)))
