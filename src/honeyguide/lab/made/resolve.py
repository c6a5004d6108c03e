"""What stands at an address of a made web."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from honeyguide.lab.made.links import Kind, Roads
from honeyguide.lab.made.page import Writer
from honeyguide.lab.made.parameters import MadePlan
from honeyguide.lab.made.seeded_random import Dice
from honeyguide.lab.made.topology import Ground

What = Kind | Literal["listing", "calendar", "about", "private", "robots"]

_FIXED: dict[str, What] = {"robots.txt": "robots", "about": "about", "private/login": "private"}
_SESSIONLESS = ("robots", "about", "private", "calendar")
_SESSION = re.compile(r"[?&]sid=([0-9a-f]{8})\Z").search
_LIST = re.compile(r"list/(0|[1-9]\d{0,5})(?:\?page=([2-9]))?\Z").match
_CAL = re.compile(r"cal/([1-9]\d{0,8})/(0[1-9]|1[0-2])(?:/(0[1-9]|1\d|2[0-8]))?\Z").match


class Spot(NamedTuple):
    """What stands at an address. The host is the one that a mirror repeats."""

    what: What
    host: int
    number: int = 0
    """The page; of a listing, which one; of a calendar, the months since the year 0."""
    part: int = 0
    """Of a listing, its page; of a calendar, the day; of a moved address, where it leads."""
    session: str = ""

    @property
    def alive(self) -> bool:
        """Whether it is a page that people write and change."""
        return self.what in ("page", "bridge")


class Spots:
    """Address → spot."""

    def __init__(
        self, plan: MadePlan, dice: Dice, ground: Ground, roads: Roads, writer: Writer
    ) -> None:
        self._plan = plan
        self._dice = dice
        self._ground = ground
        self._roads = roads
        self._writer = writer

    def find(self, key: str) -> Spot | None:
        """The spot of ``host/path?query``."""
        name, _, rest = key.partition("/")
        asked = self._ground.host(name)
        if asked is None:
            return None
        host = self._ground.source[asked]
        session = _SESSION(rest) if self.sessions(host) else None
        if session is None:
            return self._spot(host, rest)
        spot = self._spot(host, rest[: session.start()])
        if spot is None or spot.what in _SESSIONLESS:
            return None
        return spot._replace(session=session[1])

    def sessions(self, host: int) -> bool:
        """Whether the host writes session numbers into its links."""
        return self._dice.share("sessions", host) < self._plan.traps

    def _spot(self, host: int, rest: str) -> Spot | None:
        if what := _FIXED.get(rest):
            return Spot(what, host)
        if match := _LIST(rest):
            shelf, sheet = int(match[1]), int(match[2] or 1)
            if shelf < self._writer.listings(host) and sheet <= self._writer.sheets(host, shelf):
                return Spot("listing", host, shelf, sheet)
            return None
        if match := _CAL(rest):
            if not self._writer.calendar(host):
                return None
            return Spot(
                "calendar", host, int(match[1]) * 12 + int(match[2]) - 1, int(match[3] or 0)
            )
        number = self._roads.number(host, rest)
        place = None if number is None else self._roads.place(host, number)
        return place and Spot(place.kind, host, place.page, place.onward)
