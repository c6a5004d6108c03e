"""One shard on a machine of a cluster: claims the shard, restores it from the vault and runs it.

Whoever starts it (an actor of Ray, or a test) hands it messages, carries what it says to other
shards, and fetches what it says to the coordinator.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import msgspec

from honeyguide.cluster import messages
from honeyguide.cluster.checkpointing import Checkpointer
from honeyguide.cluster.messages import (
    ShardPlan,
)
from honeyguide.cluster.shard import Shard
from honeyguide.cluster.vault import ShardReplicator, open_object_store
from honeyguide.cluster.vault.shard_log import Clock, boot_seconds, list_vault_warcs
from honeyguide.crawl.signals import relaxed_gc
from honeyguide.errors import StorageUnreachable
from honeyguide.store.collection_files import lock_holder

_RETRY_S = 1.0
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


class ShardNode:
    def __init__(
        self,
        plan: ShardPlan,
        place: str,
        carry: Callable[[int, bytes], None],
        *,
        scratch: Path | None = None,
        clock: Clock = boot_seconds,
    ) -> None:
        """``place``: of the vault. ``carry``: to another shard. ``scratch``: where shards of this
        machine lie, in its temporary folder if not said."""
        self.news = CoordinatorOutbox()
        self.over = False
        """Whether nothing more comes of it."""
        self.gone = False
        """Whether it took leave, and everything is in the vault."""
        self._plan = plan
        self._place = place
        self._carry = carry
        self._scratch = scratch or Path(tempfile.gettempdir()) / "honeyguide-shards"
        self._clock = clock
        self._shard: Shard | None = None
        self._early: list[bytes] = []

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
            plan = msgspec.structs.replace(
                self._plan, folder=str(folder), warc=str(folder / "warc")
            )
            files = frozenset(safe_warcs).union(self._plan.files)
            settings = plan.settings.cluster
            keeping = Checkpointer(plan.shard, keeper, settings, files, self._send_message)
            self._shard = Shard(plan, self._send_message, keeping=keeping)
            early, self._early = self._early, []
            self.receive_messages(early)
            with relaxed_gc():
                await self._shard.run()
            self.gone = keeping.gone
        except Exception as error:  # noqa: BLE001 - whoever reads it there has no other way to know
            self._send_message(messages.ShardEnded.from_error(self._plan.shard, error))
        finally:
            self.over = True
            shutil.rmtree(folder, ignore_errors=True)

    async def _claim_with_retries(self, folder: Path) -> tuple[ShardReplicator, list[str]]:
        """The claim, the database as it was saved last, and which WARC files are safe."""
        while True:
            try:
                return await asyncio.to_thread(self._claim_and_restore, folder)
            except StorageUnreachable:
                await asyncio.sleep(_RETRY_S)

    def _claim_and_restore(self, folder: Path) -> tuple[ShardReplicator, list[str]]:
        place, shard = open_object_store(self._place), self._plan.shard
        lease = self._plan.settings.cluster.lease_s
        keeper = ShardReplicator.claim(place, shard, socket.gethostname(), lease, self._clock)
        keeper.restore(folder)
        return keeper, list_vault_warcs(place, shard)

    def _new_folder(self) -> Path:
        """A new one; what owners left here who died is cleared away."""
        name = f"{self._place.rstrip('/').rpartition('/')[2]}-{self._plan.shard:03d}"
        self._scratch.mkdir(parents=True, exist_ok=True)
        for old in self._scratch.glob(f"{name}-*"):
            if lock_holder(old / "lock") is None:
                shutil.rmtree(old, ignore_errors=True)
        return self._scratch / f"{name}-{token_hex(4)}"

    def _send_message(self, message: messages.Message) -> None:
        to = messages.message_recipient(message)
        if to == messages.COORDINATOR:
            self.news.put(message)
        else:
            self._carry(to, messages.encode_message(message))

    def leave(self) -> None:
        self.receive_messages([messages.encode_message(messages.ExitRequest())])


def node_status(news: CoordinatorOutbox) -> dict[str, object]:
    """How a shard stands, for people."""
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
        status |= {"visits": state.visits, "waiting": state.waiting, "busy": state.busy}
        status |= {"unsaved": state.unsaved, "idle": state.idle}
    return status
