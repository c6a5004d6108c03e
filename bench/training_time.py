"""How long training runs take: what the lab's simulated crawls go by (lab/simulate.py).

    python bench/training_time.py [--strategies honeyguide hybrid_svm …]

Every strategy that learns is trained in its process of its own, as in a crawl, from pages of the
embedded web: some labelled, some visited. Counted is that process's CPU time, since this machine may
be shared; in a crawl of its own it is what the clock shows. Prints constants, fitted by least squares:
seconds to start, of any run, of each example, and of each where held-out labels try the result.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

import numpy as np
from ring import TOPIC, pages

from honeyguide.config.loading import parse_settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.web import load_demo_topics
from honeyguide.learning.worker_process import WorkerProcessBackend
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Link, Url

STRATEGIES = ("honeyguide", "hybrid_svm", "adaptive_links", "user_utility")
LABELS = (6, 12, 20, 30, 60, 120)
VISITS = (30, 150, 400)
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    chosen = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    examples = taught_examples()
    for name in chosen.strategies:
        starts, rows = [], []
        for visits in VISITS:
            start, found = asyncio.run(measure(build(name), examples, visits))
            starts.append(start)
            rows += found
        fitted = fit(rows)
        error = np.mean([abs(seconds - predict(fitted, row)) for *row, seconds in rows])
        print(
            f'"{name}": TrainingCost({np.mean(starts):.2f}, {fitted[0]:.3f}, {fitted[1]:.5f}, '
            f"{fitted[2]:.5f}),  # mean error {error:.3f} s, longest {max(r[-1] for r in rows):.2f} s"
        )
        sys.stdout.flush()


def build(name: str) -> Strategy:
    keywords = load_demo_topics()[TOPIC].keywords
    topic = {"keywords": keywords, "seeds": ["http://a.example/"]}
    return build_strategy(parse_settings({"topic": topic, "crawl": {"strategy": name}}))


def taught_examples() -> list[tuple[bool, Link, object]]:
    """Pages of the topic and others, in turn."""
    known = [one for part in pages(240) for one in part]
    good, bad = ([one for one in known if one.good is kind] for kind in (True, False))
    mixed = [one for pair in zip(good, bad, strict=False) for one in pair] + bad[len(good) :]
    source = Url("http://docs.demo.example/")
    return [
        (one.good, Link(one.page.url, source, anchor=one.page.title), one.page) for one in mixed
    ]


async def measure(
    strategy: Strategy, known: list[tuple[bool, Link, object]], visits: int
) -> tuple[float, list[tuple[int, bool, float]]]:
    """CPU seconds to start; and of each training run: examples, whether it was tried, CPU seconds."""
    traits = strategy.traits
    backend = WorkerProcessBackend(traits.learns_from_visits, traits.reads_outlinks)
    rows: list[tuple[int, bool, float]] = []
    given, start = 0, 0.0
    try:
        for good, link, page in known[-visits:]:
            backend.offer(Example(link, page, 0.9 if good else 0.1, "visit"))  # type: ignore[arg-type]
        for labels in LABELS:
            for good, link, page in known[given:labels]:
                backend.offer(Example(link, page, float(good), "user"))  # type: ignore[arg-type]
            given = labels
            before = cpu_seconds(backend)
            result = await backend.build_generation(strategy)
            spent = cpu_seconds(backend) - before
            if result.strategy is not None:
                strategy = result.strategy
            if labels == LABELS[0]:
                await backend.build_generation(strategy)  # the same again, warm
                warm = cpu_seconds(backend) - before - spent
                start = max(0.0, spent - warm)
                spent = warm
            count = labels + (visits if traits.learns_from_visits else 0)
            rows.append((count, result.trial is not None and result.trial.pages > 0, spent))
    finally:
        await backend.aclose()
    return start, rows


def cpu_seconds(backend: WorkerProcessBackend) -> float:
    """Of the other process so far."""
    process = backend._process
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def fit(rows: list[tuple[int, bool, float]]) -> np.ndarray:
    """Non-negative least squares."""
    from scipy.optimize import nnls

    table = np.array([[1.0, count, count * tried] for count, tried, _ in rows])
    return nnls(table, np.array([seconds for *_, seconds in rows]))[0]


def predict(fitted: np.ndarray, row: list[float]) -> float:
    count, tried = row
    return float(fitted @ [1.0, count, count * tried])


if __name__ == "__main__":
    main()
