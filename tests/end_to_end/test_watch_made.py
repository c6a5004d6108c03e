"""The watch on a made web that changes, in simulated time: every change against the truth."""

from __future__ import annotations

import asyncio
from pathlib import Path

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import SIMULATION_START, LabFetcher, run_simulated
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.learning import topics
from honeyguide.store.store import Store
from honeyguide.types import Request, Response, Url
from honeyguide.watch.build import open_watch
from honeyguide.watch.schedule.change_rate import estimate_rate
from honeyguide.watch.watcher import WatchProgress

HOURS = 5.0
PAGES = 60


class Changing:
    """The lab's answers as they are at the time of asking."""

    def __init__(self, web: SyntheticWeb, clock: object) -> None:
        self._web = web
        self._clock = clock

    async def fetch(self, request: Request) -> Response:
        now = self._clock()  # type: ignore[operator]
        desk = LabResponder(self._web.at_time(now - SIMULATION_START))
        return await LabFetcher(desk, lambda _: 0.05, self._clock).fetch(request)  # type: ignore[arg-type]

    async def aclose(self) -> None:
        pass


def watched(folder: Path, web: SyntheticWeb, settings: Settings) -> WatchProgress:
    async def main() -> WatchProgress:
        loop = asyncio.get_running_loop()

        def clock() -> float:
            return SIMULATION_START + loop.time()

        async with open_watch(
            folder,
            settings,
            build_strategy(settings),
            0,
            lambda store: topics.load_effective_labels(store, settings),
            lambda _: True,
            fetcher=Changing(web, clock),
            clock=clock,
        ) as watch:
            return await watch.run(hours=HOURS)

    return run_simulated(main())


def test_every_change_is_found_and_none_is_invented(tmp_path: Path) -> None:
    web = SyntheticWeb(
        parse_plan(
            "seed=5,pages=400,hosts=20,changes=6,errors=0,redirects=0,near_copies=0,mirrors=0"
        )
    )
    alive = [Url(url) for url in sorted(web.page_urls()) if web.change_rate(url) > 0][:PAGES]
    settings = parse_settings(
        {
            "topic": {"seeds": [alive[0]], "keywords": ["index"]},
            "fetch": {"contact": "tester@example.org"},
            "watch": {"requests_per_hour": 240.0, "discover": False, "min_interval_s": 60.0},
        }
    )
    with Store.open(tmp_path, "crawl") as store:
        store.watched.add_pages(alive, "user", SIMULATION_START)
    tally = watched(tmp_path, web, settings)
    assert tally.failures == 0, tally
    granted = 240 * HOURS
    assert 0.8 * granted < tally.visits < 1.1 * granted, "the budget is used, and kept"

    def truth(url: Url, at: float) -> int:
        return web.page_version(url, at - SIMULATION_START)

    changes, visits = 0, {}
    with Store.open(tmp_path, "read") as store:
        for row in store.watched.iter_rows():
            versions = store.versions.list_versions(row.url)
            states = [truth(row.url, version.at) for version in versions]
            assert len(set(states)) == len(states), "none is invented"
            assert row.succeeded is not None
            assert truth(row.url, row.succeeded) == states[-1], "none is missed"
            changes += len(states) - 1
            visits[row.url] = row
        found = list(store.changes.iter_newest())
        assert len(found) == changes > 20
        assert all("content" in row.change.kinds or "minor" in row.change.kinds for row in found)
    # What changes often is believed to change often, and is visited more.
    fast = sorted(visits, key=lambda url: -web.change_rate(url))
    some = PAGES // 4
    means = [
        sum(estimate_rate(visits[url].rate).per_day for url in part) / some
        for part in (fast[:some], fast[-some:])
    ]
    assert means[0] > 2 * means[1], means
    counts = [
        sum(visits[url].visits for url in part) / some for part in (fast[:some], fast[-some:])
    ]
    assert counts[0] > counts[1], counts
