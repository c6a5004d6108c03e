"""Writes the table of docs/reference/shards.md from bench/results/shards.json."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| strategy | shards | CPU ms per page | times one | pages/s | times one | letters per 1,000 "
        "pages | bytes per letter | links told per page | shortest rest | offences |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for strategy in dict.fromkeys(row["strategy"] for row in rows):
        one: tuple[float, float] | None = None
        for shards in sorted({row["shards"] for row in rows if row["strategy"] == strategy}):
            some = [r for r in rows if r["strategy"] == strategy and r["shards"] == shards]
            cpu = statistics.median(r["cpu"] / r["pages"] * 1000 for r in some)
            rate = statistics.median(r["pages"] / r["seconds"] for r in some)
            one = one or (cpu, rate)
            pages, letters = sum(r["pages"] for r in some), sum(r["letters"] for r in some)
            size = sum(r["letter_bytes"] for r in some) / max(1, letters)
            links = sum(r["links_told"] for r in some) / pages
            rest = min(r["shortest_rest"] for r in some)
            bad = sum(r["overlaps"] + r["again"] + r["strangers"] for r in some)
            lines.append(
                f"| {strategy} | {shards} | {cpu:.2f} | {cpu / one[0]:.2f} | {rate:.0f} "
                f"| {rate / one[1]:.2f} | {1000 * letters / pages:.0f} | {size:.0f} | {links:.1f} "
                f"| {rest:.3f} s | {bad} |"
            )
    return "\n".join(lines)


def main() -> None:
    rows = json.loads((ROOT / "bench/results/shards.json").read_text())
    page = ROOT / "docs/reference/shards.md"
    text = re.sub(
        r"(<!-- table: bench/shards/table.py -->\n).*?(<!-- end of table -->)",
        lambda m: m[1] + table(rows) + "\n" + m[2],
        page.read_text(),
        flags=re.S,
    )
    page.write_text(text)


if __name__ == "__main__":
    main()
