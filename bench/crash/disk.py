"""A disk that forgets: what is left of recorded writes when the power goes.

A write is safe once its file was synced after it; a name, once its folder was. Everything else
may be there, or not, or in part. What ``fsync`` promises is taken at its word and nothing else
is: neither the order of writes, nor that a longer file has its data, nor that a new file's name
survives because its contents were synced.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bench.crash.trace import Event, lasts

SECTOR = 512

Loss = Literal["all", "some", "later", "data"]
LOSSES: dict[Loss, str] = {
    "all": "everything unsynced is gone",
    "some": "a random part of the unsynced writes and names survives, some writes torn",
    "later": "unsynced writes survive up to a random one, which is torn",
    "data": "files have their new lengths, with zeros where the data should be",
}


@dataclass(eq=False, slots=True)
class File:
    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, Event]] = field(default_factory=list)
    """Numbered, so that the order between files is known."""


@dataclass(slots=True)
class Disk:
    """Play events, then :meth:`fail` as often as you like."""

    files: dict[str, File] = field(default_factory=dict)
    """What programs see; folders are names without a file."""
    folders: set[str] = field(default_factory=lambda: {""})
    safe: dict[str, File | None] = field(default_factory=dict)
    """Names that survive, and what they name; None: a folder."""
    count: int = 0

    @classmethod
    def of(cls, folder: Path) -> Disk:
        """All that lies there now, and safe."""
        disk = cls()
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            if path.is_dir():
                disk.folders.add(name)
                disk.safe[name] = None
            elif lasts(name):
                disk.files[name] = disk.safe[name] = File(bytearray(path.read_bytes()))
        return disk

    def play(self, event: Event) -> None:
        self.count += 1
        path = event.path
        if event.kind == "create":
            self.files.setdefault(path, File())
        elif event.kind == "mkdir":
            self.folders.add(path)
        elif event.kind == "unlink":
            self.files.pop(path, None)
        elif event.kind != "sync":
            self.files[path].pending.append((self.count, event))
        elif path in self.folders:
            self._sync_folder(path)
        elif file := self.files.get(path):
            for _, earlier in file.pending:
                _apply(file.safe, earlier)
            file.pending.clear()

    def _sync_folder(self, folder: str) -> None:
        for name in [name for name in self.safe if _parent(name) == folder]:
            if name not in self.files and name not in self.folders:
                del self.safe[name]
        self.safe.update((n, f) for n, f in self.files.items() if _parent(n) == folder)
        self.safe.update((n, None) for n in self.folders if n and _parent(n) == folder)

    def fail(self, target: Path, loss: Loss, dice: random.Random) -> None:
        """Write what is left to a new folder."""
        last = dice.choice([0, *(n for file in self.files.values() for n, _ in file.pending)])
        chance = dice.random()
        for name, file in sorted(self._names(loss, dice).items()):
            path = target / name
            if file is None:
                path.mkdir(parents=True, exist_ok=True)
                continue
            if not lasts(name) or not path.parent.is_dir():
                continue
            data = bytearray(file.safe)
            for number, event in file.pending:
                if loss == "later" and number <= last:
                    _apply(data, _torn(event, dice) if number == last else event)
                elif loss == "some" and dice.random() < chance:
                    _apply(data, _torn(event, dice) if dice.random() < 0.25 else event)
                elif loss == "data" and event.kind == "write":
                    data.extend(bytes(max(0, event.offset + len(event.data) - len(data))))
            path.write_bytes(data)

    def differs(self, folder: Path) -> str:
        """Where the recording and the real folder disagree; '': nowhere."""
        for name, file in self.files.items():
            data = bytearray(file.safe)
            for _, event in file.pending:
                _apply(data, event)
            real = folder / name
            if lasts(name) and (not real.is_file() or real.read_bytes() != data):
                return name
        # A reader may make an empty file for the log of writes; it means nothing.
        names = {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and path.stat().st_size
        }
        return next(filter(lasts, sorted(names - set(self.files))), "")

    def _names(self, loss: Loss, dice: random.Random) -> dict[str, File | None]:
        names: dict[str, File | None] = {"": None, **self.safe}
        if loss == "all":
            return names
        now = {**dict.fromkeys(self.folders), **self.files}
        if loss == "data":
            return now
        for name in sorted(names.keys() | now.keys()):
            if names.get(name, self) is not now.get(name, self) and dice.random() < 0.5:
                if name in now:
                    names[name] = now[name]
                else:
                    del names[name]
        return names


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _apply(data: bytearray, event: Event) -> None:
    end = event.offset + len(event.data)
    if event.kind == "truncate":
        del data[event.offset :]
    if len(data) < end:
        data.extend(bytes(end - len(data)))
    data[event.offset : end] = event.data


def _torn(event: Event, dice: random.Random) -> Event:
    """A write that stopped between two sectors of the disk; others are whole or not at all."""
    first = -(-event.offset // SECTOR) * SECTOR - event.offset
    cuts: Sequence[int] = range(first, len(event.data), SECTOR)
    if event.kind != "write" or not cuts:
        return event
    return Event(event.at, "write", event.path, event.offset, event.data[: dice.choice(cuts)])
