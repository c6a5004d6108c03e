"""The trainer hears of pages and labels, and says when it is time for a new generation."""

from __future__ import annotations

import logging
from typing import Protocol

from honeyguide.errors import ModelError
from honeyguide.learning.teach import Lesson
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Url

_log = logging.getLogger(__name__)

_GROWTH = 0.1
_FIRST = 5
"""Examples before the first lesson of a strategy that learns when they grow."""
_FAILURES = 3
"""Lessons that may fail in a row."""


class Learner(Protocol):
    """Where examples go and generations come from, in this process or in another."""

    def offer(self, example: Example) -> None: ...

    def remember(self, known: dict[Url, float]) -> None:
        """What the live generation was taught about pages in an earlier run."""

    async def lesson(self, strategy: Strategy) -> Lesson:
        """The next generation. Raises ModelError."""

    async def aclose(self) -> None: ...


class Trainer:
    """When to learn: every so many pages, when examples grew by a tenth, or when a person spoke.

    The count is of pages seen, not of examples taken (Iliou et al. 2017, algorithm 1: k = 14);
    growth by a tenth is the rule of Xu, Yoon & Tourassi.
    """

    def __init__(
        self, learner: Learner, every: int, *, grows: bool = False, eager: bool = True
    ) -> None:
        self._learner = learner
        self._every = every
        self._grows = grows
        self._eager = eager
        self._pages = self._fresh = self._labels = self._total = self._learned = 0
        self._expected = 0
        self._failures = 0
        self.trouble = ""
        """Why the last lesson failed; '' if it did not."""

    def seen(self) -> None:
        """One more page went by."""
        self._pages += 1

    def expect(self, examples: int) -> None:
        """So many examples of the topic are on their way: the first lesson waits for them."""
        self._expected = examples

    def offer(self, example: Example) -> None:
        self._learner.offer(example)
        self._total += 1
        if example.by != "visit" or self._grows:
            self._fresh += 1
        self._labels += example.by in ("seed", "user")

    def remember(self, known: dict[Url, float]) -> None:
        self._learner.remember(known)

    def settle(self) -> None:
        """What was offered so far was learned in an earlier run."""
        self._fresh = self._labels = 0

    def due(self) -> bool:
        if not self._fresh or self._expected > 0 or self._failures >= _FAILURES:
            return False
        if self._labels and self._eager:
            return True
        if self._grows:
            return self._total >= max(_FIRST, (1 + _GROWTH) * self._learned)
        return 0 < self._every <= self._pages

    async def learn(self, strategy: Strategy) -> Lesson:
        """The next generation, if there is one. A lesson that fails is told, and costs no crawl."""
        self._pages = self._fresh = self._labels = 0
        self._learned = self._total
        try:
            lesson = await self._learner.lesson(strategy)
        except ModelError as error:
            self._failures += 1
            self.trouble = str(error)
            _log.warning("%s", error)
            return Lesson(None, note=str(error))
        self._failures = 0
        self._fresh += lesson.again
        return lesson

    async def aclose(self) -> None:
        await self._learner.aclose()
