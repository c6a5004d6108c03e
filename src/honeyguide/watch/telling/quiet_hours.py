"""When people may be told: digests at their hour, quiet hours by the clock on their wall.

Pure arithmetic on Unix times; a time zone only says what the wall clock shows.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from honeyguide.errors import ConfigError

Rhythm = Literal["each", "hourly", "daily", "weekly"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_SPAN = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*[-–]\s*([01]?\d|2[0-3]):([0-5]\d)").fullmatch
_HOUR = 3600.0
_LAST = 250_000_000_000.0
"""In the year 9892: far enough, and with some days left before the end of all calendars."""


@lru_cache(maxsize=64)
def zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    # A name such as "Europe" is a folder, and one with a NUL is no name at all.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"there is no time zone {name!r}; write one such as 'Europe/Istanbul' or 'UTC' "
            "(where the system has no list of zones: pip install tzdata)"
        ) from None


@lru_cache(maxsize=64)
def span(text: str) -> tuple[time, time]:
    """``22:00-07:00`` as two times of day; the second may be on the morrow."""
    found = _SPAN(text.strip())
    if not found:
        raise ConfigError(f"quiet hours are written as '22:00-07:00', not {text!r}")
    start, end = (time(int(h), int(m)) for h, m in (found.group(1, 2), found.group(3, 4)))
    if start == end:
        raise ConfigError(f"quiet hours {text!r} would never end, or never begin")
    return start, end


def quiet_until(quiet: str, at: float, where: ZoneInfo) -> float:
    """The end of the quiet hours that ``at`` lies in; ``at`` itself where it lies in none."""
    if not quiet:
        return at
    start, end = span(quiet)
    wall = _wall(at, where)
    now = wall.time()
    over_night = start > end
    if not (now >= start or now < end if over_night else start <= now < end):
        return at
    day = wall.date() + timedelta(days=over_night and now >= start)
    return _after(day, end, at, where)


def told_at(rhythm: Rhythm, at: float, where: ZoneInfo, hour: int, weekday: Weekday) -> float:
    """When what was found at ``at`` belongs into a message, quiet hours aside."""
    if rhythm == "each":
        return at
    if rhythm == "hourly":
        return (at // _HOUR + 1) * _HOUR
    today = _wall(at, where).date()
    for ahead in range(9):
        day = today + timedelta(days=ahead)
        if rhythm == "weekly" and day.weekday() != get_args(Weekday).index(weekday):
            continue
        if (found := _moment(day, time(hour), where)) > at:
            return found
    return at  # beyond the end of all calendars


def _after(day: date, clock: time, at: float, where: ZoneInfo) -> float:
    """That moment; where the clock shows it twice, the one that lies ahead."""
    found = _moment(day, clock, where)
    return found if found > at else _moment(day, clock.replace(fold=1), where)


def _wall(at: float, where: ZoneInfo) -> datetime:
    """What the clock on the wall shows; what no calendar knows, a damaged store may hold."""
    return datetime.fromtimestamp(min(max(at, 0.0), _LAST) if at == at else 0.0, where)


def _moment(day: date, clock: time, where: ZoneInfo) -> float:
    return datetime.combine(day, clock, where).timestamp()
