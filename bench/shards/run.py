"""Shards against one ring: pages a second, CPU a page, messages; the same pages, politely.

    python -m bench.shards.run [--pages 24000] [--hosts 400] [--rounds 2] [--shards 1 2 4 8]
                               [--strategies breadth honeyguide] [--write]

Each crawl runs to the end of the web in a collection of its own; rounds are interleaved. CPU is user +
system time of all processes of a crawl, their start included; nginx's is not counted. From nginx's log:
whether the same pages were fetched, each once; whether a host ever had two requests at once, or less
than its rest; whether one connection, and so one process, asked hosts of different shards.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from bench.shards.web import address, make, serve

from honeyguide.api.create import create
from honeyguide.store.shards import shard_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "bench" / "results" / "shards.json"
PORT = 18090
DELAY_S = 0.05
"""The rest that every host is given."""
_LINE = re.compile(rb"(\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\n")


class Request(NamedTuple):
    ended: float
    took: float
    connection: str
    status: int
    host: str
    path: str


class Crawl(NamedTuple):
    strategy: str
    shards: int
    pages: int
    seconds: float
    cpu: float
    letters: int
    letter_bytes: int
    links_told: int
    again: int
    """Pages that were fetched more than once."""
    overlaps: int
    shortest_rest: float
    strangers: int
    """Connections that asked hosts of different shards."""


def requests(log: Path, start: int) -> Iterator[Request]:
    with log.open("rb") as file:
        file.seek(start)
        for line in file:
            if match := _LINE.fullmatch(line):
                ended, took, connection, status, host, path = (
                    part.decode() for part in match.groups()
                )
                yield Request(float(ended), float(took), connection, int(status), host, path)


def judged(found: list[Request], shards: int) -> dict[str, float]:
    """How polite it was, as the server saw it. nginx notes ends to a millisecond."""
    by_host: dict[str, list[Request]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one.ended):
        by_host[one.host].append(one)
    rests = [
        later.ended - later.took - before.ended
        for same in by_host.values()
        for before, later in pairwise(same)
    ]
    homes: dict[str, set[int]] = defaultdict(set)
    for one in found:
        homes[one.connection].add(shard_of(one.host, shards))
    times = Counter((one.host, one.path) for one in found if one.status == 200)
    return {
        "again": sum(count > 1 for count in times.values()),
        "overlaps": sum(rest < -0.002 for rest in rests),
        "shortest_rest": round(min(rests), 4),
        "strangers": sum(len(home) > 1 for home in homes.values()),
    }


def crawl(strategy: str, shards: int, log: Path, port: int) -> tuple[Crawl, set[tuple[str, str]]]:
    with tempfile.TemporaryDirectory(prefix="honeyguide-bench-") as scratch:
        folder = Path(scratch) / "c"
        create(
            folder,
            seeds=[f"http://{address(0)}:{port}/"],
            contact="https://example.org/bench",
            keywords=["backup", "replication", "transaction", "index", "authentication"],
            strategy=strategy,
            pages=0,
            crawl={"concurrency": 64},
            fetch={"private_addresses": True},
            politeness={"loopback_delay_s": DELAY_S, "response_factor": 0.0},
            scope={"outlinks": 5000, "pages_per_domain": 0},
        )
        command = [
            sys.executable,
            "-m",
            "honeyguide.cli.main",
            "crawl",
            str(folder),
            "-q",
            "--json",
        ]
        if shards > 1:
            command += ["--shards", str(shards)]
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        size = log.stat().st_size if log.exists() else 0
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        seconds = time.monotonic() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(done.stderr)
        time.sleep(1.5)  # nginx writes its log a moment later
        told = json.loads(done.stdout).get("exchanged") or {}
    found = list(requests(log, size))
    pages = {
        (one.host, one.path) for one in found if one.status == 200 and "robots" not in one.path
    }
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    facts = judged(found, shards)
    return Crawl(
        strategy, shards, len(pages), round(seconds, 2), round(cpu, 2), told.get("letters", 0),
        told.get("bytes", 0), told.get("links", 0), int(facts["again"]), int(facts["overlaps"]),
        facts["shortest_rest"], int(facts["strangers"]),
    ), pages  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=24_000)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--strategies", nargs="*", default=["breadth", "honeyguide"])
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--write", action="store_true", help="keep the results for the docs")
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "honeyguide-bench"
    )
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    web = make(chosen.folder, chosen.pages, chosen.hosts, chosen.port)
    server, log = serve(web, chosen.folder, chosen.port)
    found: list[Crawl] = []
    same: set[tuple[str, str]] = set()
    try:
        for _ in range(chosen.rounds):
            for strategy in chosen.strategies:
                for shards in chosen.shards:
                    one, pages = crawl(strategy, shards, log, chosen.port)
                    found.append(one)
                    same = same or pages
                    equal = "same pages" if pages == same else f"OTHER PAGES: {len(pages ^ same)}"
                    print(
                        f"{strategy:12} {shards} shard(s): {one.cpu / one.pages * 1000:6.3f} ms CPU/page"
                        f"  {one.pages / one.seconds:6.0f} pages/s  {one.pages} pages, {equal}; overlaps "
                        f"{one.overlaps}, rest {one.shortest_rest}, again {one.again}, strangers "
                        f"{one.strangers}",
                        flush=True,
                    )
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()
    _told(found)
    if chosen.write:
        RESULTS.write_text(json.dumps([one._asdict() for one in found], indent=1) + "\n")


def _told(found: list[Crawl]) -> None:
    for strategy in dict.fromkeys(one.strategy for one in found):
        plain = [one for one in found if one.strategy == strategy and one.shards == 1]
        for shards in sorted({one.shards for one in found if one.strategy == strategy}):
            some = [one for one in found if one.strategy == strategy and one.shards == shards]
            cpu = statistics.median(one.cpu / one.pages for one in some) * 1000
            base = statistics.median(one.cpu / one.pages for one in plain or some) * 1000
            rate = statistics.median(one.pages / one.seconds for one in some)
            slow = statistics.median(one.pages / one.seconds for one in plain or some)
            print(
                f"{strategy} {shards}: {cpu:.3f} ms ({cpu / base:.2f} times), {rate:.0f}/s ({rate / slow:.2f} times)"
            )


if __name__ == "__main__":
    main()
