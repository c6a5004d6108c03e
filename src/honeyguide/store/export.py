"""A collection for other tools: Parquet, CSV, JSON lines, or one WARC file.

Everything is written under a temporary name and renamed when whole.
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal, NamedTuple

from honeyguide.errors import ConfigError, DiskFull, StoreError
from honeyguide.store.codec import json_line
from honeyguide.store.effective_labels import Said, Topics
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.store.warc_export import Extract

Format = Literal["parquet", "csv", "jsonl", "warc"]
Progress = Callable[[int], None]

COLUMNS: dict[str, type] = {
    "url": str, "title": str, "description": str, "language": str, "tongue": str,
    "queued": float, "score": float, "verdict": float, "reasons": str, "relevant": bool,
    "generation": int, "label": float, "label_by": str, "source": str, "anchor": str,
    "depth": int, "channel": str, "at": str, "tries": int, "status": int, "failure": str,
    "detail": str, "moved": str, "media_type": str, "charset": str, "canonical": str,
    "may_index": bool, "copy_of": str, "copy_exact": bool, "warc": str, "offset": int,
    "length": int, "payload_digest": str, "text_digest": int, "visit": int, "text": str,
}  # fmt: skip
"""What a row of an export tells, and its type; any of them may be missing (None)."""

_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".warc": "warc",
    ".warc.gz": "warc",
}
_USUAL: dict[Format, str] = {
    "parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl", "warc": ".warc.gz",
}  # fmt: skip
_PIECE = 100
"""Rows of a piece that is streamed."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Exported(NamedTuple):
    """What an export came to."""

    path: Path
    format: Format
    rows: int
    missing: int = 0
    """Answers whose WARC records are not there (any more)."""


def export(
    store: Store,
    target: Path,
    format: str = "",
    *,
    everything: bool = False,
    text: bool = True,
    progress: Progress | None = None,
    topics: Topics | None = None,
    language: str = "",
    threshold: float = 0.5,
) -> Exported:
    """Write relevant pages to a file, or into a folder; with ``everything``, every visit.

    What a person said of a page overrules the verdict on it. The file's ending says the format.
    ``topics``: what is known of each, where there are several. ``language``: only pages in this
    one, those too that the language gate kept apart and whose verdict would else have reached the
    ``threshold``; ``all``: in any language.
    """
    form = _format(target, format)
    if target.is_dir():
        target = target / f"{store.folder.resolve().name}{_USUAL[form]}"
    report = progress or (lambda _: None)
    said = Said(store.labels(), topics)
    alone = topics is None or not topics.only  # of one topic alone the gate says nothing
    wanted = _wanted(said, everything, language, threshold if alone else 2.0)
    chosen = filter(wanted, _chosen(store, said, everything or bool(language)))
    with _whole(target) as part:
        if form == "warc":
            with part.open("wb") as file:
                extract = Extract(store, file, packed=not target.name.endswith(".warc"))
                extract.begin(target.name)
                for row in chosen:
                    extract.add(row, wanted)
                    report(extract.count)
            if extract.missing and not extract.count:
                raise StoreError(
                    f"nothing to write: none of the {extract.missing} answers is in the WARC "
                    f"files of {store.folder} (were they moved, or is store.warc false?)"
                )
            return Exported(target, form, extract.count, extract.missing)
        columns = {name: kind for name, kind in COLUMNS.items() if text or name != "text"}
        columns |= dict.fromkeys(said.columns(), float)
        rows = _rows(store, chosen, said, columns)
        if form == "parquet":
            # Imported here, because pyarrow is large and optional.
            from honeyguide.store.parquet import write

            return Exported(target, form, write(part, columns, rows, report))
        with _packed(part, target.name.endswith(".gz")) as file:
            if form == "csv":
                return Exported(target, form, _csv(file, list(columns), rows, report))
            return Exported(target, form, _jsonl(file, rows, report))


def streamed(
    store: Store,
    chosen: Iterator[VisitRow],
    format: Literal["parquet", "csv", "jsonl"],
    *,
    text: bool = True,
    topics: Topics | None = None,
) -> Iterator[bytes]:
    """The same rows of any visits, for one who reads along: in pieces as they come, but for
    Parquet, whose end must be known before its beginning makes sense."""
    said = Said(store.labels(), topics)
    columns = {name: kind for name, kind in COLUMNS.items() if text or name != "text"}
    columns |= dict.fromkeys(said.columns(), float)
    rows = _rows(store, chosen, said, columns)
    if format == "parquet":
        from honeyguide.store.parquet import write

        with TemporaryDirectory() as place:
            path = Path(place) / "rows.parquet"
            write(path, columns, rows, lambda _: None)
            with path.open("rb") as whole:
                yield from iter(lambda: whole.read(1 << 20), b"")
        return
    head = format == "csv"
    while (some := list(islice(rows, _PIECE))) or head:
        file = io.BytesIO()
        if format == "csv":
            _csv(file, list(columns), iter(some), lambda _: None, head=head)
        else:
            _jsonl(file, iter(some), lambda _: None)
        head = False
        yield file.getvalue()


def _format(target: Path, wish: str) -> Format:
    """The format that was asked for, or that the file's name asks for; both must agree."""
    name = target.name.lower()
    ending = next((e for e in sorted(_ENDINGS, key=len, reverse=True) if name.endswith(e)), "")
    said = None if target.is_dir() else _ENDINGS.get(ending)
    wished = next((form for form in _USUAL if form == wish), None)
    if wish and wished is None:
        raise ConfigError(f"there is no export format {wish!r}; known: {', '.join(_USUAL)}")
    if wished and said and wished != said:
        raise ConfigError(f"{target.name} is a name for {said}, but the format is to be {wished}")
    if found := wished or said:
        return found
    place = f"the folder {target}" if target.is_dir() else repr(target.name)
    raise ConfigError(
        f"which format? {place} does not say it: name a file that ends in "
        f"{', '.join(_ENDINGS)}, or choose one of {', '.join(_USUAL)} with --format"
    )


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


def _wanted(
    said: Said, everything: bool, language: str, threshold: float
) -> Callable[[VisitRow], bool]:
    """Whether a visit is to be written."""

    def wanted(row: VisitRow) -> bool:
        # Where nobody listened, what the page declares must do.
        if language not in ("", "all", row.tongue or row.language.partition("-")[0]):
            return False
        if everything or (row.has_page and said.relevant(row)):
            return True
        apart = language and row.ungated is not None and row.ungated >= threshold
        return bool(apart) and said.newest(row.url) is None

    return wanted


def _chosen(store: Store, said: Said, scan: bool) -> Iterator[VisitRow]:
    """The visits that may have to be written, oldest first."""
    if scan:
        return store.visits()
    overruled = [
        row
        for url in said.praised()
        for row in store.visit(url)
        if row.has_page and not row.relevant
    ]
    by_number = sorted(overruled, key=lambda row: row.id)
    return merge(store.visits(relevant=True, page=True), by_number, key=lambda row: row.id)


def _rows(
    store: Store, chosen: Iterator[VisitRow], said: Said, columns: dict[str, type]
) -> Iterator[dict[str, Any]]:
    for row in chosen:
        label = said.newest(row.url)
        found: dict[str, Any] = {
            "visit": row.id,
            "at": _moment(row.at),
            "relevant": said.relevant(row),
            "label": None if label is None else label.value,
            "label_by": None if label is None else label.by,
            **said.cells(row),
        }
        if "text" in columns:
            found["text"] = store.text(row.id)[1]
        yield {
            name: kind(value) if kind is bool and value is not None else value
            for name, kind in columns.items()
            for value in (found[name] if name in found else getattr(row, name),)
        }


def _moment(at: float) -> str | None:
    """ISO 8601 in UTC, as spreadsheets and data frames read it; None for no time on earth."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    except (ValueError, OverflowError, OSError):
        return None


@contextmanager
def _packed(path: Path, packed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as squeezed:
            yield squeezed  # type: ignore[misc]  # it is one in all that we use


def _jsonl(file: BinaryIO, rows: Iterator[dict[str, Any]], progress: Progress) -> int:
    count = 0
    for count, row in enumerate(rows, 1):
        file.write(json_line(row))
        progress(count)
    return count


def _csv(
    file: BinaryIO,
    columns: list[str],
    rows: Iterator[dict[str, Any]],
    progress: Progress,
    head: bool = True,
) -> int:
    count = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, columns)
    if head:
        writer.writeheader()
    for count, row in enumerate(rows, 1):
        writer.writerow({name: _cell(value) for name, value in row.items()})
        progress(count)
    text.detach()  # flushes; the file is its owner's to close
    return count


def _cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, and no reader for the end of the file."""
    if not isinstance(value, str):
        return value
    value = value.replace("\0", "")
    return "'" + value if value.startswith(_FORMULA) else value
