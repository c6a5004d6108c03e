"""Results as the second half of docs/reference/crash.md; the first half is written by hand."""

from __future__ import annotations

from typing import Any

from bench.crash.disk import LOSSES
from bench.crash.served import AT_ONCE

MARK = "<!-- measured: make bench-crash writes what follows -->"

Results = dict[str, Any]


def page(text: str, results: Results) -> str:
    """The page with these figures in place of those that it had."""
    head, mark, _ = text.partition(MARK)
    if not mark:
        raise SystemExit(f"the page has lost its mark: {MARK}")
    return f"{head}{mark}\n\n{measured(results)}"


def measured(results: Results) -> str:
    parts = []
    if kills := results.get("kills"):
        parts.append(_kills(kills))
    if power := results.get("power"):
        parts.append(_power(power))
    return "\n".join(parts)


def broken(results: Results) -> list[str]:
    """Every promise that was not kept; empty: all were."""
    found: list[str] = []
    for name in ("kills", "power"):
        part = results.get(name, {})
        if part.get("lost"):
            found.append(f"{name}: {part['lost']} visits that a reader had seen were lost")
        found += [f"{name}: {fault}" for fault in part.get("faults", ())]
        found += [f"{name}: {offence}" for offence in part.get("impolite", ())]
    kills = results.get("kills", {})
    if (most := max(kills.get("again", ()), default=0)) > AT_ONCE:
        found.append(f"kills: one cost {most} pages, {AT_ONCE} were allowed")
    return found


def _kills(kills: Results) -> str:
    again = kills["again"]
    return _table(
        f"## {kills['kills']} times `kill -9`",
        (
            ("collections crawled in turn", kills["collections"]),
            ("visits stored in the end", kills["visits"]),
            ("visits lost that a reader had seen", kills["lost"]),
            (f"most pages fetched again after one kill ({AT_ONCE} at once)", max(again, default=0)),
            ("pages fetched again, per kill", round(sum(again) / max(len(again), 1), 2)),
            ("hosts hurried, by the server's log", len(kills["impolite"])),
            ("other faults", len(kills["faults"])),
            ("minutes", round(kills["seconds"] / 60, 1)),
        ),
    )


def _power(power: Results) -> str:
    return _table(
        f"## {power['cuts']} power cuts",
        (
            ("recorded changes to files, of which syncs", f"{power['events']}, {power['syncs']}"),
            ("checkpoints of the database in them", power["checkpoints"]),
            ("instants × losses", f"{power['cuts'] // len(LOSSES)} × {len(LOSSES)}"),
            ("visits that a reader had seen before the cuts", power["seen"]),
            ("of these lost", power["lost"]),
            (f"most pages to fetch again after one cut ({AT_ONCE} at once)", power["under_way"]),
            ("cuts after which the crawl was resumed to its end", power["resumed"]),
            ("other faults", len(power["faults"])),
            ("minutes", round(power["seconds"] / 60, 1)),
        ),
    )


def _table(title: str, rows: tuple[tuple[str, object], ...]) -> str:
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join([title, "", "| | |", "|---|---|", *lines, ""])
