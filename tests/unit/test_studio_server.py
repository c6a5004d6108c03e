"""The server on a real socket: slow clients are cut, crowds are turned away, Ctrl-C ends it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from honeyguide.api.create import create
from honeyguide.errors import ConfigError
from honeyguide.studio import serving
from honeyguide.studio.endpoints import RouteAnswerer
from honeyguide.studio.routes import RequestContext, Route, StreamAnswer
from honeyguide.studio.serving import StaticAssets, Studio, bind_studio, make_server

ended = threading.Event()


def endless(_: RequestContext) -> StreamAnswer:
    """More than any buffer takes."""

    def chunks() -> Iterator[bytes]:
        try:
            while True:
                yield b"a" * 1_000_000
        finally:
            ended.set()

    return StreamAnswer(chunks(), "text/csv")


def screen(_: RequestContext) -> StreamAnswer:
    """Events, of which none comes."""

    async def events() -> AsyncIterator[bytes]:
        yield b": hello\n\n"
        await asyncio.sleep(60)

    return StreamAnswer(events())


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A studio in a thread, with little patience and few seats."""
    monkeypatch.setattr(serving, "_HEAD_S", 0.3)
    monkeypatch.setattr(serving, "_STRANGER_S", 0.3)
    monkeypatch.setattr(serving, "_CONNECTIONS", 20)
    monkeypatch.setattr(serving, "_STRANGERS", 30)
    monkeypatch.setattr(serving, "SEND_S", 0.3)
    found = bind_studio(tmp_path)
    ready = threading.Event()
    more = (Route("GET", "/api/endless", endless), Route("GET", "/api/screen", screen))
    routes = (*serving.all_routes(), *more)
    inner = serving._route_app(routes, RouteAnswerer(found.runs, found.shared), StaticAssets())
    running = make_server(serving.GuardedApp(inner, found.gate), ready.set)
    thread = threading.Thread(target=running.run, args=([found.listening],))
    thread.start()
    assert ready.wait(20)
    yield found
    running.should_exit = True
    thread.join(20)
    found.runs.close()
    found.shared.close()
    found.listening.close()


def connect(found: Studio) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", found.gate.port), timeout=10)
    client.settimeout(10)
    return client


def head(found: Studio, line: str, *more: str) -> bytes:
    lines = [line, "Host: 127.0.0.1", f"Authorization: Bearer {found.gate.token}", *more]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(found: Studio, request: bytes) -> bytes:
    with connect(found) as client:
        client.sendall(request)
        return client.recv(65536)


def test_it_listens_on_this_machine_only(served: Studio) -> None:
    assert served.listening.getsockname()[0] == "127.0.0.1"
    assert answer(served, head(served, "GET /api/collections HTTP/1.1")).startswith(b"HTTP/1.1 200")


def test_a_head_that_trickles_is_cut(served: Studio) -> None:
    began = time.monotonic()
    with connect(served) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 60:
                client.sendall(b"X-A: b\r\n")
                time.sleep(0.05)
        assert time.monotonic() - began < 30


def test_a_silent_connection_is_cut(served: Studio) -> None:
    with connect(served) as client, contextlib.suppress(ConnectionResetError):
        assert client.recv(10) == b""


def test_one_that_is_kept_alive_and_falls_silent_is_cut(served: Studio) -> None:
    with connect(served) as client:
        client.sendall(head(served, "GET /api/collections HTTP/1.1"))
        said = b""
        while not said.endswith(b"\r\n\r\n[]"):
            said += client.recv(65536)
        with contextlib.suppress(ConnectionResetError):
            client.sendall(b"GET / HT")
            assert client.recv(10) == b""


def test_one_that_takes_nothing_is_cut(served: Studio, caplog: pytest.LogCaptureFixture) -> None:
    ended.clear()
    with connect(served) as client:
        client.sendall(head(served, "GET /api/endless HTTP/1.1"))
        assert ended.wait(10)
    assert "Traceback" not in caplog.text


def test_one_that_goes_away_is_noticed(served: Studio) -> None:
    ended.clear()
    with connect(served) as client:
        client.sendall(head(served, "GET /api/endless HTTP/1.1"))
        client.recv(1000)
    assert ended.wait(10)


def test_a_body_that_is_refused_is_not_read_on(served: Studio) -> None:
    more = ("X-Honeyguide: 1", "Content-Type: application/json", "Transfer-Encoding: chunked")
    with connect(served) as client:
        client.sendall(head(served, "POST /api/collections HTTP/1.1", *more))
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 500:
                client.sendall(b"100000\r\n" + b"a" * 0x100000 + b"\r\n")
                sent += 1
        assert sent < 100


@pytest.mark.parametrize(
    ("kind", "status", "token"),
    [
        ("text/plain", b"415", True),
        ("application/json", b"413", True),
        ("text/plain", b"401", False),
    ],
)
def test_who_is_refused_while_sending_hears_why(
    served: Studio, kind: str, status: bytes, token: bool
) -> None:
    """A connection that is closed with unread bytes in it is reset, and the answer lost."""
    body = b"a" * (16_000_000 if status == b"413" else 50_000)
    more = ("X-Honeyguide: 1", f"Content-Type: {kind}", f"Content-Length: {len(body)}")
    request = head(served, "POST /api/collections HTTP/1.1", *more)
    if not token:
        request = request.replace(served.gate.token.encode(), b"wrong")
    with connect(served) as client:
        client.sendall(request)
        for at in range(0, len(body), 10_000 if len(body) < 1_000_000 else 1_000_000):
            time.sleep(0.01)
            client.sendall(body[at : at + (10_000 if len(body) < 1_000_000 else 1_000_000)])
        assert client.recv(65536).split()[1] == status


def test_an_endless_head_is_refused(served: Studio) -> None:
    with contextlib.suppress(OSError):
        assert b" 400 " in answer(served, b"GET /" + b"a" * 200_000)


@pytest.fixture
def crowd(served: Studio, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[socket.socket]]:
    """Connections that say nothing, far more than there is room for, and nobody's patience ends."""
    monkeypatch.setattr(serving, "_STRANGER_S", 30.0)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(served)) for _ in range(300)]


def test_a_silent_crowd_does_not_shut_the_studio(
    served: Studio, crowd: list[socket.socket]
) -> None:
    assert answer(served, head(served, "GET /api/collections HTTP/1.1")).startswith(b"HTTP/1.1 200")
    with contextlib.suppress(ConnectionResetError):
        assert crowd[0].recv(1) == b"", "the oldest had to go"
    crowd[-1].sendall(head(served, "GET /api/collections HTTP/1.1"))
    assert crowd[-1].recv(15) == b"HTTP/1.1 200 OK"


def test_one_that_was_let_in_outlives_a_crowd(served: Studio) -> None:
    with connect(served) as ours, contextlib.ExitStack() as stack:
        ours.sendall(head(served, "GET /api/endless HTTP/1.1"))
        assert ours.recv(15) == b"HTTP/1.1 200 OK"
        for _ in range(100):
            stack.enter_context(connect(served))
        assert answer(served, head(served, "GET / HTTP/1.1")).startswith(b"HTTP/1.1 200")
        assert len(ours.recv(1000)) > 0
        assert ours.recv(1000), "it goes on"


def test_open_screens_do_not_shut_their_owner_out(served: Studio) -> None:
    asking = head(served, "GET /api/collections HTTP/1.1")
    with contextlib.ExitStack() as stack:
        screens = [stack.enter_context(connect(served)) for _ in range(21)]
        for client in screens:
            client.sendall(head(served, "GET /api/screen HTTP/1.1"))
            assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert answer(served, asking).startswith(b"HTTP/1.1 200")
        with contextlib.suppress(ConnectionResetError):
            while screens[0].recv(65536):
                pass
        screens[-1].settimeout(0.2)
        with pytest.raises(TimeoutError):
            list(iter(lambda: screens[-1].recv(65536), b""))


def test_strangers_have_less_patience_shown_to_them() -> None:
    assert serving._STRANGER_S <= 2.0 < serving._HEAD_S
    assert serving._BACKLOG < serving._STRANGERS / 2


@pytest.mark.parametrize(
    "request_",
    [b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET http://evil.example/ HTTP/1.1\r\n\r\n",
     b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01",
     b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
     b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"],
)  # fmt: skip
def test_what_is_no_request_is_no_trouble(served: Studio, request_: bytes) -> None:
    with contextlib.suppress(ConnectionResetError):
        said = answer(served, request_)
        assert not said or said.split()[1] in (b"400", b"401", b"421", b"403")


def test_a_taken_port_is_told(served: Studio, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is taken"):
        bind_studio(tmp_path, served.gate.port)
    with pytest.raises(ConfigError, match="not a folder"):
        bind_studio(tmp_path / "nowhere")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_prints_the_address_and_ends_when_asked(
    tmp_path: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "honeyguide", "serve", str(tmp_path), "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["address"].startswith(f"http://127.0.0.1:{said['port']}/#token=")
        assert said["token"] not in said["address"], "browsers keep addresses"
        process.send_signal(number)
        _, talk = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in talk
    assert "closed" in talk


def test_no_other_command_loads_the_server() -> None:
    code = "import sys, honeyguide.cli.main; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"starlette", "uvicorn", "anyio"} & set(done.stdout.split())


def test_a_crawl_can_be_started_with_the_studio(tmp_path: Path) -> None:
    create(tmp_path / "birds", seeds="http://127.0.0.1:9/", contact="me@example.org")
    command = [sys.executable, "-m", "honeyguide", "crawl", str(tmp_path / "birds")]
    with subprocess.Popen(
        [*command, "--studio", "--json", "--pages", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"BROWSER": "true"},
    ) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["address"].endswith("/c/birds/live")
        request = urllib.request.Request(
            f"http://127.0.0.1:{said['port']}/api/c/birds/run",
            headers={"Authorization": f"Bearer {said['token']}"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            run = json.load(answer)
        assert (run["kind"], run["arguments"]) == ("crawl", ["--pages=3"])
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=30)
    assert "Traceback" not in talk
    assert process.returncode == 0
