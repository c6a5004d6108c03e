"""Which engine the settings name, and everything it needs: the only place that connects them.

An outsider adds one with the entry-point group ``honeyguide.engines``: something that is called
with the settings and a :class:`~honeyguide.seeds.http_client.Line`, and gives an
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
from honeyguide.seeds import consent
from honeyguide.seeds.addresses import warn_open
from honeyguide.seeds.api_keys import Key, key_name, key_of
from honeyguide.seeds.engine import Engine
from honeyguide.seeds.http_client import Line
from honeyguide.seeds.quota import Spending, state_file

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from honeyguide.config import SearchSettings, Settings
    from honeyguide.protocols import Fetcher

OURS = {
    "searxng": "honeyguide.seeds.searxng:SearXng",
    "brave": "honeyguide.seeds.brave:Brave",
    "json": "honeyguide.seeds.json_api:JsonApi",
}
_ADDRESSED = {
    "searxng": "http://localhost:8080/search",
    "json": "https://api.example.org/find?q={query}",
}
"""Engines of ours whose address nobody knows but the user, with examples."""
_TOTAL = 30.0
"""Longest time for one answer: an engine that takes longer is too slow to be of use."""
_MEGABYTES = 2.0


def names() -> list[str]:
    return sorted({*OURS, *(entry.name for entry in _others())})


def check(name: str, url: str) -> None:
    """Whether there is such an engine, and its address, where it needs one; raises ConfigError."""
    _find(name)
    if not url and name in _ADDRESSED:
        raise ConfigError(
            f"search.url: {name} needs the address of its API, such as {_ADDRESSED[name]}"
        )


def engine_of(
    settings: SearchSettings,
    fetcher: Fetcher,
    clock: Callable[[], float],
    *,
    lab: bool = False,
    folder: Path | None = None,
    proxied: bool = False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Engine | None:
    """The engine, or None if none is set. Mistakes are found now: raises ConfigError.

    ``lab``: nothing is paid for, and nothing leaves this machine, so that nothing is counted and
    nobody need agree. ``folder``: the collection's, in which no key may lie, and for which the user
    must have agreed to what its settings ask for; without one, a program chose them itself.
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
        price=0.0 if lab else settings.price / 1000,
        spending=spending,
        sleep=sleep,
    )
    engine = make(settings, line)
    if not lab and folder is not None:
        consent.check(settings, folder, keyed=bool(key))
    if key and key_name(settings):
        warn_open(consent.origin_of(settings), proxied=proxied)
    return engine


def spending_of(
    settings: SearchSettings, clock: Callable[[], float], folder: Path | None = None
) -> Spending | None:
    """The month's account of that server and key, shared with all collections; None: there is no
    key, no budget and no price, and nothing is counted."""
    return _spending(settings, key_of(settings, folder), clock) if settings.engine else None


def fetcher_of(settings: Settings, folder: Path | None = None) -> Fetcher:
    """A fetcher for engines alone: it keeps no cookies and archives nothing. It reaches private
    addresses only where the user agreed to that engine for that collection."""
    from honeyguide import __version__
    from honeyguide.fetch.http import CurlFetcher, user_agent

    told = settings.fetch
    fetch = replace(
        told,
        private_addresses=folder is None or _agreed(settings.search, folder),
        cookies=False,
        total_s=min(told.total_s, _TOTAL),
        html_mb=_MEGABYTES,
        document_mb=_MEGABYTES,
    )
    return CurlFetcher(fetch, user_agent=user_agent(told.contact, __version__), archives=False)


def _agreed(settings: SearchSettings, folder: Path) -> bool:
    try:
        return consent.agreed(consent.agreement_of(settings, folder))
    except ConfigError:
        return False  # told where somebody's word is needed; a public engine does without


def _spending(settings: SearchSettings, key: Key, clock: Callable[[], float]) -> Spending | None:
    if not key_name(settings):
        key = Key()  # whose it is does not matter where it is not sent
    if not (key or settings.per_month or settings.price):
        return None
    place = consent.origin_of(settings) or settings.engine
    return Spending(state_file(), place, key, settings.per_month, clock)


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
