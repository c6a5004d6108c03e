"""A new generation is kept, and lives if the gate let it pass and nobody chose another since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from honeyguide.config import Settings
from honeyguide.crawl.shard_hooks import Teaching
from honeyguide.learning.teach import Lesson
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store


@dataclass
class Course:
    """One lesson after another, beside the work of whoever is taught."""

    store: Store
    settings: Settings
    lessons: Teaching
    clock: Callable[[], float]
    present: Callable[[], tuple[Strategy, int] | None]
    """Who decides now, under which number; None: something broke, and nothing is kept any more."""
    swap: Callable[[Strategy, int], None]
    """Called with a new generation that decides from now on."""
    broke: Callable[[BaseException], None]
    lesson: asyncio.Task[Lesson] | None = None
    """The one that is under way."""
    _parent: int = 0
    """The generation that is being taught."""

    def go_on(self) -> None:
        """Begin a lesson if one is due."""
        if self.lesson is None and self.lessons.due() and (now := self.present()):
            strategy, self._parent = now
            self.lesson = asyncio.create_task(self.lessons.learn(strategy))
            self.lesson.add_done_callback(self._learned)

    async def wait(self, seconds: float) -> None:
        """So long at most, for the lesson that is under way."""
        if self.lesson is not None:
            await asyncio.wait((self.lesson,), timeout=seconds)

    async def aclose(self) -> None:
        if self.lesson is not None:
            self.lesson.cancel()
            await asyncio.gather(self.lesson, return_exceptions=True)

    def _learned(self, task: asyncio.Task[Lesson]) -> None:
        """A new generation is swapped in whole, unless the gate held it back."""
        self.lesson = None
        now = self.present()
        if task.cancelled() or now is None:
            return
        try:
            lesson = task.result()
            if now[1] != self._parent:
                return  # somebody chose another generation meanwhile
            told = self.lessons.taught, self._parent, self.clock()
            number = kept(self.store, self.settings, lesson, *told)
            if number is not None and lesson.strategy is not None:
                self.swap(lesson.strategy, number)
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self.broke(error)


def kept(
    store: Store, settings: Settings, lesson: Lesson, taught: int, parent: int, now: float
) -> int | None:
    """The number under which it decides from now on; None if it does not.

    ``parent``: the generation that was taught; ``taught``: the newest label that it heard.
    """
    if lesson.strategy is None or store.live() != parent:
        return None
    name, number = settings.crawl.strategy, store.next_generation()
    with store.transaction():
        store.save_generation(number, name, lesson.strategy, lesson.note, now, live=lesson.live)
        if lesson.live:
            store.set_meta("taught", str(taught))
    return number if lesson.live else None
