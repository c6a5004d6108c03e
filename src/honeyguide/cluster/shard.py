"""One shard: a ring over its own folder, and its conversation with the others.

The same in a process of this machine and on a machine of a cluster: whoever runs it gives it a way
to send messages, and hands it those that came.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import msgspec

from honeyguide import registry
from honeyguide.cluster import messages
from honeyguide.cluster.checkpointing import Keeping
from honeyguide.cluster.host_leases import Loans
from honeyguide.cluster.message_outbox import Post
from honeyguide.cluster.messages import (
    Allot,
    Borrow,
    Bundle,
    Ended,
    Gather,
    Gathered,
    Heard,
    Later,
    Leave,
    Lent,
    Letter,
    Message,
    Probe,
    Returned,
    Said,
    Sow,
    State,
    Stop,
    Taught,
)  # fmt: skip
from honeyguide.cluster.partition import Partition
from honeyguide.cluster.shard_control import Allotment, Pupil
from honeyguide.cluster.sharded_frontier import SIGHTINGS, BorderFrontier
from honeyguide.config import Settings
from honeyguide.crawl.build import opened
from honeyguide.crawl.ring import Ring
from honeyguide.crawl.shard_hooks import Part
from honeyguide.errors import ClusterError, CollectionCorrupt, CollectionLocked, HoneyguideError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.protocols import Strategy
from honeyguide.store.archive import Shelf
from honeyguide.store.generations import unpack
from honeyguide.store.shards import MARK, strange
from honeyguide.store.store import Store
from honeyguide.types import Candidate, Link
from honeyguide.url import suffixes

_log = logging.getLogger(__name__)

_TICK_S = 0.25
"""How often it says how it stands."""
_PATIENCE_S = 20.0
"""How long it waits for its own folder."""
_WINDOW = 128
"""Letters to one shard that are under way on a cluster, where each waits for two saves."""

Send = Callable[[Message], None]


class Plan(msgspec.Struct, frozen=True):
    """What a shard is to do."""

    shard: int
    shards: int
    folder: str
    """Its own."""
    warc: str
    """Where WARC files go."""
    settings: Settings
    generation: int
    strategy: bytes
    mark: str = ""
    """By which the shard and its collection know each other."""
    suffixes: str = ""
    """Which list of public suffixes says what a domain is."""
    files: tuple[str, ...] = ()
    """WARC files that the collection has: on a cluster they lie elsewhere."""


class Shard:
    """Give it messages with :meth:`receive` while it :meth:`run` s."""

    def __init__(
        self,
        plan: Plan,
        send: Send,
        clock: Callable[[], float] = time.time,
        keeping: Keeping | None = None,
    ) -> None:
        """``keeping``: its life with the vault, on a cluster."""
        self._plan = plan
        self._send = send
        self._clock = clock
        self._partition = Partition(plan.shard, plan.shards)
        settings = plan.settings
        self._settings = settings
        self._keeping = keeping
        self._enough = Allotment(self._say_soon)
        shelf = Shelf(Path(plan.warc), plan.shard + 1)
        if keeping is not None:
            self._enough = Allotment(self._say_soon, lambda: keeping.may_start)
            shelf = keeping.shelf(Path(plan.warc))
            files = replace(settings.store, warc_mb=settings.cluster.warc_mb)
            self._settings = replace(self._settings, store=files)
        self._round = 0
        self._said = False
        self._left = asyncio.Event()
        strategy = self._unpacked(plan.strategy)
        self._pupil = Pupil(strategy.habits.learns)
        self._part = Part(
            strategy,
            plan.generation,
            self._border,
            self._pupil,
            self._enough,
            shelf,
            self._partition.owns,
        )
        self._ring: Ring | None = None
        self._frontier: BorderFrontier | None = None
        self._early: list[Message] = []
        self._over = False

    async def run(self) -> None:
        """Until it is told to leave. Whatever breaks is told, and raised by nobody here."""
        try:
            async with AsyncExitStack() as open_:
                ring = await self._opened(open_)
                self._ring = ring
                if self._frontier is not None:
                    self._frontier.post.go(self._clock())
                early, self._early = self._early, []
                for message in early:
                    self.receive(message)
                ticking = asyncio.create_task(self._tick())
                try:
                    keeping = self._keeping
                    report = await (keeping.beside(ring) if keeping else ring.run())
                    self._over = True
                    self._say()
                    self._send(Ended(self._plan.shard, warnings=report.warnings))
                    await self._left.wait()
                    if keeping is not None:
                        await keeping.farewell()
                finally:
                    ticking.cancel()
        except HoneyguideError as error:
            name, words = type(error).__name__, str(error)
            self._send(Ended(self._plan.shard, traceback.format_exc(), name, words))
        except Exception:  # noqa: BLE001 - whoever reads it there has no other way to know
            self._send(Ended(self._plan.shard, traceback.format_exc()))

    async def _opened(self, open_: AsyncExitStack) -> Ring:
        """Its ring. One that ran before, and whose coordinator died, may still be finishing."""
        folder = Path(self._plan.folder)
        for _ in range(round(_PATIENCE_S / _TICK_S)):
            try:
                made = opened(folder, self._settings, clock=self._clock, part=self._part)
                return await open_.enter_async_context(made)
            except CollectionLocked:
                await asyncio.sleep(_TICK_S)
        made = opened(folder, self._settings, clock=self._clock, part=self._part)
        return await open_.enter_async_context(made)

    def leave(self) -> None:
        """Nobody is left to talk to: finish what is under way, and go."""
        self._enough.why = self._enough.why or "the coordinator is gone"
        if self._ring is not None:
            self._ring.wake()
        self._left.set()

    def receive(self, message: Message) -> None:
        """Take a message in. What breaks here breaks the ring, which says so."""
        if self._ring is None or self._frontier is None:
            self._early.append(message)
            return
        try:
            self._receive(message, self._ring, self._frontier, self._clock())
        except Exception as error:  # noqa: BLE001 - it ends the run and is told there
            self._ring.broke(error)

    def _receive(self, message: Message, ring: Ring, frontier: BorderFrontier, now: float) -> None:
        match message:
            case Letter():
                self._take(message, ring, frontier)
            case Heard():
                frontier.post.heard(message.by, message.number, now)
            case Borrow():
                frontier.loans.asked(message, now)
            case Lent():
                frontier.loans.got(message)
                ring.wake()
            case Later():
                frontier.loans.told(message)
                ring.wake()
            case Returned():
                frontier.loans.returned(message, now)
                ring.wake()
            case Allot():
                self._enough.allot(message.visits, message.turn, self._made(ring))
                ring.wake()
                self._say()
            case Taught():
                self._pupil.tell(self._unpacked(message.data), message.number)
                ring.wake(listen=True)
            case Said():
                self._pupil.hear(message.labels)
                ring.wake(listen=True)
            case Sow():
                self._pupil.want(message.urls)
                ring.wake(listen=True)
            case Gather():
                self._pack(message, ring.store)
            case Gathered():
                if not ring.unjudged:
                    ring.store.forget_texts(message.until)
            case Probe():
                self._round = message.round
                self._say()
            case Stop():
                self._enough.why = message.reason
                ring.wake()
            case Leave():
                self.leave()
            case _:
                raise AssertionError(f"{message} is not for a shard")

    def _take(self, letter: Letter, ring: Ring, frontier: BorderFrontier) -> None:
        if self._over or not frontier.post.expects(letter.by, letter.number):
            return
        links = [
            (score, link)
            for score, link in messages.unpack(letter.data)
            if self._partition.owns(link.url)
        ]
        frontier.own.push(self._ranked(links, ring))
        frontier.post.took(letter.by, letter.number)
        ring.commit_soon()
        ring.wake()

    def _ranked(self, links: Sequence[tuple[float, Link]], ring: Ring) -> list[Candidate]:
        """Links from elsewhere; with a ledger, what they are worth is known here."""
        if ring.ledger is None:
            return [Candidate(link, score, score) for score, link in links]
        found: dict[str, list[Link]] = {}
        for _, link in links:
            found.setdefault(link.source or "", []).append(link)
        for page in found.values():
            source = page[0].source
            if source is not None:
                ring.ledger.found(Link(source, source=source), page[0].parent, page)
        if ring.languages is not None:
            return [Candidate(link, score, score) for score, link in links]
        try:
            scores = ring.rank()([link for _, link in links])
        except Exception:  # noqa: BLE001
            # As with a page that our own code fails on: one odd link must not end the crawl.
            _log.exception("links from another shard could not be ranked")
            scores = [score for score, _ in links]
        return [Candidate(link, s, s) for (_, link), s in zip(links, scores, strict=True)]

    def _border(self, own: LinkFrontier, store: Store) -> BorderFrontier:
        here = self._plan.shard
        if not self._plan.mark or store.meta(MARK) != self._plan.mark:
            raise CollectionCorrupt(strange(store.folder))
        if self._plan.suffixes != suffixes():
            raise ClusterError("this machine has another list of public suffixes: hosts would move")
        keeping, longest = self._keeping, self._settings.fetch.total_s
        if keeping is None:
            post = Post(here, self._plan.shards, store.letters, self._send)
            loans = Loans(here, own, longest, self._send)
        else:
            keeping.begin(store)
            cluster = self._settings.cluster
            told = here, self._plan.shards, store.letters, keeping.hold
            post = Post(*told, window=_WINDOW, again_s=max(1.0, 4 * cluster.save_s))
            longest = max(longest, cluster.lease_s)
            note = partial(_note_lent, store)
            loans = Loans(here, own, longest, self._send, note, keeping.hold)
            loans.recall(_lent(store), self._clock())
        # Where links are served as they were found, the first sighting says it all.
        often = 1 if self._part.strategy.habits.order == "breadth" else SIGHTINGS
        self._frontier = BorderFrontier(own, self._partition, post, loans, self._clock, often)
        return self._frontier

    def _pack(self, wish: Gather, store: Store) -> None:
        here, most = self._plan.shard, wish.most
        if self._keeping is not None:
            most = min(most, self._keeping.newest - wish.after)
        found = store.parcel(wish.after, most) if most > 0 else None
        if found is None:
            self._send(Bundle(here, wish.after + 1, wish.after, b""))
        else:
            self._send(Bundle(here, found.first, found.last, found.data))

    def _unpacked(self, data: bytes) -> Strategy:
        strategy: Strategy = unpack(data, registry.find, self._plan.settings.crawl.strategy)
        return strategy

    async def _tick(self) -> None:
        while True:
            now = self._clock()
            if self._frontier is not None and not self._over:
                self._frontier.post.go(now)
                self._frontier.loans.tick(now)
            self._say()
            if self._keeping is not None and self._ring is not None and self._keeping.late:
                self._ring.drop()
            await asyncio.sleep(_TICK_S)

    def _say_soon(self) -> None:
        if not self._said:
            self._said = True
            asyncio.get_running_loop().call_soon(self._say)

    def _made(self, ring: Ring) -> int:
        return ring.tally.visits + len(ring.under_way())

    def _say(self) -> None:
        """How it stands, to the coordinator."""
        self._said = False
        ring, frontier, limit = self._ring, self._frontier, self._enough
        if ring is None or frontier is None:
            return
        now, tally = ring.progress(), ring.tally
        wake = frontier.wake_at()
        still = frontier.settled
        committed = newest = ring.store.newest()
        if self._keeping is not None:
            still, committed = still and self._keeping.clean, self._keeping.newest
            self._send(self._keeping.kept(frontier.post.under_way))
        self._send(
            State(
                self._plan.shard,
                tally.visits,
                tally.pages,
                tally.relevant,
                tally.failures,
                now.waiting,
                now.busy,
                now.sites,
                ring.generation,
                limit.allotted,
                limit.turn,
                self._made(ring),
                limit.wants,
                committed,
                frontier.post.written,
                frontier.post.taken,
                ring.idle() if still else "",
                self._round,
                now.now,
                wake if wake is not None and wake < inf else None,
                tally.last_failure(),
                tally.trouble(),
                frontier.post.bytes,
                frontier.links,
                newest - committed,
            )
        )


def _note_lent(store: Store, hosts: list[str]) -> None:
    store.set_meta("lent", json.dumps(hosts))


def _lent(store: Store) -> list[str]:
    return [str(host) for host in json.loads(store.meta("lent") or "[]")]
