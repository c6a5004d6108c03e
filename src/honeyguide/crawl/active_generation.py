"""Which generation decides when a crawl begins, or goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any, cast

from honeyguide import registry
from honeyguide.config import Settings
from honeyguide.errors import ModelError
from honeyguide.multi_topic import Several, topics_of
from honeyguide.protocols import Strategy
from honeyguide.store.store import Store

_LABELS = "Labels are kept, and the crawl learns from all of them anew"


def live(
    store: Store, settings: Settings, made: Strategy, now: float
) -> tuple[Strategy, int, bool, str]:
    """The live generation, unless the topic changed since: then what was made is the next.

    (strategy, its number, whether it is new, a warning.) A generation that cannot be read any
    more is replaced by the newest before it that can, if the topic asked for the same then.
    """
    name = settings.crawl.strategy
    wish, before = _told(name, made), store.meta("strategy") or ""
    warning = ""
    if store.live() is not None and _wished(before, name, made):
        found, number, warning = readable(
            store, topics_of(made), name, lambda one: _wished(_told(name, one), name, made)
        )
        if found is not None:
            if number != store.live():
                decide(store, number)
            if before != wish:
                store.set_meta("strategy", wish)  # with what this version knows besides
            return found, number, False, warning
    number = store.next_generation()
    with store.transaction():
        store.save_generation(number, name, made, "from topic.toml", now)
        store.set_meta("strategy", wish)
        store.set_meta("taught", "")
        store.set_meta("known", "")
    if warning:
        warning = f"{warning}; generation {number}, made from topic.toml, decides. {_LABELS}"
    return made, number, True, warning


def readable(
    store: Store,
    topics: tuple[str, ...],
    strategy: str = "",
    fits: Callable[[Strategy], bool] = lambda _: True,
) -> tuple[Strategy | None, int, str]:
    """The live generation, or the newest before it that can be read, is one of this strategy (or
    the live one's own), knows these topics and ``fits``; its number, and a warning if the live one
    is damaged. None: there is none.
    """
    damaged, live = "", store.live()
    known = {generation.number: generation.name for generation in store.generations()}
    strategy = strategy or known.get(live or 0, "")
    for number in sorted((n for n in known if live is not None and n <= live), reverse=True):
        if known[number] != strategy:
            continue
        try:
            found: Strategy = store.load_generation(number, registry.find)
        except ModelError as error:
            damaged = damaged or f"generation {number} could not be read: {error}"
            continue
        if topics_of(found) == topics and (number == live or fits(found)):
            told = f"{damaged}; generation {number} decides. {_LABELS}" if damaged else ""
            return found, number, told
    return None, 0, damaged


def decide(store: Store, number: int) -> None:
    """This generation decides instead of one that cannot be read, and learns from all labels anew;
    to the gate they are no news."""
    with store.transaction():
        store.use_generation(number)
        store.set_meta("known", store.meta("taught") or store.meta("known") or "")
        store.set_meta("taught", "")


def _told(name: str, made: Strategy) -> str:
    """What the topic asks for, in plain words."""
    wish = _plain(made)
    if isinstance(made, Several):
        wish = {"names": made.names, "parts": [_plain(part) for part in made.parts]}
    return json.dumps([name, wish], sort_keys=True, default=asdict)


def _wished(stored: str, name: str, made: Strategy) -> bool:
    """Whether the topic asked for the same when this was stored, perhaps by an older version."""
    try:
        before = json.loads(stored)
    except (ValueError, RecursionError):
        return False
    match before:
        case [str(same), {"names": list(names), "parts": list(parts)}] if (
            same == name and isinstance(made, Several) and names == list(made.names)
        ):
            pairs = zip(parts, made.parts, strict=False)
            return len(parts) == len(names) and all(_same(wish, part) for wish, part in pairs)
        case [str(same), dict(wish)] if same == name and not isinstance(made, Several):
            return "parts" not in wish and _same(wish, made)
    return False


def _same(wish: Any, made: Strategy) -> bool:
    """A parameter that was not known then had what is its default now; one that is not known any
    more has no say, nor has what lessons fill."""
    now = _plain(made)
    if not (isinstance(wish, dict) and wish.keys() & now.keys()):
        return False
    defaults = {f.name: f.default for f in fields(cast("Any", made))}
    spoken = json.loads(json.dumps(now, default=asdict))
    return all(
        wish[key] == spoken[key] if key in wish else value == defaults[key]
        for key, value in now.items()
        if key not in made.habits.learned
    )


def _plain(strategy: Strategy) -> dict[str, Any]:
    return {
        f.name: value
        for f in fields(cast("Any", strategy))
        if isinstance(value := getattr(strategy, f.name), str | int | float | bool | tuple)
    }
