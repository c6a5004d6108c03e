"""One configuration over the bench's pages, in this process; prints what it found as JSON.

python -m bench.watch.configuration WHICH DATABASE PORT HOSTS PAGES [N] [M]

WHICH is 1, 2, 3 or ours; without N and M, 2 and 3 take the paper's and ours adapts.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.watch.comparison_pool import CompareConcurrency, InPlaceLimit, PooledRevisitFlow
from bench.watch.stations import Repository, differ, fetcher, urls

from honeyguide.change import Change
from honeyguide.config.settings import PolitenessSettings
from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches
from honeyguide.net.politeness import HostDelayPolicy, PolitenessGate
from honeyguide.net.robots import RobotsCache
from honeyguide.types import Response, Url
from honeyguide.url import site_origin
from honeyguide.watch.configurations import PUBLISHED_THREADS, ThreadedRevisitFlow
from honeyguide.watch.revisit_flow import DuePage, RevisitFlow


def compare(old: bytes, _page: DuePage, response: Response) -> Change | None:
    return differ(old, response)


async def revisit(
    which: str, repository: Repository, wanted: list[Url], n: int, m: int
) -> dict[str, Any]:
    """M of ours: that many threads compare every body; 0: as it ships, small bodies in place."""
    found: list[str] = []
    failures = published = 0
    robots = RobotsCache()
    for place in {site_origin(url) for url in wanted}:
        robots.load_text(place, time.time(), 404, "")  # as the others, who do not ask
    courtesy = PolitenessGate(robots, HostDelayPolicy(PolitenessSettings(loopback_delay_s=0.0), 1))
    client = fetcher()
    pool = ThreadPoolExecutor(m or 1)
    began = time.monotonic()
    controller = (
        FetchConcurrency(n, start=n, least=n) if n else FetchConcurrency(affordable_fetches())
    )
    options: dict[str, Any] = {"per_host": 1_000, "per_site": 1_000}

    def old(page: DuePage) -> bytes:
        return repository.old(page.url)

    flow: RevisitFlow[bytes, Change | None]
    if which != "ours":
        threads = PUBLISHED_THREADS[which]
        if n:
            threads = (n, *[m] * (len(threads) - 1))
        flow = ThreadedRevisitFlow(
            client, courtesy, old, compare, threads=threads, capacity=500, **options
        )
    elif m:
        comparers = CompareConcurrency(m)
        comparers.count = m
        flow = PooledRevisitFlow(
            client, courtesy, old, compare, pool, comparers, InPlaceLimit(0),
            fetchers=controller, **options,
        )  # fmt: skip
    else:
        flow = RevisitFlow(client, courtesy, old, compare, fetchers=controller, **options)
    try:
        async for outcome in flow.run(repository.due(wanted)):
            if outcome.state in ("unchanged", "changed"):
                published += 1
            else:
                failures += 1
            if outcome.found is not None and outcome.response is not None:
                found.append(outcome.page.url)
                repository.put(outcome.page.url, outcome.response.body)
    finally:
        await client.aclose()
        pool.shutdown()
    return {
        "seconds": time.monotonic() - began, "changed": found, "failures": failures,
        "published": published, **flow.figures._asdict(),
    }  # fmt: skip


def main() -> None:
    which, path, port, hosts, pages, *more = sys.argv[1:]
    n, m = (*map(int, more), 0, 0)[:2]
    repository = Repository(Path(path))
    wanted = urls(int(port), int(hosts), int(pages))
    before = resource.getrusage(resource.RUSAGE_SELF)
    told = asyncio.run(revisit(which, repository, wanted, n, m))
    repository.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    told["cpu"] = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    told["cpu_whole"] = usage.ru_utime + usage.ru_stime
    told["rss_mb"] = usage.ru_maxrss / 1024
    print(json.dumps(told))


if __name__ == "__main__":
    main()
