"""One shard on a machine of a cluster: claims the shard, restores it from the vault, runs it and
saves it.

Whoever starts it (a Ray actor, or a test) delivers messages to it, carries its messages to other
shards, and fetches its messages to the coordinator.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import msgspec

from honeyguide.cluster import messages
from honeyguide.cluster.replicator import ShardReplicator, open_object_store
from honeyguide.cluster.shard import Shard
from honeyguide.cluster.shard_log import Clock, boot_seconds, list_vault_warcs
from honeyguide.config.settings import ClusterSettings
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.signals import relaxed_gc
from honeyguide.crawl.status import Report
from honeyguide.errors import StorageUnreachable
from honeyguide.store.collection_files import lock_holder
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder

# -- Checkpoints: what depends on a transaction is sent only when the vault has the transaction --
#
# A machine may be lost, and its shard reopened elsewhere as it was saved last. Nobody may have
# received more than that: link batches and visits would get the same number twice, and links that
# others count as received would be gone. So every message that follows from a transaction is held
# back until a save has brought that transaction to the vault.
#
# A process that lost the shard may not fetch anything either: a visit starts only while the lease
# lasts long enough, and running visits are cancelled before it ends.


_MARGIN_S = 2.0
"""Seconds before the end of the lease at which running visits are cancelled. New visits stop
twice as early."""
_MARGIN_SHARE = 1 / 6
"""The same as a share of the lease, for short leases."""
_RENEWALS_PER_LEASE = 6
"""Times in a lease that an owner looks whether it still is one."""
_RETRY_S = 0.5
"""When to ask a vault again that did not answer."""


@dataclass
class Checkpointer:
    """One owner's claim to one shard, while it lives."""

    shard: int
    replicator: ShardReplicator
    settings: ClusterSettings
    safe_warcs: frozenset[str]
    """WARC files of earlier owners that are safe."""
    send: Callable[[messages.Message], None]
    newest: int = 0
    """Number of the last visit that is saved in the vault."""
    saved_at: float = 0.0
    """Time of the last save, in seconds since 1970."""
    gone: bool = False
    """Whether it took leave."""
    _held: deque[messages.Message] = field(default_factory=deque)
    _store: Store | None = None
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _changes: int = -1
    """The database's count of changes at the last save."""
    _due: float = 0.0
    _rolled: float = 0.0

    def __post_init__(self) -> None:
        self._margin = min(_MARGIN_S, self.settings.lease_s * _MARGIN_SHARE)

    # -- what the shard asks -----------------------------------------------------------------

    @property
    def may_start(self) -> bool:
        """Whether a visit may begin."""
        return self.replicator.owner.seconds_left() > 2 * self._margin

    @property
    def is_expiring(self) -> bool:
        """Whether nothing may be under way any more."""
        return self.replicator.owner.seconds_left() <= self._margin

    @property
    def is_all_saved(self) -> bool:
        """Whether all that is written is saved."""
        return self._store is not None and self._store.database.changes_made == self._changes

    def warc_directory(self, folder: Path) -> WarcFolder:
        return WarcFolder(folder, self.shard + 1, self.replicator.owner.epoch, self.safe_warcs)

    def attach_store(self, store: Store) -> None:
        self._store = store
        self._rolled = time.monotonic()

    def send_when_saved(self, message: messages.Message) -> None:
        """Say it when everything that is committed by now is saved."""
        self._held.append(message)

    def checkpoint_status(self, under_way: int) -> messages.CheckpointStatus:
        """The state of the checkpoints. ``under_way``: link batches that are not acknowledged."""
        lost = self._store.warc_archive.lost if self._store is not None else 0
        where, window = socket.gethostname(), self.settings.save_s
        return messages.CheckpointStatus(
            self.shard, self.replicator.owner.epoch, where, window, self.saved_at, lost, under_way
        )

    # -- while the crawl loop runs ---------------------------------------------------

    async def run_while_saving(self, ring: CrawlLoop) -> Report:
        """Run the crawl loop to its end and save meanwhile; raises ShardFenced if the
        shard was taken over."""
        turning = asyncio.create_task(ring.run())
        saving = asyncio.create_task(self._save_loop())
        try:
            await asyncio.wait((turning, saving), return_when=asyncio.FIRST_COMPLETED)
            self._stopped.set()
            await saving  # it may have raised, and then the ring stops where it is
            await self.save_everything()
            return turning.result()
        finally:
            for task in (turning, saving):
                task.cancel()
            await asyncio.gather(turning, saving, return_exceptions=True)

    async def save_everything(self) -> None:
        """Everything that is done is saved, WARC files too."""
        assert self._store is not None
        self._store.warc_archive.roll_file()
        while True:
            try:
                await self._save_once()
                await self._upload_warcs()
                return
            except StorageUnreachable:
                await asyncio.sleep(_RETRY_S)

    async def release_shard(self) -> None:
        """The next owner need not wait; whatever was written last is saved."""
        await self.save_everything()
        await asyncio.to_thread(self.replicator.release_shard)
        self.gone = True

    async def _save_loop(self) -> None:
        while not self._stopped.is_set():
            now = time.monotonic()
            try:
                if now >= self._due:
                    await self._save_once()
                    self._due = now + self.settings.save_s
                    self._roll_warc(now)
                    await self._upload_warcs()
                else:
                    await asyncio.to_thread(self.replicator.renew_lease)
            except StorageUnreachable:
                # Go on for as long as the lease lasts: perhaps it answers again.
                await self._sleep_until_stopped(_RETRY_S)
                continue
            left = self._due - time.monotonic()
            await self._sleep_until_stopped(min(left, self.settings.lease_s / _RENEWALS_PER_LEASE))

    async def _sleep_until_stopped(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), max(0.01, seconds))

    async def _save_once(self) -> None:
        """Take a snapshot between two transactions and send it while the crawl goes on."""
        assert self._store is not None
        store = self._store
        taken = self.replicator.take_snapshot(store.database)
        held = len(self._held)
        newest = store.visits.last_id()
        changes = store.database.changes_made
        now = time.time()
        # Who is cancelled meanwhile leaves, but what was taken is sent, or closed.
        loop = asyncio.get_running_loop()
        await asyncio.shield(loop.run_in_executor(None, self.replicator.send_snapshot, taken))
        self.newest, self._changes, self.saved_at = newest, changes, now
        for _ in range(held):
            self.send(self._held.popleft())

    def _roll_warc(self, now: float) -> None:
        assert self._store is not None
        if now - self._rolled >= self.settings.warc_s:
            self._rolled = now
            self._store.warc_archive.roll_file()

    async def _upload_warcs(self) -> None:
        assert self._store is not None
        for path in self._store.warc_archive.closed_files():
            await asyncio.to_thread(self.replicator.upload_warc, path)
            path.unlink()


# -- The shard and its outbox --


_CLAIM_RETRY_S = 1.0
"""When to ask a vault again that did not answer."""


ReadPosition = tuple[str, int]
"""How far a coordinator has read: the life of the shard, and a message number."""
NOTHING_READ: ReadPosition = ("", 0)


class CoordinatorOutbox:
    """What a shard tells the coordinator, until it is fetched: of how it stands the newest only.

    A coordinator that is new hears the end again, and asks again for whatever else it wants.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: list[tuple[int, messages.Message]] = []
        self._number = 0
        self._reader = ""
        self._life = token_hex(4)
        """Numbers are of this life only."""
        self.state: messages.ShardState | None = None
        self.kept: messages.CheckpointStatus | None = None

    def put(self, message: messages.Message) -> None:
        with self._changed:
            if isinstance(message, messages.ShardState):
                self.state = message
            elif isinstance(message, messages.CheckpointStatus):
                self.kept = message
            if isinstance(message, messages.ShardState | messages.CheckpointStatus):
                self._queue = [each for each in self._queue if type(each[1]) is not type(message)]
            self._number += 1
            self._queue.append((self._number, message))
            self._changed.notify_all()

    def fetch(
        self, reader: str, position: ReadPosition, wait_s: float
    ) -> tuple[ReadPosition, list[bytes]]:
        """What came after that, and what to ask with next."""
        with self._changed:
            after = position[1] if position[0] == self._life else 0
            if reader != self._reader:
                self._reader, after = reader, 0
                self._queue = [
                    each for each in self._queue if isinstance(each[1], messages.ShardEnded)
                ]
            self._queue = [each for each in self._queue if each[0] > after]
            if not self._queue:
                self._changed.wait(wait_s)
            return (self._life, self._number), [
                messages.encode_message(message) for _, message in self._queue
            ]


def _machine_folder() -> Path:
    """This user's alone. Where that name is somebody else's, or open to others, a new one: anybody
    could have made it, and would read and change what lies in it."""
    folder = Path(tempfile.gettempdir()) / f"honeyguide-shards-{os.getuid()}"
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    found = folder.lstat()
    if (found.st_uid, found.st_mode) == (os.getuid(), stat.S_IFDIR | 0o700):
        return folder
    return Path(tempfile.mkdtemp(prefix="honeyguide-shards-"))


@dataclass(eq=False)
class ShardNode:
    plan: messages.ShardPlan
    place: str
    """Of the vault."""
    carry: Callable[[int, bytes], None]
    """To another shard."""
    scratch: Path = field(default_factory=_machine_folder)
    """Where shards of this machine lie."""
    clock: Clock = boot_seconds
    news: CoordinatorOutbox = field(default_factory=CoordinatorOutbox)
    over: bool = False
    """Whether nothing more comes of it."""
    gone: bool = False
    """Whether it took leave, and everything is in the vault."""
    _shard: Shard | None = None
    _early: list[bytes] = field(default_factory=list)

    def receive_messages(self, encoded: list[bytes]) -> None:
        """Messages for this shard; in the thread of its loop."""
        if self._shard is None:
            self._early += encoded
            return
        for data in encoded:
            message = messages.decode_message(data)
            self._shard.receive(message)

    async def run_shard(self) -> None:
        """Run the shard to its end; errors are sent to the coordinator."""
        folder = self._new_folder()
        try:
            keeper, safe_warcs = await self._claim_with_retries(folder)
            plan = msgspec.structs.replace(self.plan, folder=str(folder), warc=str(folder / "warc"))
            files = frozenset(safe_warcs).union(self.plan.files)
            settings = plan.settings.cluster
            checkpointer = Checkpointer(plan.shard, keeper, settings, files, self._send_message)
            self._shard = Shard(plan, self._send_message, checkpointer=checkpointer)
            early, self._early = self._early, []
            self.receive_messages(early)
            with relaxed_gc():
                await self._shard.run()
            self.gone = checkpointer.gone
        except Exception as error:  # noqa: BLE001 - whoever reads it there has no other way to know
            self._send_message(messages.ShardEnded.from_error(self.plan.shard, error))
        finally:
            self.over = True
            shutil.rmtree(folder, ignore_errors=True)

    async def _claim_with_retries(self, folder: Path) -> tuple[ShardReplicator, list[str]]:
        """The claim, the database as it was saved last, and which WARC files are safe."""
        while True:
            try:
                return await asyncio.to_thread(self._claim_and_restore, folder)
            except StorageUnreachable:
                await asyncio.sleep(_CLAIM_RETRY_S)

    def _claim_and_restore(self, folder: Path) -> tuple[ShardReplicator, list[str]]:
        place, shard = open_object_store(self.place), self.plan.shard
        lease = self.plan.settings.cluster.lease_s
        keeper = ShardReplicator.claim(place, shard, socket.gethostname(), lease, self.clock)
        keeper.restore(folder)
        return keeper, list_vault_warcs(place, shard)

    def _new_folder(self) -> Path:
        """A new one; what owners left here who died is cleared away."""
        name = f"{self.place.rstrip('/').rpartition('/')[2]}-{self.plan.shard:03d}"
        self.scratch.mkdir(parents=True, exist_ok=True)
        for old in self.scratch.glob(f"{name}-*"):
            if lock_holder(old / "lock") is None:
                shutil.rmtree(old, ignore_errors=True)
        return self.scratch / f"{name}-{token_hex(4)}"

    def _send_message(self, message: messages.Message) -> None:
        to = messages.message_recipient(message)
        if to == messages.COORDINATOR:
            self.news.put(message)
        else:
            self.carry(to, messages.encode_message(message))


def node_status(news: CoordinatorOutbox) -> dict[str, object]:
    """How a shard stands, for people: fields of a
    :class:`~honeyguide.cluster.remote_state.ShardStatusRow`."""
    state, checkpoint = news.state, news.kept
    status: dict[str, object] = {}
    if checkpoint is not None:
        status |= {
            "machine": checkpoint.machine,
            "epoch": checkpoint.epoch,
            "saved_at": checkpoint.saved_at or None,
            "window_s": checkpoint.window,
            "lost_records": checkpoint.lost,
            "letters": checkpoint.under_way,
        }
    if state is not None:
        status |= {"visits": state.visits, "waiting": state.waiting}
    return status
