"""A search engine on this machine that answers as it is told, and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from honeyguide.config.settings import FetchSettings, SearchSettings, Settings
from honeyguide.errors import SearchError
from honeyguide.fetch.http import CurlFetcher
from honeyguide.protocols import Fetcher
from honeyguide.search.engine import ResultPage, SearchEngine
from honeyguide.search.engines import make_engine, make_engine_fetcher
from honeyguide.search.query import Query

T = TypeVar("T")
ENGINES = ["searxng", "brave", "json-header", "json-address"]
KEY = "s3cr/t+KEY=for&tests"
"""With signs that look different in an address, in JSON and in HTML."""
QUERY = Query(("lupus", "living with"), ("side effects",))
HOME = Settings(
    fetch=FetchSettings(contact="me@x.test", connect_s=2, read_s=0.4, total_s=3),
)


@dataclass(frozen=True)
class Says:
    """One answer of the engine."""

    body: bytes = b""
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0


def says(answer: Any, **more: Any) -> Says:
    return Says(json.dumps(answer).encode(), **more)


class Asked:
    """One request that came."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        self.target = handler.path
        self.path = urlsplit(handler.path).path
        self.query = dict(parse_qsl(urlsplit(handler.path).query))
        self.headers = handler.headers


class EngineServer:
    """Gives its answers in order, and the last one again and again."""

    def __init__(self, *answers: Says) -> None:
        self.asked: list[Asked] = []
        self._answers = list(answers)
        self._closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append(Asked(self))
                answer = outer._answers.pop(0) if len(outer._answers) > 1 else outer._answers[0]
                outer._closing.wait(answer.delay)
                with suppress(OSError):
                    self.send_response(answer.status)
                    self.send_header("Content-Type", answer.kind)
                    self.send_header("Content-Length", str(len(answer.body)))
                    for name, value in answer.headers:
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(answer.body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@contextmanager
def serving(*answers: Says) -> Iterator[EngineServer]:
    server = EngineServer(*answers)
    try:
        yield server
    finally:
        server.close()


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def settings(engine: str, origin: str, **more: Any) -> SearchSettings:
    """An engine of that kind at that address; ``json-header`` and ``json-address`` with a key."""
    plain = SearchSettings(engine=engine, per_minute=0, key_env="HONEYGUIDE_THE_KEY")
    found = {
        "searxng": replace(plain, url=f"{origin}/search"),
        "brave": replace(plain, url=f"{origin}/res/v1/web/search"),
        "json-header": replace(
            plain,
            engine="json",
            url=f"{origin}/api?q={{query}}&p={{page}}",
            header="X-Api-Key",
        ),
        "json-address": replace(
            plain, engine="json", url=f"{origin}/api?key={{key}}&q={{query}}&p={{page}}"
        ),
    }[engine]
    return replace(found, **more)


def answer(engine: str, *entries: Any) -> dict[str, Any]:
    """Entries as that engine wraps them."""
    return {"web": {"results": list(entries)}} if engine == "brave" else {"results": list(entries)}


def entry(engine: str, url: Any, title: Any = "", snippet: Any = "") -> dict[str, Any]:
    return {"url": url, "title": title, "description" if engine == "brave" else "content": snippet}


def use(
    search: SearchSettings,
    work: Callable[[SearchEngine], Awaitable[T]],
    time: Time | None = None,
    *,
    lab: bool = False,
) -> T:
    """Work with the engine through the real fetcher."""
    time = time or Time()

    async def main() -> T:
        fetcher: Fetcher = make_engine_fetcher(HOME)
        assert isinstance(fetcher, CurlFetcher)
        try:
            engine = make_engine(search, fetcher, time, lab=lab, sleep=time.sleep)
            assert engine is not None
            return await work(engine)
        finally:
            await fetcher.aclose()

    return asyncio.run(main())


def ask(search: SearchSettings, page: int = 1, time: Time | None = None) -> ResultPage:
    return use(search, lambda engine: engine.search(QUERY, page), time)


def assert_without_key(*texts: str) -> None:
    for text in texts:
        for form in (KEY, quote(KEY, safe=""), quote(KEY), b64encode(KEY.encode()).decode()[:20]):
            assert form not in text


def failing(kind: str, *answers: Says, time: Time | None = None, page: int = 1) -> SearchError:
    """The error of one question, looked through for the key."""
    with serving(*answers) as server, pytest.raises(SearchError) as caught:
        ask(settings(kind, server.origin), page, time)
    look_through(caught.value)
    return caught.value


def look_through(error: SearchError) -> None:
    told = "".join(traceback.format_exception(error))
    assert error.__context__ is None, "an error behind it would know the address"
    assert_without_key(str(error), repr(error), error.detail, repr(error.args), told)
    assert error.detail


@contextmanager
def nothing_told(patch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever is done meanwhile, the key is in no log."""
    patch.setenv("HONEYGUIDE_THE_KEY", KEY)
    with caplog.at_level(logging.DEBUG):
        yield
    assert_without_key(caplog.text, *(repr(vars(record)) for record in caplog.records))
