"""A crawl with shards, from its beginning to its report."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from honeyguide import __version__
from honeyguide.cluster.coordinator import Coordinator
from honeyguide.cluster.processes import Processes
from honeyguide.cluster.remote_state import (
    Cluster,
    bring_home,
    is_away,
    known,
    refuse,
    room,
    send_away,
)
from honeyguide.cluster.resharding import prepare
from honeyguide.cluster.runner import Runner
from honeyguide.cluster.shard import Plan
from honeyguide.config import Settings
from honeyguide.crawl import status, topics
from honeyguide.crawl.active_generation import live
from honeyguide.crawl.build import enough_of, lessons_of
from honeyguide.crawl.from_settings import fence_of, strategy_of
from honeyguide.crawl.languages import languages_of
from honeyguide.crawl.live_status import EVERY_S, Teller
from honeyguide.crawl.missing_pages import lost
from honeyguide.crawl.progress import Observer, Report
from honeyguide.crawl.rescoring import overrule
from honeyguide.crawl.signals import stoppable
from honeyguide.crawl.stopping import recall
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import user_agent
from honeyguide.store.generations import pack
from honeyguide.store.shards import MARK, folder_of
from honeyguide.store.store import Store
from honeyguide.url import suffixes

_LOOK_S = 0.25

Told = Callable[[str], None]


def crawl_here(
    folder: Path,
    settings: Settings,
    shards: int | None = None,
    observer: Observer | None = None,
    told: Told = lambda _: None,
    *,
    without_lost: bool = False,
) -> Report:
    """Crawl with so many shards, in processes of this machine; Ctrl-C stops cleanly.

    None: as many as the collection has. ``told`` hears of what takes long before it begins.
    ``without_lost``: shards whose folders are gone begin anew.
    """
    wish = Wish(shards, told, without_lost)
    return asyncio.run(crawl_with(folder, settings, wish, Processes(), observer))


def crawl_on(
    folder: Path,
    settings: Settings,
    cluster: Cluster,
    shards: int | None = None,
    observer: Observer | None = None,
    told: Told = lambda _: None,
) -> Report:
    """Crawl with so many shards on the machines of a cluster; Ctrl-C stops cleanly, and brings
    everything home.

    None: as many as the collection has, or two for each machine.
    """
    from honeyguide.cluster.on_ray import OnRay, connect, machines

    with Store.open(folder, "crawl", settings.store) as store:
        cluster = Cluster(cluster.address, cluster.vault or known(store).vault)
        if not cluster.vault:
            raise ConfigError("a crawl on a cluster needs storage that its machines share: --vault")
        ray = connect(cluster.address)
        try:
            if shards is None and store.shards == 1:
                shards = max(2, 2 * machines(ray))
            if not is_away(store):
                _refuse_few(store.shards if shards is None else shards)
                prepare(store, store.shards if shards is None else shards, told)
            mark = store.meta(MARK) or ""
            place = room(store, cluster.vault)
        except BaseException:  # whatever it is, the connection to Ray must not stay open
            ray.shutdown()
            raise
    try:
        runner = OnRay(ray, place, mark, told)
        wish = Wish(shards, told, cluster=cluster)
        return asyncio.run(crawl_with(folder, settings, wish, runner, observer))
    finally:
        ray.shutdown()


def unite(
    folder: Path,
    settings: Settings,
    told: Told = lambda _: None,
    *,
    without_lost: bool = False,
) -> None:
    """Put a collection's shards together, so that it is crawled in one process again."""
    with Store.open(folder, "crawl", settings.store) as store:
        refuse(store)
        prepare(store, 1, told, without_lost=without_lost)


class Wish(NamedTuple):
    """How many shards there shall be, and where."""

    shards: int | None
    """None: as many as there are."""
    told: Told
    without_lost: bool = False
    cluster: Cluster | None = None
    """None: on this machine."""


async def crawl_with(
    folder: Path, settings: Settings, wish: Wish, runner: Runner, observer: Observer | None
) -> Report:
    """Crawl with shards wherever that runner starts them."""
    began = time.time()
    async with opened(folder, settings, wish, runner) as (coordinator, plans):
        store = coordinator.store
        status.begin(store, store.counts().visits, began)
        with stoppable(coordinator.stop):
            teller, ended = Teller(folder, pages=settings.crawl.pages), "it broke off"
            watching = asyncio.create_task(_observe(coordinator, observer, teller))
            try:
                await runner.start(plans, coordinator.hear)
                report = await coordinator.run()
                ended = report.reason
            finally:
                watching.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watching
                await runner.aclose()
                teller.tell(coordinator, ended)
        if wish.cluster is not None:
            # All of them took leave, or we would not be here.
            told = tuple(bring_home(store, wish.told))
            report = replace(report, warnings=report.warnings + told)
        if report.failed:
            return report
        overrule(store, settings)
        missing = tuple(lost(store, settings, began))
        return replace(report, warnings=report.warnings + missing)


@asynccontextmanager
async def opened(
    folder: Path, settings: Settings, wish: Wish, runner: Runner
) -> AsyncIterator[tuple[Coordinator, Sequence[Plan]]]:
    """A coordinator over that collection, and what its shards are to do.

    Mistakes in the settings are found before anything is opened or fetched.
    """
    user_agent(settings.fetch.contact, __version__)
    if settings.search.engine:
        raise ConfigError(
            "a crawl that asks a search engine has one shard: say --shards 1, or take [search] "
            "out of topic.toml"
        )
    fence_of(settings)
    made = strategy_of(settings)
    async with AsyncExitStack() as closing:
        store = closing.enter_context(Store.open(folder, "crawl", settings.store))
        store.hold_to(settings.topic.threshold)
        store.follow(topics.names(settings))
        shards = store.shards if wish.shards is None else wish.shards
        if wish.cluster is None:
            refuse(store)
        elif is_away(store) and shards != store.shards:
            raise ConfigError(
                f"{folder} has {store.shards} shards on a cluster: that many they stay until they "
                "are home (Ctrl-C, or honeyguide cluster recall)"
            )
        else:
            _refuse_few(shards)
        if not is_away(store):
            prepare(store, shards, wish.told, without_lost=wish.without_lost)
        if wish.cluster is not None:
            store.shelf.warnings.clear()  # files may still be in the vault: looked for at the end
            send_away(store, wish.cluster, wish.told)
        strategy, generation, _, warning = live(store, settings, made, time.time())
        given = topics.files(folder, settings)
        lessons = lessons_of(store, settings, strategy, given=given, warning=warning)
        closing.push_async_callback(lessons.aclose)
        coverage = recall(store)
        coordinator: Coordinator
        enough = enough_of(
            settings, store, coverage, lambda: coordinator.progress().waiting, time.time
        )
        coordinator = Coordinator(
            store=store,
            settings=settings,
            strategy=strategy,
            generation=generation,
            lessons=lessons,
            coverage=coverage,
            enough=enough,
            languages=languages_of(settings),
            runner=runner,
            shards=shards,
        )
        files = tuple(sorted(path.name for path in (folder / "warc").glob("*.warc.gz")))
        packed = pack(settings.crawl.strategy, strategy)
        plans = [
            Plan(
                shard,
                shards,
                str(folder_of(folder, shard)),
                str(folder / "warc"),
                settings,
                generation,
                packed,
                store.meta(MARK) or "",
                suffixes(),
                files,
            )
            for shard in range(shards)
        ]
        yield coordinator, plans


def _refuse_few(shards: int) -> None:
    if shards < 2:
        raise ConfigError("a crawl on a cluster has 2 shards or more: say --shards")


async def _observe(coordinator: Coordinator, observer: Observer | None, teller: Teller) -> None:
    """Somebody here looks often, those outside seldom."""
    turn = 0
    while True:
        if turn % round(EVERY_S / _LOOK_S) == 0:
            teller.tell(coordinator)
        if observer is not None:
            observer(coordinator.progress())
        turn += 1
        await asyncio.sleep(_LOOK_S)
