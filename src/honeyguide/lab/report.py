"""What a comparison found: a table with intervals, curves, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from honeyguide.lab.chart import svg
from honeyguide.lab.compare import Result
from honeyguide.lab.metrics import Harvest, sampled
from honeyguide.lab.statistics import Estimate, bootstrap, paired


@dataclass(frozen=True, slots=True)
class Line:
    """One strategy on one set of topics."""

    strategy: str
    harvest: Estimate
    recall: Estimate
    area: Estimate
    precision: float
    """Of the pages it called relevant itself, the share that truly is."""
    behind: Estimate
    """Area, less that of the best strategy; topics and seeds paired."""
    cpu_ms: float


def harvest_of(result: Result) -> Harvest:
    return Harvest(result.found, result.relevant)


def lines(results: Sequence[Result], references: Sequence[str] = ()) -> list[Line]:
    """A line per strategy, best area first; ``references`` cannot be the best."""
    grouped = _grouped(results)
    areas = {name: _values(topics, "area") for name, topics in grouped.items()}
    rivals = [name for name in grouped if name not in references] or list(grouped)
    best = max(rivals, key=lambda name: bootstrap(areas[name]).mean)
    found = [
        Line(
            name,
            bootstrap(_values(topics, "rate")),
            bootstrap(_values(topics, "recall")),
            bootstrap(areas[name]),
            _precision(topics),
            paired(areas[name], areas[best]),
            _mean([r.cpu_ms for rows in topics.values() for r in rows]),
        )
        for name, topics in grouped.items()
    ]
    return sorted(found, key=lambda line: -line.area.mean)


def markdown(table: Sequence[Line]) -> str:
    rows = [
        "| strategy | harvest rate | recall | area under the curve | area − best | precision |"
        " CPU ms/visit |",
        "|---|---|---|---|---|---|---|",
    ]
    rows.extend(
        f"| {line.strategy} | {line.harvest} | {line.recall} | {line.area} | {line.behind} | "
        f"{line.precision:.2f} | {line.cpu_ms:.2f} |"
        for line in table
    )
    return "\n".join(rows) + "\n"


def write(results: Sequence[Result], folder: Path, references: Sequence[str] = ()) -> str:
    """report.md, curves and summary.json into the folder; the report."""
    out = ["# Comparison", "", "Mean over topics of the mean over draws, with 95 % intervals.", ""]
    out += ["## All topics", "", markdown(lines(results, references))]
    summary: dict[str, object] = {}
    for web, topic in sorted({(result.web, result.topic) for result in results}):
        some = [r for r in results if (r.web, r.topic) == (web, topic)]
        name = f"{web}-{topic}".replace("/", "-").replace(" ", "-")
        (folder / f"{name}.svg").write_text(_curves(f"{topic} ({web})", some), "utf-8")
        table = lines(some, references)
        reach = some[0].relevant
        out += [f"## {topic} ({web})", "", f"{reach} relevant pages in reach. ![]({name}.svg)", ""]
        out += [markdown(table)]
        summary[name] = {line.strategy: line.area._asdict() for line in table}
    text = "\n".join(out)
    (folder / "report.md").write_text(text, "utf-8")
    (folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    return text


def _curves(title: str, results: Sequence[Result]) -> str:
    """Relevant pages found by visits, averaged over the draws."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for name, topics in _grouped(results).items():
        runs = [row.found for rows in topics.values() for row in rows if row.found]
        if runs:
            length = min(map(len, runs))
            mean = [sum(run[n] for run in runs) / len(runs) for n in range(length)]
            curves[name] = [(0.0, 0.0), *((float(n), y) for n, y in sampled(mean, 200))]
    return svg(title, "visits", "relevant pages found", curves)


def _grouped(results: Sequence[Result]) -> dict[str, dict[tuple[str, str], list[Result]]]:
    """Strategy → (web, topic) → its draws."""
    groups: dict[str, dict[tuple[str, str], list[Result]]] = {}
    for row in sorted(results, key=lambda r: (r.web, r.topic, r.draw)):
        groups.setdefault(row.strategy, {}).setdefault((row.web, row.topic), []).append(row)
    return groups


def _values(topics: dict[tuple[str, str], list[Result]], what: str) -> list[list[float]]:
    return [[float(getattr(harvest_of(row), what)) for row in rows] for rows in topics.values()]


def _precision(topics: dict[tuple[str, str], list[Result]]) -> float:
    rows = [row for draws in topics.values() for row in draws]
    judged = sum(row.judged for row in rows)
    return sum(row.right for row in rows) / judged if judged else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
