"""From the outbox to people: what waits becomes messages, and what became of them is noted.

Which changes make up a message is written down before it is sent. Whoever is killed in between
sends the very same message again, under the same id, and never a change in two messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from honeyguide.change import Change
from honeyguide.store.changes import Changes
from honeyguide.store.outbox import Outbox, Unsent
from honeyguide.watch.telling.channels import Messenger
from honeyguide.watch.telling.message import compose
from honeyguide.watch.telling.notify import Rule, Waiting, due, ready, wake_at, wanted
from honeyguide.watch.telling.outcome import Outcome
from honeyguide.watch.telling.quiet_hours import quiet_until, zone

_MOST = 300
"""Changes that are read at once; the others follow in the next messages."""


class Delivery(NamedTuple):
    """What became of one message."""

    key: str
    changes: tuple[int, ...]
    outcome: Outcome


def queue(outbox: Outbox, rules: Iterable[Rule], number: int, change: Change) -> None:
    """Leave a change for whoever wants to hear of it, in the transaction that stores it."""
    for rule in rules:
        if wanted(rule, change):
            outbox.queue([number], rule.queue, change.at, due(rule, change.at))


async def tell(
    outbox: Outbox,
    changes: Changes,
    rule: Rule,
    messenger: Messenger,
    now: float,
    collection: str = "",
) -> list[Delivery]:
    """Send what this rule's queue holds by now."""
    unsent = outbox.unsent(rule.queue, now, _MOST)
    if not unsent:
        return []
    if (later := quiet_until(rule.quiet, now, zone(rule.zone))) > now:
        outbox.defer(rule.queue, [one.change for one in unsent], later)
        return []
    told: list[Delivery] = []
    bundles = _bundles(outbox, changes, rule, unsent, now)
    for place, (key, numbers, tries) in enumerate(bundles):
        found = [row.change for number in numbers if (row := changes.one(number))]
        if not found:
            outbox.failed(rule.queue, numbers, now, "the change is no longer kept", None)
            continue
        message = compose(rule.channel, found, collection, key)
        outcome = await messenger.send(message, now, tries)
        told.append(Delivery(key, numbers, outcome))
        if outcome.state == "sent":
            outbox.sent(rule.queue, numbers, now)
            continue
        again = outcome.at if outcome.state == "retry" else None
        outbox.failed(rule.queue, numbers, now, outcome.why, again)
        if again:
            # A receiver in trouble is left alone: the others wait with this one.
            rest = [number for bundle in bundles[place + 1 :] for number in bundle[1]]
            outbox.defer(rule.queue, rest, again)
            break
    return told


_Bundle = tuple[str, tuple[int, ...], int]
"""A message's key, its changes, and the tries already made."""


def _bundles(
    outbox: Outbox, changes: Changes, rule: Rule, unsent: Sequence[Unsent], now: float
) -> list[_Bundle]:
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
            row = changes.one(one.change)
            if row:
                waiting.append(Waiting(one.change, row.change))
            else:
                lost.append(one.change)
    if lost:
        outbox.failed(rule.queue, lost, now, "the change is no longer kept", None)
    batches = ready(rule, waiting, now)
    if not batches and (later := wake_at(rule, waiting)):
        outbox.defer(rule.queue, [one.key for one in waiting], max(later, now))
    for batch in batches:
        numbers = tuple(one.key for one in batch)
        made.append((outbox.bundle(rule.queue, numbers), numbers, 0))
    return sorted(made, key=lambda bundle: bundle[1])
