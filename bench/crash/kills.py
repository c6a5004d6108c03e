"""``kill -9`` at random instants of real crawls, one collection after another."""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from bench.crash.checks import Seen, faults, rows_of, seen, unfinished
from bench.crash.served import HeavySite, prepare
from tests.end_to_end.crawling import honeyguide, start
from tests.end_to_end.politeness_probe import assert_one_at_a_time, assert_rested
from tests.site.log import Hit

DELAY = 0.03
"""Seconds a host rests: short, so that a crawl has many instants."""
HOSTS, PAGES = 20, 75
EACH = 25
"""Kills of one collection; then its crawl may finish."""


@dataclass
class Kills:
    kills: int = 0
    collections: int = 0
    visits: int = 0
    requests: int = 0
    lost: int = 0
    """Visits that a reader saw before or after a kill, and that were gone later."""
    again: list[int] = field(default_factory=list)
    """Pages fetched again because of each kill."""
    impolite: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0


def run(wanted: int, seed: int, scratch: Path, tell: Callable[[str], None]) -> Kills:
    result, dice, began = Kills(), random.Random(seed), time.monotonic()
    while result.kills < wanted:
        with HeavySite() as site:
            before = result.kills
            _one(site, scratch / f"killed{result.collections}", wanted, dice, result, tell)
            result.collections += 1
        if result.kills == before:
            raise SystemExit(f"no crawl lived long enough to be killed: {result.faults[-1:]}")
    result.seconds = time.monotonic() - began
    return result


def _one(
    site: HeavySite,
    folder: Path,
    wanted: int,
    dice: random.Random,
    result: Kills,
    tell: Callable[[str], None],
) -> None:
    web = prepare(site, folder, HOSTS, PAGES, DELAY, dice.randrange(1 << 30))
    kept: Seen = {}
    asked: list[int] = []
    """Requests the site had seen at each kill."""
    while len(asked) < EACH and result.kills < wanted:
        looked, killed = _kill(site, folder, dice)
        asked.append(len(site.log))
        if not killed:
            break  # it was done before its time had come
        result.kills += 1
        # A copy is looked at: a reader would tidy up what the next crawl is to find.
        copy = folder.with_suffix(".copy")
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
        now = seen(rows_of(copy))
        result.lost += len((kept | looked).items() - now.items())
        result.faults += faults(copy)
        shutil.rmtree(copy)
        kept = now
        tell(f"kill {result.kills} of {wanted}: {len(kept)} visits, {result.lost} lost")
    done = honeyguide("crawl", folder, "--quiet", timeout=300)
    if done.returncode:
        result.faults.append(f"the last crawl ended with {done.returncode}: {done.stderr[-500:]}")
    now = seen(rows_of(folder))
    result.lost += len(kept.items() - now.items())
    result.faults += unfinished(folder, web)
    hits = site.log
    result.visits += len(now)
    result.requests += len(hits)
    result.again += again(hits, asked)
    try:
        assert_one_at_a_time(hits)
        assert_rested(hits, DELAY)
    except AssertionError as error:
        result.impolite.append(str(error))


def _kill(site: HeavySite, folder: Path, dice: random.Random) -> tuple[Seen, bool]:
    """One crawl's short life: visits that a reader saw before its end, and whether we ended it."""
    before = len(site.log)
    crawl = start("crawl", folder, "--quiet")
    deadline = time.monotonic() + 30
    # Some die while they start, most in the middle of things.
    wanted = before + dice.choice((0, dice.randrange(1, 100), dice.randrange(1, 100)))
    while len(site.log) < wanted and time.monotonic() < deadline and crawl.poll() is None:
        time.sleep(0.002)
    time.sleep(dice.random() * (0.1 if wanted > before else 1.0))
    looked = seen(rows_of(folder)) if dice.random() < 0.5 else {}
    crawl.kill()
    return looked, crawl.wait() < 0


def again(hits: list[Hit], asked: list[int]) -> list[int]:
    """For each kill, how many pages of the crawl that died were asked for once more."""
    pages = [hit.host + hit.path for hit in hits]
    counts = []
    for first, end in pairwise([0, *asked]):
        mine = {page for page in pages[first:end] if not page.endswith("/robots.txt")}
        counts.append(len(mine & set(pages[end:])))
    return counts
