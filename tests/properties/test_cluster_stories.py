"""Shards that are lost, cut off and reopened, in any order: nothing is lost that others rely on.

Hosts are tasks of this process, each with the real shard, store, ring and vault, on the local site.
A machine that is lost takes its folder along; one that is cut off goes on, heard by nobody, until
the vault refuses it. The vault's clock runs faster than ours, so that leases take no time.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from honeyguide.api.collection import Collection
from honeyguide.cluster.messages import (
    ExitRequest,
    ShardPlan,
    ToCoordinator,
    ToShard,
    decode_message,
    encode_message,
)
from honeyguide.cluster.remote_state import ClusterLocation, vault_place
from honeyguide.cluster.resharding import prepare_shards
from honeyguide.cluster.runner import MessageHandler
from honeyguide.cluster.shard_log import boot_seconds
from honeyguide.cluster.shard_node import NOTHING_READ, ShardNode
from honeyguide.cluster.sharded_crawl import ShardingRequest, crawl_with_runner
from honeyguide.crawl.status import Report
from honeyguide.store.store import Store
from tests.end_to_end.crawling import collection, honeyguide, journal
from tests.end_to_end.politeness_probe import assert_one_at_a_time
from tests.site.server import Site
from tests.site.web import weave

SHARDS = 3
FAST = 20.0
CLUSTER = {"save_s": 0.15, "lease_s": 12.0, "warc_s": 0.4}


def clock() -> float:
    return boot_seconds() * FAST


class Stage:
    """Implements :class:`honeyguide.cluster.runner.ShardRunner`, and tells a story meanwhile."""

    grace_s, silence_s = 30.0, 1e9

    def __init__(self, place: str, scratch: Path, dice: random.Random, accidents: int) -> None:
        self.place, self.scratch, self.dice, self.accidents = place, scratch, dice, accidents
        self.hosts: dict[int, ShardNode] = {}
        self.lives: dict[int, asyncio.Task[None]] = {}
        self.old: list[asyncio.Task[None]] = []
        self.gone: list[ShardNode] = []
        self.heard: dict[int, tuple[str, int]] = {}
        self.told: list[str] = []
        self.reader = "1"

    async def start(self, plans: Sequence[ShardPlan], hear: MessageHandler) -> None:
        self.plans = {plan.shard: plan for plan in plans}
        for shard in self.plans:
            if shard not in self.hosts:
                self.open(shard)
        self.polling = asyncio.create_task(self.poll(hear))
        self.story = asyncio.create_task(self.tell_story())

    def open(self, shard: int) -> None:
        # A message to a shard is lost with it, as on any network.
        lives = self.lives
        host = ShardNode(
            self.plans[shard],
            self.place,
            lambda to, data: self.carry(host, to, data),
            scratch=self.scratch / str(self.dice.randrange(10**6)),
            clock=clock,
        )
        self.hosts[shard] = host
        lives[shard] = asyncio.create_task(host.run_shard())

    def carry(self, by: ShardNode, to: int, data: bytes) -> None:
        connected = by in self.hosts.values()
        if connected and to in self.hosts and self.dice.random() > 0.05:
            asyncio.get_running_loop().call_soon(self.hosts[to].receive_messages, [data])

    def send(self, shard: int, message: ToShard) -> None:
        self.hosts[shard].receive_messages([encode_message(message)])

    async def wait_until_sent(self) -> None:
        await asyncio.sleep(0)

    async def poll(self, hear: MessageHandler) -> None:
        while True:
            for shard, host in self.hosts.items():
                before = self.heard.get(shard, NOTHING_READ)
                self.heard[shard], found = host.news.fetch(self.reader, before, 0)
                for data in found:
                    message = decode_message(data)
                    assert isinstance(message, ToCoordinator)
                    hear(message)
            await asyncio.sleep(0.02)

    async def tell_story(self) -> None:
        for _ in range(self.accidents):
            await asyncio.sleep(self.dice.uniform(0.1, 0.9))
            shard = self.dice.randrange(SHARDS)
            task = self.lives[shard]
            if self.dice.random() < 0.5:
                self.told.append(f"shard {shard} dies")
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            else:
                self.told.append(f"shard {shard} is cut off")
                self.old.append(task)
                self.gone.append(self.hosts[shard])
            self.open(shard)

    async def aclose(self) -> None:
        self.story.cancel()
        await asyncio.gather(self.story, return_exceptions=True)
        # One that was told to stop and then cut off waits for a word that it cannot hear.
        for host in (*self.hosts.values(), *self.gone):
            host.receive_messages([encode_message(ExitRequest())])
        async with asyncio.timeout(60):
            ends = await asyncio.gather(*self.lives.values(), *self.old, return_exceptions=True)
        # The story may end between a death and the next life: that shard was cancelled.
        for trouble in ends:
            if isinstance(trouble, Exception):
                raise trouble
        self.polling.cancel()
        await asyncio.gather(self.polling, return_exceptions=True)


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost(site: Site, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    hosts = site.addresses[:8]
    web = weave(site, hosts, pages=25, seed=seed)
    folder, place = tmp_path / "bees", tmp_path / "vault"
    place.mkdir()
    collection(
        folder,
        [site.url(hosts[0], "/")],
        crawl={"pages": 0, "concurrency": 24},
        politeness={"loopback_delay_s": 0.01},
        cluster=CLUSTER,
    )
    wish = ShardingRequest(SHARDS, lambda _: None, cluster=ClusterLocation("nowhere:1", str(place)))
    report, stage = asyncio.run(_story(folder, place, wish, tmp_path, dice))
    visits = Counter(row.url for row in journal(folder))
    assert set(visits) == set(web.urls), (stage.told, "a page was not visited")
    assert max(visits.values()) == 1, (stage.told, "a visit came twice")
    assert report.progress.visits == len(web.urls)
    assert report.reason == "no link is left to follow"
    assert_one_at_a_time(site.log)
    records = {row.warc for row in journal(folder)}
    there = {path.name for path in (folder / "warc").iterdir()}
    lost = sum(row.warc not in there for row in journal(folder))
    assert any(f"records of {lost} visits" in text for text in report.warnings) == bool(lost)
    assert records & there
    done = honeyguide("crawl", folder, "--shards", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert Collection(folder).status().visits == len(web.urls)


async def _story(
    folder: Path, place: Path, wish: ShardingRequest, scratch: Path, dice: random.Random
) -> tuple[Report, Stage]:
    settings = Collection(folder).settings
    with Store.open(folder, "crawl", settings.store) as store:
        prepare_shards(store, SHARDS, lambda _: None)
        where = vault_place(store, str(place))
    stage = Stage(where, scratch / "machines", dice, accidents=8)
    async with asyncio.timeout(150):  # where something was lost, it may never end
        return await crawl_with_runner(folder, settings, wish, stage, None), stage
