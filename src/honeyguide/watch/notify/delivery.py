"""From the outbox to people: what waits becomes messages, and what became of them is noted.

Which changes make up a message is written down before it is sent. Whoever is killed in between
sends the very same message again, under the same id, and never a change in two messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from logging import getLogger
from typing import NamedTuple

from honeyguide.change import Change
from honeyguide.store.change_feed import ChangeFeed, NotificationOutbox, UnsentChange
from honeyguide.store.store import Store
from honeyguide.watch.notify.channels import Messenger, SendOutcome
from honeyguide.watch.notify.message import compose_message
from honeyguide.watch.notify.rules import (
    NotifyRule,
    WaitingChange,
    due_time,
    is_wanted,
    quiet_until,
    ready_batches,
    time_zone,
    wake_at,
)

_MAX_CHANGES = 300
"""Changes that are read at once; the others follow in the next messages."""


class NotificationDelivery(NamedTuple):
    """What became of one message."""

    key: str
    changes: tuple[int, ...]
    outcome: SendOutcome


def queue_change(
    outbox: NotificationOutbox, rules: Iterable[NotifyRule], number: int, change: Change
) -> None:
    """Leave a change for whoever wants to hear of it, in the transaction that stores it."""
    for rule in rules:
        if is_wanted(rule, change):
            outbox.queue_changes([number], rule.queue_name, change.at, due_time(rule, change.at))


async def deliver_queued(
    outbox: NotificationOutbox,
    changes: ChangeFeed,
    rule: NotifyRule,
    messenger: Messenger,
    now: float,
    collection: str = "",
) -> list[NotificationDelivery]:
    """Send what this rule's queue holds by now."""
    unsent = outbox.list_unsent(rule.queue_name, now, _MAX_CHANGES)
    if not unsent:
        return []
    if (later := quiet_until(rule.quiet_hours, now, time_zone(rule.time_zone))) > now:
        outbox.defer_changes(rule.queue_name, [one.change for one in unsent], later)
        return []
    told: list[NotificationDelivery] = []
    bundles = _bundle_messages(outbox, changes, rule, unsent, now)
    for place, (key, numbers, tries) in enumerate(bundles):
        found = [row.change for number in numbers if (row := changes.get_change(number))]
        if not found:
            outbox.mark_failed(rule.queue_name, numbers, now, "the change is no longer kept", None)
            continue
        message = compose_message(rule.channel, found, collection, key)
        outcome = await messenger.send(message, now, tries)
        told.append(NotificationDelivery(key, numbers, outcome))
        if outcome.state == "sent":
            outbox.mark_sent(rule.queue_name, numbers, now)
            continue
        again = outcome.at if outcome.state == "retry" else None
        outbox.mark_failed(rule.queue_name, numbers, now, outcome.why, again)
        if again:
            # A receiver in trouble is left alone: the others wait with this one.
            rest = [number for bundle in bundles[place + 1 :] for number in bundle[1]]
            outbox.defer_changes(rule.queue_name, rest, again)
            break
    return told


_MessageBundle = tuple[str, tuple[int, ...], int]
"""A message's key, its changes, and the tries already made."""


def _bundle_messages(
    outbox: NotificationOutbox,
    changes: ChangeFeed,
    rule: NotifyRule,
    unsent: Sequence[UnsentChange],
    now: float,
) -> list[_MessageBundle]:
    """Messages of which it is not known that they arrived, and new ones; the oldest first."""
    bundled = [
        (key, [*group])
        for key, group in groupby((one for one in unsent if one.message), lambda one: one.message)
    ]
    made = [
        (key, tuple(one.change for one in group), max(one.tries for one in group))
        for key, group in bundled
    ]
    waiting, lost = [], []
    for one in unsent:
        if not one.message:
            row = changes.get_change(one.change)
            if row:
                waiting.append(WaitingChange(one.change, row.change))
            else:
                lost.append(one.change)
    if lost:
        outbox.mark_failed(rule.queue_name, lost, now, "the change is no longer kept", None)
    batches = ready_batches(rule, waiting, now)
    if not batches and (later := wake_at(rule, waiting)):
        outbox.defer_changes(rule.queue_name, [one.key for one in waiting], max(later, now))
    for batch in batches:
        numbers = tuple(one.key for one in batch)
        made.append((outbox.bundle_changes(rule.queue_name, numbers), numbers, 0))
    return sorted(made, key=lambda bundle: bundle[1])


# --------------------------------------------------------------------------------------------------
# Tells every channel what waits for it, again and again, while a watch runs.
# --------------------------------------------------------------------------------------------------


_log = getLogger(__name__)

_EVERY_S = 2.0


@dataclass
class NotifyLoop:
    store: Store
    channels: Sequence[tuple[NotifyRule, Messenger]]
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
            await self.deliver_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), _EVERY_S)

    async def deliver_all(self) -> None:
        """Whoever cannot be told holds up nobody else."""
        outbox, changes = self.store.outbox, self.store.changes
        for rule, messenger in self.channels:
            try:
                done = await deliver_queued(
                    outbox, changes, rule, messenger, self.clock(), self.name
                )
            except Exception as error:  # noqa: BLE001 - a channel is other people's code
                _log.warning("%s could not be notified", rule.channel, exc_info=error)
                self.trouble = f"{rule.channel} could not be notified: {type(error).__name__}"
                continue
            for delivery in done:
                if delivery.outcome.state == "sent":
                    self.sent += 1
                else:
                    self.trouble = f"{rule.channel} could not be notified: {delivery.outcome.why}"
