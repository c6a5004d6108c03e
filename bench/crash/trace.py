"""What a process did to the files of one folder, as strace saw it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from honeyguide.crawl.live_status import LIVE_FILE as LIVE

Kind = Literal["create", "write", "truncate", "sync", "unlink", "mkdir"]

_QUIET = ("openat", "open", "mmap", "lseek", "write")
"""Calls that are looked at below, or that change nothing."""
_CHANGING = (
    "creat,pwrite64,writev,pwritev,pwritev2,fsync,fdatasync,ftruncate,truncate,fallocate,"
    "rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "copy_file_range,sendfile,splice"
)
_BY_NAME = ("openat", "open", "unlink", "unlinkat", "mkdir", "mkdirat")
_BY_NUMBER = ("write", "pwrite64", "fsync", "fdatasync", "ftruncate", "mmap", "lseek")
_LINE = re.compile(r"(\d+) +(\d+\.\d+) (\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(.*)")
_FILE = re.compile(r"\d+<([^>]*)>")
_UNTRUSTED = ("-shm", LIVE, f"{LIVE}.part")
"""Ends of names that nobody trusts after a crash: SQLite's shared memory, and what a crawl tells of
itself to those who look. They are never synced, and whatever is left of them does no harm."""
_STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')


@dataclass(frozen=True, slots=True)
class Event:
    """One finished call that changed a file, or made its changes last."""

    at: float
    """Unix time at which it began."""
    kind: Kind
    path: str
    """Within the folder; '' is the folder itself."""
    offset: int = 0
    """Of a write; of a truncation, the new length."""
    data: bytes = b""


def lasts(path: str) -> bool:
    """Whether what lies there is part of the promise."""
    return not path.endswith(_UNTRUSTED)


def command(output: Path) -> list[str]:
    """What to put before a command, so that its calls are recorded there."""
    if shutil.which("strace") is None:
        raise SystemExit(
            "strace is not installed, and power cuts are made of what it records: "
            "apt-get install strace (or --skip-power)"
        )
    calls = ",".join((*_QUIET, _CHANGING))
    options = [
        "-f",
        "--seccomp-bpf",
        "-ttt",
        "-y",
        "-xx",
        "-s",
        "100000000",
        "-e",
        f"trace={calls}",
    ]
    return ["strace", *options, "-o", str(output), "--"]


def events(recording: Path, folder: Path) -> Iterator[Event]:
    """The recording as events of that folder. What we do not understand is an error, not a gap."""
    root = str(folder.resolve())
    mark = "".join(f"\\x{byte:02x}" for byte in root.encode())
    with recording.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            if mark not in line:
                continue
            parts = _LINE.match(line)
            if parts is None:
                if line.rstrip().endswith(("= ?", "<unfinished ...>")):
                    continue  # killed within the call; Disk.differs tells if it happened
                raise SystemExit(f"a line of strace's that we cannot read: {line[:200]}")
            _, at, name, words, result, _ = parts.groups()
            if result.startswith("-") or not all(map(lasts, _paths(name, words))):
                continue
            event = _event(float(at), name, words, int(result, 0), root, line)
            if event is not None:
                yield event


def _event(at: float, name: str, words: str, result: int, root: str, line: str) -> Event | None:
    def inside(path: str) -> str | None:
        if path == root:
            return ""
        return path.removeprefix(root + "/") if path.startswith(root + "/") else None

    if name in _BY_NAME:
        found = _STRING.search(words)
        text = _bytes(found[1]).decode() if found else ""
        if not text.startswith("/"):
            raise SystemExit(f"a path that begins nowhere: {line[:200]}")
        path = inside(text)
        if path is None:
            return None
        if name.startswith("open"):
            if "O_TRUNC" in words:
                raise SystemExit(f"a file was opened anew, which no event tells: {line[:200]}")
            return Event(at, "create", path) if "O_CREAT" in words else None
        return Event(at, "mkdir" if name.startswith("mkdir") else "unlink", path)
    where = _FILE.match(words) if name != "mmap" else _FILE.search(words)
    path = inside(_bytes(where[1]).decode()) if where else None
    if name in _BY_NUMBER and (path is None or name == "lseek"):
        return None
    if path is None:
        raise SystemExit(f"a call that the simulated disk does not know: {line[:200]}")
    if name in ("fsync", "fdatasync"):
        return Event(at, "sync", path)
    if name == "mmap":
        if "MAP_SHARED" in words and "PROT_WRITE" in words:
            raise SystemExit(f"a file is written through memory: {line[:200]}")
        return None
    if name == "ftruncate":
        return Event(at, "truncate", path, int(words.rsplit(", ", 1)[1]))
    if name == "pwrite64":
        found = _STRING.search(words)
        if found is None or found[2]:
            raise SystemExit("strace cut the data of a write short")
        return Event(at, "write", path, int(words.rsplit(", ", 1)[1]), _bytes(found[1])[:result])
    raise SystemExit(f"a call that the simulated disk does not know: {line[:200]}")


def _paths(name: str, words: str) -> list[str]:
    """The files that a call is about: the one that it has open, or those that it names."""
    found = (
        _FILE.findall(words)[:1] if name in _BY_NUMBER else [f for f, _ in _STRING.findall(words)]
    )
    return [_bytes(path).decode("utf-8", "replace") for path in found]


def _bytes(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))
