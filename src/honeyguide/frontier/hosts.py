"""How long a host rests between two requests, and the state of hosts."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from random import Random
from typing import NamedTuple

from honeyguide.config.settings import PolitenessSettings

MAX_CRAWL_DELAY_S = 60.0
"""Longest Crawl-delay in seconds that is accepted; a host that asks for more is left."""


class HostView(NamedTuple):
    """The state of one host."""

    host: str
    waiting: int
    busy: bool
    rests_until: float
    parked: float
    """Until when; 0 if it is not."""


class HostDelayPolicy:
    """Computes rests. Chance may lengthen a rest, never shorten it."""

    def __init__(self, settings: PolitenessSettings, seed: int) -> None:
        self._settings = settings
        self._random = Random(seed)

    def delay_after(
        self, host: str, crawl_delay: float | None, elapsed: float, lab: bool = False
    ) -> float:
        """Seconds until the next request to this host, after one that took ``elapsed``."""
        asked = crawl_delay if crawl_delay is not None and crawl_delay > 0 else 0.0
        if self.is_too_slow(asked):
            return asked
        ours = lab or is_loopback(host)
        delay = self._settings.loopback_delay_s if ours else self._settings.delay_s
        if ours and delay == 0:
            return asked
        # Comparisons with a time that is not a number are false: the cap then holds.
        tired = self._settings.response_factor * elapsed
        if not tired <= self._settings.max_delay_s:
            tired = self._settings.max_delay_s
        rest = max(delay, asked, tired)
        return rest * (1.0 + 0.5 * self._random.random())

    def is_too_slow(self, crawl_delay: float | None) -> bool:
        """Whether the Crawl-delay is so long that the host should be parked instead."""
        return crawl_delay is not None and crawl_delay > MAX_CRAWL_DELAY_S


@lru_cache(maxsize=4_096)
def is_loopback(host: str) -> bool:
    """Whether this name or address means this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
