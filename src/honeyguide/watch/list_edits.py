"""What people say of the watch list: add, pause, resume, remove, weigh."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal

from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.store.watched_rows import State
from honeyguide.types import Url

Action = Literal["add", "remove", "pause", "resume", "weigh"]

_STATES: dict[Action, State] = {"remove": "removed", "pause": "paused", "resume": "watched"}
_LIGHTEST, _HEAVIEST = 0.001, 1000.0


def speak(
    store: Store, action: Action, urls: Sequence[Url], now: float, weight: float | None = None
) -> int:
    """Of how many pages something is now different. A watch that runs hears of it."""
    if action == "add":
        return store.watched.add(urls, "user", now)
    if action == "weigh" and (weight is None or not _LIGHTEST <= weight <= _HEAVIEST):
        raise ConfigError("a weight lies between 0.001 and 1000; 1 is that of all others")
    for url in urls:
        if not store.watched.alter(url, state=_STATES.get(action), weight=weight):
            raise ConfigError(
                f"{url} is not watched; add it with: "
                f"honeyguide watch {shlex.quote(str(store.folder))} add {shlex.quote(url)}"
            )
    return len(urls)
