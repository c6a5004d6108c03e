"""The Compare screen: generations of a collection, and comparisons that the lab wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from honeyguide.api.generations import GenerationComparison, generation_trial, was_held_back
from honeyguide.errors import ConfigError, StoreError
from honeyguide.store.collection_files import open_regular
from honeyguide.studio.routes import RequestContext, ResourceMissing, Route, copy_fields

if TYPE_CHECKING:
    from honeyguide.lab.trials import TrialResult

SUMMARY_FILE, _RESULTS_FILE = "summary.json", "results.jsonl"
_MAX_FILE_BYTES = 32_000_000
_MAX_CRAWLS = 20_000
_MAX_FOLDERS, _MAX_COMPARISONS = 2_000, 100


class IntervalEstimate(msgspec.Struct, frozen=True):
    """A mean and its 95 % interval; None: not known."""

    mean: float | None
    low: float | None
    high: float | None


class StrategySummary(msgspec.Struct, frozen=True):
    """One strategy, as the summary has it."""

    area: IntervalEstimate
    recall: IntervalEstimate
    harvest: IntervalEstimate
    difference: IntervalEstimate
    precision: float | None = None
    cpu_ms: float | None = None
    visits_to: float | None = None


class LabSummary(msgspec.Struct, frozen=True):
    baseline: str
    k: int
    all: dict[str, StrategySummary]
    topics: dict[str, dict[str, StrategySummary]] = {}


def find_result_folders(root: Path) -> Iterator[Path]:
    """Folders in the root, and one level below, that hold a summary; no links."""
    count = 0
    try:
        levels = [root, *sorted(_subfolders_of(root))]
    except OSError as error:
        raise ConfigError(f"{root} cannot be read: {error.strerror}") from error
    for level in levels:
        if count >= _MAX_COMPARISONS:
            return
        try:
            inside = sorted(_subfolders_of(level))
        except OSError:
            continue
        for folder in inside:
            if (folder / SUMMARY_FILE).is_file():
                count += 1
                yield folder


def _subfolders_of(folder: Path) -> list[Path]:
    found = []
    with os.scandir(folder) as entries:
        for place, entry in enumerate(entries):
            if place >= _MAX_FOLDERS:
                break
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                found.append(Path(entry.path))
    return found


def read_summary(folder: Path) -> LabSummary | None:
    """None: it is none of the lab's, or damaged."""
    data = _read_bounded(folder / SUMMARY_FILE)
    return None if data is None else _decode_summary(data)


@lru_cache(maxsize=64)
def _decode_summary(data: bytes) -> LabSummary | None:
    try:
        return msgspec.json.decode(data, type=LabSummary)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def read_crawls(folder: Path) -> list[TrialResult]:
    path = folder / _RESULTS_FILE
    try:
        stat = path.stat()
    except OSError:
        return []
    return _decode_crawls(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _decode_crawls(path: Path, _changed: int, _size: int) -> list[TrialResult]:
    from honeyguide.lab.trials import TrialResult  # slow to load, and seldom needed

    decoder = msgspec.json.Decoder(TrialResult)
    found: dict[tuple[Any, ...], TrialResult] = {}
    for line in (_read_bounded(path) or b"").splitlines()[:_MAX_CRAWLS]:
        try:
            one = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue  # half a line of a comparison that was interrupted, or a stranger's
        found[one.web, one.topic, one.strategy, one.draw, one.relevant] = one
    return list(found.values())


def _read_bounded(path: Path) -> bytes | None:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, StoreError):
        return None
    return data if len(data) <= _MAX_FILE_BYTES else None


# -- Comparisons of the lab --


class LabComparisonItem(msgspec.Struct, frozen=True):
    folder: str
    at: float
    baseline: str
    strategies: list[str]
    topics: int


class LabComparisonQuery(msgspec.Struct, frozen=True):
    folder: Annotated[str, Meta(min_length=1, max_length=500)]
    topic: Annotated[str, Meta(max_length=500)] = ""
    """One of the comparison's; '': all of them."""


class ComparisonCurve(msgspec.Struct, frozen=True):
    strategy: str
    values: list[float | None]
    low: list[float | None]
    high: list[float | None]


class ComparisonRow(msgspec.Struct, frozen=True):
    strategy: str
    line: StrategySummary


class LabComparison(msgspec.Struct, frozen=True):
    folder: str
    baseline: str
    k: int
    topics: list[str]
    topic: str
    rows: list[ComparisonRow]
    """Best area first."""
    x: list[float]
    """Percent of the budget; visits where one topic is shown."""
    curves: list[ComparisonCurve]
    """Recall over all topics; relevant pages found where one topic is shown."""
    over: str
    """What the intervals speak of: ``topics`` or ``draws``."""
    crawls: int


def list_comparisons(context: RequestContext) -> list[LabComparisonItem]:
    """The lab's comparisons in this folder."""
    found = []
    for name, folder in _named_results(context.root):
        if (summary := read_summary(folder)) is not None:
            at, topics = (folder / SUMMARY_FILE).stat().st_mtime, len(summary.topics)
            found.append(LabComparisonItem(name, at, summary.baseline, list(summary.all), topics))
    return sorted(found, key=lambda one: -one.at)


def _named_results(root: Path) -> Iterator[tuple[str, Path]]:
    for folder in find_result_folders(root):
        yield folder.relative_to(root).as_posix(), folder


def show_comparison(context: RequestContext, query: LabComparisonQuery) -> LabComparison:
    """One comparison: figures with intervals, and curves."""
    from honeyguide.lab import report  # slow to load, and seldom needed

    folder = dict(_named_results(context.root)).get(query.folder)
    summary = None if folder is None else read_summary(folder)
    if folder is None or summary is None:
        raise ResourceMissing(f"there is no comparison {query.folder!r} in this studio's folder")
    if query.topic and query.topic not in summary.topics:
        raise ResourceMissing(f"the comparison has no topic {query.topic!r}")
    lines = summary.topics[query.topic] if query.topic else summary.all
    crawls = read_crawls(folder)
    if query.topic:
        crawls = [one for one in crawls if report.topic_name(one) == query.topic]
        x, drawn, over = report.found_curves(crawls)
    else:
        x, drawn, over = report.recall_curves(crawls)
    curves = [
        ComparisonCurve(name, *(values.round(4).tolist() for values in report.mean_interval(rows)))
        for name, rows in drawn.items()
    ]
    order = sorted(lines, key=lambda name: -(lines[name].area.mean or 0.0))
    places = {name: place for place, name in enumerate(order)}
    curves.sort(key=lambda curve: places.get(curve.strategy, len(places)))
    return LabComparison(
        query.folder,
        summary.baseline,
        summary.k,
        list(summary.topics),
        query.topic,
        [ComparisonRow(name, lines[name]) for name in order],
        x,
        curves,
        over,
        len(crawls),
    )


# -- Generations --


_GENERATIONS_SHOWN = 500
"""Newest generations that are listed."""

Number = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class GenerationItem(msgspec.Struct, frozen=True):
    number: int
    strategy: str
    note: str
    at: float
    live: bool
    whole: bool
    """Whether one can go back to it; of very old ones only the note is kept."""
    held_back: bool
    """The gate did not let it decide."""
    visits: int
    relevant: int
    error: float | None
    """Mean squared error on held-back labels; None: it was not tried."""
    before: float | None
    """That of the one before it, on the same labels."""
    tried_on: int


class GenerationItems(msgspec.Struct, frozen=True):
    live: int | None
    learns: bool
    left_out: int
    """Older ones that are not told."""
    rows: list[GenerationItem]


class GenerationChoice(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    number: Number


class LiveGeneration(msgspec.Struct, frozen=True):
    live: int


class GenerationPair(msgspec.Struct, frozen=True):
    one: Number
    other: Number


def list_generations(context: RequestContext) -> GenerationItems:
    """What the strategy learned."""
    learns = context.open_collection().learns
    with context.read_store() as store:
        known = store.generations.list_all()
        live = store.generations.live_number()
        counts = store.counter.read_counts().generations
    rows = []
    for row in known[-_GENERATIONS_SHOWN:]:
        trial = generation_trial(row)
        visits, relevant = counts.get(row.number, (0, 0))
        item = copy_fields(
            GenerationItem,
            row,
            strategy=row.name,
            live=row.number == live,
            whole=row.size > 0,
            held_back=was_held_back(row),
            visits=visits,
            relevant=relevant,
            error=trial.after if trial else None,
            before=trial.before if trial else None,
            tried_on=trial.pages if trial else 0,
        )
        rows.append(item)
    return GenerationItems(live, learns, max(0, len(known) - _GENERATIONS_SHOWN), rows)


def use_generation(context: RequestContext, body: GenerationChoice) -> LiveGeneration:
    """Go back, or forward, to a generation."""
    context.open_collection().use(body.number)
    return LiveGeneration(body.number)


def compare_two_generations(context: RequestContext, query: GenerationPair) -> GenerationComparison:
    """Two generations on the same pages."""
    return context.open_collection().compare(query.one, query.other)


_PATH = "/api/c/{name}/generations"
ROUTES: tuple[Route, ...] = (
    Route("GET", _PATH, list_generations),
    Route("POST", f"{_PATH}/use", use_generation),
    Route("GET", f"{_PATH}/compare", compare_two_generations),
    Route("GET", "/api/lab", list_comparisons),
    Route("GET", "/api/lab/comparison", show_comparison),
)
