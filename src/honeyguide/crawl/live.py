"""Which generation decides when a crawl begins, or goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any, cast

from honeyguide import registry
from honeyguide.config import Settings
from honeyguide.errors import ModelError
from honeyguide.protocols import Strategy
from honeyguide.several import topics_of
from honeyguide.store.store import Store


def live(
    store: Store, settings: Settings, made: Strategy, now: float
) -> tuple[Strategy, int, bool, str]:
    """The live generation, unless the topic changed since: then what was made is the next.

    (strategy, its number, whether it is new, a warning.) A generation that cannot be read any
    more is replaced by the newest before it that can.
    """
    wish = json.dumps([settings.crawl.strategy, _plain(made)], sort_keys=True, default=asdict)
    number, warning = store.live(), ""
    if number is not None and store.meta("strategy") == wish:
        name = settings.crawl.strategy
        whole = [g.number for g in store.generations() if g.size and g.name == name]
        for older in sorted((n for n in whole if n <= number), reverse=True):
            try:
                found: Strategy = store.load_generation(older, registry.find)
                if topics_of(found) == topics_of(made):
                    return found, older, False, warning
            except ModelError as error:
                warning = warning or (
                    f"generation {older} could not be read ({error}); an earlier one decides. "
                    "Labels are kept, and will be learned from anew"
                )
    number = store.next_generation()
    with store.transaction():
        store.save_generation(number, settings.crawl.strategy, made, "from topic.toml", now)
        store.set_meta("strategy", wish)
        store.set_meta("taught", "")
    return made, number, True, warning


def _plain(strategy: Strategy) -> dict[str, Any]:
    return {
        f.name: value
        for f in fields(cast("Any", strategy))
        if isinstance(value := getattr(strategy, f.name), str | int | float | bool | tuple)
    }
