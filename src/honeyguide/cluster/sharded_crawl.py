"""A crawl with shards, from opening the collection to the report."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from honeyguide import __version__
from honeyguide.cluster import remote_state
from honeyguide.cluster.coordinator import Coordinator
from honeyguide.cluster.messages import ShardPlan
from honeyguide.cluster.resharding import prepare_shards
from honeyguide.cluster.runner import ProcessRunner, ShardRunner
from honeyguide.config.settings import Settings
from honeyguide.crawl import status
from honeyguide.crawl.build import build_stop_conditions, build_training_feed
from honeyguide.crawl.from_settings import build_scope_filter, build_strategy
from honeyguide.crawl.live_generation import choose_generation
from honeyguide.crawl.rescore import pinned_cut, settle_cut
from honeyguide.crawl.run import complete_report, run_observed
from honeyguide.crawl.signals import run_in_loop, stop_on_signals
from honeyguide.crawl.status import Report
from honeyguide.crawl.stopping import restore_coverage
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import make_user_agent
from honeyguide.languages.gate import build_language_gate
from honeyguide.learning import topics
from honeyguide.run_status import StatusObserver
from honeyguide.store.generations import pack_strategy
from honeyguide.store.shards import SPLIT_KEY, shard_folder
from honeyguide.store.store import Store
from honeyguide.url import suffix_list_digest

Announce = Callable[[str], None]


def crawl_in_processes(
    folder: Path,
    settings: Settings,
    shards: int | None = None,
    observer: StatusObserver | None = None,
    announce: Announce = lambda _: None,
    *,
    without_lost: bool = False,
) -> Report:
    """Crawl with so many shards, in processes of this machine; Ctrl-C stops cleanly.

    None: as many as the collection has. ``announce`` hears of what takes long before it begins.
    ``without_lost``: shards whose folders are gone begin anew.
    """
    wish = ShardingRequest(shards, announce, without_lost)
    return run_in_loop(crawl_with_runner(folder, settings, wish, ProcessRunner(), observer))


def unite_shards(
    folder: Path,
    settings: Settings,
    announce: Announce = lambda _: None,
    *,
    without_lost: bool = False,
) -> None:
    """Put a collection's shards together, so that it is crawled in one process again."""
    with Store.open(folder, "crawl", settings.store) as store:
        remote_state.refuse_if_away(store)
        prepare_shards(store, 1, announce, without_lost=without_lost)


class ShardingRequest(NamedTuple):
    """How many shards there shall be, and where."""

    shards: int | None
    """None: as many as there are."""
    announce: Announce
    without_lost: bool = False
    cluster: remote_state.ClusterLocation | None = None
    """None: on this machine."""


async def crawl_with_runner(
    folder: Path,
    settings: Settings,
    wish: ShardingRequest,
    runner: ShardRunner,
    observer: StatusObserver | None,
) -> Report:
    """Crawl with shards wherever that runner starts them."""
    began = time.time()
    async with open_coordinator(folder, settings, wish, runner) as (coordinator, plans):
        store = coordinator.store
        status.mark_run_start(store, store.counter.read_counts().visits, began)
        with stop_on_signals(coordinator.stop):
            running = _run_shards(coordinator, plans)
            report = await run_observed(folder, settings, coordinator, running, observer)
        if wish.cluster is not None:
            # All of them took leave, or we would not be here.
            lost = tuple(remote_state.bring_home(store, wish.announce))
            report = replace(report, warnings=report.warnings + lost)
        return complete_report(report, store, settings, began)


async def _run_shards(coordinator: Coordinator, plans: Sequence[ShardPlan]) -> Report:
    try:
        await coordinator.runner.start(plans, coordinator.receive)
        return await coordinator.run()
    finally:
        await coordinator.runner.aclose()


@asynccontextmanager
async def open_coordinator(
    folder: Path, settings: Settings, wish: ShardingRequest, runner: ShardRunner
) -> AsyncIterator[tuple[Coordinator, Sequence[ShardPlan]]]:
    """A coordinator over that collection, and what its shards are to do.

    Mistakes in the settings are found before anything is opened or fetched.
    """
    make_user_agent(settings.fetch.contact, __version__)
    if settings.search.engine:
        raise ConfigError(
            "a crawl that asks a search engine has one shard: say --shards 1, or take [search] "
            "out of topic.toml"
        )
    build_scope_filter(settings)
    made = build_strategy(settings)
    async with AsyncExitStack() as closing:
        store = closing.enter_context(Store.open(folder, "crawl", settings.store))
        store.visits.set_topics(topics.topic_names(settings))
        settings = pinned_cut(settings, settle_cut(store, settings))
        shards = store.shard_count if wish.shards is None else wish.shards
        if wish.cluster is None:
            remote_state.refuse_if_away(store)
        elif remote_state.is_away(store) and shards != store.shard_count:
            raise ConfigError(
                f"{folder} has {store.shard_count} shards on a cluster: their number cannot "
                "change until they are back (Ctrl-C, or honeyguide cluster recall)"
            )
        else:
            check_shard_count(shards)
        if not remote_state.is_away(store):
            prepare_shards(store, shards, wish.announce, without_lost=wish.without_lost)
        if wish.cluster is not None:
            # Files may still be in the vault: they are looked for at the end.
            store.warc_archive.warnings.clear()
            remote_state.send_away(store, wish.cluster, wish.announce)
        strategy, generation, _, warning = choose_generation(store, settings, made, time.time())
        examples = topics.load_all_example_files(folder, settings)
        training = build_training_feed(
            store, settings, strategy, examples=examples, warning=warning
        )
        closing.push_async_callback(training.aclose)
        coverage = restore_coverage(store)
        coordinator: Coordinator
        stop_rule = build_stop_conditions(
            settings, store, coverage, lambda: coordinator.progress().waiting, time.time
        )
        coordinator = Coordinator(
            store=store,
            settings=settings,
            strategy=strategy,
            generation=generation,
            training=training,
            coverage=coverage,
            stop_rule=stop_rule,
            languages=build_language_gate(settings),
            runner=runner,
            shards=shards,
        )
        files = tuple(sorted(path.name for path in (folder / "warc").glob("*.warc.gz")))
        packed = pack_strategy(settings.crawl.strategy, strategy)
        plans = [
            ShardPlan(
                shard,
                shards,
                str(shard_folder(folder, shard)),
                str(folder / "warc"),
                settings,
                generation,
                packed,
                store.get_meta(SPLIT_KEY) or "",
                suffix_list_digest(),
                files,
            )
            for shard in range(shards)
        ]
        yield coordinator, plans


def check_shard_count(shards: int) -> None:
    if shards < 2:
        raise ConfigError("a crawl on a cluster has 2 shards or more: say --shards")
