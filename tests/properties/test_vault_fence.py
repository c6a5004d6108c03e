"""At most one process acts for a shard, whatever happens; and each rule is needed for that."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from honeyguide.cluster import shard_log
from honeyguide.cluster.shard_log import (
    CreateObject,
    ReadObject,
    ShardOwner,
    StoreSteps,
    VaultEntry,
    VaultEntryHead,
)
from honeyguide.errors import StorageUnreachable
from tests.properties.fence_story import Broken, Story

STORIES = 1200


def test_one_acts_at_a_time_and_no_old_owner_is_heard() -> None:
    acted = epochs = 0
    for seed in range(STORIES):
        story = Story(seed)
        story.tell()
        acted += story.acted
        epochs += story.vault.head(max(story.vault.objects)).epoch if story.vault.objects else 0
    # The stories are about something: the shard is worked for, and changes hands.
    assert acted > 5 * STORIES
    assert epochs > 2 * STORIES


class NoWait(ShardOwner):
    def _inherited_wait(self, last: VaultEntry | None) -> float:
        return 0.0


class NoWaitHandedOn(ShardOwner):
    """Waits for the owner just before, not for those that one waited for."""

    def _inherited_wait(self, last: VaultEntry | None) -> float:
        if last is None or last.head.kind == "farewell":
            return 0.0
        return shard_log.takeover_wait(last.head.lease_s)


class NoEnd(ShardOwner):
    """Acts on without looking whether it is still the owner."""

    def acting_window(self) -> tuple[float, float]:
        return self._from, float("-inf") if self.over else float("inf")


class LookCountedFromItsEnd(ShardOwner):
    def renew_steps(self) -> StoreSteps[None]:
        yield from super().renew_steps()
        self._seen = self.clock()


class ActsAfterFarewell(ShardOwner):
    def release_steps(self) -> StoreSteps[None]:
        yield from super().release_steps()
        self.over = False


class NoReadBack(ShardOwner):
    """Holds what exists for its own."""

    def _create_entry(self, head: VaultEntryHead, data: bytes) -> StoreSteps[bool]:
        for _ in range(shard_log.SEND_TRIES):
            try:
                made: bool = yield CreateObject(shard_log.entry_name(self.shard, head.number), data)
            except StorageUnreachable:
                continue
            return made or True
        raise StorageUnreachable("lost")


class NoNonce(ShardOwner):
    """Knows its own by everything but the nonce."""

    def _create_entry(self, head: VaultEntryHead, data: bytes) -> StoreSteps[bool]:
        if (yield from super()._create_entry(head, data)):
            return True
        found = yield from self._read_entry(head.number)
        return found is not None and _named(found.head) == _named(head)


class NoLookAfterClaim(ShardOwner):
    def _is_stray(self, claim: VaultEntryHead) -> StoreSteps[bool]:
        yield ReadObject(shard_log.entry_name(self.shard, claim.number))
        return False


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        (NoWait, 0),
        (NoWaitHandedOn, 800),
        (NoEnd, 0),
        (LookCountedFromItsEnd, 0),
        (ActsAfterFarewell, 0),
        (NoReadBack, 0),
        (NoNonce, 0),
        (NoLookAfterClaim, 1700),
    ],
)
def test_without_a_rule_it_breaks(kind: type[ShardOwner], first: int) -> None:
    assert breaks(lambda seed: Story(seed, kind), first)


def test_without_exclusive_creation_it_breaks() -> None:
    def story(seed: int) -> Story:
        told = Story(seed)
        told.vault.exclusive = False
        return told

    assert breaks(story)


def test_without_the_old_claims_it_breaks() -> None:
    def story(seed: int) -> Story:
        told = Story(seed)
        told.keep_claims = False
        return told

    assert breaks(story)


def test_without_a_margin_for_fast_clocks_it_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_log, "takeover_wait", lambda lease_s: lease_s)
    assert breaks(Story, 1000)


def _named(head: VaultEntryHead) -> VaultEntryHead:
    return msgspec.structs.replace(head, nonce="", at=0.0)


def breaks(story: Callable[[int], Story], first: int = 0) -> bool:
    """Whether a story goes wrong; some take long to find, and are looked for from nearer on."""
    for seed in range(first, first + 5 * STORIES):
        told = story(seed)
        told.strict = False  # owners that notice that something is wrong stop; others go on
        try:
            told.tell()
        except Broken:
            return True
    return False
