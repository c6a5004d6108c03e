"""How often a page changes: a belief over rates, learned from one look after the other.

    belief = learn(START, START, last=monday, now=tuesday, changed=1.0)
    rate(belief).per_day

Every page has a log-posterior over 32 rates from one change in five years to fifty a day. A look
multiplies it by the likelihood of what was seen, which is exact for intervals of any length, also
for those that were chosen by what was learned before; the estimators of Cho and Garcia-Molina
(2003) need equal ones. Old looks are forgotten towards the prior (gamma), because habits change:

    lp ← γ·lp + (1 - γ)·prior + ln P(look)

The rate is the geometric mean. The arithmetic mean of a wide belief is that of its fastest rates,
and a new page would be taken for one. What counts as a change is for others to say: clocks in
footers must be masked first, or they look like news. A fetch that failed is no look: do not call.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SLOWEST, FASTEST, RATES = 5e-4, 50.0, 32
LOG_RATES: Floats = np.linspace(math.log(SLOWEST), math.log(FASTEST), RATES)
GRID: Floats = np.exp(LOG_RATES)
"""Changes a day."""
GAMMA = 0.9
"""Keeps what the last ten looks or so have shown."""
DAY = 86_400.0

_FLOOR = -1e4
"""No rate is less likely than e to this power: fits 16 bits, and can still be unlearned."""
_SHORTEST, _LONGEST = 1.0 / DAY, 3_650.0
"""Days. What lies longer back says no more than that."""
_JUST_NOW = 60.0 / DAY
"""Modified so shortly before it was fetched: made for us, and no news of any change."""
_FORM = np.dtype("<f2")
_LATEST = 256
"""Beliefs that are remembered unpacked: a visit asks for the same ones again and again."""

Belief = bytes
"""A log-posterior, as it is stored: 64 bytes."""


class Rate(NamedTuple):
    """Changes a day."""

    per_day: float
    low: float
    """It is less than this with a probability of 10 % …"""
    high: float
    """… and more than this with 10 %."""


def pack(logs: Floats) -> Belief:
    """Bytes for the store; only differences between the logs count."""
    return bytes(np.maximum(logs - logs.max(), _FLOOR).astype(_FORM).tobytes())


def unpack(belief: Belief) -> Floats:
    """The logs again. What is no belief, because the store was damaged, is :data:`START`."""
    if len(belief) != RATES * _FORM.itemsize:
        return np.zeros(RATES)
    logs = np.frombuffer(belief, _FORM).astype(np.float64)
    return logs if np.isfinite(logs).all() else np.zeros(RATES)


START: Belief = pack(np.zeros(RATES))
"""Of a page of which nobody knows anything, all orders of magnitude are equally likely."""


def learn(
    belief: Belief,
    prior: Belief,
    *,
    last: float,
    now: float,
    changed: float,
    modified: float | None = None,
    gamma: float = GAMMA,
) -> Belief:
    """The belief after a visit at ``now``, where the visit before was at ``last`` (Unix times).

    ``changed`` says how much of a change was seen, 0..1: half of one counts half as a change and
    half as none. ``modified`` is when the page itself says it last changed (Last-Modified): if that
    lies between the visits, and it did change, the moment is known and not only that there was one.
    """
    days = min((now - last) / DAY, _LONGEST)
    if not days > 0 or not 0 <= changed <= 1:
        return belief  # a clock that went backwards, or no number: nothing was seen
    days = max(days, _SHORTEST)
    quiet = None if modified is None else (now - modified) / DAY
    if quiet is not None and _JUST_NOW < quiet < days:
        logs = changed * (LOG_RATES - GRID * quiet) - (1 - changed) * GRID * days
    else:
        logs = likelihood(days, changed)
    return pack(gamma * unpack(belief) + (1 - gamma) * unpack(prior) + logs)


def likelihood(days: Floats | float, changed: Floats | float) -> Floats:
    """ln P(look) for every rate; for several looks, these are columns of one number each."""
    expected = GRID * days
    return np.asarray(changed * np.log(-np.expm1(-expected)) - (1 - changed) * expected)


def begin(prior: Belief, *, now: float, modified: float | None, trust: float = 0.5) -> Belief:
    """The belief after the first visit: a page that last changed a year ago changes seldom.

    Many servers state times of their own making, so it counts only in part (``trust``).
    """
    quiet = math.nan if modified is None else min((now - modified) / DAY, _LONGEST)
    if not quiet > _JUST_NOW:
        return prior
    return pack(unpack(prior) + trust * (LOG_RATES - GRID * quiet))


@lru_cache(maxsize=_LATEST)
def rate(belief: Belief) -> Rate:
    """The geometric mean, and the band that holds 80 % of the belief."""
    shares = shares_of(belief)
    total = np.cumsum(shares)
    # Between the middles of two cells, as if a cell's share were spread evenly over it.
    low, high = np.interp((0.1, 0.9), total - shares / 2, LOG_RATES)
    mean = float(shares @ LOG_RATES)
    return Rate(math.exp(mean), math.exp(min(low, mean)), math.exp(max(high, mean)))


@lru_cache(maxsize=_LATEST)
def shares_of(belief: Belief) -> Floats:
    """What each rate has of the belief; not to be written to."""
    shares = share(unpack(belief))
    shares.flags.writeable = False
    return shares


def share(logs: Floats) -> Floats:
    """Probabilities that add up to 1; of several beliefs, row by row."""
    odds = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def cho_garcia_molina(looks: int, changes: int, days: float) -> float:
    """Changes a day, from so many looks at equal intervals.

    Cho and Garcia-Molina (2003), the estimator with corrected bias: -ln((n-x+.5)/(n+.5))/Δ.
    Meegahapola et al. detect changes to learn how often pages change, and name no estimator; this
    is the one that fits their rounds of equal length.
    """
    if looks <= 0 or not days > 0:
        return 0.0
    unchanged = looks - min(max(changes, 0), looks)
    return -math.log((unchanged + 0.5) / (looks + 0.5)) / days
