"""kill -9 at random instants: nothing that was finished is lost, nothing is visited twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

from warcio.checker import Checker

from honeyguide.errors import StoreError
from tests.end_to_end.crawling import collection, honeyguide, journal, start
from tests.end_to_end.politeness_probe import assert_one_at_a_time, shortest_rest
from tests.site.server import Site
from tests.site.web import weave

KILLS = 20
AT_ONCE = 8
DELAY = 0.03


def test_twenty_kills_lose_nothing(site: Site, tmp_path: Path) -> None:
    hosts = site.addresses[:10]
    web = weave(site, hosts, pages=150)
    folder = tmp_path / "bees"
    collection(
        folder,
        [site.url(hosts[0], "/")],
        crawl={"pages": 0, "concurrency": AT_ONCE, "strategy": "keyword"},
        politeness={"loopback_delay_s": DELAY},
    )
    dice = random.Random(7)
    kept: set[tuple[int, str, float]] = set()
    asked: list[int] = []
    """Requests the site had seen at each kill."""
    for _ in range(KILLS):
        before = len(site.log)
        crawl = start("crawl", folder, "--quiet")
        deadline = time.monotonic() + 20
        # Some die before their first request, most in the middle of things.
        wanted = before + dice.randrange(0, 60)
        while len(site.log) < wanted and time.monotonic() < deadline and crawl.poll() is None:
            time.sleep(0.002)
        time.sleep(dice.random() * 0.1)
        crawl.kill()
        crawl.wait()
        asked.append(len(site.log))
        now = _visits(folder)
        assert kept <= now, "a finished page was lost"
        kept = now
    assert len(kept) > 100, "the kills came too early to mean anything"
    done = honeyguide("crawl", folder, "--quiet", timeout=120)
    assert done.returncode == 0, done.stderr
    rows = journal(folder)
    assert kept <= {(row.id, row.url, row.at) for row in rows}
    visits = Counter(row.url for row in rows)
    assert max(visits.values()) == 1, "a page was visited twice"
    assert set(visits) == set(web.urls), "a page was not visited"
    hits = site.log
    _at_most_in_flight_again([hit.host + hit.path for hit in hits], asked)
    assert_one_at_a_time(hits)
    assert shortest_rest(hits) >= DELAY
    for file in sorted((folder / "warc").glob("*.warc.gz")):
        assert _valid(file), file
    assert {row.warc for row in rows} == {f.name for f in (folder / "warc").glob("*.warc.gz")}


def _visits(folder: Path) -> set[tuple[int, str, float]]:
    try:
        return {(row.id, row.url, row.at) for row in journal(folder)}
    except StoreError:
        return set()  # killed before the database was made


def _at_most_in_flight_again(requests: list[str], asked: list[int]) -> None:
    """Each single kill costs one more request for each visit that was under way then, no more.

    A page that was asked for in one run and again in a later one was lost by the run's kill.
    """
    starts = [0, *asked]
    for run, (first, end) in enumerate(pairwise(starts), 1):
        pages = {page for page in requests[first:end] if not page.endswith("/robots.txt")}
        lost = pages & set(requests[end:])
        assert len(lost) <= AT_ONCE, f"kill {run}: {len(lost)} pages were fetched again"
    last = [page for page in requests[asked[-1] :] if not page.endswith("/robots.txt")]
    assert len(last) == len(set(last)), "a run asked twice for a page"


def _valid(file: Path) -> bool:
    class Arguments:
        inputs = (str(file),)
        verbose = False
        expected_errors = 0

    return Checker(Arguments()).process_all() == 0
