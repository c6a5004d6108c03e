"""A collection for other tools: Parquet, CSV, JSON lines, or one WARC file.

Everything is written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import csv
import errno
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Literal

from honeyguide.errors import ConfigError, DiskFull, StoreError
from honeyguide.store import warc
from honeyguide.store.codec import json_line
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Label

Format = Literal["parquet", "csv", "jsonl", "warc"]
Progress = Callable[[int], None]

_log = logging.getLogger(__name__)

COLUMNS: dict[str, type] = {
    "url": str, "title": str, "description": str, "text": str, "language": str,
    "queued": float, "score": float, "verdict": float, "reasons": str, "relevant": bool,
    "generation": int, "label": float, "label_by": str, "source": str, "anchor": str,
    "depth": int, "channel": str, "at": float, "status": int, "media_type": str,
    "charset": str, "canonical": str, "may_index": bool, "copy_of": str, "copy_exact": bool,
    "warc": str, "offset": int, "length": int, "payload_digest": str, "text_digest": int,
    "visit": int,
}  # fmt: skip
"""What a row of an export tells, and its type; any of them may be missing (None)."""

_SUFFIX: dict[str, str] = {
    "parquet": ".parquet",
    "csv": ".csv",
    "jsonl": ".jsonl",
    "warc": ".warc.gz",
}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export(
    store: Store,
    target: Path,
    format: Format,
    *,
    relevant: bool | None = None,
    progress: Progress | None = None,
) -> int:
    """Write pages (for WARC: every answer) to a file, or into a folder; how many.

    ``relevant`` keeps only relevant ones, or only the others; None keeps all.
    """
    if format not in _SUFFIX:
        raise ConfigError(f"there is no export format {format!r}; known: {', '.join(_SUFFIX)}")
    if target.is_dir():
        target = target / f"{store.folder.resolve().name}{_SUFFIX[format]}"
    report = progress or (lambda _: None)
    with _whole(target) as part:
        if format == "parquet":
            # Imported here, because pyarrow is large and optional.
            from honeyguide.store.parquet import write

            return write(part, COLUMNS, _rows(store, relevant), report)
        if format == "warc":
            with part.open("wb") as file:
                return _warc(store, file, target.name, relevant, report)
        if format == "csv":
            return _csv(part, _rows(store, relevant), report)
        return _jsonl(part, _rows(store, relevant), report)


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    """A temporary name beside the target, which takes its place when all went well."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield part
        part.replace(target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"no room left on the disk of {target.parent}") from error
        raise StoreError(f"{target} cannot be written: {error}") from error
    finally:
        with suppress(OSError):
            part.unlink()


def _rows(store: Store, relevant: bool | None) -> Iterator[dict[str, Any]]:
    labels: dict[str, Label] = {label.url: label for _, label in store.labels()}
    for row in store.visits(relevant=relevant, page=True):
        label = labels.get(row.url)
        found: dict[str, Any] = {
            "visit": row.id,
            "text": store.text(row.id)[1],
            "label": None if label is None else label.value,
            "label_by": None if label is None else label.by,
        }
        yield {
            name: kind(value) if kind is bool and value is not None else value
            for name, kind in COLUMNS.items()
            for value in (found[name] if name in found else getattr(row, name),)
        }


def _jsonl(path: Path, rows: Iterator[dict[str, Any]], progress: Progress) -> int:
    count = 0
    with path.open("wb") as file:
        for count, row in enumerate(rows, 1):
            file.write(json_line(row))
            progress(count)
    return count


def _csv(path: Path, rows: Iterator[dict[str, Any]], progress: Progress) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(COLUMNS))
        writer.writeheader()
        for count, row in enumerate(rows, 1):
            writer.writerow({name: _cell(value) for name, value in row.items()})
            progress(count)
    return count


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, and no reader for the end of the file."""
    if not isinstance(value, str):
        return value
    value = value.replace("\0", "")
    return "'" + value if value.startswith(_FORMULA) else value


def _warc(
    store: Store, file: BinaryIO, name: str, relevant: bool | None, progress: Progress
) -> int:
    """Copy records as they are; one that only refers to a payload brings the payload along."""
    file.write(warc.info(name, store.counts().last or 0.0))
    brought: set[int | None] = {None}
    count = 0
    for row in store.visits(relevant=relevant):
        original: VisitRow | None = row
        while original is not None and original.payload_of not in brought:
            original = store.visit_at(original.payload_of or 0)
            if original is not None and relevant not in (None, bool(original.relevant)):
                _copy(store, original, file)
                brought.add(original.id)
        if _copy(store, row, file):
            count += 1
            progress(count)
    return count


def _copy(store: Store, row: VisitRow, file: BinaryIO) -> bool:
    """Copy the visit's records; False if it has none, or its file lost them."""
    if row.warc is None or row.offset is None:
        return False
    path = store.folder / "warc" / row.warc
    wanted = row.length + row.request_length
    data = b""
    if path.is_file():
        with path.open("rb") as source:
            source.seek(row.offset)
            data = source.read(wanted)
    if len(data) < wanted:
        _log.warning("%s: its record in %s is missing and was left out", row.url, path)
        return False
    file.write(data)
    return True
