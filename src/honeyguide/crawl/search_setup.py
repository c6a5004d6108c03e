"""The parts of a crawl that asks a search engine, made from its settings.

Loaded only where one is asked: a crawl that follows links alone needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from honeyguide.config import Settings
from honeyguide.crawl.engine_client import Questions
from honeyguide.crawl.queries import Queries, Withheld
from honeyguide.crawl.ranking import Telling
from honeyguide.crawl.search_session import Searches
from honeyguide.crawl.source_bandit import Sources
from honeyguide.crawl.suggest import composer_of
from honeyguide.errors import ConfigError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import Fetcher
from honeyguide.search_settings import told
from honeyguide.seeds.engine import Engine
from honeyguide.seeds.engine_factory import engine_of, fetcher_of
from honeyguide.seeds.private_hosts import private
from honeyguide.seeds.query_bandit import Pulls
from honeyguide.store.store import Store
from honeyguide.types import Example, Link, Url


def engine_for(
    folder: Path,
    settings: Settings,
    fetcher: Fetcher | None,
    clock: Callable[[], float],
    closing: AsyncExitStack,
) -> Engine:
    """The engine that the settings name; a ConfigError if it cannot be asked.

    It has a fetcher of its own, whose answers nobody archives, unless the lab brought one.
    """
    lab = fetcher is not None or bool(settings.fetch.lab)
    if fetcher is None:
        fetcher = fetcher_of(settings, folder)
        closing.push_async_callback(fetcher.aclose)
    chosen = told(settings.search, settings.topic)
    proxied = bool(settings.fetch.proxy)
    engine = engine_of(chosen, fetcher, clock, lab=lab, folder=folder, proxied=proxied)
    if engine is None:
        raise ConfigError("search.engine: no engine is set")
    return engine


def searches_of(
    engine: Engine,
    settings: Settings,
    store: Store,
    sources: Sources,
    frontier: LinkFrontier,
    admits: Callable[[Link], bool],
    ledger: Telling | None,
    clock: Callable[[], float],
    said: Mapping[Url, float],
    examples: Iterable[Example],
    *,
    lab: bool = False,
) -> Searches:
    """As earlier runs left it. ``said``: what the topic says of pages; ``examples``: those that are
    at hand already; ``lab``: nothing leaves this machine."""
    chosen = settings.search
    composer = composer_of(settings) if chosen.compose else None
    pulls = Pulls(settings.crawl.seed, chosen.most_queries)
    queries = Queries(composer, pulls, said, withholding(settings, lab=lab))
    for example in examples:
        queries.read(example.page, example.target)
    searches = Searches(
        Questions(engine, chosen.per_minute, clock, settings.scope.strip_tracking),
        queries,
        sources,
        store,
        admits,
        lambda: _median(frontier, clock()),
        None if ledger is None else ledger.found,
    )
    searches.recall(frontier, chosen.queries)
    return searches


def withholding(settings: Settings, *, lab: bool = False) -> Withheld | None:
    """Which pages the crawl makes no queries from, because whoever runs the engine would read their
    words: the user's own files, and pages in private networks. An engine in such a network makes no
    difference: a SearXNG at home passes questions on to public engines."""
    if lab or settings.fetch.lab or settings.search.private:
        return None
    return private


def _median(frontier: LinkFrontier, now: float) -> float:
    """The score of the middle one of what waits, rounded down."""
    steps = frontier.glance(now, 0, 0).scores
    half, before = sum(steps) / 2, 0
    for step, links in enumerate(steps):
        before += links
        if before and before >= half:
            return step / len(steps)
    return 0.0
