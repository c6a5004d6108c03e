"""The trainer collects examples and says when it is time for a new generation."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from honeyguide.protocols import Strategy
from honeyguide.types import Example


class Trainer:
    """Every ``every`` pages, if an example came in, a new generation is learned.

    The count is of pages seen, not of examples taken (Iliou et al. 2017, algorithm 1: k = 14).
    Learning runs in a thread beside the ring, which never waits for it.
    """

    def __init__(self, every: int, capacity: int = 20_000) -> None:
        self._every = every
        self._capacity = capacity
        self._examples: list[Example] = []
        self._pages = 0
        self._fresh = 0

    def seen(self) -> None:
        """One more page went by."""
        self._pages += 1

    def offer(self, example: Example) -> None:
        # A page's links teach nobody, and there are many of them.
        self._examples.append(replace(example, page=replace(example.page, links=())))
        self._fresh += 1
        if len(self._examples) > self._capacity:
            # People's words are few and dear: what we said ourselves goes first.
            oldest = next((i for i, e in enumerate(self._examples) if e.by == "judge"), 0)
            del self._examples[oldest]

    def due(self) -> bool:
        return self._every > 0 and self._pages >= self._every and self._fresh > 0

    async def learn(self, strategy: Strategy) -> Strategy:
        """The next generation; the same strategy if there was nothing to learn."""
        self._pages = self._fresh = 0
        return await asyncio.to_thread(strategy.learn, tuple(self._examples))
