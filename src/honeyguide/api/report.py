"""A report about a collection: what it brought in over time, how right that is, and what is left.

Reads a collection while a crawl runs. Everything is counted in SQL, so it takes a second or two
with hundreds of thousands of visits.
"""

from __future__ import annotations

import csv
import io
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from honeyguide.api.generations import list_generations
from honeyguide.api.search import search_overview
from honeyguide.config.settings import Settings
from honeyguide.crawl.stopping import coverage_estimate
from honeyguide.errors import ConfigError
from honeyguide.learning import topics
from honeyguide.learning.coverage import CoverageEstimate
from honeyguide.store.counters import CollectionCounts
from honeyguide.store.export import spreadsheet_cell
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store, open_existing_store
from honeyguide.store.volumes import (
    CrawlVolume,
    PrecisionEstimate,
    SampledResult,
    VolumeTable,
    choose_sample_step,
    cumulative_volumes,
    volumes_per_span,
)
from honeyguide.training.documents import visible_text
from honeyguide.types import MODEL_LABELLER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from honeyguide.types import Url

ReportFormat = Literal["html", "md", "json"]
_SPANS_S = (
    1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800, 2_592_000,
)  # fmt: skip
_MOST_SPANS = 40
_CURVE_POINTS = 200
_MOST_HOSTS, _MOST_QUERIES, _MOST_BEST, _MOST_GENERATIONS = 15, 30, 20, 40
_TEXT_CHARS = 300


@dataclass(frozen=True, slots=True)
class ReportHost:
    host: str
    visits: int
    relevant: int
    failures: int


@dataclass(frozen=True, slots=True)
class ReportGeneration:
    """What the strategy learned, and when."""

    number: int
    at: float
    pages: int
    """Pages that it judged …"""
    relevant: int
    """… and called relevant."""
    labels: int
    """People's labels in force when it was made."""
    live: bool
    note: str


@dataclass(frozen=True, slots=True)
class ReportQuery:
    query: str
    by: str
    results: int
    fetched: int
    relevant: int


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """Everything that the page shows; :meth:`to_html`, :meth:`to_markdown`, :meth:`to_dict`."""

    name: str
    folder: str
    made: float
    """When this was counted."""
    description: str
    keywords: tuple[str, ...]
    strategy: str
    first: float
    last: float
    """When the first page came, and the last."""
    visits: int
    pages: int
    relevant: int
    """As status counts them: people's labels come before the crawler's verdicts."""
    hosts: int
    copies: int
    labels: int
    threshold: float
    """Verdicts from here on count as relevant."""
    span_s: float
    """Length of a span of time."""
    temporal: tuple[CrawlVolume, ...]
    """Volumes of each span on its own …"""
    cumulative: tuple[CrawlVolume, ...]
    """… and since the beginning. Gross: what the crawler calls relevant."""
    sample_every: int
    """One result in so many is judged."""
    sample: tuple[SampledResult, ...]
    precision: PrecisionEstimate
    """Of the sample."""
    all_judged: PrecisionEstimate
    """Of all results with labels: no sample, since people label what they are asked about."""
    best: tuple[SampledResult, ...]
    harvest: tuple[tuple[int, int], ...]
    """Visits, and how many of them were relevant."""
    coverage: CoverageEstimate | None
    """How much is found; None: not known."""
    top_hosts: tuple[ReportHost, ...]
    languages: dict[str, int]
    """Pages by language, the most first."""
    generations: tuple[ReportGeneration, ...]
    queries: tuple[ReportQuery, ...]

    @property
    def net(self) -> float | None:
        """Gross volume × precision of the sample; None: nothing of it was judged."""
        value = self.precision.value
        return None if value is None or not self.cumulative else self.cumulative[-1].gross * value

    def to_dict(self) -> dict[str, Any]:
        """For machines; precision, its interval and net volume are told besides."""
        facts = asdict(self) | {"net": self.net}
        for key in ("precision", "all_judged"):
            one: PrecisionEstimate = getattr(self, key)
            facts[key] |= {"value": one.value, "interval": one.interval}
        for key in ("temporal", "cumulative"):
            for row, volume in zip(facts[key], getattr(self, key), strict=True):
                row["precision"] = volume.precision
        return facts

    def to_html(self) -> str:
        """One page that needs nothing from elsewhere."""
        from honeyguide.api.report_page import report_html

        return report_html(self)

    def to_markdown(self) -> str:
        from honeyguide.api.report_page import report_markdown

        return report_markdown(self)

    def save(self, path: str | Path) -> Path:
        """Write it to a file that ends in .html or .md; its path."""
        path = Path(path)
        writers: Mapping[str, Callable[[], str]] = {
            ".html": self.to_html,
            ".htm": self.to_html,
            ".md": self.to_markdown,
        }
        if (write := writers.get(path.suffix.lower())) is None:
            raise ConfigError(f"{path}: a report's name ends in .html or .md")
        return _replace_file(path, write())

    def save_sample(self, path: str | Path) -> Path:
        """Write the results to be judged as CSV, with a column for labels; its path."""
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(("label", "url", "title"))
        for one in self.sample:
            label = "" if one.relevant is None else int(one.relevant)
            rows.writerow((label, one.url, spreadsheet_cell(visible_text(one.title))))
        return _replace_file(Path(path), text.getvalue())


def _replace_file(path: Path, text: str) -> Path:
    """Write beside it and put in its place: a link that lies there is not followed."""
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=".report-")
        try:
            with os.fdopen(number, "w", encoding="utf-8", errors="replace", newline="") as file:
                file.write(text)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
    return path


def make_report(
    folder: Path, settings: Settings, *, span_s: float = 0.0, every: int = 0
) -> CollectionReport:
    """``span_s``: the length of a span of time; ``every``: one result in so many is judged; 0: as
    fits."""
    with open_existing_store(folder, "read") as store:
        counts = store.counter.read_counts()
        table = VolumeTable(store.database, store.threshold)
        truth = _people_say(store, settings)
        first, last = table.first_and_last()
        span = _choose_span(last - first, span_s)
        spans = table.count_spans(first, span)
        every = every or choose_sample_step(sum(gross for _, gross in spans))
        sample = table.sample_results(every, truth)
        temporal = volumes_per_span(spans, sample, first, span)
        known = [one.relevant for one in sample if one.relevant is not None]
        return CollectionReport(
            name=folder.resolve().name,
            folder=str(folder),
            made=time.time(),
            description=settings.topic.description,
            keywords=settings.topic.keywords,
            strategy=settings.crawl.strategy,
            first=first,
            last=last,
            visits=counts.visits,
            pages=counts.pages,
            relevant=counts.relevant,
            hosts=counts.hosts,
            copies=counts.copies,
            labels=counts.labels,
            threshold=store.threshold,
            span_s=span,
            temporal=tuple(temporal),
            cumulative=tuple(cumulative_volumes(temporal)),
            sample_every=every,
            sample=tuple(sample),
            precision=PrecisionEstimate(len(known), sum(known)),
            all_judged=table.judge_gross(truth),
            best=tuple(table.best_results(_MOST_BEST, truth)),
            harvest=tuple(store.counter.harvest_curve(_CURVE_POINTS)),
            coverage=_coverage_now(store),
            top_hosts=tuple(ReportHost(*row) for row in store.counter.top_hosts(_MOST_HOSTS)),
            languages=dict(islice(counts.tongues.items(), _MOST_HOSTS)),
            generations=_report_generations(store, counts),
            queries=_report_queries(folder, settings),
        )


def _people_say(store: Store, settings: Settings) -> dict[Url, bool]:
    """What people's labels say of pages; neither examples in topic.toml nor what a language model
    says is a judgement of results."""
    labels = topics.load_effective_labels(store, settings)
    given = topics.best_example_labels(settings)
    return {
        url: label.value >= 0.5
        for url in labels.labelled_urls()
        if url not in given
        and (label := labels.newest_label(url)) is not None
        and not label.by.startswith(MODEL_LABELLER)
    }


def _choose_span(seconds: float, wished: float) -> float:
    wished = max(wished, seconds / 399) if wished else 0.0
    return wished or next(
        (float(span) for span in _SPANS_S if seconds / span <= _MOST_SPANS), seconds / _MOST_SPANS
    )


def _coverage_now(store: Store) -> CoverageEstimate | None:
    waiting = parse_decimal(store.get_meta("waiting") or "") or 0
    return coverage_estimate(store, waiting, crawled=True)


def _report_generations(store: Store, counts: CollectionCounts) -> tuple[ReportGeneration, ...]:
    given = sorted(label.at for _, label in store.labels.effective_after())
    rows = list_generations(store)[-_MOST_GENERATIONS:]
    return tuple(
        ReportGeneration(
            row.generation.number,
            row.generation.at,
            row.visits,
            row.relevant,
            sum(at <= row.generation.at for at in given),
            row.live,
            visible_text(row.generation.note[:_TEXT_CHARS]),
        )
        for row in rows
        if row.generation.number or counts.visits
    )


def _report_queries(folder: Path, settings: Settings) -> tuple[ReportQuery, ...]:
    rows = search_overview(folder, settings).rows
    best = sorted(rows, key=lambda row: (-row.relevant, -row.fetched))[:_MOST_QUERIES]
    return tuple(ReportQuery(r.query, r.by, r.results, r.fetched, r.relevant) for r in best)
