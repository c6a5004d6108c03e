"""Which engine the settings name, and everything it needs: the only place that connects them.

An outsider adds one with the entry-point group ``honeyguide.engines``: something that is called
with the settings and a :class:`~honeyguide.seeds.line.Line`, and gives an
:class:`~honeyguide.seeds.engine.Engine`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from honeyguide.errors import ConfigError
from honeyguide.seeds.engine import Engine
from honeyguide.seeds.keys import Key, key_of
from honeyguide.seeds.line import Line
from honeyguide.seeds.spending import Spending, state_file

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from honeyguide.config import SearchSettings, Settings
    from honeyguide.protocols import Fetcher

OURS = {
    "searxng": "honeyguide.seeds.searxng:SearXng",
    "brave": "honeyguide.seeds.brave:Brave",
    "json": "honeyguide.seeds.json_api:JsonApi",
}
_TOTAL = 30.0
"""Longest time for one answer: an engine that takes longer is too slow to be of use."""
_MEGABYTES = 10.0


def names() -> list[str]:
    return sorted({*OURS, *(entry.name for entry in _others())})


def engine_of(
    settings: SearchSettings,
    fetcher: Fetcher,
    clock: Callable[[], float],
    *,
    lab: bool = False,
    folder: Path | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Engine | None:
    """The engine, or None if none is set. Mistakes are found now: raises ConfigError.

    ``lab``: nothing is paid for, so that nothing is counted. ``folder``: the collection's, in
    which no key may lie.
    """
    if not settings.engine:
        return None
    make = _find(settings.engine)
    key = key_of(settings, folder)
    spending = None if lab else _spending(settings, key, clock)
    if spending is not None:
        spending.so_far()
    line = Line(
        fetcher,
        clock,
        key=key,
        per_minute=settings.per_minute,
        price=settings.price / 1000,
        spending=spending,
        sleep=sleep,
    )
    return make(settings, line)


def spending_of(
    settings: SearchSettings, clock: Callable[[], float], folder: Path | None = None
) -> Spending | None:
    """The month's account of that engine and key, shared with all collections; None: no budget and
    no price are set, and nothing is counted."""
    return _spending(settings, key_of(settings, folder), clock) if settings.engine else None


def fetcher_of(settings: Settings) -> Fetcher:
    """A fetcher for engines alone: it keeps no cookies and archives nothing. The user wrote the
    address, so that it may be a private one."""
    from honeyguide import __version__
    from honeyguide.fetch.http import CurlFetcher, user_agent

    told = settings.fetch
    fetch = replace(
        told,
        private_addresses=True,
        cookies=False,
        total_s=min(told.total_s, _TOTAL),
        html_mb=_MEGABYTES,
        document_mb=_MEGABYTES,
    )
    return CurlFetcher(fetch, user_agent=user_agent(told.contact, __version__), archives=False)


def _spending(settings: SearchSettings, key: Key, clock: Callable[[], float]) -> Spending | None:
    if not (settings.per_month or settings.price):
        return None
    return Spending(state_file(), settings.engine, key, settings.per_month, clock)


def _find(name: str) -> Callable[[SearchSettings, Line], Engine]:
    target = OURS.get(name)
    if target is None:
        target = next((entry.value for entry in _others() if entry.name == name), None)
    if target is None:
        near = get_close_matches(name, names(), 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names())}"
        raise ConfigError(f"search.engine: there is no engine {name!r}; {hint}")
    module, _, attribute = target.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"search.engine: {name!r} cannot be loaded: {error}") from error
    return cast("Callable[[SearchSettings, Line], Engine]", found)


def _others() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.engines")
