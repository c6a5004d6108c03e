"""How long nothing may come. Curl's own measure is a mean over seconds, and cuts late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Silence:
    """A timer on a transfer that is set anew only when it rings: most never see it.

    ``heard`` says when something last came, in the event loop's time.
    """

    __slots__ = ("_future", "_heard", "_limit", "_loop", "_timer", "broke")

    def __init__(
        self, limit: float, future: asyncio.Future[Any], heard: Callable[[float], float]
    ) -> None:
        self.broke = False
        """Whether it was too long, and the future cancelled therefore."""
        self._limit = limit
        self._future = future
        self._heard = heard
        self._loop = future.get_loop()
        self._timer = self._loop.call_later(limit, self._ring)

    def stop(self) -> None:
        self._timer.cancel()

    def _ring(self) -> None:
        now = self._loop.time()
        left = self._heard(now) + self._limit - now
        if left > 0:
            self._timer = self._loop.call_later(left, self._ring)
        else:
            self.broke = self._future.cancel()
