"""Whole crawls of the embedded web, served by the lab: CPU per page with topic_cnn beside keyword.

    python bench/judging.py [--pages 1500] [--rounds 3]

Each crawl is a process of its own, start included; rounds are interleaved. Prints a table and writes
bench/results/judging.json. The models that judge are trained from 240 other pages of the web.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ring import TOPIC, category_model, pages

from honeyguide.lab.web import load_demo_topics

RESULT = Path(__file__).parent / "results" / "judging.json"
HONEYGUIDE = [sys.executable, "-m", "honeyguide.cli.main"]
CRAWLS = {
    "keyword": ("keyword", ""),
    "topic_cnn, linear model": ("topic_cnn", "linear"),
    "topic_cnn, paper's network": ("topic_cnn", "paper"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    # One thread for arithmetic: the crawl is one process, and pools of threads only get in its way.
    os.environ["OMP_NUM_THREADS"] = "1"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, taught = pages(240)
    models = {kind: category_model(kind, taught) for _, kind in CRAWLS.values() if kind}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CRAWLS}
    lab = subprocess.Popen(
        [*HONEYGUIDE, "lab", "serve", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(port)
        for _ in range(chosen.rounds):
            for name, (strategy, kind) in CRAWLS.items():
                model = str(models[kind]) if kind else ""
                one = crawl(port, strategy, model, chosen.pages)
                found[name].append(one)
                sys.stderr.write(f"{name}: {one}\n")
    finally:
        lab.terminate()
        lab.wait()
    RESULT.write_text(
        json.dumps({"pages": chosen.pages, "crawls": found}, indent=1) + "\n", "utf-8"
    )
    sys.stdout.write(table(found))


def crawl(port: int, strategy: str, model: str, count: int) -> dict[str, float]:
    topic = load_demo_topics()[TOPIC]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "it"
        words = ["--lab", f"http://127.0.0.1:{port}", "--strategy", strategy, "-n", str(count)]
        words += [w for seed in topic.seeds for w in ("-s", seed)]
        words += [w for keyword in topic.keywords for w in ("-k", keyword)]
        _run("new", str(folder), "-c", "bench@example.org", *words)
        if model:
            chosen = {"model": model, "categories": [TOPIC]}
            lines = [f"{key} = {json.dumps(value)}" for key, value in chosen.items()]
            with (folder / "topic.toml").open("a") as file:
                file.write("\n[strategy]\n" + "\n".join(lines) + "\n")
        before, began = _spent(), time.perf_counter()
        visits = json.loads(_run("crawl", str(folder), "--json"))["visits"]
        cpu, wall = _spent() - before, time.perf_counter() - began
    return {
        "visits": visits,
        "cpu_ms": round(cpu / visits * 1000, 2),
        "pages_per_s": round(visits / wall, 1),
    }


def table(found: dict[str, list[dict[str, float]]]) -> str:
    out = [
        "| crawl | CPU ms a page, median | lowest | pages a second, highest |",
        "|---|--:|--:|--:|",
    ]
    for name, crawls in found.items():
        cpu = [one["cpu_ms"] for one in crawls]
        rate = max(one["pages_per_s"] for one in crawls)
        out.append(f"| {name} | {statistics.median(cpu):.2f} | {min(cpu):.2f} | {rate:.0f} |")
    return "\n".join([*out, ""])


def _run(*words: str) -> str:
    done: Any = subprocess.run(
        [*HONEYGUIDE, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        sys.exit(done.stderr)
    return str(done.stdout)


def _spent() -> float:
    """CPU seconds of all processes that ended; the lab has not."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit("the lab does not answer")


if __name__ == "__main__":
    main()
