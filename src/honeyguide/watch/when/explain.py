"""What a schedule has to say about a page, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

from honeyguide.watch.when.rates import DAY, FASTEST, SLOWEST, Rate

_UNITS = ((365 * DAY, "year"), (DAY, "day"), (3_600.0, "hour"), (60.0, "minute"), (1.0, "second"))

_EDGE = 0.85
"""So near the fastest or slowest rate of all, a belief says no more than that it is there."""


class Why(NamedTuple):
    """When a page will be visited, and why then."""

    rate: Rate
    weight: float
    last: float | None
    """None: nobody has seen it."""
    next_at: float | None
    """None: it is paused."""
    reason: str


class Circumstances(NamedTuple):
    """What holds a page back or presses it, besides its worth."""

    now: float
    shortest_s: float
    longest_s: float
    surcharge: float = 1.0
    not_before: float = -math.inf
    rests_until: float = -math.inf
    busy: bool = False
    spent: bool = False


def reason(rate: Rate, weight: float, last: float, next_at: float, case: Circumstances) -> str:
    """The sentence: how often it changes, when it is visited, what decided that."""
    if case.busy:
        return "it is being visited now"
    if last == -math.inf:
        return f"nobody has seen it yet{_held(next_at, case)}"
    wait = next_at - last
    if next_at <= case.not_before:
        cause = "the last visit failed, and it is tried again then"
    elif wait <= case.shortest_s * 1.001:
        cause = "no page is visited more often"
    elif wait >= case.longest_s * 0.999:
        cause = "no page is left alone for longer"
    elif case.surcharge > 1.01:
        cause = (
            f"its host takes no more, and a visit must be worth {case.surcharge:.1f} times as much"
        )
    else:
        cause = "then a visit is worth as much as one to any other page"
    return (
        f"it changes {often(rate)} and counts {weight:.2g}; it was visited {span(case.now - last)} "
        f"ago and {_time(next_at, case.now)}: {cause}{_held(next_at, case)}"
    )


def often(rate: Rate) -> str:
    """How often a page changes: an interval with its band, or what is known of it where the belief
    ends. There the number is the model's, and nobody measured it."""
    if rate.high >= FASTEST * _EDGE:
        return f"at least every {span(DAY / rate.low)}, and how much more often is not known"
    if rate.low <= SLOWEST / _EDGE:
        return f"no more often than every {span(DAY / rate.high)}, as far as is known"
    band = f"{span(DAY / rate.high)} to {span(DAY / rate.low)}"
    return f"about every {span(DAY / rate.per_day)} ({band})"


def _held(next_at: float, case: Circumstances) -> str:
    if next_at > case.now:
        return ""
    if case.rests_until > case.now:
        return f"; its host rests for {span(case.rests_until - case.now)}"
    return "; the budget is spent for now" if case.spent else ""


def _time(at: float, now: float) -> str:
    if at > now:
        return f"is due in {span(at - now)}"
    return f"has been due for {span(now - at)}" if now - at >= 1 else "is due now"


def span(seconds: float) -> str:
    """``3 hours``: the largest unit of which there are at least two, roughly."""
    if not seconds < 1e12:
        return "ever"
    for size, name in _UNITS:
        if seconds >= 2 * size or (size == 1.0):
            number = round(seconds / size)
            return f"{number} {name}{'' if number == 1 else 's'}"
    raise AssertionError("the last unit takes everything")
