"""Engines that are down, slow, busy, unwilling or mad: a clear outcome, and the key nowhere."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import Raw

from honeyguide.errors import ConnectError, SearchError
from honeyguide.search.engine import ResultPage
from honeyguide.search.engines import make_engine
from honeyguide.search.http_client import BACKOFF, EngineHttpClient
from honeyguide.types import Request, Response, Url
from tests.unit.engine_server import (
    ENGINES,
    KEY,
    QUERY,
    Says,
    Time,
    answer,
    ask,
    entry,
    failing,
    look_through,
    nothing_told,
    says,
    serving,
    settings,
    use,
)

INF = float("inf")
HTML = Says(b"<!doctype html><html><title>Log in</title>" + b"x" * 500, kind="text/html")


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_told(monkeypatch, caplog):
        yield


def test_down(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    time = Time()
    with pytest.raises(SearchError) as caught:
        ask(settings(kind, f"http://127.0.0.1:{port}"), time=time)
    look_through(caught.value)
    assert (caught.value.kind, caught.value.wait) == ("down", 60.0)
    assert time.slept == [*BACKOFF]


def test_down_and_up_again(kind: str) -> None:
    good = says(answer(kind, entry(kind, "http://a.test/")))
    time = Time()
    with serving(Says(status=500), Says(status=502), good) as server:
        assert len(ask(settings(kind, server.origin), time=time).results) == 1
        assert len(server.asked) == 3
    assert time.slept == [*BACKOFF]


def test_slow(kind: str) -> None:
    time = Time()
    error = failing(kind, Says(delay=5.0), time=time)
    assert (error.kind, error.wait) == ("slow", 60.0)
    assert time.slept == [*BACKOFF]


def test_limited(kind: str) -> None:
    told = failing(kind, Says(status=429, headers=(("Retry-After", "120"),)))
    assert (told.kind, told.wait) == ("limited", 120.0)
    assert "429" in told.detail
    silent = failing(kind, Says(status=429))
    assert (silent.kind, silent.wait) == ("limited", 60.0)
    assert failing(kind, Says(status=429, headers=(("Retry-After", "soon"),))).wait == 60.0
    assert failing(kind, Says(status=429, headers=(("Retry-After", "9" * 99),))).wait == 86_400.0
    time = Time()
    busy = failing(kind, Says(status=503, headers=(("Retry-After", "30"),)), time=time)
    assert (busy.kind, busy.wait) == ("down", 30.0)
    assert time.slept == [], "who says when to come again is not asked before"


def test_a_wait_is_kept_and_grows(kind: str) -> None:
    """Who asks before the time gets the error again, and the engine hears nothing of it."""
    time = Time()
    busy = Says(status=429)
    good = says(answer(kind, entry(kind, "http://a.test/")))
    with serving(busy, busy, good, busy) as server:

        async def one(engine: Any) -> float:
            try:
                await engine.search(QUERY, 1)
            except SearchError as error:
                look_through(error)
                return error.wait
            return 0.0

        async def work(engine: Any) -> list[float]:
            waits = []
            for step in (0.0, 20.0, 40.0, 120.0, 0.0, -5000.0):
                time.now += step
                waits.append(await one(engine))
            return waits

        waits = use(settings(kind, server.origin), work, time)
    # The clock that was set back does not keep us waiting for it.
    assert waits == [60.0, 40.0, 120.0, 0.0, 60.0, 120.0]
    assert len(server.asked) == 5


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Says(b""), "with JSON"), (Says(b"\xff\x00\xfe"), "with JSON"), (Says(b"[1]"), "with JSON"),
        (Says(b'{"results":[{"url":'), "broken"), (Says(b'{"a":' * 100_000), "nested too deep"),
        (Says(b"{" + b"9" * 100), "broken"), (Says(b'{"\xff":1}'), "broken"),
        (HTML, "web page"), (Says(b" <html>" + b"y" * 2000), "web page"),
    ],
)  # fmt: skip
def test_garbage(kind: str, bad: Says, words: str) -> None:
    error = failing(kind, bad)
    assert (error.kind, error.wait) == ("garbage", 0.0)
    assert words in error.detail


@pytest.mark.parametrize("odd", ["x", 1, True, {}, {"url": "http://a.test/"}])
def test_no_list(kind: str, odd: Any) -> None:
    place = {"web": {"results": odd}} if kind == "brave" else {"results": odd}
    error = failing(kind, says(place))
    assert error.kind == "garbage"
    assert "results" in error.detail


def test_garbage_that_does_not_end(kind: str) -> None:
    time = Time()
    with serving(HTML) as server:

        async def work(engine: Any) -> list[float]:
            waits = []
            for page in range(1, 5):
                with pytest.raises(SearchError) as caught:
                    await engine.search(QUERY, page)
                waits.append(caught.value.wait)
                time.now += waits[-1]
            return waits

        assert use(settings(kind, server.origin), work, time) == [0.0, 0.0, 240.0, 480.0]
    assert len(server.asked) == 4


def test_a_redirect_is_not_followed(kind: str) -> None:
    with serving(says(answer(kind))) as thief:
        where = ("Location", f"{thief.origin}/steal?{KEY}")
        error = failing(kind, Says(status=302, headers=(where,)))
        assert thief.asked == []
    assert (error.kind, error.wait) == ("refused", INF)
    assert "127.0.0.1" in error.detail


@pytest.mark.parametrize(
    ("status", "failure", "wait"),
    [(400, "refused", 0.0), (401, "refused", INF), (402, "spent", INF), (403, "refused", INF),
     (404, "refused", INF), (422, "refused", 0.0), (451, "refused", INF)],
)  # fmt: skip
def test_refused(kind: str, status: int, failure: str, wait: float) -> None:
    words = {"error": {"detail": f"the <b>token</b> {KEY}\u202e is bad"}}
    error = failing(kind, says(words, status=status))
    assert (error.kind, error.wait) == (failure, wait)
    assert str(status) in error.detail
    if status in (400, 422):
        assert error.detail == f"it answered {status}: the token [key] is bad"


def test_refused_for_good(kind: str) -> None:
    """After a refusal, nothing more is sent; after three of questions alone, neither."""
    for status, sent in ((403, 1), (422, 3)):
        with serving(Says(status=status)) as server:

            async def work(engine: Any) -> list[float]:
                waits = []
                for _ in range(5):
                    with pytest.raises(SearchError) as caught:
                        await engine.search(QUERY, 1)
                    waits.append(caught.value.wait)
                return waits

            waits = use(settings(kind, server.origin), work)
        assert waits[-1] == INF
        assert len(server.asked) == sent


def test_json_is_not_switched_on() -> None:
    error = failing("searxng", Says(status=403))
    assert "settings.yml" in error.detail
    assert "json" in error.detail


def test_engines_behind_an_instance_fail() -> None:
    """An empty answer is believed the second time."""
    time = Time()
    mute = {"results": [], "unresponsive_engines": [["g", "too many requests"], ["b", "x\0"], 5]}
    with serving(says(mute)) as server:

        async def work(engine: Any) -> ResultPage:
            with pytest.raises(SearchError) as caught:
                await engine.search(QUERY, 1)
            assert (caught.value.kind, caught.value.wait) == ("limited", 60.0)
            assert caught.value.detail == "the engines behind it fail: g (too many requests), b (x)"
            time.now += 60
            found: ResultPage = await engine.search(QUERY, 1)
            return found

        assert use(settings("searxng", server.origin), work, time) == ResultPage((), more=False)
        assert len(server.asked) == 2


class Gossip:
    """A fetcher that tells more than it should."""

    async def fetch(self, request: Request) -> Response:
        raise ConnectError(request.url, f"could not reach it with {KEY}")

    async def aclose(self) -> None:
        pass


def test_an_error_that_knows_the_key() -> None:
    time = Time()
    engine = make_engine(
        settings("json-address", "http://a.test"), Gossip(), time, sleep=time.sleep
    )
    assert engine is not None
    with pytest.raises(SearchError) as caught:
        asyncio.run(engine.search(QUERY, 1))
    look_through(caught.value)
    assert caught.value.detail == "could not reach it with [key]"


@pytest.mark.parametrize("status", [401, 403])
def test_of_a_refused_key_the_engine_says_nothing_here(status: int) -> None:
    """It may say it in any form: backwards, in parts, by the name of its owner."""
    error = failing("json-header", says({"message": f"bad key {KEY[::-1]}"}, status=status))
    assert error.detail == f"it answered {status}"


def test_large_answers_are_read_beside_the_crawl() -> None:
    """Small ones at once, so that simulated time stays what it is."""
    here = threading.get_ident()
    read: list[bool] = []

    class Echo:
        def __init__(self, size: int) -> None:
            self.body = b'{"results":[' + b"1," * (size // 2) + b"1]}"

        async def fetch(self, request: Request) -> Response:
            return Response(request.url, 200, (), b"", self.body, b"", b"", "", 0.0, 0.0)

        async def aclose(self) -> None: ...

    def reading(raw: Raw) -> ResultPage:
        read.append(threading.get_ident() == here)
        return ResultPage(())

    for size in (1_000, 190_000, 210_000, 1_900_000):
        asyncio.run(
            EngineHttpClient(Echo(size), Time()).fetch_results(Url("http://a.test/"), reading)
        )
    assert read == [True, True, False, False]
