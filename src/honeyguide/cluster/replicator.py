"""The durable copy of a shard on storage that all machines share (the vault): saves a shard's
database to its log there, restores it, and deletes entries that no restore needs.

A shard is one SQLite database and WARC files on one machine, which may die or be cut off. The vault
holds a log for each shard (:mod:`.shard_log`): claims, and the pages of the database that changed
from one save to the next (:mod:`.database_changes`). From it any machine rebuilds the database as
of the last save. Only one writer at a time is accepted (fencing).
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Self

from honeyguide.cluster.database_changes import (
    DatabaseChanges,
    DatabaseSnapshot,
    FileStamp,
    stamp_file,
    unpack_pages,
)
from honeyguide.cluster.object_store import FolderStore, ObjectStore
from honeyguide.cluster.shard_log import (
    Clock,
    ShardOwner,
    VaultEntry,
    VaultEntryHead,
    boot_seconds,
    damaged_entry,
    entry_name,
    entry_number,
    log_prefix,
    read_entry,
    run_steps,
)
from honeyguide.errors import ClusterError, ConfigError, StorageUnreachable
from honeyguide.store.collection_files import sync_folder
from honeyguide.store.database import Database, SqliteErrorGuard

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://")
_DELETED_AT_ONCE = 100
"""Entries deleted after one save: on a slow storage more of them could outlast the lease."""


def open_object_store(place: str) -> ObjectStore:
    """The vault at a folder (``/mnt/shared/crawl``) or in a bucket (``s3://bucket/prefix``)."""
    if place.startswith("s3://"):
        from honeyguide.cluster.bucket import BucketStore

        return _check_exclusive(BucketStore(place), place)
    if _SCHEME.match(place):
        raise ConfigError(
            f"a vault is a folder that all machines see, or s3://bucket/prefix; not {place!r:.200}"
        )

    return _check_exclusive(FolderStore(Path(place)), place)


def _check_exclusive(vault: ObjectStore, place: str) -> ObjectStore:
    """Some storages accept the wish not to replace an object, and replace it."""
    name = f"probe/{token_hex(12)}"
    made = [vault.create(name, b"first"), vault.create(name, b"second")]
    stored = vault.read(name)
    vault.delete(name)
    if made != [True, False] or stored != b"first":
        raise ConfigError(
            f"{place} cannot hold a vault: it replaces what exists. Use a folder on a file system "
            "with hard links, or a storage that obeys If-None-Match"
        )
    return vault


@dataclass
class LogCompactor:
    """For the owner whose claim has that number."""

    vault: ObjectStore
    shard: int
    claim: int
    _rubbish: deque[int] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._claims = {self.claim: True}

    def record_claims(self, seen: dict[int, bool]) -> None:
        """Which entries are claims, as far as they were read anyway."""
        self._claims |= seen

    def plan_deletions(self, base: int) -> None:
        """A whole copy of the database begins at ``base``, and it is complete."""
        with suppress(StorageUnreachable):  # then after the next one
            numbers = map(entry_number, self.vault.list_names(log_prefix(self.shard)))
            self._rubbish = deque(n for n in numbers if n < base and not self._claims.get(n))

    def delete_some(self) -> None:
        with suppress(StorageUnreachable):  # the rest next time
            for _ in range(min(_DELETED_AT_ONCE, len(self._rubbish))):
                number = self._rubbish[0]
                if not self._is_claim(number):
                    self.vault.delete(entry_name(self.shard, number))
                self._rubbish.popleft()

    def _is_claim(self, number: int) -> bool:
        if number not in self._claims:
            self._claims[number] = number < self.claim and self._reads_as_claim(number)
        return self._claims[number]

    def _reads_as_claim(self, number: int) -> bool:
        """Somebody else's entry, which we had no other reason to read."""
        try:
            entry = read_entry(self.vault, self.shard, number)
        except ClusterError:
            return True  # who knows what it was: it may stay
        return entry is not None and entry.head.kind == "claim"


# -- Restore --


_REBUILD_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """What came of it; without entries there was nothing, and nothing was made."""

    entries: int = 0
    known: FileStamp | None = None
    """The file as it was made, to tell whether it was written to since."""
    sizes: tuple[int, int] = (0, 0)
    """Bytes of the whole copy in the vault, and of what came after it."""
    seen: dict[int, bool] = field(default_factory=dict)
    """Numbers of the entries that were read, and whether each is a claim."""


def rebuild_database(vault: ObjectStore, shard: int, folder: Path) -> RestoreReport:
    """Make ``folder/collection.db`` what the log says. Needs no claim: who only wants to look
    may call it while the shard's owner goes on."""
    base = -1
    for _ in range(_REBUILD_ROUNDS):
        numbers = [entry_number(found) for found in vault.list_names(log_prefix(shard))]
        if not numbers:
            return RestoreReport()
        last = read_entry(vault, shard, max(numbers))
        if last is None:
            continue
        if last.head.base == 0:
            return RestoreReport()
        try:
            return _build_database(vault, shard, folder, last.head)
        except ClusterError:
            # While we read, its owner may have saved the whole anew and deleted what was before.
            if last.head.base == base:
                raise
            base = last.head.base
    raise ClusterError(f"the log of shard {shard} is compacted faster than it can be read")


def _build_database(
    vault: ObjectStore, shard: int, folder: Path, end: VaultEntryHead
) -> RestoreReport:
    path = folder / "collection.db"
    half = folder / f".restoring-{token_hex(8)}"
    with SqliteErrorGuard(path), ExitStack() as undo:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        fd = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        undo.callback(_remove_database, half)
        undo.callback(os.close, fd)
        entries = size = whole = 0
        seen: dict[int, bool] = {}
        for head, applied in _apply_segments(vault, shard, end, fd):
            seen[head.number] = head.kind == "claim"
            if head.kind != "segment":
                continue
            entries, size = entries + 1, size + applied
            if head.last and not whole:
                whole = size
        os.fsync(fd)
        # An old log beside the new file would be taken for its own.
        _remove_database(path)
        half.rename(path)
        known = stamp_file(path)
        sync_folder(folder)
    return RestoreReport(entries, known, (whole, size - whole), seen)


def _apply_segments(
    vault: ObjectStore, shard: int, end: VaultEntryHead, fd: int
) -> Iterator[tuple[VaultEntryHead, int]]:
    """Write complete segments to the file, in order; says what was read, and its bytes."""
    before = ""
    group: list[int] = []
    for number in range(end.base, end.number + 1):
        entry = _require_entry(vault, shard, number)
        head = entry.head
        if before and head.before != before:
            raise damaged_entry(entry_name(shard, number), "it does not follow the one before it")
        before = entry.digest
        if head.kind != "segment" or head.part == 0:
            group = []  # what was begun before was never finished
        if head.kind != "segment":
            yield head, 0
            continue
        if head.part != len(group) or (number == end.base and not head.whole):
            raise damaged_entry(entry_name(shard, number), "a part before it is missing")
        group.append(number)
        if group[0] == end.base:
            _write_pages(fd, entry)  # the base is complete, or it would not be called so
        elif head.last:
            for early in group[:-1]:
                _write_pages(fd, _require_entry(vault, shard, early))
            _write_pages(fd, entry)
        if head.last:
            os.ftruncate(fd, head.pages * head.page_size)
        yield head, entry.size


def _write_pages(fd: int, entry: VaultEntry) -> None:
    head = entry.head
    try:
        for number, page in unpack_pages(entry.body, head.page_size, head.pages):
            os.pwrite(fd, page, (number - 1) * head.page_size)
    except ValueError as error:
        raise damaged_entry(entry_name(head.shard, head.number), str(error)) from error


def _require_entry(vault: ObjectStore, shard: int, number: int) -> VaultEntry:
    if (entry := read_entry(vault, shard, number)) is None:
        raise ClusterError(
            f"{entry_name(shard, number)} is missing in the vault. Put it back from a copy of the "
            "vault; without it the shard cannot be restored further than to the entry before"
        )
    return entry


def _remove_database(path: Path) -> None:
    for end in ("-wal", "-shm", "-journal", ""):
        path.with_name(path.name + end).unlink(missing_ok=True)


# -- The replicator --
#
#     keeper = ShardReplicator.claim(open_object_store("/mnt/shared/birds"), 3, "worker-7")
#     keeper.restore(folder)
#     …                               # open the database; wait until keeper.owner.seconds_left()
#     keeper.save(database)                 # now and then, between transactions
#     keeper.release_shard(database)        # at the end, so that the next need not wait
#
# Everything here raises Fenced once another process has claimed the shard: stop at once then.


_GROWTH = 3.0
"""The whole database is saved again when later entries are this many times larger than its last
copy."""
_SMALL = 4_000_000
"""Bytes below which the whole database is never saved again for its size."""
_MOST = 1000
"""Entries after the whole copy: each is one request more for who restores it."""


@dataclass(frozen=True, slots=True)
class SaveReport:
    """What went to the vault: nothing, if nothing had changed."""

    pages: int = 0
    entries: int = 0
    whole: bool = False


class ShardReplicator:
    """One claim to one shard. For one thread at a time, but for :attr:`owner`,
    and for :meth:`take_snapshot` and :meth:`send_snapshot`, of which each may have a thread of its
    own."""

    def __init__(self, vault: ObjectStore, owner: ShardOwner) -> None:
        self._vault = vault
        self.owner = owner
        self._changes: DatabaseChanges | None = None
        self._taken: DatabaseSnapshot | None = None
        self._known: FileStamp | None = None
        self._needs_restore = owner.base != 0
        """Whether the log holds a database that is not restored yet."""
        self._compactor = LogCompactor(vault, owner.shard, owner.number)
        self._base_bytes = 0
        self._later_bytes = 0
        self._base_entries = 0

    @classmethod
    def claim(
        cls,
        vault: ObjectStore,
        shard: int,
        by: str,
        lease_s: float = 30.0,
        clock: Clock = boot_seconds,
    ) -> Self:
        """Become the shard's owner; whoever was it is fenced from now on."""
        if not 0 < lease_s < float("inf"):
            raise ConfigError(f"a lease is a number of seconds above 0, not {lease_s}")
        owner = ShardOwner(shard, by, lease_s, clock)
        run_steps(vault, owner.claim_steps())
        return cls(vault, owner)

    def renew_lease(self) -> None:
        """Look whether the shard is still ours: one small read. Saving does it as well."""
        run_steps(self._vault, self.owner.renew_steps())

    def restore(self, folder: Path) -> RestoreReport:
        """Make ``folder/collection.db`` what was saved last; what is there is replaced. Nothing
        is made if nothing was ever saved."""
        restored = rebuild_database(self._vault, self.owner.shard, folder)
        self._changes, self._needs_restore, self._known = None, False, restored.known
        self._base_bytes, self._later_bytes = restored.sizes
        self._compactor.record_claims(restored.seen)
        return restored

    def discard_saved(self) -> None:
        """Whatever was saved before is not wanted: what is saved next stands for itself."""
        self._changes, self._needs_restore, self._known = None, False, None

    def save(self, database: Database) -> SaveReport:
        """Send what was committed since the last time."""
        return self.send_snapshot(self.take_snapshot(database))

    def take_snapshot(self, database: Database) -> DatabaseSnapshot:
        """The first half of :meth:`save`: copies what changed, quickly, and asks nobody. The
        database may be used again while :meth:`send_snapshot` runs in another thread."""
        self._taken = self._changes_of(database).take_snapshot(whole=self._needs_full_copy())
        return self._taken

    def send_snapshot(self, taken: DatabaseSnapshot) -> SaveReport:
        """The second half. If it fails, the next :meth:`take_snapshot` takes all of it again."""
        with closing(taken):
            if taken is not self._taken or self._changes is None:
                raise ClusterError("only what was taken last can be sent, and only once")
            self._taken = None
            if not taken.numbers:
                self.renew_lease()
                return SaveReport()
            done = self._append_segments(taken)
        self._changes.mark_saved(taken)
        return done

    def release_shard(self, database: Database | None = None) -> None:
        """Save a last time, never act again, and let the next owner act at once. Before: end
        every fetch."""
        if database is not None:
            self.save(database)
        run_steps(self._vault, self.owner.release_steps())

    def upload_warc(self, path: Path) -> bool:
        """Copy a closed WARC file into the vault; False: it is there already."""
        name = f"shard-{self.owner.shard:04}/warc/{path.name}"
        self.renew_lease()  # who is fenced writes nothing any more
        if self._vault.upload(name, path):
            return True
        if not _has_same_content(self._vault, name, path):
            raise ClusterError(f"{name} in the vault differs from {path}; both were left alone")
        return False

    def _changes_of(self, database: Database) -> DatabaseChanges:
        if self._changes is None or self._changes.database is not database:
            if self._needs_restore:
                raise ClusterError(
                    f"shard {self.owner.shard} has a saved database: restore it before saving"
                )
            self._changes = DatabaseChanges(database, self._known)
            self._known = None
        return self._changes

    def _needs_full_copy(self) -> bool:
        large = self._later_bytes > max(_SMALL, _GROWTH * self._base_bytes)
        return large or self.owner.number - self.owner.base > _MOST + self._base_entries

    def _append_segments(self, taken: DatabaseSnapshot) -> SaveReport:
        owner = self.owner
        run_steps(self._vault, owner.settle_steps())
        first = owner.number + 1
        size = entries = 0
        for part, (body, last) in enumerate(taken.packed_parts()):
            steps = owner.append_steps(
                "segment",
                body,
                part=part,
                last=last,
                whole=taken.whole,
                page_size=taken.page_size,
                pages=taken.pages,
                base=first if taken.whole and last else owner.base,
            )
            run_steps(self._vault, steps)
            size, entries = size + len(body), entries + 1
        if taken.whole:
            self._base_bytes, self._later_bytes, self._base_entries = size, 0, entries
            self._compactor.plan_deletions(first)
        else:
            self._later_bytes += size
        self._compactor.delete_some()
        return SaveReport(len(taken.numbers), entries, taken.whole)


def _has_same_content(vault: ObjectStore, name: str, path: Path) -> bool:
    with path.open("rb") as file:
        for piece in vault.read_chunks(name) or ():
            if file.read(len(piece)) != piece:
                return False
        return not file.read(1)
