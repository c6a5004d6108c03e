"""How long nothing may come. Curl's own measure is a mean over seconds, and cuts late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

Heard = Callable[[float], float]
"""When something last came to a transfer, in the event loop's time, which it is told."""


class Silence:
    """One timer for all transfers under way, set anew only when it rings: most never see it."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._heard: dict[asyncio.Future[Any], Heard] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, future: asyncio.Future[Any], heard: Heard) -> None:
        """Cancel this future when nothing comes for too long."""
        self._heard[future] = heard
        if self._timer is None:
            self._timer = future.get_loop().call_later(self._limit, self._ring)

    def leave(self, future: asyncio.Future[Any]) -> bool:
        """No longer watched. Whether it was too long, and the future cancelled therefore."""
        return self._heard.pop(future, None) is None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        """Whoever came after the timer was set has at least as long: it never rings too late."""
        self._timer = None
        soonest, loop = self._limit, asyncio.get_running_loop()
        now = loop.time()
        for future, heard in list(self._heard.items()):
            left = heard(now) + self._limit - now
            if left > 0:
                soonest = min(soonest, left)
            elif future.cancel():
                del self._heard[future]
        if self._heard:
            self._timer = loop.call_later(soonest, self._ring)
