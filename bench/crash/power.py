"""Power cuts at random instants of a recorded crawl, on a disk that forgets what was not synced."""

from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bench.crash import trace
from bench.crash.checks import faults, rows_of, unfinished
from bench.crash.disk import LOSSES, Disk
from bench.crash.served import AT_ONCE, HeavySite, prepare
from tests.end_to_end.crawling import COMMAND, honeyguide
from tests.site.web import Web

HOSTS, PAGES, WEIGHT = 12, 80, 1200


@dataclass
class Power:
    events: int = 0
    syncs: int = 0
    checkpoints: int = 0
    cuts: int = 0
    resumed: int = 0
    seen: int = 0
    """Visits that a reader had seen before the cuts, together."""
    lost: int = 0
    """Of these, how many were gone."""
    under_way: int = 0
    """Most pages that had been asked for and were not stored, after one cut."""
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Recording:
    """What one crawl did, killed once and resumed, and what a reader saw meanwhile."""

    disk: Disk
    """As it was before."""
    events: list[trace.Event]
    looks: list[tuple[float, int]]
    """When a reader had looked, and the number of the last visit that it saw."""
    resumed: float
    """When the second process began."""


def run(cuts: int, resumes: int, seed: int, scratch: Path, tell: Callable[[str], None]) -> Power:
    """Cut at so many instants, each with every kind of loss; crawl on after so many of them."""
    result, dice, began = Power(), random.Random(seed), time.monotonic()
    with HeavySite() as site:
        site.weight = WEIGHT
        folder = scratch / "recorded"
        web = prepare(site, folder, HOSTS, PAGES, 0.0, dice.randrange(1 << 30))
        tell("recording a crawl …")
        recording = _record(site, folder, scratch)
        result.events = len(recording.events)
        synced = [event.path for event in recording.events if event.kind == "sync"]
        result.syncs, result.checkpoints = len(synced), synced.count("collection.db")
        asked = [(h.wall, site.url(h.host, h.path)) for h in site.log if h.path != "/robots.txt"]
        places = sorted(dice.sample(range(result.events), min(cuts, result.events)))
        chosen = set(dice.sample(range(len(places)), min(resumes, len(places))))
        disk, played = recording.disk, 0
        for number, place in enumerate(places):
            for event in recording.events[played:place]:
                disk.play(event)
            played = place
            cut = recording.events[place].at
            kinds = list(LOSSES)
            goes_on = dice.choice(kinds) if number in chosen else None
            for loss in kinds:
                left = scratch / "cut" / folder.name
                disk.fail(left, loss, dice)
                name = f"event {place} ({loss} lost)"
                result.faults += [
                    f"{name}: {fault}" for fault in _judge(left, recording, asked, cut, result)
                ]
                if loss == goes_on:
                    result.faults += [f"{name}, resumed: {f}" for f in _resume(left, web)]
                    result.resumed += 1
                shutil.rmtree(left.parent)
                result.cuts += 1
            tell(
                f"cut {result.cuts} of {len(places) * len(LOSSES)}: {result.resumed} resumed, "
                f"{result.lost} visits lost, {len(result.faults)} faults"
            )
    result.seconds = time.monotonic() - began
    return result


def _judge(
    left: Path, recording: Recording, asked: list[tuple[float, str]], cut: float, result: Power
) -> list[str]:
    """The promise, for a collection as one cut left it."""
    last = max((number for at, number in recording.looks if at < cut), default=0)
    found = faults(left)
    if found:
        return found
    rows = rows_of(left)
    numbers = {row.id for row in rows}
    result.seen += last
    result.lost += len(set(range(1, last + 1)) - numbers)
    start = recording.resumed if cut >= recording.resumed else 0.0
    gone = {url for at, url in asked if start <= at < cut} - {row.url for row in rows}
    result.under_way = max(result.under_way, len(gone))
    return [f"{len(gone)} pages are to be fetched again"] if len(gone) > AT_ONCE else []


def _resume(left: Path, web: Web) -> list[str]:
    """Crawl on, with the real program, to the end."""
    done = honeyguide("crawl", left, "--quiet", timeout=300)
    if done.returncode:
        return [f"the crawl ended with {done.returncode}: {done.stderr[-500:]}"]
    return unfinished(left, web)


def _record(site: HeavySite, folder: Path, scratch: Path) -> Recording:
    """A crawl that is killed half-way and a second one that goes on to the end, both traced."""
    half = HOSTS * PAGES // 2
    before, disk = Disk.of(folder), Disk.of(folder)
    files = [scratch / "first.strace", scratch / "second.strace"]
    looks: list[tuple[float, int]] = []
    _traced(files[0], folder, looks, lambda: len(site.log) > half)
    resumed = time.time()
    events = list(trace.events(files[0], folder))
    for event in events:
        disk.play(event)
    if name := disk.differs(folder):
        raise SystemExit(
            f"the kill fell into a write of {name}, and nobody knows if it happened: run again"
        )
    _traced(files[1], folder, looks, lambda: False)
    second = list(trace.events(files[1], folder))
    for event in second:
        disk.play(event)
    if name := disk.differs(folder):
        raise SystemExit(
            f"the recording does not explain what {name} holds: something wrote unseen"
        )
    return Recording(before, events + second, looks, resumed)


def _traced(
    output: Path, folder: Path, looks: list[tuple[float, int]], enough: Callable[[], bool]
) -> None:
    """Run a crawl under strace, look at its journal meanwhile, and kill it when it is enough."""
    command = [*trace.command(output), *COMMAND, "crawl", str(folder), "--quiet"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    over = threading.Event()
    reader = threading.Thread(target=_look, args=(folder / "collection.db", looks, over))
    reader.start()
    try:
        while process.poll() is None and not enough():
            time.sleep(0.005)
    finally:
        over.set()
        reader.join()
        if process.poll() is None:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            subprocess.run(["kill", "-9", *children.split()], check=False)
        process.wait()


def _look(path: Path, looks: list[tuple[float, int]], over: threading.Event) -> None:
    """What a reader sees. It cannot write, so that the recording misses nothing."""
    while not over.wait(0.02):
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
                (number,) = connection.execute("SELECT max(id) FROM visits").fetchone()
        except sqlite3.Error:
            continue  # not made yet, or just being closed
        looks.append((time.time(), number or 0))
