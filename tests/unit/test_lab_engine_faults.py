"""The engine's bad days, met by our own client in simulated time and over real sockets."""

from __future__ import annotations

import asyncio
import http.client
import json

import pytest

from honeyguide.config.settings import FetchSettings, SearchSettings, Settings
from honeyguide.errors import ConfigError, FetchError, SearchError
from honeyguide.fetch.http import CurlFetcher
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.search_engine import (
    ENGINE_FAULTS,
    LAB_ENGINE_URL,
    LabSearchEngine,
    LabSearchIndex,
    make_lab_engine,
)
from honeyguide.lab.simulate import SIMULATION_START, LabFetcher, run_simulated
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes
from honeyguide.search.engine import ResultPage
from honeyguide.search.engines import make_engine, make_engine_fetcher
from honeyguide.search.query import Query
from honeyguide.types import Request, Url
from tests.lab_thread import serve_in_thread

HTML = (("Content-Type", "text/html; charset=utf-8"),)
WEB = RecordedWeb(
    RecordedResponse(
        f"http://a.example/{n}",
        200,
        HTML,
        gzip_bytes(
            f"<title>Bees {n}</title><p>Honey and nothing else, page {n}, is told here.".encode()
        ),
    )
    for n in range(25)
)
INDEX = LabSearchIndex.from_responder(LabResponder(WEB))
SEARCH = SearchSettings(engine="searxng", url=LAB_ENGINE_URL, per_minute=0)
QUERY = Query(text="honey")


def outcomes(
    fault: str, times: int = 1, thinks: float = 0.0
) -> tuple[list[ResultPage | str], float]:
    """What the client makes of so many requests, and the simulated seconds they took."""

    async def main() -> tuple[list[ResultPage | str], float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        engine = LabSearchEngine(INDEX, latency_s=thinks, fault=fault)
        fetcher = LabFetcher(LabResponder(WEB, engine=engine), lambda _: 7.0, loop.time)
        client = make_engine(SEARCH, fetcher, lambda: SIMULATION_START + loop.time(), lab=True)
        assert client is not None
        seen: list[ResultPage | str] = []
        for page in range(1, times + 1):
            try:
                seen.append(await client.search(QUERY, page))
            except SearchError as error:
                seen.append(error.kind)
                if error.wait != float("inf"):
                    await asyncio.sleep(error.wait)
        return seen, loop.time() - began

    return run_simulated(main())


def test_our_client_reads_it() -> None:
    seen, took = outcomes("", 4, thinks=2.0)
    assert [len(found.results) for found in seen if isinstance(found, ResultPage)] == [10, 10, 5, 0]
    assert isinstance(seen[0], ResultPage)
    assert seen[0].results[0].url.startswith("http://a.example/")
    assert "Honey" in seen[0].results[0].snippet
    assert took == pytest.approx(8.0), "its own time, and not that of the web's hosts"


def test_every_fault_has_its_outcome() -> None:
    assert outcomes("down")[0] == ["down"]
    assert outcomes("slow")[0] == ["slow"]
    assert outcomes("html")[0] == ["garbage"]
    assert outcomes("million")[0] == ["garbage"]


def test_a_limited_engine_answers_in_the_end() -> None:
    seen, took = outcomes("limited", 4)
    assert [one if isinstance(one, str) else len(one.results) for one in seen] == [
        10,
        "limited",
        "limited",
        0,
    ]
    assert took >= 10, "Retry-After was kept"


def test_garbage_never_looks_like_results() -> None:
    seen, _ = outcomes("garbage", 10)
    assert all(one == "garbage" or isinstance(one, ResultPage) for one in seen)
    assert not any(one.results for one in seen if isinstance(one, ResultPage))


def test_hostile_results_come_out_harmless() -> None:
    (found,), _ = outcomes("hostile")
    assert isinstance(found, ResultPage)
    assert sum(result.url.startswith("http://a.example/") for result in found.results) == 10
    for result in found.results:
        assert result.url.startswith(("http://", "https://"))
        assert len(result.url) < 10_000
        assert len(result.title) <= 300
        assert len(result.snippet) <= 1000
        assert not any(ord(c) < 32 or c in "\u202e\u2028" for c in result.title + result.snippet)
    assert found.dropped >= 5


def test_a_second_crawl_meets_the_same_days() -> None:
    engine = LabSearchEngine(INDEX, fault="limited")
    desk = LabResponder(WEB, engine=engine)
    key = "search.lab/search?q=honey&format=json"
    days = [desk.respond(key).status for _ in range(4)]
    assert days == [200, 429, 429, 200]
    assert [desk.fresh_copy().respond(key).status for _ in range(2)] == [200, 200]
    other = LabResponder(WEB).with_engine(engine)
    assert [other.respond(key).status for _ in range(4)] == days
    assert other.with_engine(None).respond(key).status == 502


def test_an_unknown_fault_is_refused_before_anything_is_read() -> None:
    with pytest.raises(ConfigError, match="choose down, slow"):
        make_lab_engine(WEB, fault="sleepy")
    assert len(ENGINE_FAULTS) == 7


@pytest.mark.parametrize("fault", ["", "down", "html", "garbage", "limited", "hostile"])
def test_over_real_sockets(fault: str) -> None:
    async def main(address: str) -> ResultPage | str:
        lab = Settings(fetch=FetchSettings(contact="https://example.org/", lab=address))
        fetcher = make_engine_fetcher(lab)
        try:
            client = make_engine(
                SEARCH, fetcher, lambda: SIMULATION_START, lab=True, sleep=_at_once
            )
            assert client is not None
            return await client.search(QUERY, 1)
        except SearchError as error:
            return error.kind
        finally:
            await fetcher.aclose()

    with serve_in_thread(WEB, engine=LabSearchEngine(INDEX, fault=fault)) as address:
        seen = asyncio.run(main(address))
    if fault in ("", "limited", "hostile"):
        assert isinstance(seen, ResultPage)
        assert len(seen.results) >= 10
    else:
        assert seen == {"down": "down", "html": "garbage", "garbage": "garbage"}[fault]


async def _at_once(_: float) -> None:
    """Nobody waits here."""


def test_a_slow_engine_keeps_nobody_else_waiting() -> None:
    async def main(address: str) -> None:
        settings = FetchSettings(contact="https://example.org/", lab=address, total_s=0.3)
        fetcher = CurlFetcher(settings, user_agent="test")
        try:
            with pytest.raises(FetchError):
                await fetcher.fetch(Request(Url(f"{LAB_ENGINE_URL}?q=honey"), any_type=True))
        finally:
            await fetcher.aclose()

    with serve_in_thread(WEB, engine=LabSearchEngine(INDEX, fault="slow")) as address:
        asyncio.run(main(address))
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
        connection.request("GET", "http://a.example/3")
        assert connection.getresponse().status == 200
        connection.close()


def test_a_million_results_are_really_that_many() -> None:
    answer = LabSearchEngine(INDEX, fault="million").respond(
        "search.lab/search?q=honey&format=json"
    )
    assert len(answer.packed) < 10_000_000
    assert answer.body.count(b'"url"') == 1_000_000
    assert json.loads(answer.body)["results"][-1]["title"] == "999999"
