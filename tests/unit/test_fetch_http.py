"""The fetcher against a raw server on this machine."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
from collections.abc import Iterator
from dataclasses import replace

import brotli
import pytest
import zstandard

from honeyguide.errors import (
    ConnectError,
    DnsError,
    FetchError,
    FetchTimeout,
    Forbidden,
    ProtocolError,
    TooLarge,
    WrongType,
)
from honeyguide.fetch.http import CurlFetcher
from honeyguide.types import Request, Url
from tests.unit.raw_server import CLOSE, OPEN, PAGE, Server, get, reply, serving, use


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def test_a_page(server: Server) -> None:
    server.routes["/a?b=c"] = [reply(PAGE, "X-A: 1", "x-a: 2", 'ETag: "e"')]
    before = time.time()
    got = get(Request(server.url("/a?b=c"), referer=Url("http://from.test/")))
    assert (got.status, got.body, got.payload) == (200, PAGE, PAGE)
    assert [value for name, value in got.headers if name.lower() == "x-a"] == ["1", "2"]
    assert got.request_head == server.requests[0]
    assert b"Referer: http://from.test/\r\n" in got.request_head
    assert b"User-Agent: Honeyguide/0.1 (+me@x.test)\r\n" in got.request_head
    assert got.head + got.payload == server.routes["/a?b=c"][0]
    assert got.ip == "127.0.0.1"
    assert before <= got.started <= time.time()
    assert 0 < got.elapsed < 2


@pytest.mark.parametrize(
    ("coding", "payload"),
    [
        ("gzip", gzip.compress(PAGE, mtime=0)), ("br", brotli.compress(PAGE)),
        ("zstd", zstandard.compress(PAGE)),
        ("gzip, br", brotli.compress(gzip.compress(PAGE, mtime=0))),
    ],
)  # fmt: skip
def test_codings(server: Server, coding: str, payload: bytes) -> None:
    server.routes["/"] = [reply(payload, f"Content-Encoding: {coding}")]
    got = get(server.url("/"))
    assert got.body == PAGE
    assert got.payload == payload


def test_truncated_and_corrupt_bodies(server: Server) -> None:
    payload = gzip.compress(PAGE)
    server.routes["/short"] = [reply(payload[:-6], "Content-Encoding: gzip")]
    server.routes["/lie"] = [reply(PAGE, "Content-Encoding: gzip")]
    server.routes["/moved"] = [reply(PAGE, "Content-Encoding: gzip", status="302 Found")]
    server.routes["/cut"] = [reply(PAGE)[:-10], CLOSE]
    assert get(server.url("/short")).body == PAGE
    with pytest.raises(ProtocolError, match="broken gzip"):
        get(server.url("/lie"))
    assert get(server.url("/moved")).body == b""
    with pytest.raises(ConnectError):
        get(server.url("/cut"))


def test_chunks_are_joined_and_the_head_says_so(server: Server) -> None:
    server.routes["/"] = [
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"3\r\nabc\r\n", 0.02, b"2\r\nde\r\n0\r\nTrail: 1\r\n\r\n",
    ]  # fmt: skip
    got = get(server.url("/"))
    assert got.payload == b"abcde"
    assert got.headers == (("Transfer-Encoding", "chunked"),)
    assert got.head.endswith(
        b"X-Archive-Orig-Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"
    )


@pytest.mark.parametrize("location", ["/b", "file:///etc/passwd", "http://169.254.169.254/", "%%"])
def test_redirects_are_answers(server: Server, location: str) -> None:
    server.routes["/a"] = [reply(b"x" * 100_000, f"Location: {location}", status="301 Moved")]
    got = get(server.url("/a"))
    assert (got.status, got.header("location")) == (301, location)
    assert len(got.body) == 65_536
    assert b"\r\nX-Archive-Orig-Content-Length: 100000\r\n" in got.head
    assert got.head.endswith(b"\r\nContent-Length: 65536\r\n\r\n")
    assert len(server.requests) == 1


def test_bombs(server: Server) -> None:
    bomb = gzip.compress(bytes(40_000_000))
    server.routes["/"] = [reply(bomb, "Content-Encoding: gzip")]
    with pytest.raises(TooLarge, match="inflates"):
        get(server.url("/"), replace(OPEN, html_mb=50, inflate_ratio=50))
    with pytest.raises(TooLarge, match="passes 10000000"):
        get(server.url("/"), replace(OPEN, inflate_ratio=1e6))


def test_large_bodies_are_refused_or_cut_on_the_wire(server: Server) -> None:
    endless: list[bytes | float] = [b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"]
    endless += [b"x" * 100_000] * 100
    server.routes["/endless"] = [*endless, CLOSE]
    server.routes["/long"] = [reply(b"x" * 2_000_000)]
    server.routes["/xml"] = [reply(b"x" * 2_000_000, kind="text/xml")]
    small = replace(OPEN, html_mb=1, document_mb=3)
    with pytest.raises(TooLarge, match="more than 1000000 bytes received"):
        get(server.url("/endless"), small)
    with pytest.raises(TooLarge, match="2000000 bytes announced"):
        get(server.url("/long"), small)
    assert len(get(server.url("/xml"), small).body) == 2_000_000
    with pytest.raises(TooLarge):
        get(Request(server.url("/xml"), limit=1_999_999), small)
    cut = get(Request(server.url("/endless"), limit=70_001, truncate=True), small)
    assert cut.body == cut.payload == b"x" * 70_001


def test_the_wrong_type_is_refused_before_its_body(server: Server) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: Image/PNG; x\r\nContent-Length: 9000000\r\n\r\nx"
    server.routes["/"] = [head, 60.0]
    started = time.monotonic()
    with pytest.raises(WrongType, match="image/png"):
        get(server.url("/"), replace(OPEN, read_s=60, total_s=60))
    assert time.monotonic() - started < 30
    server.routes["/small"] = [reply(b"x", kind="image/png")]
    server.routes["/gone"] = [reply(b"x", kind="image/png", status="404 Gone")]
    server.routes["/untyped"] = [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]
    assert get(Request(server.url("/small"), any_type=True)).body == b"x"
    assert get(server.url("/gone")).status == 404
    assert get(server.url("/untyped")).body == b"ok"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("steps", "kind"),
    [
        ([3.0], FetchTimeout),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab", 3.0], FetchTimeout),
        ([b"HTTP/1.1 200 OK\r\n", *[b"A: b\r\n", 0.3] * 20], FetchTimeout),
        ([CLOSE], ConnectError),
        ([b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", CLOSE], ConnectError),
        ([b"rubbish\r\n\r\n", CLOSE], ProtocolError),
        ([b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", CLOSE], ProtocolError),
        ([CHUNKED + b"zz\r\n", CLOSE], ProtocolError),
        ([b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1001 + b"\r\n", CLOSE], ProtocolError),
        ([b"HTTP/1.1 200 OK\r\nA: " + b"b" * 270_000 + b"\r\n\r\n", CLOSE], ProtocolError),
        ([b"HTTP/1.1 200 OK\r\n" + b"A: bbbbbbbb\r\n" * 90_000, CLOSE], ProtocolError),
        ([reply(PAGE, "Content-Encoding: exi")], ProtocolError),
        ([CHUNKED, b"1\r\nx\r\n" * 100_002, CLOSE], ProtocolError),
        ([reply(PAGE, "Transfer-Encoding: exi"), CLOSE], ProtocolError),
    ],
)
def test_misbehaviour(server: Server, steps: list[bytes | float], kind: type[FetchError]) -> None:
    server.routes["/"] = steps
    with pytest.raises(kind):
        get(server.url("/"), replace(OPEN, total_s=1.5))


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ConnectError):
        get(Url(f"http://127.0.0.1:{port}/"))
    with pytest.raises(DnsError, match="not found"):
        get(Url("http://no.such.test/"))


@pytest.mark.parametrize("host", ["127.0.0.1", "a.test", "localhost", "[::ffff:127.0.0.1]"])
def test_private_addresses_are_refused(server: Server, host: str) -> None:
    server.routes["/"] = [reply()]
    with pytest.raises(Forbidden, match="loopback address"):
        get(server.url("/", host), replace(OPEN, private_addresses=False))
    assert server.connections == 0


@pytest.mark.parametrize("url", ["ftp://a.test/", "file:///etc/passwd", "gopher://a.test/"])
def test_http_only(url: str) -> None:
    with pytest.raises(ProtocolError):
        get(Url(url))


def test_no_passwords() -> None:
    with pytest.raises(Forbidden):
        get(Url("http://me:secret@a.test/"))


def test_names_go_through_the_resolver_and_keep_their_host_header(server: Server) -> None:
    server.routes["/"] = [reply()]
    got = get(server.url("/", "deep.a.test"))
    assert got.ip == "127.0.0.1"
    assert f"Host: deep.a.test:{server.port}\r\n".encode() in server.requests[0]


def test_connections_are_reused(server: Server) -> None:
    server.routes["/"] = [reply()]

    async def work(fetcher: CurlFetcher) -> None:
        for _ in range(5):
            await fetcher.fetch(Request(server.url("/", "a.test")))
        await asyncio.gather(*(fetcher.fetch(Request(server.url("/"))) for _ in range(4)))

    use(work)
    assert server.connections == 5


def test_nothing_of_one_request_reaches_the_next(server: Server) -> None:
    server.routes["/a"] = [reply(b"a" * 50, "X-Only: a")]
    server.routes["/b"] = [reply(b"b")]

    async def work(fetcher: CurlFetcher) -> None:
        await fetcher.fetch(Request(server.url("/a"), referer=Url("http://r/"), etag='"e"'))
        got = await fetcher.fetch(Request(server.url("/b")))
        assert got.body == b"b"
        assert got.header("x-only") == ""

    use(work)
    assert b"Referer" not in server.requests[1]
    assert b"If-None-Match" not in server.requests[1]


def test_heads_do_not_add_up_over_requests(server: Server) -> None:
    server.routes["/"] = [reply(b"x", f"X-Long: {'y' * 90_000}")]

    async def work(fetcher: CurlFetcher) -> None:
        for _ in range(4):
            assert (await fetcher.fetch(Request(server.url("/")))).body == b"x"

    use(work)


def test_cancelling_hangs_up_and_leaves_the_fetcher_usable(server: Server) -> None:
    server.routes["/slow"] = [0.5, reply()]
    server.routes["/"] = [reply()]

    async def work(fetcher: CurlFetcher) -> None:
        slow = asyncio.create_task(fetcher.fetch(Request(server.url("/slow"))))
        await asyncio.sleep(0.1)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert (await fetcher.fetch(Request(server.url("/")))).body == PAGE

    use(work)


def test_closing_with_requests_under_way(server: Server) -> None:
    server.routes["/slow"] = [0.5, reply()]

    async def work(fetcher: CurlFetcher) -> None:
        slow = asyncio.create_task(fetcher.fetch(Request(server.url("/slow"))))
        await asyncio.sleep(0.05)
        await fetcher.aclose()
        with pytest.raises(asyncio.CancelledError):
            await slow

    use(work)


def test_conditional_requests(server: Server) -> None:
    server.routes["/"] = [b'HTTP/1.1 304 Not Modified\r\nETag: "e"\r\n\r\n']
    date = "Tue, 14 Nov 2023 22:13:20 GMT"
    got = get(Request(server.url("/"), etag='"e"', modified=date))
    assert (got.status, got.body) == (304, b"")
    assert b'If-None-Match: "e"\r\n' in server.requests[0]
    assert f"If-Modified-Since: {date}\r\n".encode() in server.requests[0]
    get(Request(server.url("/"), etag='"e"\r\nX-Evil: 1', modified="\0"))
    assert b"Evil" not in server.requests[1]
    assert b"If-" not in server.requests[1]


def test_cookies(server: Server) -> None:
    server.routes["/"] = [reply(PAGE, "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Domain=test")]

    async def work(fetcher: CurlFetcher) -> None:
        for host in ("a.test", "a.test", "b.test"):
            await fetcher.fetch(Request(server.url("/", host)))

    use(work)
    assert [b"Cookie: a=1\r\n" in request for request in server.requests] == [False, True, False]
    assert not any(b"b=2" in request for request in server.requests)
    server.requests.clear()
    use(work, replace(OPEN, cookies=False))
    assert not any(b"Cookie" in request for request in server.requests)
