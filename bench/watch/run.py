"""What watching costs: the paper's three configurations, ours, and other monitors; one run.

    python -m bench.watch.run [--long] [--rounds 3] [--skip-peers] [--only PART …] [--folder DIR]

Pages, hosts, latency and edits are the bench's own (README.md), so what changed is known. Figures go
to bench/results/watch.json, the table to docs/reference/watch-cost.md. Exits with 1 if a goal is
missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.watch import peers, table
from bench.watch.pages import changed, page
from bench.watch.stations import Repository, urls

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "watch.json"
HOSTS = 60
LATENCIES = (0.05, 0.86)
ALONE = {0.05: 200, 0.86: 60}
"""Pages that one thread goes through: its time per page does not depend on how many there are."""
SWEEP = {0.05: (16, 64, 256, 1000), 0.86: (256, 512, 1000)}
COMPARERS = (0, 2)
"""M threads that compare every body; 0: in place, as it ships."""
SEED = 3


class Bench:
    def __init__(self, folder: Path, port: int, pages: int) -> None:
        self.folder, self.port, self.pages = folder, port, pages
        self.urls = urls(port, HOSTS, pages)
        self.base = folder / "base.db"
        self.base.unlink(missing_ok=True)
        repository = Repository(self.base)
        repository.fill([(url, page(number)) for number, url in enumerate(self.urls)])
        repository.close()

    def ask(self, target: str) -> Any:
        with urlopen(f"http://127.0.0.1:{self.port}{target}", timeout=60) as answer:
            return answer.read()

    def edit(self, seed: int = SEED) -> None:
        self.ask(f"/_set?seed={seed}")

    def reset(self, latency: float) -> None:
        self.ask(f"/_set?reset=1&latency={latency}")

    def truth(self, pages: int, seed: int = SEED) -> set[str]:
        wanted = changed(self.pages, seed)
        return {str(url) for number, url in enumerate(self.urls[:pages]) if number in wanted}

    def once(self, which: str, pages: int, n: int = 0, m: int = 0) -> dict[str, Any]:
        """One configuration, in a process of its own, from the same database."""
        now = self.folder / "now.db"
        for old in self.folder.glob("now.db*"):
            old.unlink()
        shutil.copy(self.base, now)
        self.ask("/_stats")
        words = [which, now, self.port, HOSTS, pages, n, m]
        told = subprocess.run(
            [sys.executable, "-m", "bench.watch.configuration", *map(str, words)],
            check=True, capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
        found = json.loads(told.stdout)
        reported, truth = found.pop("changed"), self.truth(pages)
        found["effective_ms"] = 1000 * found["seconds"] / pages
        found["cpu_ms"] = 1000 * found["cpu"] / pages
        found["cpu_whole_ms"] = 1000 * found["cpu_whole"] / pages
        found["missed"] = len(truth - set(reported))
        found["invented"] = len(reported) - len(truth & set(reported))
        found["lost"] = pages - found["published"] - found["failures"]
        found["asked"] = json.loads(self.ask("/_stats"))
        return found


def middle(runs: list[dict[str, Any]], key: str) -> float:
    return round(statistics.median(run[key] for run in runs), 3)


def summed(runs: list[dict[str, Any]], pages: int) -> dict[str, Any]:
    keys = ("effective_ms", "cpu_ms", "cpu_whole_ms", "rss_mb")
    row: dict[str, Any] = {key: middle(runs, key) for key in keys}
    row |= {
        key: sum(run[key] for run in runs) for key in ("missed", "invented", "lost", "failures")
    }
    row |= {"pages": pages, "peak": max(run["asked"].get("peak", 0) for run in runs)}
    return row | {"runs": [round(run["effective_ms"], 3) for run in runs]}


def configurations(bench: Bench, rounds: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for latency in LATENCIES:
        bench.reset(latency)
        bench.edit()
        runs: dict[str, list[dict[str, Any]]] = {}
        for round_ in range(rounds):
            for which in ("1", "2", "3", "ours"):
                if which == "1" and round_ and latency > 0.5:
                    continue  # a minute each, and the same every time
                pages = min(bench.pages, ALONE[latency]) if which == "1" else bench.pages
                runs.setdefault(which, []).append(bench.once(which, pages))
                last = runs[which][-1]
                print(f"{latency * 1000:.0f} ms, configuration {which}: "
                      f"{last['effective_ms']:.2f} ms a page, CPU {last['cpu_ms']:.2f} ms, "
                      f"missed {last['missed']}, invented {last['invented']}", flush=True)  # fmt: skip
        pages_of = {"1": min(bench.pages, ALONE[latency])}
        found[f"{latency * 1000:.0f}"] = {
            which: summed(told, pages_of.get(which, bench.pages)) for which, told in runs.items()
        }
    return found


def sweep(bench: Bench, rounds: int) -> dict[str, Any]:
    """Fixed N and M beside the controller, interleaved."""
    found: dict[str, Any] = {}
    for latency in LATENCIES:
        bench.reset(latency)
        bench.edit()
        cells = [(n, m) for n in SWEEP[latency] for m in COMPARERS] + [(0, 0)]
        runs: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for _ in range(rounds):
            for n, m in cells:
                runs.setdefault((n, m), []).append(bench.once("ours", bench.pages, n, m))
        rows = {
            f"{n} {m}" if n else "adaptive": [round(run["effective_ms"], 3) for run in told]
            for (n, m), told in runs.items()
        }
        print(f"{latency * 1000:.0f} ms, sweep: {rows}", flush=True)
        found[f"{latency * 1000:.0f}"] = rows
    return found


def monitors(bench: Bench, folder: Path, rounds: int) -> dict[str, Any]:
    """CPU per page when a tenth has changed, ours in the same run."""
    programs = peers.install(folder)
    found: dict[str, Any] = {}
    ours: list[tuple[float, float]] = []
    for _ in range(rounds):
        bench.reset(LATENCIES[0])
        bench.edit()
        whole = bench.once("ours", bench.pages)
        start = bench.once("ours", 1)
        ours.append((whole["cpu_whole"], start["cpu_whole"]))
    found["ours"] = _cost(ours, bench.pages, whole["missed"], whole["invented"])
    for name in (peers.OURS, *peers.NAMES):
        wanted = [str(url) for url in bench.urls[: peers.PAGES.get(name, bench.pages)]]
        truth = bench.truth(len(wanted))
        told: list[tuple[float, float]] = []
        for _ in range(rounds if name in ("urlwatch", peers.OURS) else 1):
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                bench.reset(LATENCIES[0])
                place = Path(scratch)
                cpu, wall, said = peers.measure(name, programs, place / "a", wanted, bench.edit)
                bench.reset(LATENCIES[0])
                start, _, _ = peers.measure(name, programs, place / "b", wanted[:1], bench.edit)
            told.append((cpu, start))
            print(f"{name}: {cpu:.1f} s CPU, {wall:.1f} s, for {len(wanted)} pages; start alone "
                  f"{start:.1f} s", flush=True)  # fmt: skip
        found[name] = _cost(told, len(wanted), len(truth - said), len(said - truth))
    for name, version in peers.versions(programs).items():
        found[name]["version"] = version
    return found


def _cost(
    told: list[tuple[float, float]], pages: int, missed: int, invented: int
) -> dict[str, Any]:
    whole = statistics.median(cpu for cpu, _ in told)
    net = statistics.median(cpu - start for cpu, start in told)
    return {
        "pages": pages, "cpu_whole_ms": round(1000 * whole / pages, 3),
        "cpu_ms": round(1000 * net / max(1, pages - 1), 3), "missed": missed, "invented": invented,
        "runs": [[round(cpu, 3), round(start, 3)] for cpu, start in told],
    }  # fmt: skip


@contextmanager
def served(port: int, pages: int) -> Iterator[None]:
    words = [sys.executable, "-m", "bench.watch.server", str(port), str(HOSTS), str(pages)]
    server = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        if server.stdout.readline().strip() != b"ready":
            raise SystemExit(f"the bench's server did not start on port {port}")
        yield
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    words = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words.add_argument("--long", action="store_true", help="6,540 pages, as in the paper")
    words.add_argument("--rounds", type=int, default=3)
    words.add_argument("--skip-peers", action="store_true")
    words.add_argument("--only", nargs="*", default=[], help="configurations, sweep, monitors")
    words.add_argument("--port", type=int, default=18_900)
    words.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "honeyguide-watch"
    )
    given = words.parse_args()
    pages = 6_540 if given.long else 1_000
    given.folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with served(given.port, pages), tempfile.TemporaryDirectory(dir=given.folder) as scratch:
        bench = Bench(Path(scratch), given.port, pages)
        parts = {
            "configurations": lambda: configurations(bench, given.rounds),
            "sweep": lambda: sweep(bench, given.rounds),
            "monitors": lambda: monitors(bench, given.folder, given.rounds),
        }
        for name, part in parts.items():
            if (given.only and name not in given.only) or (given.skip_peers and name == "monitors"):
                continue
            key = f"{name} of {pages}" if given.long else name
            results[key] = part()
            results["load"] = [round(load, 1) for load in os.getloadavg()]
            # Kept after each part: an interrupted run is not for nothing.
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    table.write(results)
    goals = table.goals(results)
    for goal in goals:
        print(f"{'reached' if goal.reached else 'MISSED '}  {goal.what}: {goal.figure}")
    return 0 if all(goal.reached for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
