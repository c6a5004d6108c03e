"""A crawl that goes on knows of its queries what the one before it knew."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from honeyguide.crawl.loop import CrawlLoop
from honeyguide.errors import SearchError
from honeyguide.search.query_bandit import QueryBandit
from honeyguide.store.store import Store
from tests.unit.searching import BEES, STEAM, MadeEngine, crawl, results, scattered


def state(pulls: QueryBandit) -> tuple[Any, ...]:
    """All but what depends on the links that waited at the time, which nobody keeps."""
    tallies = {key: replace(tally, weak_pages=0) for key, tally in pulls._tallies.items()}
    return tallies, pulls._pulls, pulls._insisted


def before_and_after(folder: Path, engine: MadeEngine, **tables: dict[str, Any]) -> list[Any]:
    """What the bandit knows at the end of a crawl, and at the beginning of the next."""
    rings: list[CrawlLoop] = []
    web = scattered(60)
    web.start += 200_000.0
    web.answers |= {f"http://h{n}.test/": f"{STEAM} {n}" for n in range(1, 60, 3)}
    web.answers["http://h2.test/"] = (301, {"Location": "http://there.test/"}, "")
    web.answers["http://there.test/"] = BEES + "there"
    web.latency = 0.7  # pages come while a question is under way
    crawl(folder, web, engine, meanwhile=rings.append, **deepcopy(tables))
    known: list[Any] = []

    def look(ring: CrawlLoop) -> None:
        assert ring.search is not None
        known.append(deepcopy(state(ring.search.planner.pulls)))
        ring.search.caller.stopped = "seen enough"

    crawl(folder, web, engine, meanwhile=look, **deepcopy(tables))
    assert rings[0].search is not None
    return [state(rings[0].search.planner.pulls), *known]


@pytest.mark.parametrize("composed", [False, True])
def test_answers_failures_and_pages_come_again_in_their_order(
    tmp_path: Path, composed: bool
) -> None:
    def say(count: int, query: str, page: int) -> object:
        if count in (2, 4, 5):
            return SearchError("down", "it said so", 1.0)
        first = 9 * (count - 1) % 60
        return results([f"http://h{n % 60}.test/" for n in range(first, first + 9)], more=page < 3)

    search = {"queries": ["queen bee", "drone"], "compose": composed, "mode": "search_only"}
    search |= {"per_minute": 60.0}
    engine = MadeEngine(say, latency=3.0)  # type: ignore[arg-type]
    live, resumed = before_and_after(
        tmp_path, engine, search=search, crawl={"pages": 35, "concurrency": 2}
    )
    assert sum(tally.fetched for tally in live[0].values()) > 20
    assert any(tally.failures for tally in live[0].values()) or live[1] > len(live[0])
    assert live == resumed


def test_a_query_that_failed_waits_for_its_turn_after_a_restart(tmp_path: Path) -> None:
    def say(_: int, query: str, page: int) -> object:
        return SearchError("down") if query == "drone" else results([], more=False)

    search = {"queries": ["drone", "queen bee"], "compose": False, "mode": "search_only"}
    engine = MadeEngine(say)  # type: ignore[arg-type]
    live, resumed = before_and_after(tmp_path, engine, search=search)
    (failures, *_) = sorted((tally.failures for tally in live[0].values()), reverse=True)
    assert failures
    assert live == resumed


def test_what_somebody_wanted_again_goes_on_after_a_restart(tmp_path: Path) -> None:
    def say(count: int, query: str, page: int) -> object:
        first = 9 * (count - 1) % 60
        return results([f"http://h{n % 60}.test/" for n in range(first, first + 9)], more=count > 1)

    search = {"queries": ["drone"], "compose": False, "mode": "search_only", "per_minute": 6.0}
    engine = MadeEngine(say)  # type: ignore[arg-type]
    crawl(tmp_path, scattered(60), engine, search=dict(search))
    with Store.open(tmp_path, "write") as store:
        store.searches.request_query("drone", "user", 1.0)
    live, resumed = before_and_after(tmp_path, engine, search=search, crawl={"pages": 30})
    assert engine.asked[:3] == [("drone", 1), ("drone", 1), ("drone", 2)]
    assert live == resumed
