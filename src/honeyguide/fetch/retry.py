"""What a failure costs: one table from error kind or status to rest and retries.

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

DAY: Final = 86_400.0
STREAK: Final = 10
"""So many failures in a row, and the host rests a day."""


class Decision(NamedTuple):
    rest: float
    """Seconds the host rests beyond its politeness."""
    again: float | None
    """Seconds until the URL may be tried again; None: never."""


@dataclass(frozen=True, slots=True)
class Row:
    tries: int = 1
    wait: float = 0.0
    """Seconds before the second try."""
    growth: float = 1.0
    """Each further wait is so many times longer."""
    rests: bool = False
    """The host rests as long as the URL waits."""
    by_streak: bool = False
    """The wait grows with the host's streak rather than with this URL's tries."""
    blame: bool = False
    """The host failed, not this URL alone: it counts towards the host's streak."""
    told: bool = False
    """Retry-After, where given, replaces the wait."""


_BUSY = Row(5, 60, 2, rests=True, by_streak=True, blame=True, told=True)
_SICK = Row(3, 60, 5, blame=True)
_AWAY = Row(3, 60, 2, rests=True, by_streak=True, blame=True)

TABLE: Final[dict[str | int, Row]] = {
    429: _BUSY,
    503: _BUSY,
    **dict.fromkeys((408, 425, 500, 502, 504, *range(520, 530)), _SICK),
    **dict.fromkeys(("dns", "connect", "timeout"), _AWAY),
    "protocol": Row(2, 300, blame=True),
    "fetch": Row(2, 300),
    "tls": Row(blame=True),
}
FINAL: Final = Row()
"""Everything else: other statuses, too_large, wrong_type, forbidden, robots, scope, trap, …"""


def decide(
    outcome: str | int, *, tries: int, streak: int, retry_after: str = "", now: float
) -> Decision:
    """What follows from a failed attempt.

    ``tries`` counts the attempts at this URL, this one included; ``streak`` the failures of
    its host in a row, this one included.
    """
    row = TABLE.get(outcome, FINAL)
    steps = max(0, (streak if row.by_streak else tries) - 1)
    # The exponent is bounded, because a streak is not, and floats overflow.
    wait = min(DAY, row.wait * row.growth ** min(steps, 20))
    if row.told and (told := seconds(retry_after, now)) is not None:
        wait = told
    rest = wait if row.rests else 0.0
    if row.blame and streak >= STREAK:
        rest = wait = DAY
    return Decision(rest, wait if tries < row.tries else None)


def blames(outcome: str | int) -> bool:
    """Whether such an outcome counts towards the host's streak of failures."""
    return TABLE.get(outcome, FINAL).blame


def seconds(retry_after: str, now: float) -> float | None:
    """A Retry-After header in seconds, at most a day; None if it says nothing sensible."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        # Only the length matters of a number beyond a day, and int() of a huge one is slow.
        return DAY if len(text) > 9 else min(DAY, float(text))
    try:
        at = parsedate_to_datetime(text[:64])
        if at.tzinfo is None:
            at = at.replace(tzinfo=UTC)
        return min(DAY, max(0.0, at.timestamp() - now))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
