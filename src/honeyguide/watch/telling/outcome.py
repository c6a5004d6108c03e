"""What became of a message: sent, to be tried again, or given up."""

from __future__ import annotations

from typing import Literal, NamedTuple

TRIES = 14
"""After so many a message is given up: with the waits below, after a day and two hours."""
_FIRST_S = 30.0
_LONGEST_S = 6 * 3600.0


class Outcome(NamedTuple):
    state: Literal["sent", "retry", "gave_up"]
    at: float
    """When it was sent or given up, or when to try again."""
    why: str = ""
    """For people; never holds an address or a secret."""


def sent(now: float) -> Outcome:
    return Outcome("sent", now)


def given_up(why: str, now: float) -> Outcome:
    return Outcome("gave_up", now, why)


def again(why: str, now: float, tries: int, wait_s: float = 0.0) -> Outcome:
    """Try later: twice as long after every try, or when the receiver says, but not in a week."""
    if tries + 1 >= TRIES:
        return given_up(f"{why} ({tries + 1} tries)", now)
    rest = min(_FIRST_S * 2.0 ** min(tries, 30), _LONGEST_S)
    return Outcome("retry", now + min(max(rest, wait_s), 4 * _LONGEST_S), why)
