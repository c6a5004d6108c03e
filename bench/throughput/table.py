"""Writes the table of docs/reference/throughput.md from bench/results/throughput.json."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "throughput.md"
BEGIN, END = "<!-- table: bench/throughput/table.py -->", "<!-- end of table -->"
BASE = "scrapy, strongest"
ORDER = ("honeyguide, breadth", "honeyguide, all on", BASE, "scrapy, plain", "crawlee", "wget")


def table(results: dict[str, dict[str, object]]) -> str:
    base = float(str(results[BASE]["cpu_ms_per_page"]))
    lines = [
        "| crawler | CPU ms per page | strongest Scrapy ÷ this | rounds | CPU ms of each | pages |",
        "|---|--:|--:|--:|---|--:|",
    ]
    for name in [name for name in ORDER if name in results]:
        row = results[name]
        median = float(str(row["cpu_ms_per_page"]))
        runs: list[list[float]] = row["runs"]  # type: ignore[assignment]
        each = ", ".join(f"{cpu / max(1, pages) * 1000:.2f}" for cpu, pages, _ in runs)
        lines.append(
            f"| {name} | {median:.2f} | {base / median:.1f} | {len(runs)} | {each} "
            f"| {row['pages']} |"
        )
    return "\n".join(lines)


def main() -> None:
    results = json.loads((ROOT / "bench" / "results" / "throughput.json").read_text("utf-8"))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
