"""One shard: a crawl loop over its own folder, and its messages to the others.

The same in a process of this machine and on a machine of a cluster: whoever runs it gives it a way
to send messages, and hands it those that came.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

from msgspec import structs

from honeyguide import registry
from honeyguide.cluster import messages
from honeyguide.cluster.checkpointing import Checkpointer
from honeyguide.cluster.messages import (
    ExitRequest,
    GenerationUpdate,
    LabelUpdate,
    LeaseDeferral,
    LeaseGrant,
    LeaseRequest,
    LeaseReturn,
    LinkBatch,
    LinkBatchAck,
    LinkOutbox,
    Message,
    SeedUpdate,
    ShardEnded,
    ShardPlan,
    ShardState,
    ShardVisits,
    StopRequest,
    TerminationProbe,
    VisitGrant,
    VisitSyncAck,
    VisitSyncRequest,  # fmt: skip
)
from honeyguide.cluster.shard_control import ShardAllowance, ShardLearner
from honeyguide.cluster.sharded_frontier import (
    SIGHTINGS,
    HostLeases,
    ShardedFrontier,
    ShardPartition,
)
from honeyguide.crawl.build import open_crawl
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.shard_hooks import ShardHooks
from honeyguide.errors import ClusterError, CollectionCorrupt, CollectionLocked
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import Strategy
from honeyguide.store.generations import unpack_strategy
from honeyguide.store.shards import SPLIT_KEY, mismatch_message
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder
from honeyguide.types import Candidate, Link
from honeyguide.url import suffix_list_digest

_log = logging.getLogger(__name__)

_TICK_S = 0.25
"""How often it says how it stands."""
_FOLDER_WAIT_S = 20.0
"""How long it waits for its own folder."""
_CLUSTER_WINDOW = 128
"""Letters to one shard that are under way on a cluster, where each waits for two saves."""

SendMessage = Callable[[Message], None]


class Shard:
    """Give it messages with :meth:`receive` while it :meth:`run` s."""

    def __init__(
        self,
        plan: ShardPlan,
        send: SendMessage,
        clock: Callable[[], float] = time.time,
        keeping: Checkpointer | None = None,
    ) -> None:
        """``keeping``: its life with the vault, on a cluster."""
        self._plan = plan
        self._send = send
        self._clock = clock
        self._partition = ShardPartition(plan.shard, plan.shards)
        settings = plan.settings
        self._settings = settings
        self._keeping = keeping
        self._enough = ShardAllowance(self._report_soon)
        shelf = WarcFolder(Path(plan.warc), plan.shard + 1)
        if keeping is not None:
            self._enough = ShardAllowance(self._report_soon, lambda: keeping.may_start)
            shelf = keeping.warc_directory(Path(plan.warc))
            files = replace(settings.store, warc_mb=settings.cluster.warc_mb)
            self._settings = replace(self._settings, store=files)
        self._round = 0
        self._said = False
        self._left = asyncio.Event()
        strategy = self._unpack_strategy(plan.strategy)
        self._pupil = ShardLearner(strategy.traits.learns)
        self._part = ShardHooks(
            strategy,
            plan.generation,
            self._make_frontier,
            self._pupil,
            self._enough,
            shelf,
            self._partition.owns_url,
        )
        self._ring: CrawlLoop | None = None
        self._frontier: ShardedFrontier | None = None
        self._early: list[Message] = []
        self._over = False

    async def run(self) -> None:
        """Run until an exit request comes. Errors are sent to the coordinator, not raised."""
        try:
            async with AsyncExitStack() as open_:
                ring = await self._open_loop(open_)
                self._ring = ring
                if self._frontier is not None:
                    self._frontier.post.send_pending(self._clock())
                early, self._early = self._early, []
                for message in early:
                    self.receive(message)
                ticking = asyncio.create_task(self._tick_loop())
                try:
                    keeping = self._keeping
                    report = await (keeping.run_while_saving(ring) if keeping else ring.run())
                    self._over = True
                    self._report_state()
                    self._send(ShardEnded(self._plan.shard, warnings=report.warnings))
                    await self._left.wait()
                    if keeping is not None:
                        await keeping.release_shard()
                finally:
                    ticking.cancel()
        except Exception as error:  # noqa: BLE001 - whoever reads it there has no other way to know
            self._send(ShardEnded.from_error(self._plan.shard, error))

    async def _open_loop(self, open_: AsyncExitStack) -> CrawlLoop:
        """Its ring. One that ran before, and whose coordinator died, may still be finishing."""
        folder = Path(self._plan.folder)
        for _ in range(round(_FOLDER_WAIT_S / _TICK_S)):
            try:
                made = open_crawl(folder, self._settings, clock=self._clock, part=self._part)
                return await open_.enter_async_context(made)
            except CollectionLocked:
                await asyncio.sleep(_TICK_S)
        made = open_crawl(folder, self._settings, clock=self._clock, part=self._part)
        return await open_.enter_async_context(made)

    def leave(self) -> None:
        """Nobody is left to talk to: finish what is under way, and go."""
        self._enough.why = self._enough.why or "the coordinator is gone"
        if self._ring is not None:
            self._ring.wake()
        self._left.set()

    def receive(self, message: Message) -> None:
        """Process a message. An error here ends the crawl loop, which reports it."""
        if self._ring is None or self._frontier is None:
            self._early.append(message)
            return
        try:
            self._dispatch_message(message, self._ring, self._frontier, self._clock())
        except Exception as error:  # noqa: BLE001 - it ends the run and is told there
            self._ring.fail_with(error)

    def _dispatch_message(
        self, message: Message, ring: CrawlLoop, frontier: ShardedFrontier, now: float
    ) -> None:
        match message:
            case LinkBatch():
                self._take_links(message, ring, frontier)
            case LinkBatchAck():
                frontier.post.record_ack(message.by, message.number, now)
            case LeaseRequest():
                frontier.loans.handle_request(message, now)
            case LeaseGrant():
                frontier.loans.handle_grant(message)
                ring.wake()
            case LeaseDeferral():
                frontier.loans.handle_deferral(message)
                ring.wake()
            case LeaseReturn():
                frontier.loans.handle_return(message, now)
                ring.wake()
            case VisitGrant():
                self._enough.set_allowance(message.visits, message.turn, self._visits_made(ring))
                ring.wake()
                self._report_state()
            case GenerationUpdate():
                self._pupil.set_generation(self._unpack_strategy(message.data), message.number)
                ring.wake(listen=True)
            case LabelUpdate():
                self._pupil.add_labels(message.labels)
                ring.wake(listen=True)
            case SeedUpdate():
                self._pupil.add_seeds(message.urls)
                ring.wake(listen=True)
            case VisitSyncRequest():
                self._send_visits(message, ring.store)
            case VisitSyncAck():
                if not ring.unjudged_count:
                    ring.store.visits.forget_texts(message.until)
            case TerminationProbe():
                self._round = message.round
                self._report_state()
            case StopRequest():
                self._enough.why = message.reason
                ring.wake()
            case ExitRequest():
                self.leave()
            case _:
                raise AssertionError(f"{message} is not for a shard")

    def _take_links(self, letter: LinkBatch, ring: CrawlLoop, frontier: ShardedFrontier) -> None:
        if self._over or not frontier.post.is_next_batch(letter.by, letter.number):
            return
        links = [
            (score, link)
            for score, link in messages.unpack_links(letter.data)
            if self._partition.owns_url(link.url)
        ]
        frontier.own.push(self._rank_links(links, ring))
        frontier.post.mark_received(letter.by, letter.number)
        ring.commit_soon()
        ring.wake()

    def _rank_links(self, links: Sequence[tuple[float, Link]], ring: CrawlLoop) -> list[Candidate]:
        """Links from elsewhere; with a ledger, what they are worth is known here."""
        if ring.link_knowledge is None:
            return [Candidate(link, score, score) for score, link in links]
        found: dict[str, list[Link]] = {}
        for _, link in links:
            found.setdefault(link.source or "", []).append(link)
        for page in found.values():
            source = page[0].source
            if source is not None:
                ring.link_knowledge.record_page(Link(source, source=source), page[0].parent, page)
        if ring.language_gate is not None:
            return [Candidate(link, score, score) for score, link in links]
        try:
            scores = ring.make_ranker()([link for _, link in links])
        except Exception:  # noqa: BLE001
            # As with a page that our own code fails on: one odd link must not end the crawl.
            _log.exception("links from another shard could not be ranked")
            scores = [score for score, _ in links]
        return [Candidate(link, s, s) for (_, link), s in zip(links, scores, strict=True)]

    def _make_frontier(self, own: LinkFrontier, store: Store) -> ShardedFrontier:
        here = self._plan.shard
        if not self._plan.mark or store.get_meta(SPLIT_KEY) != self._plan.mark:
            raise CollectionCorrupt(mismatch_message(store.folder))
        if self._plan.suffixes != suffix_list_digest():
            raise ClusterError(
                "this machine has a different public suffix list: hosts would move to another shard"
            )
        keeping, longest = self._keeping, self._settings.fetch.total_s
        if keeping is None:
            post = LinkOutbox(here, self._plan.shards, store.shard_messages, self._send)
            loans = HostLeases(here, own, longest, self._send)
        else:
            keeping.attach_store(store)
            cluster = self._settings.cluster
            told = here, self._plan.shards, store.shard_messages, keeping.send_when_saved
            post = LinkOutbox(*told, window=_CLUSTER_WINDOW, again_s=max(1.0, 4 * cluster.save_s))
            longest = max(longest, cluster.lease_s)
            note = partial(_save_lent_hosts, store)
            loans = HostLeases(here, own, longest, self._send, note, keeping.send_when_saved)
            loans.restore_lent_hosts(_load_lent_hosts(store), self._clock())
        # Where links are served as they were found, the first sighting says it all.
        often = 1 if self._part.strategy.traits.order == "breadth" else SIGHTINGS
        self._frontier = ShardedFrontier(own, self._partition, post, loans, self._clock, often)
        return self._frontier

    def _send_visits(self, wish: VisitSyncRequest, store: Store) -> None:
        here, most = self._plan.shard, wish.most
        if self._keeping is not None:
            most = min(most, self._keeping.newest - wish.after)
        found = store.shard_sync.pack_visits(wish.after, most) if most > 0 else None
        if found is None:
            self._send(ShardVisits(here, wish.after + 1, wish.after, b""))
        else:
            self._send(ShardVisits(here, found.first, found.last, found.data))

    def _unpack_strategy(self, data: bytes) -> Strategy:
        strategy: Strategy = unpack_strategy(
            data, registry.find_strategy, self._plan.settings.crawl.strategy
        )
        return strategy

    async def _tick_loop(self) -> None:
        while True:
            now = self._clock()
            if self._frontier is not None and not self._over:
                self._frontier.post.send_pending(now)
                self._frontier.loans.tick(now)
            self._report_state()
            if self._keeping is not None and self._ring is not None and self._keeping.is_expiring:
                self._ring.drop_visits()
            await asyncio.sleep(_TICK_S)

    def _report_soon(self) -> None:
        if not self._said:
            self._said = True
            asyncio.get_running_loop().call_soon(self._report_state)

    def _visits_made(self, ring: CrawlLoop) -> int:
        return ring.tally.visits + len(ring.under_way())

    def _report_state(self) -> None:
        """How it stands, to the coordinator."""
        self._said = False
        ring, frontier, limit = self._ring, self._frontier, self._enough
        if ring is None or frontier is None:
            return
        wake = frontier.wake_at()
        still = frontier.is_settled
        committed = newest = ring.store.visits.last_id()
        if self._keeping is not None:
            still, committed = still and self._keeping.is_all_saved, self._keeping.newest
            self._send(self._keeping.checkpoint_status(frontier.post.unacknowledged))
        now = structs.asdict(ring.progress()) | {"next_at": wake if wake != inf else None}
        self._send(
            ShardState(
                **now,
                shard=self._plan.shard,
                allotted=limit.allotted,
                turn=limit.turn,
                made=self._visits_made(ring),
                hungry=limit.wants,
                committed=committed,
                letters=frontier.post.written,
                heard=frontier.post.taken,
                idle=ring.idle_reason() if still else "",
                round=self._round,
                hopeless=ring.tally.failure_summary(),
                letter_bytes=frontier.post.bytes,
                letter_links=frontier.links,
                unsaved=newest - committed,
            )
        )


def _save_lent_hosts(store: Store, hosts: list[str]) -> None:
    store.set_meta("lent", json.dumps(hosts))


def _load_lent_hosts(store: Store) -> list[str]:
    return [str(host) for host in json.loads(store.get_meta("lent") or "[]")]
