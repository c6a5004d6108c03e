"""What ``honeyguide lab compare --out`` leaves in a folder: ``summary.json``, and the crawls behind
it, one a line, in ``results.jsonl``. Either may be damaged, or a stranger's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from honeyguide.errors import ConfigError, StoreError
from honeyguide.store.files import open_plain

SUMMARY, _RESULTS = "summary.json", "results.jsonl"
_LARGEST = 32_000_000
_CRAWLS = 20_000
_FOLDERS, _MOST = 2_000, 100

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]


class Estimate(msgspec.Struct, frozen=True):
    """A mean and its 95 % interval; None: not known."""

    mean: float | None
    low: float | None
    high: float | None


class Line(msgspec.Struct, frozen=True):
    """One strategy, as the summary has it."""

    area: Estimate
    recall: Estimate
    harvest: Estimate
    difference: Estimate
    precision: float | None = None
    cpu_ms: float | None = None
    visits_to: float | None = None


class Summary(msgspec.Struct, frozen=True):
    baseline: str
    k: int
    all: dict[str, Line]
    topics: dict[str, dict[str, Line]] = {}


class Crawl(msgspec.Struct, frozen=True):
    """Of a result, what a curve is made of."""

    web: str
    topic: str
    strategy: str
    draw: int
    found: list[Count]
    relevant: Count


def folders(root: Path) -> Iterator[Path]:
    """Folders in the root, and one level below, that hold a summary; no links."""
    count = 0
    try:
        levels = [root, *sorted(_inside(root))]
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {error.strerror}") from error
    for level in levels:
        if count >= _MOST:
            return
        try:
            inside = sorted(_inside(level))
        except OSError:
            continue
        for folder in inside:
            if (folder / SUMMARY).is_file():
                count += 1
                yield folder


def _inside(folder: Path) -> list[Path]:
    found = []
    with os.scandir(folder) as entries:
        for place, entry in enumerate(entries):
            if place >= _FOLDERS:
                break
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                found.append(Path(entry.path))
    return found


def summary_of(folder: Path) -> Summary | None:
    """None: it is none of the lab's, or damaged."""
    data = _read(folder / SUMMARY)
    return None if data is None else _decoded(data)


@lru_cache(maxsize=64)
def _decoded(data: bytes) -> Summary | None:
    try:
        return msgspec.json.decode(data, type=Summary)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def crawls_of(folder: Path) -> list[Crawl]:
    path = folder / _RESULTS
    try:
        stat = path.stat()
    except OSError:
        return []
    return _lines(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _lines(path: Path, _changed: int, _size: int) -> list[Crawl]:
    decoder = msgspec.json.Decoder(Crawl)
    found: dict[tuple[Any, ...], Crawl] = {}
    for line in (_read(path) or b"").splitlines()[:_CRAWLS]:
        try:
            one = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue  # half a line of a comparison that was interrupted, or a stranger's
        found[one.web, one.topic, one.strategy, one.draw, one.relevant] = one
    return list(found.values())


def _read(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_plain(path, os.O_RDONLY), "rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, StoreError):
        return None
    return data if len(data) <= _LARGEST else None
