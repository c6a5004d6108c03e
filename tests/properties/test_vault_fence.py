"""At most one process acts for a shard, whatever happens; and each rule is needed for that."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from honeyguide.cluster.vault import log
from honeyguide.cluster.vault.commands import Create, Read, Steps
from honeyguide.cluster.vault.entry import Entry, Head
from honeyguide.cluster.vault.log import Owner
from honeyguide.errors import Unreached
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


class NoWait(Owner):
    def _inherited(self, last: Entry | None) -> float:
        return 0.0


class NoWaitHandedOn(Owner):
    """Waits for the owner just before, not for those that one waited for."""

    def _inherited(self, last: Entry | None) -> float:
        if last is None or last.head.kind == "farewell":
            return 0.0
        return log.patience(last.head.lease_s)


class NoEnd(Owner):
    """Acts on without looking whether it is still the owner."""

    def window(self) -> tuple[float, float]:
        return self._from, float("-inf") if self.over else float("inf")


class LookCountedFromItsEnd(Owner):
    def renewing(self) -> Steps[None]:
        yield from super().renewing()
        self._seen = self.clock()


class ActsAfterFarewell(Owner):
    def leaving(self) -> Steps[None]:
        yield from super().leaving()
        self.over = False


class NoReadBack(Owner):
    """Holds what exists for its own."""

    def _made(self, head: Head, data: bytes) -> Steps[bool]:
        for _ in range(log.TRIES):
            try:
                made: bool = yield Create(log.name(self.shard, head.number), data)
            except Unreached:
                continue
            return made or True
        raise Unreached("lost")


class NoNonce(Owner):
    """Knows its own by everything but the nonce."""

    def _made(self, head: Head, data: bytes) -> Steps[bool]:
        if (yield from super()._made(head, data)):
            return True
        found = yield from self._entry(head.number)
        return found is not None and _named(found.head) == _named(head)


class NoLookAfterClaim(Owner):
    def _astray(self, claim: Head) -> Steps[bool]:
        yield Read(log.name(self.shard, claim.number))
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
def test_without_a_rule_it_breaks(kind: type[Owner], first: int) -> None:
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
    monkeypatch.setattr(log, "patience", lambda lease_s: lease_s)
    assert breaks(Story, 1000)


def _named(head: Head) -> Head:
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
