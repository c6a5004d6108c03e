"""One shard: a crawl loop over its own folder, and its messages to the others.

The same in a process of this machine and on a machine of a cluster: whoever runs it gives it a way
to send messages, and hands it those that came.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from honeyguide import registry
from honeyguide.cluster import messages
from honeyguide.cluster.runner import FrameProtocol, frame_message
from honeyguide.cluster.sharded_frontier import (
    SIGHTINGS,
    HostLeases,
    ShardedFrontier,
    ShardPartition,
)
from honeyguide.crawl.build import ShardHooks, open_crawl
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.signals import relaxed_gc
from honeyguide.errors import ClusterError, CollectionCorrupt, CollectionLocked
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.protocols import Strategy
from honeyguide.store.generations import unpack_strategy
from honeyguide.store.shards import SPLIT_KEY, mismatch_message
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder
from honeyguide.types import Candidate, Link, Url, Visit
from honeyguide.url import suffix_list_digest

if TYPE_CHECKING:
    from honeyguide.cluster.shard_node import Checkpointer

_log = logging.getLogger(__name__)

_TICK_S = 0.25
"""Seconds between two status messages."""
_FOLDER_WAIT_S = 20.0
"""Seconds to wait for a locked folder."""
_CLUSTER_WINDOW = 128
"""Unacknowledged batches to one shard on a cluster, where each waits for two saves."""

SendMessage = Callable[[messages.Message], None]


class ShardLearner:
    """Generations come from the one learner of all shards; implements :class:`GenerationSource`."""

    def __init__(self, learns: bool) -> None:
        self.learns = learns
        self.taught = 0
        self._generation: tuple[Strategy, int] | None = None
        self._labels: dict[Url, float] = {}
        self._fresh: set[Url] = set()
        self._wanted: list[Url] = []

    @property
    def warnings(self) -> tuple[str, ...]:
        return ()

    def set_generation(self, strategy: Strategy, number: int) -> None:
        self._generation = strategy, number

    def add_labels(self, labels: dict[Url, float]) -> None:
        self._labels |= labels
        self._fresh |= labels.keys()

    def add_seeds(self, urls: Iterable[Url]) -> None:
        self._wanted += urls

    def record_visit(self, visit: Visit) -> None:
        """Nothing to do: the coordinator learns from visits when it collects them."""

    def poll_labels(self) -> list[Url]:
        wanted, self._wanted = self._wanted, []
        return wanted

    def labels_of(self, urls: Iterable[Url]) -> dict[Url, float]:
        return {url: self._labels[url] for url in urls if url in self._labels}

    def take_new_labels(self) -> dict[Url, float]:
        fresh, self._fresh = self._fresh, set()
        return self.labels_of(fresh)

    def chosen_generation(self, present: int) -> tuple[Strategy, int] | None:
        chosen = self._generation
        return chosen if chosen is not None and chosen[1] != present else None

    def stop_waiting(self) -> None:
        pass

    waiting = 0

    def is_due(self, *, at_once: bool = False) -> bool:  # noqa: ARG002 - as the protocol has it
        return False

    def requeue_labels(self) -> None:
        pass

    async def learn(self, strategy: Strategy) -> LearningResult:  # noqa: ARG002 - as the protocol has it
        raise AssertionError("a shard is taught, and teaches nobody")

    async def aclose(self) -> None:
        pass


@dataclass
class ShardAllowance:
    """How many visits this shard may make, and when the whole crawl is over."""

    hungry: Callable[[], None]
    """Called when more could be done than is allowed."""
    free: Callable[[], bool] = lambda: True
    """Asked before anything is done: on a cluster, a shard may have another owner by now."""
    asked: bool = False
    why: str = ""
    """Why the crawl is over; '': it is not."""
    wants: bool = False
    allotted: int = 0
    turn: int = 0

    def set_allowance(self, visits: int, turn: int, used: int) -> None:
        """-1: as many as you like. What is used cannot be taken away."""
        self.turn = turn
        if visits >= 0 and self.allotted >= 0:
            visits = max(visits, min(used, self.allotted))
        self.allotted = visits
        self.wants = False

    def has_room(self, visits: int) -> bool:
        if not self.free():
            return False
        if self.allotted < 0 or visits < self.allotted:
            return True
        if not self.wants:
            self.wants = True
            self.hungry()
        return False

    def stop_reason(self, _visits: int) -> str:
        return self.why or ("you asked for it" if self.asked else "")

    def keeps_waiting(self, _why: str) -> bool:
        """Others may still have something for us."""
        return True


class Shard:
    """Give it messages with :meth:`receive` while it :meth:`run` s."""

    def __init__(
        self,
        plan: messages.ShardPlan,
        send: SendMessage,
        clock: Callable[[], float] = time.time,
        checkpointer: Checkpointer | None = None,
    ) -> None:
        """``checkpointer``: saves to the vault, on a cluster."""
        self._plan = plan
        self._send = send
        self._clock = clock
        self._partition = ShardPartition(plan.shard, plan.shards)
        settings = plan.settings
        self._settings = settings
        self._checkpointer = checkpointer
        self._allowance = ShardAllowance(
            self._report_soon, lambda: checkpointer is None or checkpointer.may_start
        )
        shelf = WarcFolder(Path(plan.warc), plan.shard + 1)
        if checkpointer is not None:
            shelf = checkpointer.warc_directory(Path(plan.warc))
            files = replace(settings.store, warc_mb=settings.cluster.warc_mb)
            self._settings = replace(self._settings, store=files)
        self._round = 0
        self._report_due = False
        self._left = asyncio.Event()
        strategy = self._unpack_strategy(plan.strategy)
        self._learner = ShardLearner(strategy.traits.learns)
        self._part = ShardHooks(
            strategy,
            plan.generation,
            self._make_frontier,
            self._learner,
            self._allowance,
            shelf,
            self._partition.owns_url,
        )
        self._crawl: CrawlLoop | None = None
        self._frontier: ShardedFrontier | None = None
        self._early: list[messages.Message] = []
        self._over = False

    async def run(self) -> None:
        """Run until an exit request comes. Errors are sent to the coordinator, not raised."""
        try:
            async with AsyncExitStack() as open_:
                crawl = await self._open_loop(open_)
                self._crawl = crawl
                if self._frontier is not None:
                    self._frontier.post.send_pending(self._clock())
                early, self._early = self._early, []
                for message in early:
                    self.receive(message)
                ticking = asyncio.create_task(self._tick_loop())
                try:
                    checkpointer = self._checkpointer
                    report = await (
                        checkpointer.run_while_saving(crawl) if checkpointer else crawl.run()
                    )
                    self._over = True
                    self._report_state()
                    self._send_site_news(crawl)
                    self._send(messages.ShardEnded(self._plan.shard, warnings=report.warnings))
                    await self._left.wait()
                    if checkpointer is not None:
                        await checkpointer.release_shard()
                finally:
                    ticking.cancel()
        except Exception as error:  # noqa: BLE001 - whoever reads it there has no other way to know
            self._send(messages.ShardEnded.from_error(self._plan.shard, error))

    async def _open_loop(self, open_: AsyncExitStack) -> CrawlLoop:
        """Open the crawl loop. A shard of a coordinator that died may still hold the folder."""
        folder, until = Path(self._plan.folder), time.monotonic() + _FOLDER_WAIT_S
        while True:
            try:
                made = open_crawl(folder, self._settings, clock=self._clock, part=self._part)
                return await open_.enter_async_context(made)
            except CollectionLocked:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_TICK_S)

    def leave(self) -> None:
        """The coordinator is gone, or asks for it: finish running visits and end."""
        self._allowance.why = self._allowance.why or "the coordinator is gone"
        if self._crawl is not None:
            self._crawl.wake()
        self._left.set()

    def receive(self, message: messages.Message) -> None:
        """Process a message. An error here ends the crawl loop, which reports it."""
        if self._crawl is None or self._frontier is None:
            self._early.append(message)
            return
        try:
            self._dispatch_message(message, self._crawl, self._frontier, self._clock())
        except Exception as error:  # noqa: BLE001 - it ends the run and is raised there
            self._crawl.fail_with(error)

    def _dispatch_message(
        self, message: messages.Message, crawl: CrawlLoop, frontier: ShardedFrontier, now: float
    ) -> None:
        match message:
            case messages.LinkBatch():
                self._take_links(message, crawl, frontier)
            case messages.LinkBatchAck():
                frontier.post.record_ack(message.by, message.number, now)
            case messages.LeaseRequest():
                frontier.loans.handle_request(message, now)
            case messages.LeaseGrant():
                frontier.loans.handle_grant(message)
                crawl.wake()
            case messages.LeaseDeferral():
                frontier.loans.handle_deferral(message)
                crawl.wake()
            case messages.LeaseReturn():
                frontier.loans.handle_return(message, now)
                crawl.wake()
            case messages.VisitGrant():
                self._allowance.set_allowance(
                    message.visits, message.turn, self._visits_made(crawl)
                )
                crawl.wake()
                self._report_state()
            case messages.GenerationUpdate():
                self._learner.set_generation(self._unpack_strategy(message.data), message.number)
                crawl.wake(listen=True)
            case messages.LabelUpdate():
                self._learner.add_labels(message.labels)
                crawl.wake(listen=True)
            case messages.SeedUpdate():
                self._learner.add_seeds(message.urls)
                crawl.wake(listen=True)
            case messages.VisitSyncRequest():
                self._send_visits(message, crawl.store)
            case messages.VisitSyncAck():
                if not crawl.unjudged_count:
                    crawl.store.visits.forget_texts(message.until)
            case messages.TerminationProbe():
                self._round = message.round
                self._report_state()
            case messages.SiteUpdate() if crawl.host_trust is not None:
                self._send_site_news(crawl)
                crawl.host_trust.take_in(message.news)
                crawl.host_trust.take_news()  # whoever told us need not hear it again
                crawl.wake()
            case messages.StopRequest():
                self._allowance.why = message.reason
                crawl.wake()
            case messages.ExitRequest():
                self.leave()
            case _:
                raise AssertionError(f"{message} is not for a shard")

    def _take_links(
        self, batch: messages.LinkBatch, crawl: CrawlLoop, frontier: ShardedFrontier
    ) -> None:
        if self._over or not frontier.post.is_next_batch(batch.by, batch.number):
            return
        links = [
            (score, link)
            for score, link in messages.unpack_links(batch.data)
            if self._partition.owns_url(link.url)
        ]
        frontier.own.push(self._rank_links(links, crawl))
        frontier.post.mark_received(batch.by, batch.number)
        crawl.commit_soon()
        crawl.wake()

    def _rank_links(self, links: Sequence[tuple[float, Link]], crawl: CrawlLoop) -> list[Candidate]:
        """Links of other shards; with link knowledge, this shard ranks them."""
        if crawl.link_knowledge is None:
            return [Candidate(link, score, score) for score, link in links]
        found: dict[str, list[Link]] = {}
        for _, link in links:
            found.setdefault(link.source or "", []).append(link)
        for page in found.values():
            source = page[0].source
            if source is not None:
                crawl.link_knowledge.record_page(Link(source, source=source), page[0].parent, page)
        if crawl.language_gate is not None:
            return [Candidate(link, score, score) for score, link in links]
        try:
            scores = crawl.make_ranker()([link for _, link in links])
        except Exception:  # noqa: BLE001
            # As with a page that our own code fails on: one odd link must not end the crawl.
            _log.exception("links from another shard could not be ranked")
            scores = [score for score, _ in links]
        return [Candidate(link, s, s) for (_, link), s in zip(links, scores, strict=True)]

    def _make_frontier(self, own: LinkFrontier, store: Store) -> ShardedFrontier:
        own_number = self._plan.shard
        if not self._plan.mark or store.get_meta(SPLIT_KEY) != self._plan.mark:
            raise CollectionCorrupt(mismatch_message(store.folder))
        if self._plan.suffixes != suffix_list_digest():
            raise ClusterError(
                "this machine has a different public suffix list: hosts would move to another shard"
            )
        checkpointer, cluster = self._checkpointer, self._settings.cluster
        send: SendMessage = self._send
        longest = self._settings.fetch.total_s
        window, again_s = messages.IN_FLIGHT_WINDOW, messages.RESEND_S
        if checkpointer is not None:
            checkpointer.attach_store(store)
            send = checkpointer.send_when_saved
            longest = max(longest, cluster.lease_s)
            window, again_s = _CLUSTER_WINDOW, max(1.0, 4 * cluster.save_s)
        post = messages.LinkOutbox(
            own_number, self._plan.shards, store.shard_messages, send, window, again_s
        )
        loans = HostLeases(own_number, own, longest, self._send, lend=send)
        if checkpointer is not None:
            loans.note = partial(_save_lent_hosts, store)
            loans.restore_lent_hosts(_load_lent_hosts(store), self._clock())
        # Where links are served in the order they were found, only the first sighting counts.
        often = 1 if self._part.strategy.traits.order == "breadth" else SIGHTINGS
        self._frontier = ShardedFrontier(own, self._partition, post, loans, self._clock, often)
        return self._frontier

    def _send_visits(self, request: messages.VisitSyncRequest, store: Store) -> None:
        own_number, most = self._plan.shard, request.most
        if self._checkpointer is not None:
            most = min(most, self._checkpointer.newest - request.after)
        found = store.shard_sync.pack_visits(request.after, most) if most > 0 else None
        first, last, data = found or (request.after + 1, request.after, b"")
        self._send(messages.ShardVisits(own_number, first, last, data))

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
            if self._crawl is not None:
                self._send_site_news(self._crawl)
            if (
                self._checkpointer is not None
                and self._crawl is not None
                and self._checkpointer.is_expiring
            ):
                self._crawl.drop_visits()
            await asyncio.sleep(_TICK_S)

    def _send_site_news(self, crawl: CrawlLoop) -> None:
        if crawl.host_trust is not None and (news := crawl.host_trust.take_news()) is not None:
            self._send(messages.SiteUpdate(news))

    def _report_soon(self) -> None:
        if not self._report_due:
            self._report_due = True
            asyncio.get_running_loop().call_soon(self._report_state)

    def _visits_made(self, crawl: CrawlLoop) -> int:
        return crawl.tally.visits + len(crawl.under_way())

    def _report_state(self) -> None:
        """Send the status to the coordinator."""
        self._report_due = False
        crawl, frontier, limit = self._crawl, self._frontier, self._allowance
        if crawl is None or frontier is None:
            return
        wake = frontier.wake_at()
        still = frontier.is_settled
        committed = newest = crawl.store.visits.last_id()
        if self._checkpointer is not None:
            still, committed = still and self._checkpointer.is_all_saved, self._checkpointer.newest
            self._send(self._checkpointer.checkpoint_status(frontier.post.unacknowledged))
        now = structs.asdict(crawl.progress()) | {"next_at": wake if wake != inf else None}
        self._send(
            messages.ShardState(
                **now,
                shard=self._plan.shard,
                allotted=limit.allotted,
                turn=limit.turn,
                made=self._visits_made(crawl),
                hungry=limit.wants,
                committed=committed,
                letters=frontier.post.written,
                heard=frontier.post.taken,
                idle=crawl.idle_reason() if still else "",
                round=self._round,
                hopeless=crawl.tally.failure_summary(),
                letter_bytes=frontier.post.bytes,
                letter_links=frontier.links,
                unsaved=newest - committed,
            )
        )


def _save_lent_hosts(store: Store, hosts: list[str]) -> None:
    store.set_meta("lent", json.dumps(hosts))


def _load_lent_hosts(store: Store) -> list[str]:
    return [str(host) for host in json.loads(store.get_meta("lent") or "[]")]


# -- A shard in a process of its own --
#
# ``python -m honeyguide.cluster.shard FD``
#
# The process exchanges messages through the socket it was started with, and ends when that closes.


_PLAN_DECODER = msgspec.msgpack.Decoder(messages.ShardPlan)


class _CoordinatorPipe(FrameProtocol):
    """The first frame is the plan, all others are messages."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: asyncio.Future[messages.ShardPlan] = asyncio.get_running_loop().create_future()
        self.shard: Shard | None = None

    def frame_received(self, to: int, data: bytes) -> None:  # noqa: ARG002 - all of it is for us
        if self.shard is None:
            self.plan.set_result(_PLAN_DECODER.decode(data))
            self.shard = Shard(self.plan.result(), self._send_message)
        else:
            self.shard.receive(messages.decode_message(data))

    def _send_message(self, message: messages.Message) -> None:
        self.send(frame_message(messages.message_recipient(message), message))


async def _run_shard(fd: int) -> None:
    loop = asyncio.get_running_loop()
    _, wire = await loop.create_connection(_CoordinatorPipe, sock=socket.socket(fileno=fd))
    gone = asyncio.ensure_future(wire.closed)
    await asyncio.wait((gone, wire.plan), return_when=asyncio.FIRST_COMPLETED)
    if wire.shard is None:
        return
    shard = wire.shard
    gone.add_done_callback(lambda _: shard.leave())
    with relaxed_gc():
        await shard.run()
    wire.close()
    await gone


if __name__ == "__main__":
    # Ctrl-C is for the coordinator, which asks us to stop.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    asyncio.run(_run_shard(int(sys.argv[1])))
