"""Makes the search engine that the settings name, with its key, quota and HTTP client.

An outsider adds one with the entry-point group ``honeyguide.engines``: something that is called
with the settings and a :class:`~honeyguide.search.http_client.EngineHttpClient`, and gives an
:class:`~honeyguide.search.engine.SearchEngine`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from honeyguide.errors import ConfigError, suggest_name
from honeyguide.search import credentials
from honeyguide.search.credentials import ApiKey, load_api_key, sent_key_name
from honeyguide.search.engine import SearchEngine
from honeyguide.search.http_client import (
    EngineHttpClient,
    MonthlyQuota,
    state_file,
    warn_unencrypted_key,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from honeyguide.config.settings import SearchSettings, Settings
    from honeyguide.protocols import Fetcher


BUILT_IN_ENGINES = {
    "searxng": "honeyguide.search.engines:SearXng",
    "brave": "honeyguide.search.engines:Brave",
    "json": "honeyguide.search.engines:JsonApi",
}
_EXAMPLE_URLS = {
    "searxng": "http://localhost:8080/search",
    "json": "https://api.example.org/find?q={query}",
}
"""Engines of ours whose address nobody knows but the user, with examples."""
_MAX_ANSWER_S = 30.0
"""Longest time for one answer: an engine that takes longer is too slow to be of use."""
_MAX_ANSWER_MB = 2.0


def engine_names() -> list[str]:
    return sorted({*BUILT_IN_ENGINES, *(entry.name for entry in _plugin_engines())})


def check_engine(name: str, url: str) -> None:
    """Whether there is such an engine, and its address, where it needs one; raises ConfigError."""
    _find_engine(name)
    if not url and name in _EXAMPLE_URLS:
        raise ConfigError(
            f"search.url: {name} needs the address of its API, such as {_EXAMPLE_URLS[name]}"
        )


def make_engine(
    settings: SearchSettings,
    fetcher: Fetcher,
    clock: Callable[[], float],
    *,
    lab: bool = False,
    folder: Path | None = None,
    proxied: bool = False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> SearchEngine | None:
    """The engine, or None if none is set. Mistakes are found now: raises ConfigError.

    ``lab``: nothing is paid for, and nothing leaves this machine, so that nothing is counted and
    nobody need agree. ``folder``: the collection's, in which no key may lie, and for which the user
    must have agreed to what its settings ask for; without one, a program chose them itself.
    """
    if not settings.engine:
        return None
    make = _find_engine(settings.engine)
    key = load_api_key(settings, folder)
    spending = None if lab else _make_quota(settings, key, clock)
    if spending is not None:
        spending.current_usage()
    line = EngineHttpClient(
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
        credentials.require_consent(settings, folder, keyed=bool(key))
    if key and sent_key_name(settings):
        warn_unencrypted_key(credentials.engine_origin(settings), proxied=proxied)
    return engine


def make_quota(
    settings: SearchSettings, clock: Callable[[], float], folder: Path | None = None
) -> MonthlyQuota | None:
    """The month's account of that server and key, shared with all collections; None: there is no
    key, no budget and no price, and nothing is counted."""
    return _make_quota(settings, load_api_key(settings, folder), clock) if settings.engine else None


def make_engine_fetcher(settings: Settings, folder: Path | None = None) -> Fetcher:
    """A fetcher for engines alone: it keeps no cookies and archives nothing. It reaches private
    addresses only where the user agreed to that engine for that collection."""
    from honeyguide import __version__
    from honeyguide.fetch.http import CurlFetcher, make_user_agent

    wanted = settings.fetch
    fetch = replace(
        wanted,
        private_addresses=folder is None or _private_access_allowed(settings.search, folder),
        cookies=False,
        total_s=min(wanted.total_s, _MAX_ANSWER_S),
        html_mb=_MAX_ANSWER_MB,
        document_mb=_MAX_ANSWER_MB,
    )
    return CurlFetcher(
        fetch, user_agent=make_user_agent(wanted.contact, __version__), archives=False
    )


def _private_access_allowed(settings: SearchSettings, folder: Path) -> bool:
    try:
        return credentials.has_consent(credentials.required_consent(settings, folder))
    except ConfigError:
        return False  # told where somebody's word is needed; a public engine does without


def _make_quota(
    settings: SearchSettings, key: ApiKey, clock: Callable[[], float]
) -> MonthlyQuota | None:
    if not sent_key_name(settings):
        key = ApiKey()  # whose it is does not matter where it is not sent
    if not (key or settings.per_month or settings.price):
        return None
    place = credentials.engine_origin(settings) or settings.engine
    return MonthlyQuota(state_file(), place, key, settings.per_month, clock)


def _find_engine(name: str) -> Callable[[SearchSettings, EngineHttpClient], SearchEngine]:
    target = BUILT_IN_ENGINES.get(name)
    if target is None:
        target = next((entry.value for entry in _plugin_engines() if entry.name == name), None)
    if target is None:
        hint = suggest_name(name, engine_names())
        raise ConfigError(f"search.engine: there is no engine {name!r}; {hint}")
    module, _, attribute = target.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"search.engine: {name!r} cannot be loaded: {error}") from error
    return cast("Callable[[SearchSettings, EngineHttpClient], SearchEngine]", found)


def _plugin_engines() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.engines")
