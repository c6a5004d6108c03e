"""The tables of topic.toml for coming back: ``[watch]`` and ``[[notify]]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Revisiting pages to find changes: ``honeyguide watch``."""

    requests_per_hour: float = 500.0
    """Requests in all, robots.txt included; the delays between requests to a host are those of a
    crawl."""
    pages: int = 100_000
    """Most pages that the crawl adds by itself; pages that people add are not limited."""
    objective: Literal["age", "fresh", "sqrt"] = "age"
    """What the schedule optimises. ``age``: changes are found soon; ``fresh``: most copies are
    current; ``sqrt``: no change stays unknown for long."""
    min_interval_s: float = 300.0
    """Shortest time between two visits to a page."""
    max_interval_days: float = 60.0
    """Longest time between two visits to a page, if the budget allows."""
    discover: bool = True
    """Follow new links on watched pages, within the same budget."""
    second_look_s: float = 10.0
    """Fetch a new page a second time after so many seconds, to find out what differs at every
    visit; 0: do not."""
    gone_after: int = 3
    """A page that answers so many visits in a row with 404 or 410 is no longer watched."""
    keep: Literal["all", "last", "thin"] = "all"
    """Versions that are kept. ``all``; ``last``: the last ``keep_last`` of each page; ``thin``: all
    of the last 30 days and one a week from before."""
    keep_last: int = 50
    """How many, with ``keep = "last"``."""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Where notifications of changes are sent, for which changes, and when: a ``[[notify]]`` table
    for each channel. All of its conditions must hold."""

    to: str = ""
    """``stdout``, ``atom``, ``rss``, the address of a webhook, ``apprise:`` and its address, or
    ``env:NAME``: what that variable of the environment holds. Required."""
    name: str = ""
    """Name of the channel in status and messages; its kind if not given."""
    kinds: tuple[str, ...] = (
        "new", "content", "data", "moved", "gone", "back", "blocked", "soft_404",
    )  # fmt: skip
    """Kinds of change."""
    significance: float = 0.02
    """Least significance, 0 to 1."""
    words: tuple[str, ...] = ()
    """One of these words must have been added or removed."""
    pages: tuple[str, ...] = ()
    """Only these hosts or addresses; ``*`` stands for anything."""
    quiet_hours: str = ""
    """No message in these hours: ``22:00-07:00``."""
    time_zone: str = "UTC"
    """Time zone of quiet hours and digests: ``Europe/Istanbul``."""
    digest: Literal["each", "hourly", "daily", "weekly"] = "each"
    """Send each change at once, or collect them into one message."""
    hour: int = 8
    """Hour of day of daily and weekly digests."""
    weekday: Literal[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
    ] = "monday"
    """Day of weekly digests."""
    secret: str = ""
    """``env:NAME`` of a key that signs what a webhook is sent."""
