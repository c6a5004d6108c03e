"""A shard's log in the vault: entries, who owns the shard, and the steps that claim it, append
to it and give it up.

The rules of :mod:`.log` are generators that yield what they want done. :func:`run_steps` does it;
the tests do it too, with pauses, lost answers and several owners in any order.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from hashlib import blake2b
from secrets import token_hex
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

from honeyguide.cluster.object_store import ObjectStore
from honeyguide.errors import ClusterError, ShardFenced, StorageUnreachable

T = TypeVar("T")


class CreateObject(NamedTuple):
    name: str
    data: bytes


class ReadObject(NamedTuple):
    name: str


class ListObjects(NamedTuple):
    prefix: str


StoreCommand = CreateObject | ReadObject | ListObjects
StoreSteps = Generator[StoreCommand, Any, T]


def run_steps(vault: ObjectStore, steps: StoreSteps[T]) -> T:
    """Do what is asked, one after the other, and say what came of it."""
    try:
        ask = next(steps)
        while True:
            try:
                answer = execute_command(vault, ask)
            except StorageUnreachable as error:
                ask = steps.throw(error)
            else:
                ask = steps.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result


def execute_command(vault: ObjectStore, ask: StoreCommand) -> object:
    match ask:
        case CreateObject(name, data):
            return vault.create(name, data)
        case ReadObject(name):
            return vault.read(name)
        case ListObjects(prefix):
            return vault.list_names(prefix)


# -- Entries --
#
# The digest covers everything after it, and each head holds the digest of the entry before: what
# is damaged, missing, moved or from another log does not pass.


_MAGIC = b"honeyguide vault 1\n"
_DIGEST = 32
_START = len(_MAGIC) + _DIGEST + 4
_MAX_HEAD_BYTES = 10_000


class VaultEntryHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an entry is. Each says enough that who comes next has to read the last one only."""

    kind: Literal["claim", "segment", "farewell"]
    shard: int
    number: int
    epoch: int
    """Claims are counted; an entry belongs to the claim before it."""
    by: str
    nonce: str
    """Random: by it a writer knows its own."""
    before: str
    """Digest of the entry before; empty for the first."""
    lease_s: float
    """How long its owner acts after it last saw that it is the owner."""
    wait_s: float
    """How long the owner still had to wait for those before it: its heir has to as well."""
    base: int
    """Where the newest complete copy of the whole database begins; 0: there is none."""
    at: float = 0.0
    """Seconds since 1970 by its owner's clock, for people to read. Nothing is decided by it."""
    part: int = 0
    last: bool = True
    """A segment may be too large for one entry; without its last part it never happened."""
    whole: bool = False
    """All pages of the database, not only those that changed."""
    page_size: int = 0
    pages: int = 0
    """Length of the database in pages."""


class VaultEntry(msgspec.Struct, frozen=True):
    head: VaultEntryHead
    body: bytes
    digest: str
    size: int


def pack_entry(head: VaultEntryHead, body: bytes = b"") -> bytes:
    encoded = msgspec.json.encode(head)
    rest = struct.pack(">I", len(encoded)) + encoded
    return _MAGIC + _compute_digest(rest, body) + rest + body


def unpack_entry(data: bytes, name: str, shard: int, number: int) -> VaultEntry:
    """The entry; raises ClusterError unless it is exactly what was once put there."""
    if not data.startswith(_MAGIC) or len(data) < _START:
        raise damaged_entry(name, "it is not a log entry")
    digest, rest = data[len(_MAGIC) : _START - 4], memoryview(data)[_START - 4 :]
    if _compute_digest(rest) != digest:
        raise damaged_entry(name, "its digest is wrong")
    length = struct.unpack_from(">I", rest)[0]
    if length > min(_MAX_HEAD_BYTES, len(rest) - 4):
        raise damaged_entry(name, "its head is cut off")
    try:
        head = msgspec.json.decode(rest[4 : 4 + length], type=VaultEntryHead)
    except msgspec.MsgspecError as error:
        raise damaged_entry(name, f"its head does not read: {error}") from error
    if (head.shard, head.number) != (shard, number):
        raise damaged_entry(name, f"it is number {head.number} of shard {head.shard}")
    return VaultEntry(head, bytes(rest[4 + length :]), digest.hex(), len(data))


def read_entry(vault: ObjectStore, shard: int, number: int) -> VaultEntry | None:
    """The entry with that number; None: there is none."""
    data = vault.read(entry_name(shard, number))
    return None if data is None else unpack_entry(data, entry_name(shard, number), shard, number)


def entry_digest(data: bytes) -> str:
    return data[len(_MAGIC) : _START - 4].hex()


def damaged_entry(name: str, why: str) -> ClusterError:
    return ClusterError(
        f"{name} in the vault is damaged: {why}. Put it back from a copy of the vault; without it "
        "the shard cannot be restored further than to the entry before"
    )


def _compute_digest(*parts: bytes | memoryview) -> bytes:
    value = blake2b(digest_size=_DIGEST)
    for part in parts:
        value.update(part)
    return value.digest()


# -- Ownership --
#
# Entries are numbered, and each is created exclusively: of several that try one number exactly one
# succeeds. So the log has one end, and one writer. Who wants the shard reads to the end and creates
# the next number as a claim of the next epoch. The owner before finds that number taken when it
# wants to write on: it is fenced, for ever.
#
# Acting (fetching pages) cannot be undone, so being fenced later is too late. No two clocks are
# compared:
#
# * an owner acts only while it began, less than ``lease_s`` ago by its own clock, to look whether
#   its next number is free, and it was;
# * a claimant acts only when it has waited for longer than that, by its own clock, after its claim
#   was there; unless the owner before said farewell and will never act again.
#
# Who claims and dies, or leaves, before it has waited hands the wait on to the next.
#
# Claims are never deleted, whatever is compacted: the number after an owner's last entry is always
# somebody's claim, so however long an owner slept, it finds it.


Clock = Callable[[], float]
SEND_TRIES = 3
"""Times that an entry is sent before we say that the vault cannot be reached."""
_CLAIM_ROUNDS = 100
"""Times that a claimant runs after a log that others write; each round is theirs to lose."""


def boot_seconds() -> float:
    """Seconds that never go back, and go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def takeover_wait(lease_s: float) -> float:
    """How long to wait for an owner that acts ``lease_s``: our clock may be faster than its."""
    return lease_s * 1.1 + 1.0


def log_prefix(shard: int) -> str:
    return f"shard-{shard:04}/log/"


def list_vault_warcs(place: ObjectStore, shard: int) -> list[str]:
    """Names of a shard's WARC files in the vault."""
    return [name.rpartition("/")[2] for name in place.list_names(f"shard-{shard:04}/warc/")]


def entry_name(shard: int, number: int) -> str:
    return f"{log_prefix(shard)}{number:010}"


def entry_number(name: str) -> int:
    last = name.rpartition("/")[2]
    if not (last.isascii() and last.isdigit() and len(last) == 10):
        raise ClusterError(f"{name} in the vault was not written by Honeyguide: remove it")
    return int(last)


class _PendingEntry(NamedTuple):
    head: VaultEntryHead
    data: bytes
    began: float


class ShardOwner:
    """One claim to a shard: made by :meth:`claim_steps`, over once it raised Fenced."""

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
        self._pending: _PendingEntry | None = None
        """Sent, and we do not know whether it arrived: nothing else may take its number."""

    def seconds_left(self) -> float:
        """For how many seconds it may go on without another look; 0: it may not."""
        begins, ends = self.acting_window()
        now = self.clock()
        return max(0.0, ends - now) if begins <= now else 0.0

    def acting_window(self) -> tuple[float, float]:
        """From when until when it may act, by its own clock, as far as it knows now."""
        return self._from, float("-inf") if self.over else self._seen + self.lease_s

    def seconds_to_wait(self) -> float:
        """Seconds still to be waited for those before us."""
        return max(0.0, self._from - self.clock())

    def claim_steps(self) -> StoreSteps[None]:
        """Become the owner."""
        for _ in range(_CLAIM_ROUNDS):
            numbers = yield from self._entry_numbers()
            end = numbers[-1] if numbers else 0
            last = (yield from self._read_entry(end)) if end else None
            if end and last is None:
                continue  # compacted since we looked
            head = self._claim_head(end, last)
            began, data = self.clock(), pack_entry(head)
            if not (yield from self._create_entry(head, data)):
                continue  # somebody was quicker
            landed = self.clock()
            if not (yield from self._is_stray(head)):
                self._confirm_entry(_PendingEntry(head, data, began))
                self._from = landed + head.wait_s
                return
        raise ClusterError(f"shard {self.shard} is claimed by other processes again and again")

    def _is_stray(self, claim: VaultEntryHead) -> StoreSteps[bool]:
        """We may have slept between looking and claiming, and the number was free because it had
        been compacted away. Then the log goes on somewhere else, and ours is no claim."""
        end = (yield from self._entry_numbers())[-1]
        if end == claim.number:
            return False
        last = yield from self._read_entry(end)
        if last and last.head.epoch >= claim.epoch:
            raise self._fenced_error(last)
        return True

    def _claim_head(self, end: int, last: VaultEntry | None) -> VaultEntryHead:
        self.epoch = last.head.epoch + 1 if last else 1
        self.base = last.head.base if last else 0
        self._before = last.digest if last else ""
        self.number = end
        return self._make_head("claim", wait_s=self._inherited_wait(last))

    def _inherited_wait(self, last: VaultEntry | None) -> float:
        if last is None:
            return 0.0
        if last.head.kind == "farewell":
            return last.head.wait_s
        return max(takeover_wait(last.head.lease_s), last.head.wait_s)

    def append_steps(self, kind: str, body: bytes = b"", **more: Any) -> StoreSteps[VaultEntryHead]:
        """Write the next entry. Unreached: it may arrive yet; whatever is written next waits
        until that is known."""
        yield from self.settle_steps()
        self._check_alive()
        head = self._make_head(kind, **more)
        self._pending = _PendingEntry(head, pack_entry(head, body), self.clock())
        yield from self.settle_steps()
        return head

    def settle_steps(self) -> StoreSteps[None]:
        """Find out what became of the entry that was sent last, and send it again if need be."""
        if (pending := self._pending) is None:
            return
        if not (yield from self._create_entry(pending.head, pending.data)):
            yield from self._raise_fenced()
        self._confirm_entry(pending)

    def _create_entry(self, head: VaultEntryHead, data: bytes) -> StoreSteps[bool]:
        """Whether the entry is there and ours. "It exists" is no answer: a repeated request
        finds what the first one made, so we read whose it is."""
        lost: StorageUnreachable | None = None
        for _ in range(SEND_TRIES):
            try:
                if (yield CreateObject(entry_name(self.shard, head.number), data)):
                    return True
                found = yield ReadObject(entry_name(self.shard, head.number))
            except StorageUnreachable as error:
                lost = error
                continue
            if found is not None:
                return entry_digest(found) == entry_digest(data)
            if lost is None:
                return False  # it was there and is gone: compacted by somebody who came later
        raise lost or StorageUnreachable(
            f"{entry_name(self.shard, head.number)} appears and disappears"
        )

    def renew_steps(self) -> StoreSteps[None]:
        """Look whether we are still the owner; raises Fenced if not."""
        self._check_alive()
        if self._pending is not None:
            yield from self.settle_steps()
            return
        began = self.clock()
        if (yield ReadObject(entry_name(self.shard, self.number + 1))) is not None:
            yield from self._raise_fenced()
        self._seen = max(self._seen, began)

    def release_steps(self) -> StoreSteps[None]:
        """Never act again, and tell the next so."""
        yield from self.settle_steps()
        if self.over:
            return
        self.over = True  # before it is sent: it may arrive although we do not hear of it
        head = self._make_head("farewell", wait_s=self.seconds_to_wait())
        self._pending = _PendingEntry(head, pack_entry(head), self.clock())
        yield from self.settle_steps()

    def _raise_fenced(self) -> StoreSteps[None]:
        """Somebody else's entry stands where ours should."""
        self.over = True
        self._pending = None
        found = None
        with suppress(StorageUnreachable):
            found = yield from self._read_entry(self.number + 1)
        if found and found.head.epoch <= self.epoch:
            raise damaged_entry(
                entry_name(self.shard, self.number + 1), "two owners of one epoch wrote it"
            )
        raise self._fenced_error(found)

    def _fenced_error(self, entry: VaultEntry | None) -> ShardFenced:
        who = f"by {entry.head.by!r:.100}" if entry else "by another process"
        return ShardFenced(
            f"shard {self.shard} was taken over {who}; this process must not continue it"
        )

    def _make_head(self, kind: Any, **more: Any) -> VaultEntryHead:
        more.setdefault("wait_s", self.seconds_to_wait() if self._from != float("inf") else 0.0)
        more.setdefault("base", self.base)
        return VaultEntryHead(
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

    def _confirm_entry(self, entry: _PendingEntry) -> None:
        self._pending = None
        self.number, self.base = entry.head.number, entry.head.base
        self._before = entry_digest(entry.data)
        self._seen = max(self._seen, entry.began)  # its number was free then

    def _check_alive(self) -> None:
        if self.over:
            raise ShardFenced(f"this process gave shard {self.shard} up, or lost it")

    def _entry_numbers(self) -> StoreSteps[list[int]]:
        return sorted(map(entry_number, (yield ListObjects(log_prefix(self.shard)))))

    def _read_entry(self, number: int) -> StoreSteps[VaultEntry | None]:
        data = yield ReadObject(entry_name(self.shard, number))
        if data is None:
            return None
        return unpack_entry(data, entry_name(self.shard, number), self.shard, number)
