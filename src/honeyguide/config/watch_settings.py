"""The tables of topic.toml for coming back: ``[watch]`` and ``[[notify]]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Coming back to what was found: ``honeyguide watch``."""

    requests_per_hour: float = 500.0
    """Requests in all, robots.txt included; hosts rest between them as in a crawl."""
    pages: int = 100_000
    """Most pages that the crawl enters by itself; those that people add always fit."""
    value: Literal["age", "fresh", "sqrt"] = "age"
    """What a visit is for: changes are known soon, most copies are current, or no change is missed
    for long."""
    shortest_s: float = 300.0
    """No page is visited more often."""
    longest_days: float = 60.0
    """None is left alone for longer, as far as the budget goes."""
    discover: bool = True
    """Follow new links on watched pages, within the same budget."""
    second_look_s: float = 10.0
    """A new page is looked at again so soon, to learn what differs at every visit; 0: it is not."""
    gone_after: int = 3
    """A page that answers so many visits in a row with 404 or 410 leaves the watch."""
    keep: Literal["all", "last", "thin"] = "all"
    """Versions that are kept: all, the last ``keep_last`` of each page, or all of the last 30 days
    and one a week from before."""
    keep_last: int = 50
    """How many, with ``keep = "last"``."""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Who is told of which changes, and when: a ``[[notify]]`` table for each. All of its
    conditions must hold."""

    to: str = ""
    """``stdout``, ``atom``, ``rss``, the address of a webhook, ``apprise:`` and its address, or
    ``env:NAME``: what that variable of the environment holds. Required."""
    name: str = ""
    """For people; the kind of channel if not given."""
    kinds: tuple[str, ...] = (
        "new", "content", "data", "moved", "gone", "back", "blocked", "soft_404",
    )  # fmt: skip
    """Kinds of change."""
    significance: float = 0.02
    """Least significance, 0 to 1."""
    words: tuple[str, ...] = ()
    """One of these words must have come or gone."""
    pages: tuple[str, ...] = ()
    """Only these hosts or addresses; ``*`` stands for anything."""
    quiet: str = ""
    """No message in these hours: ``22:00-07:00``."""
    zone: str = "UTC"
    """Time zone of quiet hours and digests: ``Europe/Istanbul``."""
    digest: Literal["each", "hourly", "daily", "weekly"] = "each"
    """At once, or gathered."""
    hour: int = 8
    """Hour of day of daily and weekly digests."""
    weekday: Literal[
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
    ] = "monday"
    """Day of weekly digests."""
    secret: str = ""
    """``env:NAME`` of a key that signs what a webhook is sent."""
