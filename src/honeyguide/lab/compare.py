"""Run strategies on webs and topics, in simulated time and in parallel, and keep the results.

Each crawl is one line of ``results.jsonl``; a comparison that was interrupted goes on where it
ended, and one with more strategies adds only what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from honeyguide.lab.run_trial import perform
from honeyguide.lab.trials import Result, Start, Trial, WebSpec
from honeyguide.lab.workers import spread

__all__ = ["Result", "Start", "Trial", "WebSpec", "compare", "perform"]


def compare(
    trials: Sequence[Trial],
    folder: Path,
    *,
    workers: int = 0,
    done: Callable[[int, int], None] = lambda _n, _of: None,
) -> list[Result]:
    """Make every trial that has no result yet; all results, in the order of the trials."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "results.jsonl"
    known = {result.key: result for result in _read(path)}
    missing = [trial for trial in trials if trial.key not in known]
    done(len(trials) - len(missing), len(trials))
    with path.open("a", encoding="utf-8") as file:
        for number, result in enumerate(
            spread(perform, missing, workers or os.cpu_count() or 1), 1
        ):
            file.write(json.dumps(asdict(result), separators=(",", ":")) + "\n")
            file.flush()
            known[result.key] = result
            done(len(trials) - len(missing) + number, len(trials))
    return [known[trial.key] for trial in trials]


def _read(path: Path) -> Iterator[Result]:
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            try:
                raw = json.loads(line)
                yield Result(**raw | {"found": tuple(raw["found"])})
            except (ValueError, TypeError, KeyError):
                continue  # the last line of an interrupted run
