"""What a link costs the frontier: CPU, memory and disk, by number of links.

    python bench/frontier.py --links 200000

Made links over many hosts (a Zipf law), 60 a page, 7 of 10 on the page's own host, a share of
them seen before, through a throw-away SQLite log. CPU is user + system of this process; making
the links is not counted.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make
from honeyguide.types import Candidate, Link, Url

TEXT = (
    "ankle replacement surgery patient guide report index about contact history library open "
    "source method result table figure annual review water energy music travel school science "
    "health news archive forum profile gallery product price order help support team project"
)
WORDS = TEXT.split()


class ScratchLog:
    """The log protocol over SQLite, as simple as can be."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        self._db.execute("CREATE TABLE IF NOT EXISTS i (entry INTEGER PRIMARY KEY, data BLOB)")
        self._db.execute("CREATE TABLE IF NOT EXISTS t (entry INTEGER PRIMARY KEY, data BLOB)")

    def append(self, index: bytes, text: bytes) -> int:
        entry = self._db.execute("INSERT INTO i (data) VALUES (?)", (index,)).lastrowid
        assert entry is not None
        self._db.execute("INSERT INTO t VALUES (?, ?)", (entry, text))
        return entry

    def text(self, entry: int) -> bytes:
        found = self._db.execute("SELECT data FROM t WHERE entry = ?", (entry,)).fetchone()
        return bytes(found[0])

    def holds(self, entry: int) -> bool:
        return self._db.execute("SELECT 1 FROM i WHERE entry = ?", (entry,)).fetchone() is not None

    def scan(self) -> Iterator[tuple[int, bytes]]:
        yield from self._db.execute("SELECT entry, data FROM i ORDER BY entry")

    def commit(self) -> None:
        self._db.commit()


def pages(links: int, hosts: int, again: float, seed: int) -> Iterator[list[Candidate]]:
    """Made pages until so many distinct links were on them."""
    chance = random.Random(seed)
    made: list[tuple[int, int]] = [(0, 1)]
    number = 0

    def target(n: int, host: int) -> Url:
        mixed = n * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF
        first, second, third = (WORDS[k % len(WORDS)] for k in (host, mixed >> 20, mixed >> 40))
        return Url(f"https://www.{first}-{host}.org/{second}/{third}-{n:x}.html")

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    while number < links:
        home = int(hosts ** chance.random())  # Zipf: the logarithm of the rank is uniform
        source = target(number, home)
        page = []
        parent = round(chance.random(), 3)
        for _ in range(60):
            if chance.random() < again:
                n, host = made[int(len(made) * chance.random() ** 3)]  # old ones are linked more
            else:
                n, host = number, home if chance.random() < 0.7 else int(hosts ** chance.random())
                number += 1
                if n % 50 == 0:
                    made.append((n, host))
            link = Link(
                target(n, host), source, words(3), words(6)[:50], words(6)[:50],
                "div.content/ul/li" if n % 3 else "nav/a", depth=3, parent=parent,
            )  # fmt: skip
            page.append(Candidate(link, chance.random()))
        yield page


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def run(
    links: int, hosts: int, again: float, folder: Path, order: str, sites: bool
) -> dict[str, float]:
    log = ScratchLog(folder / "bench.db")
    start_size = resident()
    # Limits that are looked after and never reached: every host is a site of its own.
    limits = dict.fromkeys(("site_links", "site_hosts", "site_busy"), links if sites else 0)
    frontier = LinkFrontier(log, make(order, 1), now=0.0, **limits)
    pushed = flushing = pushing = 0.0
    for count, page in enumerate(pages(links, hosts, again, 1)):
        start = process_time()
        frontier.push(page)
        pushing += process_time() - start
        pushed += len(page)
        if count % 8 == 7:
            start = process_time()
            frontier.flush()
            log.commit()
            frontier.flushed()
            flushing += process_time() - start
    frontier.flush()
    log.commit()
    frontier.flushed()
    distinct = len(frontier)
    memory = resident() - start_size
    disk = sum(path.stat().st_size for path in folder.iterdir())

    pops = min(distinct, 20_000)
    now = 1.0
    start = process_time()
    for _ in range(pops):
        candidate = frontier.pop(now)
        while candidate is None:
            wake = frontier.wake_at()
            assert wake is not None
            now = max(now, wake)
            candidate = frontier.pop(now)
        frontier.finish(candidate, now, 1.0)
        now += 0.01
    popping = process_time() - start
    frontier.flush()
    log.commit()
    frontier.flushed()

    chance = random.Random(2)
    spent = 0.0
    scored = 0

    def rank(batch: object) -> list[float]:
        nonlocal spent, scored
        begun = process_time()
        scores = [chance.random() for _ in batch]  # type: ignore[attr-defined]
        spent += process_time() - begun
        scored += len(scores)
        return scores

    start = process_time()
    frontier.rerank(rank)
    first = process_time() - start
    while frontier._rerank is not None:
        frontier.push(())
    reranking = process_time() - start - spent
    del frontier
    start = process_time()
    reopened = LinkFrontier(log, make(order, 1), now=now, **limits)
    opening = process_time() - start
    assert len(reopened) == distinct - pops
    return {
        "links": distinct,
        "hosts": sum(1 for _ in reopened.hosts()),
        "push_us": pushing / pushed * 1e6,
        "flush_us": flushing / pushed * 1e6,
        "push_and_flush_us_per_distinct": (pushing + flushing) / distinct * 1e6,
        "pop_and_finish_us": popping / pops * 1e6,
        "rerank_us": reranking / max(scored, 1) * 1e6,
        "rerank_first_ms": first * 1e3,
        "open_s": opening,
        "memory_bytes": memory / distinct,
        "disk_bytes": disk / distinct,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=200_000)
    parser.add_argument("--hosts", type=int, default=0, help="default: one per 50 links")
    parser.add_argument("--again", type=float, default=0.0, help="share of links seen before")
    parser.add_argument("--order", default="best")
    parser.add_argument("--sites", action="store_true", help="with limits for sites")
    options = parser.parse_args()
    hosts = options.hosts or max(10, options.links // 50)
    with tempfile.TemporaryDirectory() as folder:
        result = run(
            options.links, hosts, options.again, Path(folder), options.order, options.sites
        )
    for name, value in result.items():
        print(f"{name:32} {value:12,.2f}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
