"""Writes docs/reference/watch-cost.md from bench/results/watch.json, and says which goals hold."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "watch.json"
PAGE = ROOT / "docs" / "reference" / "watch-cost.md"
BEGIN, END = "<!-- table: bench/watch/table.py -->", "<!-- end of table -->"
PAPER = 0.935
OURS = {"50": 0.97, "860": 0.994}
WITHIN = 1.10
FIGURES: dict[str, Callable[[list[float]], float]] = {"fastest": min, "median": statistics.median}
"""Others at work on the machine only ever add to a round, and the fastest is the least disturbed."""
WHOLE = "honeyguide watch"
MONITORS = {"urlwatch": 3.0, "changedetection.io": 10.0}


class Goal(NamedTuple):
    what: str
    figure: str
    reached: bool


def goals(results: dict[str, Any]) -> list[Goal]:
    found: list[Goal] = []
    for part in [name for name in results if name.startswith("configurations")]:
        size = part.removeprefix("configurations").strip()
        for latency, rows in results[part].items():
            where = f"{latency} ms {size}".strip()
            wrong = {
                k: sum(row[k] for row in rows.values()) for k in ("missed", "invented", "lost")
            }
            found.append(
                Goal(f"every change found, none invented, no page lost, {where}",
                     ", ".join(f"{n} {k}" for k, n in wrong.items()), not any(wrong.values()))
            )  # fmt: skip
            for which, row in list(rows.items())[1:]:
                least = OURS[latency] if which == "ours" else PAPER
                saved = 1 - row["effective_ms"] / rows["1"]["effective_ms"]
                found.append(
                    Goal(f"{which} against configuration 1, at least {least:.1%}, {where}",
                         f"{saved:.2%}", saved >= least)
                )  # fmt: skip
    for part in [name for name in results if name.startswith("sweep")]:
        size = part.removeprefix("sweep").strip()
        for latency, rows in results[part].items():
            for by, figure in FIGURES.items():
                cells = {cell: figure(runs) for cell, runs in rows.items()}
                adaptive = cells.pop("adaptive")
                cell, best = min(cells.items(), key=lambda item: item[1])
                n, m = cell.split()
                found.append(
                    Goal(f"adaptive within a tenth of the best fixed N and M, {by} round, "
                         f"{latency} ms {size}".strip(),
                         f"{adaptive / best:.2f} of {best:.2f} ms (N = {n}, M = {m})",
                         adaptive <= WITHIN * best)
                )  # fmt: skip
    rows = results.get("monitors", {})
    for name, least in MONITORS.items():
        if name in rows and WHOLE in rows:
            times = rows[name]["cpu_ms"] / rows[WHOLE]["cpu_ms"]
            whole = rows[name]["cpu_whole_ms"] / rows[WHOLE]["cpu_whole_ms"]
            found.append(
                Goal(f"CPU of {name} ÷ honeyguide watch, at least {least:.0f}",
                     f"{times:.1f} (with the start: {whole:.1f})", min(times, whole) >= least)
            )  # fmt: skip
    return found


def tables(results: dict[str, Any]) -> str:
    lines: list[str] = []
    for part in [name for name in results if name.startswith("configurations")]:
        for latency, rows in results[part].items():
            lines += [
                f"### Latency {latency} ms{part.removeprefix('configurations').replace(' of', ',')}"
                f"{' pages' if ' of ' in part else ''}", "",
                "| configuration | effective ms per page | each round | less than 1 | CPU ms per page "
                "| most at once | pages | missed, invented |",
                "|---|--:|---|--:|--:|--:|--:|--:|",
            ]  # fmt: skip
            for which, row in rows.items():
                saved = 1 - row["effective_ms"] / rows["1"]["effective_ms"]
                lines.append(
                    f"| {which} | {row['effective_ms']:.2f} | {', '.join(f'{ms:.2f}' for ms in row['runs'])} "
                    f"| {saved:.2%} | {row['cpu_ms']:.2f} | {row['peak']} | {row['pages']} "
                    f"| {row['missed']}, {row['invented']} |"
                )
            lines.append("")
    for part in [name for name in results if name.startswith("sweep")]:
        for latency, rows in results[part].items():
            cells = [cell.split() for cell in rows if cell != "adaptive"]
            ms = list(dict.fromkeys(m for _, m in cells))
            lines += [
                f"### N and M by hand, {latency} ms: effective ms per page, fastest and median round", "",
                "| N | " + " | ".join("in place" if m == "0" else f"M = {m}" for m in ms) + " |",
                "|--:|" + "--:|" * len(ms),
            ]  # fmt: skip
            for n in dict.fromkeys(n for n, _ in cells):
                lines.append(f"| {n} | " + " | ".join(_both(rows[f"{n} {m}"]) for m in ms) + " |")
            lines += [f"| adaptive | {_both(rows['adaptive'])} |" + " |" * (len(ms) - 1), ""]
    if rows := results.get("monitors"):
        lines += [
            "### Beside other monitors: CPU ms per page, a tenth changed", "",
            "| monitor | CPU ms per page | ÷ `honeyguide watch` | start of the process included | ÷ `honeyguide watch` | pages "
            "| missed, invented |",
            "|---|--:|--:|--:|--:|--:|--:|",
        ]  # fmt: skip
        ours = rows.get(WHOLE, rows["ours"])
        for key, row in rows.items():
            name = {"ours": "its flow, comparison and versions alone"}.get(key, key)
            lines.append(
                f"| {name} {row.get('version', '')} | {row['cpu_ms']:.2f} "
                f"| {row['cpu_ms'] / ours['cpu_ms']:.1f} | {row['cpu_whole_ms']:.2f} "
                f"| {row['cpu_whole_ms'] / ours['cpu_whole_ms']:.1f} | {row['pages']} "
                f"| {row['missed']}, {row['invented']} |"
            )
        lines.append("")
    lines += ["### Goals", "", "| goal | figure | |", "|---|---|---|"]
    lines += [
        f"| {g.what} | {g.figure} | {'reached' if g.reached else '**missed**'} |"
        for g in goals(results)
    ]
    load = ", ".join(map(str, results.get("load", [])))
    return "\n".join(
        [*lines, "", f"Load of the machine (1, 5, 15 minutes) when the last part ended: {load}."]
    )


def _both(runs: list[float]) -> str:
    return f"{min(runs):.2f}, {statistics.median(runs):.2f}"


def write(results: dict[str, Any]) -> None:
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{tables(results)}\n{END}{after}", "utf-8")


if __name__ == "__main__":
    write(json.loads(RESULTS.read_text("utf-8")))
