"""The search engine of a collection: what can be known of it without asking it, in words."""

from __future__ import annotations

import time
from pathlib import Path

from honeyguide import __version__
from honeyguide.config import Settings
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent
from honeyguide.protocols import Fetcher
from honeyguide.search_settings import told
from honeyguide.seeds import consent
from honeyguide.seeds.engine import Engine
from honeyguide.seeds.engine_factory import engine_of, spending_of
from honeyguide.seeds.http_client import TOO_LARGE
from honeyguide.seeds.quota import Spent
from honeyguide.types import Request, Response

UNSET = (
    "no search engine is set: write engine and url under [search] in topic.toml, such as\n"
    '  [search]\n  engine = "searxng"\n  url = "http://localhost:8080/search"'
)
_WORDS = {
    "down": "the search engine does not answer",
    "slow": "the search engine took too long",
    "limited": "the search engine asks for a rest",
    "refused": "the search engine refuses",
    "garbage": "the search engine's answer is no list of results",
    "spent": "this month's requests are used up",
}
_FIXES = {
    "down": "is it running, and is search.url right?",
    "slow": "try again later, or use another one",
    "limited": "a lower search.per_minute avoids that",
    "refused": "is the key right, and does search.url lead to its API?",
    "garbage": "does search.url lead to its API, and may it answer in JSON?",
}


def problem_of(settings: Settings, folder: Path) -> str:
    """Why no engine can be asked, without asking it; '': nothing is known against it."""
    if not settings.search.engine:
        return UNSET
    try:
        user_agent(settings.fetch.contact, __version__)
        engine_at(settings, folder, _Nobody())
    except ConfigError as error:
        return str(error)
    return ""


def agree(settings: Settings, folder: Path) -> Path | None:
    """Note that the user wants this engine asked for this collection, with its key and wherever it
    is: where; None if nobody need agree. Raises ConfigError."""
    if not settings.search.engine or settings.fetch.lab:
        return None
    return consent.agree(consent.agreement_of(settings.search, folder))


def account(settings: Settings, folder: Path) -> Spent | None:
    """What all collections with this key asked for this month; None: nobody counts."""
    try:
        spending = spending_of(settings.search, time.time, folder)
        return spending.so_far() if spending is not None and not settings.fetch.lab else None
    except ConfigError:
        return None  # told when something is asked


def words(kind: str, detail: str) -> str:
    """What went wrong, and what helps. The detail never holds a key."""
    fix = _FIXES.get(kind, "")
    what = _WORDS.get(kind, "the search engine failed")
    if detail.startswith(TOO_LARGE):
        what = "the search engine's answer is of no use"
    said = f"{what}: {detail}".rstrip(": .")
    return f"{said}; {fix}" if fix else said


def engine_at(settings: Settings, folder: Path, fetcher: Fetcher) -> Engine:
    """The engine that the settings name, with its limits and its key; raises ConfigError."""
    chosen, lab = told(settings.search, settings.topic), bool(settings.fetch.lab)
    proxied = bool(settings.fetch.proxy)
    engine = engine_of(chosen, fetcher, time.time, lab=lab, folder=folder, proxied=proxied)
    assert engine is not None  # a name is set
    return engine


class _Nobody:
    """A fetcher for an engine that is only looked at."""

    async def fetch(self, request: Request) -> Response:  # noqa: ARG002 - nobody calls it
        raise AssertionError("an engine that is only looked at asks nothing")

    async def aclose(self) -> None: ...
