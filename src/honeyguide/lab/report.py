"""What a comparison found: tables with intervals, curves, and the same as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.api.chart import svg_chart
from honeyguide.errors import ConfigError
from honeyguide.lab.metrics import (
    BootstrapEstimate,
    Harvest,
    bootstrap_mean,
    paired_difference,
)
from honeyguide.lab.trials import TrialResult

_CURVE_POINTS, _CURVE_DRAWS = 100, 1_000
"""Points of a curve, and draws of its interval."""
Floats = NDArray[np.float64]
DrawsByTopic = dict[tuple[str, str], list[TrialResult]]
"""(web, topic) → its draws."""


@dataclass(frozen=True, slots=True)
class StrategyScores:
    """One strategy on one set of topics."""

    strategy: str
    area: BootstrapEstimate
    recall: BootstrapEstimate
    """At the end of the budget, of the relevant pages in reach."""
    harvest: BootstrapEstimate
    visits_to: float
    """Visits until k relevant pages were found: the median crawl; infinite: it never got there."""
    precision: float
    """Of the pages it called relevant itself, the share that truly is."""
    difference: BootstrapEstimate
    """Area, less that of the baseline; topics and seeds paired."""
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class ComparisonReport:
    """All topics, and each; best area first."""

    baseline: str
    k: int
    all: list[StrategyScores]
    topics: dict[str, list[StrategyScores]]
    reach: dict[str, int]
    """Relevant pages in reach, the mean over the draws."""
    name: str = "all-topics"
    """Of the picture over all topics; a topic's picture has the topic's name."""

    def to_json(self) -> dict[str, Any]:
        """For JSON, where nothing is infinite."""
        return {
            "baseline": self.baseline,
            "k": self.k,
            "all": _scores_json(self.all),
            "topics": {name: _scores_json(table) for name, table in self.topics.items()},
        }


def build_report(
    results: Sequence[TrialResult], references: Sequence[str] = (), baseline: str = "", k: int = 10
) -> ComparisonReport:
    """``baseline``: what the others are measured against; '': the best that is no reference."""
    grouped = _group_results(results)
    if baseline and baseline not in grouped:
        raise ConfigError(f"the baseline {baseline!r} is not compared: {', '.join(grouped)}")
    if not baseline:
        rivals = [name for name in grouped if name not in references] or list(grouped)
        baseline = max(
            rivals, key=lambda name: bootstrap_mean(_metric_values(grouped[name], "area")).mean
        )
    topics: dict[str, list[TrialResult]] = {}
    for row in results:
        topics.setdefault(topic_name(row), []).append(row)
    return ComparisonReport(
        baseline,
        k,
        score_strategies(results, baseline, k),
        {name: score_strategies(rows, baseline, k) for name, rows in topics.items()},
        {
            name: round(_mean_or_zero([row.relevant for row in rows]))
            for name, rows in topics.items()
        },
    )


def score_strategies(
    results: Sequence[TrialResult], baseline: str, k: int = 10
) -> list[StrategyScores]:
    """A line per strategy, best area first."""
    grouped = _group_results(results)
    areas = {name: _metric_values(topics, "area") for name, topics in grouped.items()}
    found = [
        StrategyScores(
            name,
            bootstrap_mean(areas[name]),
            bootstrap_mean(_metric_values(topics, "recall")),
            bootstrap_mean(_metric_values(topics, "rate")),
            median(_harvest_of(row).visits_to(k) or math.inf for row in _all_results(topics)),
            _pooled_precision(_all_results(topics)),
            paired_difference(areas[name], areas[baseline]),
            _mean_or_zero([row.cpu_ms for row in _all_results(topics)]),
        )
        for name, topics in grouped.items()
    ]
    return sorted(found, key=lambda line: -line.area.mean)


def markdown_table(table: Sequence[StrategyScores], found: ComparisonReport) -> str:
    """A table in Markdown."""
    rows = [
        f"| strategy | area under the curve | recall | harvest rate | visits to {found.k} |"
        f" precision | CPU ms/visit | area − {found.baseline} |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows.extend(
        f"| {line.strategy} | {line.area} | {line.recall} | {line.harvest} | "
        f"{f'{line.visits_to:.0f}' if line.visits_to < math.inf else '–'} | "
        f"{line.precision:.2f} | {line.cpu_ms:.1f} | "
        f"{'–' if line.strategy == found.baseline else line.difference} |"
        for line in table
    )
    return "\n".join(rows) + "\n"


def write_report(results: Sequence[TrialResult], folder: Path, found: ComparisonReport) -> None:
    """report.md, a curve for each topic and one over all, and summary.json into the folder."""
    out = ["# Comparison", "", "Mean over topics of the mean over draws, with 95 % intervals.", ""]
    out += ["## All topics", "", f"![]({found.name}.svg)", "", markdown_table(found.all, found)]
    picture = curves_svg("All topics", "% of the budget", "recall", recall_curves(results))
    (folder / f"{found.name}.svg").write_text(picture, "utf-8")
    for name, table in found.topics.items():
        some = [row for row in results if topic_name(row) == name]
        title = f"{some[0].topic} ({some[0].web})"
        picture = curves_svg(title, "visits", "relevant pages found", found_curves(some))
        (folder / f"{name}.svg").write_text(picture, "utf-8")
        out += [f"## {title}", "", f"{found.reach[name]} relevant pages in reach.", ""]
        out += [f"![]({name}.svg)", "", markdown_table(table, found)]
    (folder / "report.md").write_text("\n".join(out), "utf-8")
    (folder / "summary.json").write_text(json.dumps(found.to_json(), indent=1) + "\n", "utf-8")


def topic_name(result: TrialResult) -> str:
    """The name of a topic of a web, as pictures and the summary have it."""
    return re.sub(r"[^\w.=-]+", "-", f"{result.web}-{result.topic}")


# --------------------------------------------------------------------------------------------------
# Curves: what was found after so many visits.
# --------------------------------------------------------------------------------------------------


HarvestCurves = tuple[list[float], dict[str, Floats], str]
"""Places on the horizontal axis, the curves of each strategy, and what these are: of ``topics`` or
``draws``."""


def found_curves(results: Sequence[TrialResult]) -> HarvestCurves:
    """Relevant pages found by visits, for each draw of one topic."""
    length = max((len(row.found) for row in results), default=0)
    at = sorted({length * step // _CURVE_POINTS for step in range(_CURVE_POINTS + 1)})
    curves = {
        name: np.array([_found_after(row, at) for row in _all_results(topics)])
        for name, topics in _group_results(results).items()
    }
    return [float(visits) for visits in at], curves, "draws"


def recall_curves(results: Sequence[TrialResult]) -> HarvestCurves:
    """Recall by the share of the budget spent, the mean of each topic's draws; of a single topic,
    each draw."""
    steps = range(_CURVE_POINTS + 1)
    longest: dict[tuple[str, str], int] = {}
    for row in results:
        longest[row.web, row.topic] = max(longest.get((row.web, row.topic), 1), len(row.found))
    curves: dict[str, Floats] = {}
    for name, topics in _group_results(results).items():
        recalls = []
        for topic, rows in topics.items():
            at = [longest[topic] * step // _CURVE_POINTS for step in steps]
            recalls.append([_found_after(row, at) / max(1, row.relevant) for row in rows])
        means = [np.mean(draws, axis=0) for draws in recalls]
        curves[name] = np.array(means if len(means) > 1 else recalls[0])
    over = "topics" if len(longest) > 1 else "draws" if longest else ""
    return [100.0 * step / _CURVE_POINTS for step in steps], curves, over


def mean_interval(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean of some curves, and the interval that drawing them again gives (bootstrap)."""
    mean: Floats = rows.mean(axis=0)
    if len(rows) < 2:
        return mean, mean, mean
    chosen = np.random.default_rng(1).integers(0, len(rows), (_CURVE_DRAWS, len(rows)))
    weights = np.array([np.bincount(row, minlength=len(rows)) for row in chosen]) / len(rows)
    low, high = np.quantile(weights @ rows, (0.025, 0.975), axis=0)
    return mean, low, high


def curves_svg(title: str, x_title: str, y_title: str, found: HarvestCurves) -> str:
    x, curves, _ = found
    means = {name: rows.mean(axis=0).tolist() for name, rows in curves.items()}
    points = {name: list(zip(x, mean, strict=True)) for name, mean in means.items()}
    return svg_chart(title, x_title, y_title, points)


def _found_after(row: TrialResult, visits: Sequence[int]) -> Floats:
    """Relevant pages after so many visits; a crawl that ended early finds no more."""
    found = np.array([0, *row.found], np.float64)
    return np.asarray(found[np.minimum(visits, len(found) - 1)])


def _group_results(results: Sequence[TrialResult]) -> dict[str, DrawsByTopic]:
    """Strategy → (web, topic) → its draws."""
    groups: dict[str, DrawsByTopic] = {}
    for row in sorted(results, key=lambda r: (r.web, r.topic, r.draw)):
        groups.setdefault(row.strategy, {}).setdefault((row.web, row.topic), []).append(row)
    return groups


def _all_results(topics: DrawsByTopic) -> list[TrialResult]:
    return [row for rows in topics.values() for row in rows]


def _harvest_of(row: TrialResult) -> Harvest:
    return Harvest(row.found, row.relevant)


def _metric_values(topics: DrawsByTopic, what: str) -> list[list[float]]:
    return [[float(getattr(_harvest_of(row), what)) for row in rows] for rows in topics.values()]


def _pooled_precision(rows: Sequence[TrialResult]) -> float:
    judged = sum(row.judged for row in rows)
    return sum(row.right for row in rows) / judged if judged else 0.0


def _mean_or_zero(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _scores_json(table: Sequence[StrategyScores]) -> dict[str, Any]:
    def to_plain(value: Any) -> Any:
        if isinstance(value, BootstrapEstimate):
            return value._asdict()
        return None if value == math.inf else value

    names = [field.name for field in fields(StrategyScores) if field.name != "strategy"]
    return {
        line.strategy: {name: to_plain(getattr(line, name)) for name in names} for line in table
    }
