"""What a comparison found: tables with intervals, curves, and the same as JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from honeyguide.errors import ConfigError
from honeyguide.lab.chart import Points, svg
from honeyguide.lab.metrics import Harvest, sampled
from honeyguide.lab.statistics import Estimate, bootstrap, paired
from honeyguide.lab.trials import Result

_STEPS = 100
"""Points of a curve over all topics, whose budgets differ."""
Topics = dict[tuple[str, str], list[Result]]
"""(web, topic) → its draws."""


@dataclass(frozen=True, slots=True)
class Line:
    """One strategy on one set of topics."""

    strategy: str
    area: Estimate
    recall: Estimate
    """At the end of the budget, of the relevant pages in reach."""
    harvest: Estimate
    visits_to: float
    """Visits until k relevant pages were found: the median crawl; infinite: it never got there."""
    precision: float
    """Of the pages it called relevant itself, the share that truly is."""
    difference: Estimate
    """Area, less that of the baseline; topics and seeds paired."""
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """All topics, and each; best area first."""

    baseline: str
    k: int
    all: list[Line]
    topics: dict[str, list[Line]]
    reach: dict[str, int]
    """Relevant pages in reach, the mean over the draws."""
    name: str = "all-topics"
    """Of the picture over all topics; a topic's picture has the topic's name."""

    @staticmethod
    def name_of(result: Result) -> str:
        return re.sub(r"[^\w.=-]+", "-", f"{result.web}-{result.topic}")

    def plain(self) -> dict[str, Any]:
        """For JSON, where nothing is infinite."""
        return {
            "baseline": self.baseline,
            "k": self.k,
            "all": _plain(self.all),
            "topics": {name: _plain(table) for name, table in self.topics.items()},
        }


def report(
    results: Sequence[Result], references: Sequence[str] = (), baseline: str = "", k: int = 10
) -> Report:
    """``baseline``: what the others are measured against; '': the best that is no reference."""
    grouped = _grouped(results)
    if baseline and baseline not in grouped:
        raise ConfigError(f"the baseline {baseline!r} is not compared: {', '.join(grouped)}")
    if not baseline:
        rivals = [name for name in grouped if name not in references] or list(grouped)
        baseline = max(rivals, key=lambda name: bootstrap(_values(grouped[name], "area")).mean)
    topics: dict[str, list[Result]] = {}
    for row in results:
        topics.setdefault(Report.name_of(row), []).append(row)
    return Report(
        baseline,
        k,
        lines(results, baseline, k),
        {name: lines(rows, baseline, k) for name, rows in topics.items()},
        {name: round(_mean([row.relevant for row in rows])) for name, rows in topics.items()},
    )


def lines(results: Sequence[Result], baseline: str, k: int = 10) -> list[Line]:
    """A line per strategy, best area first."""
    grouped = _grouped(results)
    areas = {name: _values(topics, "area") for name, topics in grouped.items()}
    found = [
        Line(
            name,
            bootstrap(areas[name]),
            bootstrap(_values(topics, "recall")),
            bootstrap(_values(topics, "rate")),
            median(_harvest(row).visits_to(k) or math.inf for row in _rows(topics)),
            _precision(_rows(topics)),
            paired(areas[name], areas[baseline]),
            _mean([row.cpu_ms for row in _rows(topics)]),
        )
        for name, topics in grouped.items()
    ]
    return sorted(found, key=lambda line: -line.area.mean)


def rule(table: Sequence[Line], found: Report) -> str:
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


def write(results: Sequence[Result], folder: Path, found: Report) -> None:
    """report.md, a curve for each topic and one over all, and summary.json into the folder."""
    out = ["# Comparison", "", "Mean over topics of the mean over draws, with 95 % intervals.", ""]
    out += ["## All topics", "", f"![]({found.name}.svg)", "", rule(found.all, found)]
    picture = svg("All topics", "% of the budget", "recall", overall(results))
    (folder / f"{found.name}.svg").write_text(picture, "utf-8")
    for name, table in found.topics.items():
        some = [row for row in results if found.name_of(row) == name]
        title = f"{some[0].topic} ({some[0].web})"
        picture = svg(title, "visits", "relevant pages found", _curves(some))
        (folder / f"{name}.svg").write_text(picture, "utf-8")
        out += [f"## {title}", "", f"{found.reach[name]} relevant pages in reach.", ""]
        out += [f"![]({name}.svg)", "", rule(table, found)]
    (folder / "report.md").write_text("\n".join(out), "utf-8")
    (folder / "summary.json").write_text(json.dumps(found.plain(), indent=1) + "\n", "utf-8")


def _curves(results: Sequence[Result]) -> Mapping[str, Points]:
    """Relevant pages found by visits, averaged over the draws."""
    curves: dict[str, Points] = {}
    for name, topics in _grouped(results).items():
        runs = [row.found for row in _rows(topics) if row.found]
        if runs:
            length = min(map(len, runs))
            mean = [sum(run[n] for run in runs) / len(runs) for n in range(length)]
            curves[name] = [(0.0, 0.0), *((float(n), y) for n, y in sampled(mean, 200))]
    return curves


def overall(results: Sequence[Result]) -> Mapping[str, Points]:
    """Recall by the share of the budget spent, averaged over the topics."""
    longest: dict[tuple[str, str], int] = {}
    for row in results:
        topic = row.web, row.topic
        longest[topic] = max(longest.get(topic, 1), len(row.found))
    curves: dict[str, Points] = {}
    for name, topics in _grouped(results).items():
        points = [(0.0, 0.0)]
        for step in range(1, _STEPS + 1):
            means = []
            for topic, rows in topics.items():
                at = longest[topic] * step // _STEPS
                means.append(_mean([_after(row, at) / max(1, row.relevant) for row in rows]))
            points.append((100.0 * step / _STEPS, _mean(means)))
        curves[name] = points
    return curves


def _after(row: Result, visits: int) -> int:
    """Relevant pages found after so many visits; a crawl that ended early finds no more."""
    return row.found[min(visits, len(row.found)) - 1] if visits and row.found else 0


def _grouped(results: Sequence[Result]) -> dict[str, Topics]:
    """Strategy → (web, topic) → its draws."""
    groups: dict[str, Topics] = {}
    for row in sorted(results, key=lambda r: (r.web, r.topic, r.draw)):
        groups.setdefault(row.strategy, {}).setdefault((row.web, row.topic), []).append(row)
    return groups


def _rows(topics: Topics) -> list[Result]:
    return [row for rows in topics.values() for row in rows]


def _harvest(row: Result) -> Harvest:
    return Harvest(row.found, row.relevant)


def _values(topics: Topics, what: str) -> list[list[float]]:
    return [[float(getattr(_harvest(row), what)) for row in rows] for rows in topics.values()]


def _precision(rows: Sequence[Result]) -> float:
    judged = sum(row.judged for row in rows)
    return sum(row.right for row in rows) / judged if judged else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _plain(table: Sequence[Line]) -> dict[str, Any]:
    facts = {}
    for line in table:
        raw = {
            key: value._asdict() if isinstance(value, Estimate) else value
            for key, value in ((key, getattr(line, key)) for key in asdict(line))
            if key != "strategy"
        }
        reached = line.visits_to < math.inf
        facts[line.strategy] = raw | {"visits_to": line.visits_to if reached else None}
    return facts
