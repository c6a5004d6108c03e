"""Checkpoints of a shard on a cluster: what depends on a transaction is sent only after the
transaction is in the vault.

A machine may be lost, and its shard reopened elsewhere as it was saved last. Nobody may have been
told more than that: letters would be numbered twice, visits as well, and links that others count as
heard would be gone. So whatever follows from a transaction is held back here until a save has
brought that transaction to the vault.

Nothing may be fetched, either, by who is no owner any more: a visit starts only while the lease
lasts for a good while yet, and what is under way is broken off before it ends.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from honeyguide.cluster.messages import CheckpointStatus, Message
from honeyguide.cluster.vault import ShardReplicator
from honeyguide.config.settings import ClusterSettings
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import Report
from honeyguide.errors import StorageUnreachable
from honeyguide.store.store import Store
from honeyguide.store.warc import WarcFolder

_MARGIN_S = 2.0
"""Seconds before the end of the lease at which running visits are cancelled. New visits stop
twice as early."""
_MARGIN_SHARE = 1 / 6
"""The same as a share of the lease, for short leases."""
_RENEWALS_PER_LEASE = 6
"""Times in a lease that an owner looks whether it still is one."""
_RETRY_S = 0.5
"""When to ask a vault again that did not answer."""


class Checkpointer:
    """One owner's claim to one shard, while it lives."""

    def __init__(
        self,
        shard: int,
        keeper: ShardReplicator,
        settings: ClusterSettings,
        safe_warcs: frozenset[str],
        send: Callable[[Message], None],
    ) -> None:
        """``safe_warcs``: WARC files of earlier owners that are safe."""
        self._shard = shard
        self._replicator = keeper
        self._settings = settings
        self._safe_warcs = safe_warcs
        self._send = send
        self._held: deque[Message] = deque()
        self._store: Store | None = None
        self._stopped = asyncio.Event()
        self._margin = min(_MARGIN_S, settings.lease_s * _MARGIN_SHARE)
        self.newest = 0
        """Number of the last visit that is saved in the vault."""
        self._changes = -1
        """The database's count of changes at the last save."""
        self.saved_at = 0.0
        """Time of the last save, in seconds since 1970."""
        self._due = self._rolled = 0.0
        self.gone = False
        """Whether it took leave."""

    # -- what the shard asks -----------------------------------------------------------------

    @property
    def may_start(self) -> bool:
        """Whether a visit may begin."""
        return self._replicator.owner.seconds_left() > 2 * self._margin

    @property
    def is_expiring(self) -> bool:
        """Whether nothing may be under way any more."""
        return self._replicator.owner.seconds_left() <= self._margin

    @property
    def is_all_saved(self) -> bool:
        """Whether all that is written is saved."""
        return self._store is not None and self._store.database.changes_made == self._changes

    def warc_directory(self, folder: Path) -> WarcFolder:
        return WarcFolder(folder, self._shard + 1, self._replicator.owner.epoch, self._safe_warcs)

    def attach_store(self, store: Store) -> None:
        self._store = store
        self._rolled = time.monotonic()

    def send_when_saved(self, message: Message) -> None:
        """Say it when everything that is committed by now is saved."""
        self._held.append(message)

    def checkpoint_status(self, under_way: int) -> CheckpointStatus:
        """The state of the checkpoints. ``under_way``: link batches that are not acknowledged."""
        lost = self._store.warc_archive.lost if self._store is not None else 0
        where, window = socket.gethostname(), self._settings.save_s
        return CheckpointStatus(
            self._shard, self._replicator.owner.epoch, where, window, self.saved_at, lost, under_way
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
        await asyncio.to_thread(self._replicator.release_shard)
        self.gone = True

    async def _save_loop(self) -> None:
        while not self._stopped.is_set():
            now = time.monotonic()
            try:
                if now >= self._due:
                    await self._save_once()
                    self._due = now + self._settings.save_s
                    self._roll_warc(now)
                    await self._upload_warcs()
                else:
                    await asyncio.to_thread(self._replicator.renew_lease)
            except StorageUnreachable:
                # Go on for as long as the lease lasts: perhaps it answers again.
                await self._sleep_until_stopped(_RETRY_S)
                continue
            left = self._due - time.monotonic()
            await self._sleep_until_stopped(min(left, self._settings.lease_s / _RENEWALS_PER_LEASE))

    async def _sleep_until_stopped(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), max(0.01, seconds))

    async def _save_once(self) -> None:
        """Take a snapshot between two transactions and send it while the crawl goes on."""
        assert self._store is not None
        store = self._store
        taken = self._replicator.take_snapshot(store.database)
        held = len(self._held)
        newest = store.visits.last_id()
        changes = store.database.changes_made
        now = time.time()
        # Who is cancelled meanwhile leaves, but what was taken is sent, or closed.
        loop = asyncio.get_running_loop()
        await asyncio.shield(loop.run_in_executor(None, self._replicator.send_snapshot, taken))
        self.newest, self._changes, self.saved_at = newest, changes, now
        for _ in range(held):
            self._send(self._held.popleft())

    def _roll_warc(self, now: float) -> None:
        assert self._store is not None
        if now - self._rolled >= self._settings.warc_s:
            self._rolled = now
            self._store.warc_archive.roll_file()

    async def _upload_warcs(self) -> None:
        assert self._store is not None
        for path in self._store.warc_archive.closed_files():
            await asyncio.to_thread(self._replicator.upload_warc, path)
            path.unlink()
