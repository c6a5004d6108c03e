"""Kill crawls, and cut their power, at random instants; say what was lost.

    python -m bench.crash.run [--kills 200] [--cuts 100] [--resumes 50] [--seed 1] [--write]

With --write the figures go to bench/results/crash.json and into docs/reference/crash.md.
Power cuts need strace. Exits with 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.crash import kills, power, report, trace

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "crash.json"
PAGE = ROOT / "docs" / "reference" / "crash.md"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("--kills", type=int, default=200)
    words.add_argument("--cuts", type=int, default=100, help="instants, each with every loss")
    words.add_argument("--resumes", type=int, default=50, help="cuts after which we crawl on")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--skip-power", action="store_true", help="no power cuts: strace is missing")
    words.add_argument("--folder", type=Path, help="where to work; a temporary one otherwise")
    words.add_argument("--write", action="store_true", help="keep the results, and tell the docs")
    given = words.parse_args()
    if given.cuts and not given.skip_power:
        trace.command(Path())  # say at once that strace is missing
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=given.folder, prefix="crash-") as scratch:
        if given.kills:
            killed = kills.run(given.kills, given.seed, Path(scratch), tell)
            results["kills"] = {"seed": given.seed, **asdict(killed)}
        if given.cuts and not given.skip_power:
            cut = power.run(given.cuts, given.resumes, given.seed, Path(scratch), tell)
            results["power"] = {"seed": given.seed, **asdict(cut)}
    print(file=sys.stderr)
    print(report.measured(results), flush=True)
    if given.write:
        keep(results)
    broken = report.broken(results)
    for line in broken[:20]:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


def keep(results: dict[str, Any]) -> None:
    """A part that was not measured now stays as it was."""
    earlier = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    merged = earlier | results
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(merged, indent=1) + "\n", "utf-8")
    PAGE.write_text(report.page(PAGE.read_text("utf-8"), merged), "utf-8")


def tell(line: str) -> None:
    """One line that changes on a terminal; now and then a line elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    else:
        print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
