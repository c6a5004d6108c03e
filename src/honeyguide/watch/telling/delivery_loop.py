"""Tells every channel what waits for it, again and again, while a watch runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from logging import getLogger

from honeyguide.store.store import Store
from honeyguide.watch.telling.channels import Messenger
from honeyguide.watch.telling.deliver import tell
from honeyguide.watch.telling.notify import Rule

_log = getLogger(__name__)

_EVERY_S = 2.0


@dataclass
class Teller:
    store: Store
    channels: Sequence[tuple[Rule, Messenger]]
    clock: Callable[[], float]
    name: str = ""
    """The collection's, for messages."""
    sent: int = 0
    """Messages."""
    trouble: str = ""
    """What went wrong last."""

    async def run(self, over: asyncio.Event) -> None:
        """Until it is over. A message that is on its way is not given up: it would go out twice."""
        while not over.is_set():
            await self.tell()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), _EVERY_S)

    async def tell(self) -> None:
        """Whoever cannot be told holds up nobody else."""
        outbox, changes = self.store.outbox, self.store.changes
        for rule, messenger in self.channels:
            try:
                done = await tell(outbox, changes, rule, messenger, self.clock(), self.name)
            except Exception as error:  # noqa: BLE001 - a channel is other people's code
                _log.warning("%s could not be told", rule.channel, exc_info=error)
                self.trouble = f"{rule.channel} could not be told: {type(error).__name__}"
                continue
            for delivery in done:
                if delivery.outcome.state == "sent":
                    self.sent += 1
                else:
                    self.trouble = f"{rule.channel} could not be told: {delivery.outcome.why}"
