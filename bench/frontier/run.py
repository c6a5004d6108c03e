"""What a link costs the frontier, from one million links to ten: CPU, memory, disk, resuming.

    python bench/frontier/run.py [--links 1000000 3000000 10000000] [--folder DIR]

One collection grows through all the stages. Each stage is a fresh process: it opens what the
last one left (so resuming is measured), pushes made pages up to its number of links, and measures.
Writes bench/results/frontier.json and docs/reference/frontier.md, unless the stages are others
than the usual ones. Takes some 15 minutes and 2 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from time import monotonic, time
from typing import Any

import numpy
import report
from stage import COMMIT, EVERY, POPS, ROUNDS, Stage

from honeyguide.lab.synthetic.topology import SyntheticPlan

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "bench" / "results" / "frontier.json"
USUAL = [1_000_000, 3_000_000, 10_000_000]
PLAN = SyntheticPlan(hosts=200_000, pages=100_000_000)


def progress(label: str) -> Callable[[str, int, int], None]:
    """Tells people on stderr, twice a second where it can write over itself, else twice a minute."""
    start = shown = monotonic()
    live = sys.stderr.isatty()

    def tell(what: str, done: int, goal: int) -> None:
        nonlocal shown
        now = monotonic()
        if now - shown > (0.5 if live else 30.0):
            shown = now
            line = f"{label}  {what:26} {done:>12,} of {goal:>12,}  {now - start:6.0f} s"
            print(f"\r{line}" if live else line, end="" if live else "\n", file=sys.stderr)

    return tell


def stage(folder: Path, had: int, goal: int, first: int) -> dict[str, Any]:
    """Runs in a process of its own. Without a goal it only opens."""
    running = Stage(folder, PLAN, first, had, progress(f"{goal or had:>12,} links"))
    told: dict[str, Any] = {"opened": running.opened}
    if goal:
        told["grown"] = running.grow(goal)
        told["popped"] = running.pop(10.0)
        told["reranked"] = running.rerank()
        told["learned"] = running.learn(told["popped"].pop("now"))
        told["links"] = running.links
        told["next"] = first + int(told["grown"]["pages"]) + 2 * EVERY * ROUNDS + 1
    running.close()
    return told


def spawn(folder: Path, had: int, goal: int, first: int) -> dict[str, Any]:
    words = [sys.executable, __file__, "--folder", str(folder)]
    words += ["--stage", str(had), str(goal), str(first)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(folder: Path, goals: list[int]) -> dict[str, Any]:
    had = first = 0
    stages: list[dict[str, Any]] = []
    for goal in goals:
        told = spawn(folder, had, goal, first)
        if stages:
            stages[-1]["resumed"] = told["opened"]
        del told["opened"]
        stages.append(told)
        print(f"\r{goal:>12,} links: {json.dumps(told)}", file=sys.stderr)
        had, first = told["links"], told["next"]
    stages[-1]["resumed"] = spawn(folder, had, 0, first)["opened"]
    return {
        "at": int(time()),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "plan": {key: value for key, value in asdict(PLAN).items() if key in ("hosts", "pages")},
        "commit_pages": COMMIT,
        "pops": POPS,
        "every": EVERY,
        "stages": stages,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, nargs="+", default=USUAL)
    parser.add_argument("--folder", type=Path, help="an empty folder; default: a passing one")
    parser.add_argument("--stage", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(stage(options.folder, *options.stage)))
        return
    with tempfile.TemporaryDirectory() as passing:
        result = measure((options.folder or Path(passing)) / "collection", sorted(options.links))
    if options.links == USUAL:
        RESULT.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        report.write(result)
    print(report.tables(result))


if __name__ == "__main__":
    main()
