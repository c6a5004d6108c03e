"""Exports of a collection: Parquet, CSV, JSON lines, or one WARC file."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal, NamedTuple, cast

from honeyguide.errors import CollectionCorrupt, ConfigError, DiskFull, StoreError
from honeyguide.store import warc
from honeyguide.store.codec import json_line
from honeyguide.store.labels import EffectiveLabels, TopicSelection
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.store.warc import warc_path
from honeyguide.types import Url

_ROW_GROUP = 5000
"""Rows per row group: what is held in memory at once."""


def write_parquet(path: Path, columns: dict[str, type], rows: Iterator[dict[str, Any]]) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError("Parquet needs pyarrow; install it with: pip install pyarrow") from error
    kinds = {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns.items()])
    try:
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while group := list(islice(rows, _ROW_GROUP)):
                writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=_ROW_GROUP)
    except pa.ArrowException as error:
        raise StoreError(f"{path} cannot be written: {error}") from error


# -- WARC export --


@dataclass
class WarcExporter:
    """Give it visits, oldest first. A record that only refers to a payload brings it along."""

    store: Store
    file: BinaryIO
    packed: bool
    count: int = 0
    missing: int = 0
    damaged: list[Url] = field(default_factory=list)
    _brought: set[int] = field(default_factory=set)

    def write_warcinfo(self, name: str) -> None:
        self._write_records(
            warc.warcinfo_record(name, self.store.counter.read_counts().last or 0.0)
        )

    def add_visit(self, row: VisitRow, wanted: Callable[[VisitRow], bool]) -> None:
        """Copy the visit's records; ``wanted`` says which others come by themselves."""
        for original in self._missing_payloads(row):
            if not wanted(original):
                self._copy_records(original)
                self._brought.add(original.id)
        self.count += self._copy_records(row)

    def _missing_payloads(self, row: VisitRow) -> Iterator[VisitRow]:
        """The visits that hold what this one only refers to, and that were not brought yet."""
        while (number := row.payload_of) is not None and number not in self._brought:
            original = self.store.visits.visit_by_id(number)
            if original is None or original.id >= row.id:
                return  # an older visit, if the journal is ours
            yield original
            row = original

    def _copy_records(self, row: VisitRow) -> bool:
        """False if the visit has no records, their file lost them, or they are damaged."""
        if row.status is None:
            return False
        data = b""
        if row.warc is not None and row.offset is not None:
            path = warc_path(self.store.folder / "warc", row.warc)
            try:
                data = warc.read_raw_record(path, row.offset, row.length)
                data += warc.read_raw_record(path, row.offset + row.length, row.request_length)
            except CollectionCorrupt:
                self.damaged.append(row.url)
                if not data:
                    return False
        if not data:
            self.missing += 1
            return False
        self._write_records(data)
        return True

    def _write_records(self, data: bytes) -> None:
        self.file.write(data if self.packed else gzip.decompress(data))


# -- Tables --
#
# Everything is written under a temporary name and renamed when whole.


ExportFormat = Literal["parquet", "csv", "jsonl", "warc"]
ExportProgress = Callable[[int], None]

EXPORT_COLUMNS: dict[str, type] = {
    "url": str, "title": str, "description": str, "language": str, "detected_language": str,
    "initial_score": float, "score": float, "verdict": float, "reasons": str, "relevant": bool,
    "generation": int, "label": float, "label_by": str, "source": str, "anchor": str,
    "depth": int, "channel": str, "at": str, "tries": int, "status": int, "failure": str,
    "detail": str, "redirect_to": str, "media_type": str, "charset": str, "canonical": str,
    "indexable": bool, "copy_of": str, "copy_exact": bool, "unproven": bool, "warc": str,
    "offset": int, "length": int, "payload_digest": str, "text_digest": str, "visit": int,
    "text": str,
}  # fmt: skip
"""What a row of an export tells, and its type; any of them may be missing (None)."""

_ROW_FIELDS = {
    "detected_language": "tongue", "initial_score": "queued", "redirect_to": "moved",
    "indexable": "may_index",
}  # fmt: skip
"""Columns that have another name in the database."""
_FORMAT_ENDINGS = (".parquet", ".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".warc", ".warc.gz")
_USUAL_ENDINGS: dict[ExportFormat, str] = {
    "parquet": ".parquet", "csv": ".csv", "jsonl": ".jsonl", "warc": ".warc.gz",
}  # fmt: skip
_STREAMED_ROWS = 100
"""Rows of a piece that is streamed."""
_FORMULA_START = re.compile(r"\s*[=+\-@＝＋－＠]|[\t\r]").match
_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class ExportResult(NamedTuple):
    """What an export came to."""

    path: Path
    format: ExportFormat
    rows: int
    missing: int = 0
    """Answers whose WARC records are not there (any more)."""
    unproven: int = 0
    """Pages left out that would be relevant if their sites were not on probation."""
    damaged: tuple[Url, ...] = ()
    """Addresses whose WARC records are not whole any more: those are left out."""


RowWording = Callable[[VisitRow], VisitRow]


def as_stored(row: VisitRow) -> VisitRow:
    return row


def export_collection(
    store: Store,
    target: Path,
    format: str = "",
    *,
    everything: bool = False,
    text: bool = True,
    progress: ExportProgress | None = None,
    topics: TopicSelection | None = None,
    language: str = "",
    cut: float | None = None,
    reword: RowWording = as_stored,
) -> ExportResult:
    """Write relevant pages to a file, or into a folder; with ``everything``, every visit.

    What a person said of a page overrules the verdict on it. The file's ending says the format.
    ``topics``: what is known of each, where there are several. ``language``: only pages in this
    one, those too that the language gate kept apart and whose verdict would else have been enough;
    ``all``: in any language. ``cut``: the least verdict of a relevant page, instead of the
    collection's own. ``reword``: what is written of a visit, for tables.
    """
    form = _export_format(target, format)
    if target.is_dir():
        target = target / f"{store.folder.resolve().name}{_USUAL_ENDINGS[form]}"
    report = progress or (lambda _: None)
    labels = EffectiveLabels(store.labels.effective_after(), topics, cut)
    alone = topics is None or not topics.only  # of one topic alone the gate says nothing
    threshold = cut or store.threshold
    wanted = _row_filter(labels, everything, language, threshold, gated=alone)
    scan = everything or bool(language) or cut is not None
    unproven = 0 if everything else store.visits.count_unproven(threshold)
    chosen = filter(wanted, _candidate_rows(store, labels, threshold, scan))
    with _write_whole(target) as part:
        if form == "warc":
            with part.open("wb") as file:
                extract = WarcExporter(store, file, packed=not target.name.endswith(".warc"))
                extract.write_warcinfo(target.name)
                for row in chosen:
                    extract.add_visit(row, wanted)
                    report(extract.count)
            lost = extract.missing + len(extract.damaged)
            if lost and not extract.count:
                raise StoreError(
                    f"nothing to write: none of the {lost} answers is whole in the WARC "
                    f"files of {store.folder} (were they moved or changed, or is store.warc false?)"
                )
            told = extract.missing, unproven, tuple(extract.damaged)
            return ExportResult(target, form, extract.count, *told)
        columns, found = _export_table(store, map(reword, chosen), labels, text)
        count = 0

        def count_rows() -> Iterator[dict[str, Any]]:
            nonlocal count
            for count, row in enumerate(found, 1):
                yield row
                report(count)

        if form == "parquet":
            write_parquet(part, columns, count_rows())
        else:
            with _open_output(part, target.name.endswith(".gz")) as output:
                if form == "csv":
                    _write_csv(output, list(columns), count_rows())
                else:
                    _write_jsonl(output, count_rows())
        return ExportResult(target, form, count, 0, unproven)


def stream_export(
    store: Store,
    chosen: Iterator[VisitRow],
    format: Literal["parquet", "csv", "jsonl"],
    *,
    text: bool = True,
    topics: TopicSelection | None = None,
) -> Iterator[bytes]:
    """The same rows of any visits, for one who reads along: in pieces as they come, but for
    Parquet, whose end must be known before its beginning makes sense."""
    labels = EffectiveLabels(store.labels.effective_after(), topics)
    columns, rows = _export_table(store, chosen, labels, text)
    if format == "parquet":
        with TemporaryDirectory() as place:
            path = Path(place) / "rows.parquet"
            write_parquet(path, columns, rows)
            with path.open("rb") as whole:
                yield from iter(lambda: whole.read(1 << 20), b"")
        return
    head = format == "csv"
    while (some := list(islice(rows, _STREAMED_ROWS))) or head:
        file = io.BytesIO()
        if format == "csv":
            _write_csv(file, list(columns), some, head=head)
        else:
            _write_jsonl(file, some)
        head = False
        yield file.getvalue()


def _export_format(target: Path, wish: str) -> ExportFormat:
    """The format that was asked for, or that the file's name asks for; both must agree."""
    name = target.name.lower()
    ending = next((e for e in _FORMAT_ENDINGS if name.endswith(e)), "")
    by_name = None
    if ending and not target.is_dir():
        by_name = cast("ExportFormat", ending.split(".")[1])
    wished = next((form for form in _USUAL_ENDINGS if form == wish), None)
    if wish and wished is None:
        raise ConfigError(f"there is no export format {wish!r}; known: {', '.join(_USUAL_ENDINGS)}")
    if wished and by_name and wished != by_name:
        raise ConfigError(
            f"{target.name} is a name for {by_name}, but the format is to be {wished}"
        )
    if found := wished or by_name:
        return found
    place = f"the folder {target}" if target.is_dir() else repr(target.name)
    raise ConfigError(
        f"which format? {place} does not say it: name a file that ends in "
        f"{', '.join(_FORMAT_ENDINGS)}, or choose one of {', '.join(_USUAL_ENDINGS)} with --format"
    )


@contextmanager
def _write_whole(target: Path) -> Iterator[Path]:
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


def _row_filter(
    labels: EffectiveLabels, everything: bool, language: str, threshold: float, *, gated: bool
) -> Callable[[VisitRow], bool]:
    """Whether a visit is to be written; copies are, if they would else be relevant."""

    def is_wanted(row: VisitRow) -> bool:
        # Where nobody listened, what the page declares must do.
        if language not in ("", "all", row.tongue or row.language.partition("-")[0]):
            return False
        if everything or (row.has_page and labels.is_relevant(row.as_original(threshold))):
            return True
        apart = gated and language and row.ungated is not None and row.ungated >= threshold
        return bool(apart) and labels.newest_label(row.url) is None

    return is_wanted


def _candidate_rows(
    store: Store, labels: EffectiveLabels, threshold: float, scan: bool
) -> Iterator[VisitRow]:
    """The visits that may have to be written, oldest first."""
    if scan:
        return store.visits.iter_visits()
    overruled = [
        row
        for url in labels.relevant_urls()
        for row in store.visits.attempts_at(url)
        if row.has_page and not row.as_original(threshold).relevant
    ]
    by_id = attrgetter("id")
    relevant = store.visits.iter_visits(copies_from=threshold, page=True)
    return merge(relevant, sorted(overruled, key=by_id), key=by_id)


def export_rows(
    store: Store,
    chosen: Iterator[VisitRow],
    *,
    text: bool = True,
    topics: TopicSelection | None = None,
) -> Iterator[dict[str, Any]]:
    """These visits as rows of an export: :data:`EXPORT_COLUMNS`, and those of each topic."""
    labels = EffectiveLabels(store.labels.effective_after(), topics)
    return _export_table(store, chosen, labels, text)[1]


def _export_table(
    store: Store, chosen: Iterator[VisitRow], labels: EffectiveLabels, text: bool
) -> tuple[dict[str, type], Iterator[dict[str, Any]]]:
    """The columns and their types, and the rows."""
    columns = {name: kind for name, kind in EXPORT_COLUMNS.items() if text or name != "text"}
    columns |= dict.fromkeys(labels.export_columns(), float)
    return columns, _export_rows(store, chosen, labels, columns)


def _export_rows(
    store: Store, chosen: Iterator[VisitRow], labels: EffectiveLabels, columns: dict[str, type]
) -> Iterator[dict[str, Any]]:
    for row in chosen:
        label = labels.newest_label(row.url)
        found: dict[str, Any] = {
            "visit": row.id,
            # A number of 64 bits would be rounded by most readers of JSON.
            "text_digest": None if row.text_digest is None else f"{row.text_digest % 2**64:016x}",
            "at": _iso_time(row.at),
            "relevant": labels.is_relevant(row),
            "label": None if label is None else label.value,
            "label_by": None if label is None else label.by,
            **labels.export_cells(row),
        }
        if "text" in columns:
            found["text"] = store.visits.page_text(row.id)[1]
        yield {
            name: kind(value) if kind is bool and value is not None else value
            for name, kind in columns.items()
            for value in (
                found[name] if name in found else getattr(row, _ROW_FIELDS.get(name, name)),
            )
        }


def _iso_time(at: float) -> str | None:
    """ISO 8601 in UTC, as spreadsheets and data frames read it; None for no time on earth."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
    except (ValueError, OverflowError, OSError):
        return None


@contextmanager
def _open_output(path: Path, packed: bool) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as squeezed:
            yield squeezed  # type: ignore[misc]  # it is one in all that we use


def _write_jsonl(file: BinaryIO, rows: Iterable[dict[str, Any]]) -> None:
    file.writelines(map(json_line, rows))


def _write_csv(
    file: BinaryIO, columns: list[str], rows: Iterable[dict[str, Any]], head: bool = True
) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.DictWriter(text, columns)
    if head:
        writer.writeheader()
    for row in rows:
        writer.writerow({name: spreadsheet_cell(value) for name, value in row.items()})
    text.detach()  # flushes; the file is its owner's to close


def spreadsheet_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, and no terminal for an order."""
    if not isinstance(value, str):
        return value
    value = _CONTROL_CHARS.sub("", value)
    return "'" + value if _FORMULA_START(value) else value
