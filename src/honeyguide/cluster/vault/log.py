"""A shard's log: who owns the shard, and all that its owners saved, in one row of entries.

Entries are numbered, and each is created exclusively: of several that try one number exactly one
succeeds. So the log has one end, and one writer. Who wants the shard reads to the end and creates
the next number as a claim of the next epoch. The owner before finds that number taken when it
wants to write on: it is fenced, for ever.

Acting (fetching pages) cannot be undone, so being fenced later is too late. No two clocks are
compared:

* an owner acts only while it began, less than ``lease_s`` ago by its own clock, to look whether
  its next number is free, and it was;
* a claimant acts only when it has waited for longer than that, by its own clock, after its claim
  was there; unless the owner before said farewell and will never act again.

Who claims and dies, or leaves, before it has waited hands the wait on to the next.

Claims are never deleted, whatever is compacted: the number after an owner's last entry is always
somebody's claim, so however long an owner slept, it finds it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from secrets import token_hex
from typing import Any, NamedTuple

from honeyguide.cluster.vault.commands import Create, Names, Read, Steps
from honeyguide.cluster.vault.entry import Entry, Head, damaged, digest_of, pack, unpack
from honeyguide.errors import ClusterError, Fenced, Unreached

Clock = Callable[[], float]
TRIES = 3
"""Times that an entry is sent before we say that the vault cannot be reached."""
_ROUNDS = 100
"""Times that a claimant runs after a log that others write; each round is theirs to lose."""


def steady() -> float:
    """Seconds that never go back, and go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def patience(lease_s: float) -> float:
    """How long to wait for an owner that acts ``lease_s``: our clock may be faster than its."""
    return lease_s * 1.1 + 1.0


def place(shard: int) -> str:
    return f"shard-{shard:04}/log/"


def name(shard: int, number: int) -> str:
    return f"{place(shard)}{number:010}"


def number_of(name: str) -> int:
    last = name.rpartition("/")[2]
    if not (last.isascii() and last.isdigit() and len(last) == 10):
        raise ClusterError(f"{name} in the vault is none of ours: take it away")
    return int(last)


class _Pending(NamedTuple):
    head: Head
    data: bytes
    began: float


class Owner:
    """One claim to a shard: made by :meth:`claiming`, over once it raised Fenced."""

    def __init__(self, shard: int, by: str, lease_s: float, clock: Clock) -> None:
        self.shard, self.by, self.lease_s, self.clock = shard, by, lease_s, clock
        self.epoch = 0
        self.number = 0
        """Of the last entry that we know to be ours."""
        self.base = 0
        self.over = False
        self._before = ""
        self._seen = float("-inf")
        """When we began the last look that showed us to be the owner."""
        self._from = float("inf")
        """Until then we wait for the owners before us."""
        self._pending: _Pending | None = None
        """Sent, and we do not know whether it arrived: nothing else may take its number."""

    def may_act(self) -> bool:
        """Whether the shard may fetch pages at this instant."""
        return self.left() > 0

    def left(self) -> float:
        """For how many seconds it may go on without another look; 0: it may not."""
        begins, ends = self.window()
        now = self.clock()
        return max(0.0, ends - now) if begins <= now else 0.0

    def window(self) -> tuple[float, float]:
        """From when until when it may act, by its own clock, as far as it knows now."""
        return self._from, float("-inf") if self.over else self._seen + self.lease_s

    def wait(self) -> float:
        """Seconds still to be waited for those before us."""
        return max(0.0, self._from - self.clock())

    def claiming(self) -> Steps[None]:
        """Become the owner."""
        for _ in range(_ROUNDS):
            numbers = yield from self._numbers()
            end = numbers[-1] if numbers else 0
            last = yield from self._entry(end) if end else _nothing()
            if end and last is None:
                continue  # compacted since we looked
            head = self._claim(end, last)
            began, data = self.clock(), pack(head)
            if not (yield from self._made(head, data)):
                continue  # somebody was quicker
            landed = self.clock()
            if not (yield from self._astray(head)):
                self._landed(_Pending(head, data, began))
                self._from = landed + head.wait_s
                return
        raise ClusterError(f"shard {self.shard} is claimed by others again and again")

    def _astray(self, claim: Head) -> Steps[bool]:
        """We may have slept between looking and claiming, and the number was free because it had
        been compacted away. Then the log goes on somewhere else, and ours is no claim."""
        end = (yield from self._numbers())[-1]
        if end == claim.number:
            return False
        last = yield from self._entry(end)
        if last and last.head.epoch >= claim.epoch:
            raise self._taken(last)
        return True

    def _claim(self, end: int, last: Entry | None) -> Head:
        self.epoch = last.head.epoch + 1 if last else 1
        self.base = last.head.base if last else 0
        self._before = last.digest if last else ""
        self.number = end
        return self._head("claim", wait_s=self._inherited(last))

    def _inherited(self, last: Entry | None) -> float:
        if last is None:
            return 0.0
        if last.head.kind == "farewell":
            return last.head.wait_s
        return max(patience(last.head.lease_s), last.head.wait_s)

    def appending(self, kind: str, body: bytes = b"", **more: Any) -> Steps[Head]:
        """Write the next entry. Unreached: it may arrive yet; whatever is written next waits
        until that is known."""
        yield from self.settling()
        self._alive()
        head = self._head(kind, **more)
        self._pending = _Pending(head, pack(head, body), self.clock())
        yield from self.settling()
        return head

    def settling(self) -> Steps[None]:
        """Find out what became of the entry that was sent last, and send it again if need be."""
        if (pending := self._pending) is None:
            return
        if not (yield from self._made(pending.head, pending.data)):
            yield from self._fenced()
        self._landed(pending)

    def _made(self, head: Head, data: bytes) -> Steps[bool]:
        """Whether the entry is there and ours. "It exists" is no answer: a repeated request
        finds what the first one made, so we read whose it is."""
        lost: Unreached | None = None
        for _ in range(TRIES):
            try:
                if (yield Create(name(self.shard, head.number), data)):
                    return True
                found = yield Read(name(self.shard, head.number))
            except Unreached as error:
                lost = error
                continue
            if found is not None:
                return digest_of(found) == digest_of(data)
            if lost is None:
                return False  # it was there and is gone: compacted by somebody who came later
        raise lost or Unreached(f"{name(self.shard, head.number)} comes and goes")

    def renewing(self) -> Steps[None]:
        """Look whether we are still the owner; raises Fenced if not."""
        self._alive()
        if self._pending is not None:
            yield from self.settling()
            return
        began = self.clock()
        if (yield Read(name(self.shard, self.number + 1))) is not None:
            yield from self._fenced()
        self._seen = max(self._seen, began)

    def leaving(self) -> Steps[None]:
        """Never act again, and tell the next so."""
        yield from self.settling()
        if self.over:
            return
        self.over = True  # before it is sent: it may arrive although we do not hear of it
        head = self._head("farewell", wait_s=self.wait())
        self._pending = _Pending(head, pack(head), self.clock())
        yield from self.settling()

    def _fenced(self) -> Steps[None]:
        """Somebody else's entry stands where ours should."""
        self.over = True
        self._pending = None
        found = None
        with suppress(Unreached):
            found = yield from self._entry(self.number + 1)
        if found and found.head.epoch <= self.epoch:
            raise damaged(name(self.shard, self.number + 1), "two owners of one epoch wrote it")
        raise self._taken(found)

    def _taken(self, entry: Entry | None) -> Fenced:
        who = f"by {entry.head.by!r:.100}" if entry else "by another process"
        return Fenced(
            f"shard {self.shard} was taken over {who}; this process may not go on with it"
        )

    def _head(self, kind: Any, **more: Any) -> Head:
        more.setdefault("wait_s", self.wait() if self._from != float("inf") else 0.0)
        more.setdefault("base", self.base)
        return Head(
            kind=kind,
            shard=self.shard,
            number=self.number + 1,
            epoch=self.epoch,
            by=self.by,
            nonce=token_hex(16),
            before=self._before,
            lease_s=self.lease_s,
            at=time.time(),
            **more,
        )

    def _landed(self, entry: _Pending) -> None:
        self._pending = None
        self.number, self.base = entry.head.number, entry.head.base
        self._before = digest_of(entry.data)
        self._seen = max(self._seen, entry.began)  # its number was free then

    def _alive(self) -> None:
        if self.over:
            raise Fenced(f"this process gave shard {self.shard} up, or lost it")

    def _numbers(self) -> Steps[list[int]]:
        return sorted(map(number_of, (yield Names(place(self.shard)))))

    def _entry(self, number: int) -> Steps[Entry | None]:
        data = yield Read(name(self.shard, number))
        return None if data is None else unpack(data, name(self.shard, number), self.shard, number)


def _nothing() -> Steps[None]:
    return
    yield
