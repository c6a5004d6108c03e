"""Estimates how often a page changes: a belief over rates that each visit updates.

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
import re
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.types import Url
from honeyguide.url import host_of, path_of

Floats = NDArray[np.float64]

SLOWEST, FASTEST, RATE_COUNT = 5e-4, 50.0, 32
LOG_RATES: Floats = np.linspace(math.log(SLOWEST), math.log(FASTEST), RATE_COUNT)
RATE_GRID: Floats = np.exp(LOG_RATES)
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
_CACHED_BELIEFS = 256
"""Beliefs that are remembered unpacked: a visit asks for the same ones again and again."""

Belief = bytes
"""A log-posterior, as it is stored: 64 bytes."""


class ChangeRate(NamedTuple):
    """Changes a day."""

    per_day: float
    low: float
    """The rate is lower than this with a probability of 10 %."""
    high: float
    """The rate is higher than this with a probability of 10 %."""


def pack_belief(logs: Floats) -> Belief:
    """Bytes for the store; only differences between the logs count."""
    return bytes(np.maximum(logs - logs.max(), _FLOOR).astype(_FORM).tobytes())


def unpack_belief(belief: Belief) -> Floats:
    """The logs again. What is no belief, because the store was damaged, is :data:`START_BELIEF`."""
    if len(belief) != RATE_COUNT * _FORM.itemsize:
        return np.zeros(RATE_COUNT)
    logs = np.frombuffer(belief, _FORM).astype(np.float64)
    return logs if np.isfinite(logs).all() else np.zeros(RATE_COUNT)


START_BELIEF: Belief = pack_belief(np.zeros(RATE_COUNT))
"""Of a page of which nobody knows anything, all orders of magnitude are equally likely."""


def update_belief(
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
        logs = changed * (LOG_RATES - RATE_GRID * quiet) - (1 - changed) * RATE_GRID * days
    else:
        logs = look_likelihood(days, changed)
    return pack_belief(gamma * unpack_belief(belief) + (1 - gamma) * unpack_belief(prior) + logs)


def look_likelihood(days: Floats | float, changed: Floats | float) -> Floats:
    """ln P(look) for every rate; for several looks, these are columns of one number each."""
    expected = RATE_GRID * days
    return np.asarray(changed * np.log(-np.expm1(-expected)) - (1 - changed) * expected)


def initial_belief(
    prior: Belief, *, now: float, modified: float | None, trust: float = 0.5
) -> Belief:
    """The belief after the first visit: a page that last changed a year ago changes seldom.

    Many servers state times of their own making, so it counts only in part (``trust``).
    """
    quiet = math.nan if modified is None else min((now - modified) / DAY, _LONGEST)
    if not quiet > _JUST_NOW:
        return prior
    return pack_belief(unpack_belief(prior) + trust * (LOG_RATES - RATE_GRID * quiet))


@lru_cache(maxsize=_CACHED_BELIEFS)
def estimate_rate(belief: Belief) -> ChangeRate:
    """The geometric mean, and the band that holds 80 % of the belief."""
    shares = belief_shares(belief)
    total = np.cumsum(shares)
    # Between the middles of two cells, as if a cell's share were spread evenly over it.
    low, high = np.interp((0.1, 0.9), total - shares / 2, LOG_RATES)
    mean = float(shares @ LOG_RATES)
    return ChangeRate(math.exp(mean), math.exp(min(low, mean)), math.exp(max(high, mean)))


@lru_cache(maxsize=_CACHED_BELIEFS)
def belief_shares(belief: Belief) -> Floats:
    """What each rate has of the belief; not to be written to."""
    shares = softmax_rows(unpack_belief(belief))
    shares.flags.writeable = False
    return shares


def softmax_rows(logs: Floats) -> Floats:
    """Probabilities that add up to 1; of several beliefs, row by row."""
    odds = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


# -- Priors --
#
# Pages of one host, and more so those whose addresses are of one pattern (``/news/#/*``), change
# alike. A group's prior is the mean of its members' beliefs; few members lean on the wider circle.


_LEAN_MEMBERS = 3.0
"""The wider circle counts like so many members."""
_RARE = 1e-5
"""No rate is thought impossible because no sibling has it."""
_DEPTH, _MAX_STEP = 3, 40
"""Steps of a path that make its pattern, and characters of a step."""
_CHANGING = re.compile(r"[^/]*\d[^/]*")


def url_pattern(url: Url) -> str:
    """``example.org/news/#/*`` of ``https://example.org/news/2024/a-title.html``.

    Steps with digits are all the same, and so are last ones: they name pages, not their kinds.
    """
    way, _, query = path_of(url).partition("?")
    *steps, _ = way[1:].split("/", _DEPTH + 1)[: _DEPTH + 1]
    kinds = ("#" if _CHANGING.fullmatch(s) else s[:_MAX_STEP] for s in steps)
    names = "&".join(sorted(n.partition("=")[0][:_MAX_STEP] for n in query.split("&")[:_DEPTH]))
    return "/".join((host_of(url), *kinds, "*")) + ("?" + names if names else "")


@lru_cache(maxsize=4_096)
def _groups_of(url: Url) -> tuple[str, str]:
    """The groups it belongs to, the wider one first; a look asks twice."""
    return host_of(url), url_pattern(url)


class RatePriors:
    """Groups of pages and what is believed of them; of too many, the longest untouched go."""

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._groups: OrderedDict[str, Floats] = OrderedDict()
        """Sums of the members' shares; what they add up to is how many there are."""

    def __len__(self) -> int:
        return len(self._groups)

    def prior_for(self, url: Url) -> Belief:
        """What to believe of a page that nobody looked at twice."""
        mean = np.full(RATE_COUNT, 1 / RATE_COUNT)
        for name in _groups_of(url):
            if (group := self._groups.get(name)) is not None:
                mean = (group + _LEAN_MEMBERS * mean) / (float(group.sum()) + _LEAN_MEMBERS)
        return pack_belief(np.log(mean + _RARE))

    def learn(self, url: Url, new: Belief, old: Belief = b"") -> None:
        """Update the groups of a page whose belief changed; ``old`` is its belief before."""
        gain = belief_shares(new)
        if old:
            gain = gain - belief_shares(old)
        for name in _groups_of(url):
            # A group that was dropped hears of changes to members that it no longer counts.
            self._groups[name] = np.maximum(self._groups.get(name, 0.0) + gain, 0.0)
            self._groups.move_to_end(name)
        self._forget_oldest()

    def learn_all(self, pages: Iterable[tuple[Url, Belief]]) -> None:
        """When a watch begins: all that is known of all pages."""
        rest = iter(pages)
        while batch := list(islice(rest, 4_096)):
            shares = softmax_rows(np.array([unpack_belief(belief) for _, belief in batch]))
            sums: dict[str, Floats] = defaultdict(lambda: np.zeros(RATE_COUNT))
            for (url, _), mine in zip(batch, shares, strict=True):
                for name in _groups_of(url):
                    sums[name] += mine
            for name, total in sums.items():
                self._groups[name] = self._groups.get(name, 0.0) + total
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        while len(self._groups) > self._most:
            self._groups.popitem(last=False)
