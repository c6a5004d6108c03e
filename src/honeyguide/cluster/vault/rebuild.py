"""A database from a shard's log: the newest copy of the whole, and the pages that came later."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from honeyguide.cluster.vault.entry import Entry, Head, damaged, unpack
from honeyguide.cluster.vault.log import name, number_of, place
from honeyguide.cluster.vault.object_store import Vault
from honeyguide.cluster.vault.pages import Stamp, stamp, unpacked
from honeyguide.errors import ClusterError
from honeyguide.store.database import Database, Guard

_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of it; without entries there was nothing, and nothing was made."""

    entries: int = 0
    bytes: int = 0
    """Read from the vault."""
    when: float = 0.0
    """When the last of it was saved, by its owner's clock."""
    known: Stamp | None = None
    """The file as it was made, to tell whether it was written to since."""
    sizes: tuple[int, int] = (0, 0)
    """Bytes of the whole copy in the vault, and of what came after it."""
    seen: dict[int, bool] = field(default_factory=dict)
    """Numbers of the entries that were read, and whether each is a claim."""


class _Gone(Exception):
    """An entry was deleted while we read, or is missing."""


def rebuild(vault: Vault, shard: int, folder: Path, *, check: bool = False) -> Restored:
    """Make ``folder/collection.db`` what the log says. Needs no claim: who only wants to look
    may call it while the shard's owner goes on."""
    base = -1
    for _ in range(_ROUNDS):
        numbers = [number_of(found) for found in vault.names(place(shard))]
        if not numbers:
            return Restored()
        last = _entry(vault, shard, max(numbers))
        if last is None:
            continue
        if last.head.base == 0:
            return Restored()
        try:
            return _build(vault, shard, folder, last.head, check)
        except (_Gone, ClusterError) as error:
            # While we read, its owner may have saved the whole anew and deleted what was before.
            if last.head.base == base:
                raise error if isinstance(error, ClusterError) else _missing(error) from error
            base = last.head.base
    raise ClusterError(f"the log of shard {shard} is compacted faster than it can be read")


def _build(vault: Vault, shard: int, folder: Path, end: Head, check: bool) -> Restored:
    path = folder / "collection.db"
    half = folder / f".restoring-{token_hex(8)}"
    with Guard(path), ExitStack() as undo:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(half, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        undo.callback(_remove, half)
        undo.callback(os.close, fd)
        entries = size = whole = 0
        when = 0.0
        seen: dict[int, bool] = {}
        for head, applied in _applied(vault, shard, end, fd):
            seen[head.number] = head.kind == "claim"
            if head.kind != "segment":
                continue
            entries, size, when = entries + 1, size + applied, head.at
            if head.last and not whole:
                whole = size
        os.fsync(fd)
        if check:
            _check(half)
        # An old log beside the new file would be taken for its own.
        _remove(path)
        half.rename(path)
        known = stamp(path)
        _sync(folder)
    return Restored(entries, size, when, known, (whole, size - whole), seen)


def _applied(vault: Vault, shard: int, end: Head, fd: int) -> Iterator[tuple[Head, int]]:
    """Write complete segments to the file, in order; says what was read, and its bytes."""
    before = ""
    group: list[int] = []
    for number in range(end.base, end.number + 1):
        entry = _entry(vault, shard, number)
        if entry is None:
            raise _Gone(name(shard, number))
        head = entry.head
        if before and head.before != before:
            raise damaged(name(shard, number), "it does not follow the one before it")
        before = entry.digest
        if head.kind != "segment" or head.part == 0:
            group = []  # what was begun before was never finished
        if head.kind != "segment":
            yield head, 0
            continue
        if head.part != len(group) or (number == end.base and not head.whole):
            raise damaged(name(shard, number), "a part before it is missing")
        group.append(number)
        if group[0] == end.base:
            _write(fd, entry)  # the base is complete, or it would not be called so
        elif head.last:
            for early in group[:-1]:
                if (part := _entry(vault, shard, early)) is None:
                    raise _Gone(name(shard, early))
                _write(fd, part)
            _write(fd, entry)
        if head.last:
            os.ftruncate(fd, head.pages * head.page_size)
        yield head, entry.size


def _write(fd: int, entry: Entry) -> None:
    head = entry.head
    try:
        for number, page in unpacked(entry.body, head.page_size, head.pages):
            os.pwrite(fd, page, (number - 1) * head.page_size)
    except ValueError as error:
        raise damaged(name(head.shard, head.number), str(error)) from error


def _entry(vault: Vault, shard: int, number: int) -> Entry | None:
    data = vault.read(name(shard, number))
    return None if data is None else unpack(data, name(shard, number), shard, number)


def _check(path: Path) -> None:
    database = Database(path, "read")
    try:
        database.check()
    finally:
        database.close()


def _remove(path: Path) -> None:
    for end in ("-wal", "-shm", "-journal", ""):
        path.with_name(path.name + end).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _missing(error: _Gone) -> ClusterError:
    return ClusterError(
        f"{error} is missing in the vault. Put it back from a copy of the vault; without it the "
        "shard cannot be restored further than to the entry before"
    )
