"""The lab's server, asked over real sockets on this machine."""

from __future__ import annotations

import asyncio
import gzip
import http.client
from collections.abc import Awaitable, Callable

import pytest

from honeyguide.lab.responses import ServingOptions
from honeyguide.lab.server import LabServer
from honeyguide.lab.web import RecordedResponse, RecordedWeb, gzip_bytes
from tests.lab_thread import serve_in_thread

BODY = b"<p>hello" * 50
HTML = (("Content-Type", "text/html"),)
WEB = RecordedWeb(
    [
        RecordedResponse("https://a.org/", 200, HTML, gzip_bytes(BODY)),
        RecordedResponse("http://a.org/big", 200, HTML, gzip_bytes(bytes(5_000_000))),
    ],
    {"http://a.org/old": "https://a.org/"},
)


def talk(*sent: bytes, **options: object) -> bytes:
    """Everything that comes back for these bytes, sent piece by piece."""

    async def run(server: LabServer) -> bytes:
        reader, writer = await connect(server)
        for piece in sent:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer

    return with_server(run, **options)


def with_server(run: Callable[[LabServer], Awaitable[bytes]], **options: object) -> bytes:
    async def main() -> bytes:
        async with LabServer(WEB, **options) as server:  # type: ignore[arg-type]
            return await asyncio.wait_for(run(server), 10)

    return asyncio.run(main())


async def connect(server: LabServer) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    return await asyncio.open_connection(host, int(port))


def get(
    target: str = "http://a.org/", *headers: str, method: str = "GET", close: bool = True
) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *headers, *(["Connection: close"] if close else [])]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def head_of(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in rest), body


@pytest.mark.parametrize("request_", [get(), get("https://A.org:443/"), get("http://a.org"),
                                      get("/", "hOST: a.org")])  # fmt: skip
def test_absolute_and_origin_form(request_: bytes) -> None:
    status, headers, body = head_of(talk(request_))
    assert (status, body) == (200, BODY)
    assert headers["server"] == "honeyguide-lab"
    assert headers["content-length"] == str(len(BODY))
    assert headers["connection"] == "close"


def test_one_connection_serves_many_requests_in_any_pieces() -> None:
    stream = get(close=False) + get("http://a.org/none", close=False) + get()
    whole = talk(stream)
    assert whole.count(b"HTTP/1.1 200 OK") == 2
    assert whole.count(b"HTTP/1.1 404 Not Found") == 1
    pieces = [stream[n : n + 7] for n in range(0, len(stream), 7)]
    assert head_of(talk(*pieces))[0] == 200


def test_gzip_only_when_accepted() -> None:
    _, headers, body = head_of(talk(get("http://a.org/", "Accept-Encoding: br, gzip;q=0.8")))
    assert headers["content-encoding"] == "gzip"
    assert headers["content-length"] == str(len(body))
    assert gzip.decompress(body) == BODY
    _, headers, body = head_of(talk(get("http://a.org/", "Accept-Encoding: gzip;q=0, br")))
    assert "content-encoding" not in headers
    assert body == BODY


def test_head_and_not_modified() -> None:
    status, headers, body = head_of(talk(get(method="HEAD")))
    assert (status, headers["content-length"], body) == (200, str(len(BODY)), b"")
    tag = headers["etag"].replace("w/", "W/")
    status, again, body = head_of(talk(get("http://a.org/", f'If-None-Match: "other", {tag}')))
    assert (status, body, again["etag"]) == (304, b"", headers["etag"])
    assert "content-length" not in again


def test_redirects() -> None:
    status, headers, _ = head_of(talk(get("http://a.org/old")))
    assert (status, headers["location"]) == (301, "http://a.org/")


@pytest.mark.parametrize(
    ("sent", "status", "says"),
    [
        (get("a.org:443", method="CONNECT"), 501, b"use http:// addresses"),
        (get("http://c.org/"), 502, b"c.org is not in this web"),
        (get(method="POST"), 405, b"GET and HEAD"),
        (get("/"), 400, b"names no host"),
        (b"hello there\r\n\r\n", 400, b"not an HTTP/1.1 request"),
        (b"GET http://a.org/ HTTP/1.1\r\nX: " + b"x" * 70_000, 431, b"too long"),
        (get("/", "Host: a.org", "Content-Length: 99999999"), 413, b"no bodies"),
        (get("/", "Host: a.org", "Content-Length: nine"), 413, b"no bodies"),
        (get("http://[::1/"), 400, b"not an address"),
        (b"GET http://a.org/\xc3\xbc\xff HTTP/1.1\r\n\r\n", 404, b"No such page"),
    ],
)  # fmt: skip
def test_what_it_refuses(sent: bytes, status: int, says: bytes) -> None:
    answer = talk(sent)
    assert head_of(answer)[0] == status
    assert b"Server: honeyguide-lab\r\n" in answer
    assert says in answer


def test_request_bodies_are_thrown_away() -> None:
    post = get("http://a.org/", "Content-Length: 5", method="POST", close=False) + b"GET /"
    answer = talk(post + get())
    assert answer.startswith(b"HTTP/1.1 405")
    assert answer.count(b"HTTP/1.1 200") == 1


def test_latency_keeps_the_order_of_answers() -> None:
    stream = get("http://a.org/none", close=False) + get()
    answer = talk(stream, serving=ServingOptions(latency_s=0.01))
    assert answer.index(b" 404 ") < answer.index(b" 200 ")


def test_slow_clients_are_cut_off() -> None:
    async def asks_slowly(server: LabServer) -> bytes:
        reader, writer = await connect(server)
        writer.write(b"GET http://a.org/")
        answer = await reader.read()
        writer.close()
        return answer

    assert with_server(asks_slowly, slow_s=0.05) == b""

    async def reads_nothing(server: LabServer) -> bytes:
        _, writer = await connect(server)
        for _ in range(3):
            writer.write(get("http://a.org/big", close=False))
        while not server.connections:
            await asyncio.sleep(0.01)
        while server.connections:
            await asyncio.sleep(0.01)
        writer.transport.abort()
        return b""

    assert with_server(reads_nothing, slow_s=0.05) == b""


def test_a_thread_of_its_own_serves_an_ordinary_client() -> None:
    with serve_in_thread(WEB) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
        for target in ("http://a.org/", "http://lab.invalid/"):
            connection.request("GET", target)
            answer = connection.getresponse()
            assert answer.status == 200
            assert answer.read()
        connection.request("GET", "/")  # as a browser asks: its own address, not a proxy's
        assert b'"pages": 2' in connection.getresponse().read()
        connection.close()
