"""From the outbox to people: nothing lost, nothing in two messages, in peace at night."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from honeyguide.change import Change, PageEdit
from honeyguide.store import Store
from honeyguide.types import Url
from honeyguide.watch.notify.channels import SendOutcome, given_up, retry_later, sent_at
from honeyguide.watch.notify.delivery import (
    ChannelDelivery,
    NotifyRule,
    queue_change,
)
from honeyguide.watch.notify.message import ChangeMessage

NOON = 1_700_049_600.0
"""12:00 UTC."""


def change(n: int, at: float = NOON) -> Change:
    edits = (PageEdit("added", "p", "", f"news {n}", 1.0),)
    return Change(Url(f"https://e.org/{n}"), at, ("content",), 0.5, edits=edits)


@dataclass
class Friend:
    """A channel that keeps what it was told, and answers as told."""

    says: str = "sent"
    got: list[tuple[str, tuple[str, ...], int]] = field(default_factory=list)

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:
        urls = tuple(url for entry in message.entries for url in entry.urls)
        self.got.append((message.id, urls, tries))
        if self.says == "killed":
            raise KeyboardInterrupt
        if self.says == "retry":
            return retry_later("down", now, tries)
        return sent_at(now) if self.says == "sent" else given_up("no", now)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path, "crawl") as store:
        yield store


def leave(store: Store, rule: NotifyRule, *changes: Change) -> None:
    for one in changes:
        queue_change(store.outbox, [rule], store.changes.append(one), one)


def run(store: Store, rule: NotifyRule, friend: Friend, now: float) -> list[SendOutcome]:
    delivery = ChannelDelivery(store.outbox, store.changes, rule, friend, "bees")
    return asyncio.run(delivery.deliver(now))


def next_try(store: Store) -> object:
    return store.database.fetch_value("SELECT min(next) FROM outbox WHERE sent IS NULL")


def test_each_change_is_told_once(store: Store) -> None:
    rule, friend = NotifyRule("chat"), Friend()
    leave(store, rule, change(1), change(2))
    leave(store, NotifyRule("chat", significance=0.9), change(3))
    assert len(run(store, rule, friend, NOON)) == 2
    assert [urls for _, urls, _ in friend.got] == [("https://e.org/1",), ("https://e.org/2",)]
    assert run(store, rule, friend, NOON + 9) == []
    assert next_try(store) is None


def test_killed_while_sending_the_same_message_goes_again(store: Store) -> None:
    rule, friend = NotifyRule("chat", digest="hourly"), Friend("killed")
    leave(store, rule, change(1), change(2))
    with pytest.raises(KeyboardInterrupt):
        run(store, rule, friend, NOON + 3600)
    leave(store, rule, change(3, NOON + 10))
    friend.says = "sent"
    run(store, rule, friend, NOON + 3600)
    first, second, third = friend.got
    assert first == second, "the same id and the same changes"
    assert third[1] == ("https://e.org/3",)
    assert run(store, rule, friend, NOON + 9e9) == []


def test_a_receiver_in_trouble_is_left_alone_and_nothing_lost(store: Store) -> None:
    rule, friend = NotifyRule("chat"), Friend("retry")
    leave(store, rule, *(change(n) for n in range(3)))
    told = run(store, rule, friend, NOON)
    assert [one.state for one in told] == ["retry"]
    assert next_try(store) == NOON + 30
    assert run(store, rule, friend, NOON + 29) == []
    friend.says = "sent"
    run(store, rule, friend, NOON + 30)
    assert friend.got[0][:2] == friend.got[1][:2]
    assert [tries for _, _, tries in friend.got] == [0, 1, 0, 0]
    assert {url for _, urls, _ in friend.got for url in urls} == {
        f"https://e.org/{n}" for n in range(3)
    }


def test_what_is_given_up_is_not_tried_again_but_seen(store: Store) -> None:
    rule, friend = NotifyRule("chat"), Friend("gave_up")
    leave(store, rule, change(1), change(2))
    assert len(run(store, rule, friend, NOON)) == 2
    assert run(store, rule, friend, NOON + 9e9) == []
    assert [(one.given_up, one.why) for one in store.outbox.channel_status()] == [(2, "no")]


def test_nobody_is_woken_at_night_not_even_by_a_second_try(store: Store) -> None:
    rule, friend = NotifyRule("chat", quiet_hours="12:01-07:00"), Friend("retry")
    leave(store, rule, change(1))
    run(store, rule, friend, NOON)
    leave(store, rule, change(2, NOON + 70))
    friend.says = "sent"
    morning = NOON + 19 * 3600
    assert run(store, rule, friend, NOON + 90) == []
    assert next_try(store) == morning
    assert len(run(store, rule, friend, morning)) == 2


def test_a_digest_waits_for_its_hour(store: Store) -> None:
    rule, friend = NotifyRule("chat", digest="daily", hour=8), Friend()
    leave(store, rule, change(1), change(2))
    morning = NOON + 20 * 3600
    assert next_try(store) == morning
    # An hour that was written into the settings later counts at once.
    late = NotifyRule("chat", digest="daily", hour=9)
    assert run(store, late, friend, morning) == []
    assert next_try(store) == morning + 3600
    assert len(run(store, late, friend, morning + 3600)) == 1
    assert len(friend.got[0][1]) == 2


def test_a_change_that_is_no_longer_kept_holds_nobody_up(store: Store) -> None:
    rule, friend = NotifyRule("chat"), Friend()
    store.outbox.queue_changes([99], "chat", NOON)
    leave(store, rule, change(1))
    assert len(run(store, rule, friend, NOON)) == 1
    assert run(store, rule, friend, NOON) == []


def test_two_rules_have_a_queue_each(store: Store) -> None:
    now, later = NotifyRule("urgent"), NotifyRule("digest", digest="daily")
    friend = Friend()
    number = store.changes.append(change(1))
    queue_change(store.outbox, [now, later], number, change(1))
    assert len(run(store, now, friend, NOON)) == 1
    assert run(store, later, friend, NOON) == []
    assert len(run(store, later, friend, NOON + 86400)) == 1
