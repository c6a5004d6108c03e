"""Proxies and the lab."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from honeyguide.errors import ConfigError, Forbidden
from honeyguide.fetch.http import CurlFetcher
from honeyguide.types import Request, Url
from tests.unit.raw_server import OPEN, PAGE, Server, get, reply, serving, use


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def test_the_environment_is_not_asked(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.routes["/"] = [reply()]
    assert get(server.url("/")).status == 200


def test_a_proxy_is_asked_for_whole_addresses(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    proxied = replace(OPEN, proxy=f"http://127.0.0.1:{server.port}", private_addresses=False)
    server.routes["http://no.where.test/x"] = [reply()]
    got = get(Url("http://no.where.test/x"), proxied)
    assert got.body == PAGE
    assert got.request_head == server.requests[0]
    for url in ("http://10.0.0.1/", "http://localhost/", "http://[::1]/", "http://a.localhost/"):
        with pytest.raises(Forbidden):
            get(Url(url), proxied)
    with pytest.raises(ConfigError, match=r"fetch\.proxy"):
        get(Url("http://a.test/"), replace(OPEN, proxy="socks5://127.0.0.1:1"))


def socks_once(listener: socket.socket, seen: list[bytes]) -> None:
    """A SOCKS5 server for one connection, which answers in the target's stead."""
    sock, _ = listener.accept()
    with sock, sock.makefile("rb") as file:
        file.read(file.read(2)[1])
        sock.sendall(b"\x05\x00")
        head = file.read(4)
        name = file.read(file.read(1)[0]) if head[3] == 3 else b""
        file.read(2)
        seen.append(head + name)
        sock.sendall(b"\x05\x00\x00\x01" + bytes(6))
        while file.readline().strip():
            pass
        sock.sendall(reply())


def test_socks_proxies_resolve_names_themselves() -> None:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(5)
        thread = threading.Thread(target=socks_once, args=(listener, seen))
        thread.start()
        port = listener.getsockname()[1]
        got = get(Url("http://no.where.test/"), replace(OPEN, proxy=f"socks5h://127.0.0.1:{port}"))
        thread.join(5)
    assert got.body == PAGE
    assert got.request_head.startswith(b"GET / HTTP/1.1\r\n")
    assert seen == [b"\x05\x01\x00\x03no.where.test"]


LAB = reply(b"{}", "Server: honeyguide-lab", kind="application/json")


def test_the_lab(server: Server) -> None:
    settings = replace(OPEN, lab=f"127.0.0.1:{server.port}", private_addresses=False)
    server.routes["http://lab.invalid/"] = [LAB]
    server.routes["http://10.0.0.1/x"] = [reply()]

    async def work(fetcher: CurlFetcher) -> None:
        for _ in range(2):
            assert (await fetcher.fetch(Request(Url("http://10.0.0.1/x")))).body == PAGE
        with pytest.raises(Forbidden, match="http:// addresses only"):
            await fetcher.fetch(Request(Url("https://10.0.0.1/x")))

    use(work, settings)
    assert len(server.requests) == 3


def test_not_a_lab(server: Server) -> None:
    server.routes["http://lab.invalid/"] = [reply(b"", "Server: nginx")]
    for address in (f"127.0.0.1:{server.port}", f"http://localhost:{server.port}/"):
        with pytest.raises(ConfigError, match=r"fetch\.lab: no lab answers at"):
            get(Url("http://a.test/"), replace(OPEN, lab=address))
    for address in ("192.0.2.1:80", "example.com:80", "127.0.0.1", "127.0.0.1:x", "socks5h://x:1"):
        with pytest.raises(ConfigError, match="on this machine"):
            get(Url("http://a.test/"), replace(OPEN, lab=address))
    assert not any(b"a.test" in request for request in server.requests)
