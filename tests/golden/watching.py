"""A watch of a made web that changes, in simulated time."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import honeyguide
from honeyguide import Collection
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
from tests.golden.reading import columns, database, rows

_PLAN = "seed=5,pages=300,hosts=12,topics=borg+sqlite,changes=6,errors=0.02,redirects=0.02"
_PAGES = 30
_MESSAGE = re.compile(r"\b(\d{10})-[0-9a-f]{32}\b")
Visits = list[list[Any]]


@cache
def _web() -> SyntheticWeb:
    return SyntheticWeb(parse_plan(_PLAN))


def create(folder: Path) -> Collection:
    """Nothing is crawled: a person says which pages are watched."""
    web = _web()
    alive = [url for url in sorted(web.page_urls()) if web.change_rate(url) > 0][:_PAGES]
    home = f"http://{web.home_hosts('borg')[0]}/"
    found = honeyguide.create(
        folder,
        seeds=[home],
        keywords=["borg", "backup", "archive", "repository"],
        contact="tester@example.org",
        strategy="keyword",
        fetch={"lab": "http://127.0.0.1:1"},
        watch={"requests_per_hour": 240.0, "discover": True, "min_interval_s": 60.0},
        notify=[
            {"to": "stdout"},
            {"to": "stdout", "name": "hourly", "digest": "hourly", "significance": 0.2},
            {
                "to": "stdout",
                "name": "words",
                "words": ["archive", "lock"],
                "quiet_hours": "23:00-01:00",
            },
            {"to": "atom", "name": "late", "digest": "weekly", "kinds": ["content", "gone"]},
        ],
    )
    with Store.open(folder, "crawl") as store:
        store.watched.add_pages([*map(Url, alive), Url(home)], "user", SIMULATION_START)
    return found


class _Changing:
    """The lab's answers as they are at the time of asking; it notes what was asked."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.visits: Visits = []

    async def fetch(self, request: Request) -> Response:
        at = self._clock()
        desk = LabResponder(_web().at_time(at - SIMULATION_START))
        note: list[Any] = [at, request.url, 0]
        self.visits.append(note)
        response = await LabFetcher(desk, lambda _: 0.05, self._clock).fetch(request)
        note[2] = response.status
        return response

    async def aclose(self) -> None:
        pass


def watch(folder: Path, settings: Settings, hours: float, late: float = 0.0) -> dict[str, Any]:
    """Watch for so many hours, so many seconds after the web was new; what it did and said."""
    out = io.StringIO()

    async def main() -> tuple[Visits, Any]:
        loop = asyncio.get_running_loop()

        def clock() -> float:
            return SIMULATION_START + late + loop.time()

        fetcher = _Changing(clock)
        async with open_watch(
            folder,
            settings,
            build_strategy(settings),
            0,
            lambda store: topics.load_effective_labels(store, settings),
            lambda _: True,
            fetcher=fetcher,
            clock=clock,
            out=out,
        ) as watched:
            tally = await watched.run(hours=hours)
        return fetcher.visits, list(tally)

    visits, tally = run_simulated(main())
    said = _known(out.getvalue()).splitlines()
    return {"visits": visits, "tally": tally, "said": said, **read(folder)}


def read(folder: Path) -> dict[str, Any]:
    """What the tables of a watch hold, without what is packed."""
    found: dict[str, Any] = {}
    packed = {"digest", "rate", "edits", "data", "fingerprint", "body", "old", "new"}
    with database(folder) as db:
        for table in ("watched", "pages", "versions", "changes", "outbox", "watch_facts"):
            names = [name for name in columns(db, table) if name not in packed]
            found[table] = [names, *rows(db, table, names, "1, 2")]
    facts = found["watch_facts"]
    found["watch_facts"] = [row for row in facts if row[1] != "process"]
    for row in found["outbox"][1:]:
        row[found["outbox"][0].index("message")] = _known(row[found["outbox"][0].index("message")])
    return found


def _known(text: str) -> str:
    """Without the chance in the names of messages."""
    return _MESSAGE.sub(r"\1-RANDOM", text)
