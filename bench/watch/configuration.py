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
from bench.watch.mtccdw import (
    ThreadedSteps,
    run_one_thread,
    run_three_stages,
    run_two_stages,
)
from bench.watch.stations import Alone, Report, Repository, Shared, differ, fetcher, urls

from honeyguide.change import Change
from honeyguide.config.settings import PolitenessSettings
from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches
from honeyguide.net.politeness import HostDelayPolicy, PolitenessGate
from honeyguide.net.robots import RobotsCache
from honeyguide.types import Response, Url
from honeyguide.url import site_origin
from honeyguide.watch.revisit_flow import DuePage, RevisitFlow


def threads(
    which: str, repository: Repository, wanted: list[Url], n: int, m: int
) -> dict[str, Any]:
    found: list[str] = []
    web = Alone() if which == "1" else Shared()

    def publish(report: Report) -> None:
        if report.change is not None:
            found.append(report.url)
            repository.put(report.url, report.body)

    steps: ThreadedSteps[Url, Response, bytes, Report] = ThreadedSteps(
        web.get,
        lambda response: repository.old(response.url),
        lambda old, response: Report(response.url, response.body, differ(old, response)),
        publish,
    )
    try:
        if which == "1":
            ran = run_one_thread(wanted, steps)
        elif which == "2":
            ran = run_three_stages(
                wanted, steps, crawlers=n or 78, bringers=m or 6, comparers=m or 6
            )
        else:
            ran = run_two_stages(wanted, steps, producers=n or 78, consumers=m or 11)
    finally:
        web.close()
    return {
        "seconds": ran.seconds, "changed": found, "failures": len(ran.failures),
        "published": ran.published, "fullest": ran.fullest,
    }  # fmt: skip


def compare(old: bytes, _page: DuePage, response: Response) -> Change | None:
    return differ(old, response)


async def ours(repository: Repository, wanted: list[Url], n: int, m: int) -> dict[str, Any]:
    """M: that many threads compare every body; 0: as it ships, small bodies in place."""
    found: list[str] = []
    failures = published = most = 0
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
    options: dict[str, Any] = {"fetchers": controller, "per_host": 1_000, "per_site": 1_000}

    def old(page: DuePage) -> bytes:
        return repository.old(page.url)

    flow: RevisitFlow[bytes, Change | None]
    if m:
        comparers = CompareConcurrency(m)
        comparers.count = m
        flow = PooledRevisitFlow(
            client, courtesy, old, compare, pool, comparers, InPlaceLimit(0), **options
        )
    else:
        flow = RevisitFlow(client, courtesy, old, compare, **options)
    try:
        async for outcome in flow.run(repository.due(wanted)):
            most = max(most, controller.limit)
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
        "published": published, "limit": most,
    }  # fmt: skip


def main() -> None:
    which, path, port, hosts, pages, *more = sys.argv[1:]
    n, m = (*map(int, more), 0, 0)[:2]
    repository = Repository(Path(path))
    wanted = urls(int(port), int(hosts), int(pages))
    before = resource.getrusage(resource.RUSAGE_SELF)
    if which == "ours":
        told = asyncio.run(ours(repository, wanted, n, m))
    else:
        told = threads(which, repository, wanted, n, m)
    repository.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    told["cpu"] = usage.ru_utime + usage.ru_stime - before.ru_utime - before.ru_stime
    told["cpu_whole"] = usage.ru_utime + usage.ru_stime
    told["rss_mb"] = usage.ru_maxrss / 1024
    print(json.dumps(told))


if __name__ == "__main__":
    main()
