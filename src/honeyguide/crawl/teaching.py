"""A new generation is kept, and lives if the gate let it pass and nobody chose another since."""

from __future__ import annotations

from honeyguide.config import Settings
from honeyguide.learning.school import Lesson
from honeyguide.store.store import Store


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
