"""What follows a failure: one table from error kind or status to host delay and retries.

    ==============  ======  =============  ==================  ==========================
    outcome         tries   URL again      host rests          blames the host
    ==============  ======  =============  ==================  ==========================
    429, 503        5       with the host  Retry-After, or     yes
                                           60 s, doubling
    408, 425, 500,  3       60 s, 300 s    –                   yes
    502, 504, 52x
    dns, connect,   3       with the host  60 s, doubling      yes
    timeout
    protocol        2       300 s          –                   yes
    fetch           2       300 s          –                   –
    tls             1       –              –                   yes
    the rest        1       –              –                   –
    ==============  ======  =============  ==================  ==========================

After ten failures in a row that blame the host, it rests a day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

MAX_WAIT_S: Final = 86_400.0
MAX_STREAK: Final = 10
"""So many failures in a row, and the host rests a day."""


class RetryDecision(NamedTuple):
    host_delay: float
    """Seconds the host rests beyond its politeness."""
    retry_in: float | None
    """Seconds until the URL may be tried again; None: never."""


@dataclass(frozen=True, slots=True)
class RetryRule:
    tries: int = 1
    wait: float = 0.0
    """Seconds before the second try."""
    growth: float = 1.0
    """Each further wait is so many times longer."""
    delays_host: bool = False
    """The host rests as long as the URL waits."""
    by_streak: bool = False
    """The wait grows with the host's streak rather than with this URL's tries."""
    blame: bool = False
    """The host failed, not this URL alone: it counts towards the host's streak."""
    obeys_retry_after: bool = False
    """Retry-After, where given, replaces the wait."""


_BUSY_RULE = RetryRule(
    5, 60, 2, delays_host=True, by_streak=True, blame=True, obeys_retry_after=True
)
_SICK_RULE = RetryRule(3, 60, 5, blame=True)
_AWAY_RULE = RetryRule(3, 60, 2, delays_host=True, by_streak=True, blame=True)

RETRY_RULES: Final[dict[str | int, RetryRule]] = {
    429: _BUSY_RULE,
    503: _BUSY_RULE,
    **dict.fromkeys((408, 425, 500, 502, 504, *range(520, 530)), _SICK_RULE),
    **dict.fromkeys(("dns", "connect", "timeout"), _AWAY_RULE),
    "protocol": RetryRule(2, 300, blame=True),
    "fetch": RetryRule(2, 300),
    "tls": RetryRule(blame=True),
}
NO_RETRY: Final = RetryRule()
"""Everything else: other statuses, too_large, wrong_type, forbidden, robots, scope, trap, …"""


def decide_retry(
    outcome: str | int, *, tries: int, streak: int, retry_after: str = "", now: float
) -> RetryDecision:
    """What follows from a failed attempt.

    ``tries`` counts the attempts at this URL, this one included; ``streak`` the failures of
    its host in a row, this one included.
    """
    row = RETRY_RULES.get(outcome, NO_RETRY)
    steps = max(0, (streak if row.by_streak else tries) - 1)
    # The exponent is bounded, because a streak is not, and floats overflow.
    wait = min(MAX_WAIT_S, row.wait * row.growth ** min(steps, 20))
    if row.obeys_retry_after and (told := parse_retry_after(retry_after, now)) is not None:
        wait = told
    rest = wait if row.delays_host else 0.0
    if row.blame and streak >= MAX_STREAK:
        rest = wait = MAX_WAIT_S
    return RetryDecision(rest, wait if tries < row.tries else None)


def blames_host(outcome: str | int) -> bool:
    """Whether such an outcome counts towards the host's streak of failures."""
    return RETRY_RULES.get(outcome, NO_RETRY).blame


def parse_retry_after(retry_after: str, now: float) -> float | None:
    """A Retry-After header in seconds, at most a day; None if it says nothing sensible."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        # Only the length matters of a number beyond a day, and int() of a huge one is slow.
        return MAX_WAIT_S if len(text) > 9 else min(MAX_WAIT_S, float(text))
    try:
        at = parsedate_to_datetime(text[:64])
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return min(MAX_WAIT_S, max(0.0, at.timestamp() - now))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
