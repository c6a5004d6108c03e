"""A server on this machine that sends scripted bytes, and a fetcher pointed at it."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from honeyguide.config.settings import FetchSettings
from honeyguide.fetch.dns import DnsResolver, NoSuchName
from honeyguide.fetch.http import CurlFetcher
from honeyguide.types import Request, Response, Url

T = TypeVar("T")
OPEN = FetchSettings(private_addresses=True, connect_s=2, read_s=1, total_s=3)
PAGE = b"<html><title>Hello</title>" + b"<p>some words</p>" * 200
CLOSE = b"\0close\0"
"""Sent instead of bytes: the server hangs up."""


def reply(
    body: bytes = PAGE, *headers: str, status: str = "200 OK", kind: str = "text/html"
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    return "\r\n".join((*lines, *headers, "", "")).encode("latin-1") + body


class Server:
    """Answers a path with scripted bytes; keeps what it was sent."""

    def __init__(self) -> None:
        self.routes: dict[str, list[bytes | float]] = {}
        self.requests: list[bytes] = []
        self.connections = 0
        self.gone = 0
        self._closing = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, path: str, host: str = "127.0.0.1") -> Url:
        return Url(f"http://{host}:{self.port}{path}")

    def close(self) -> None:
        self._closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._sockets:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(sock)
            self._threads.append(threading.Thread(target=self._serve, args=(sock,)))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        buffer = b""
        with sock:
            try:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        piece = sock.recv(65536)
                        if not piece:
                            return
                        buffer += piece
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    self.requests.append(head + b"\r\n\r\n")
                    for step in self.routes[head.split(b" ")[1].decode()]:
                        if isinstance(step, float):
                            self._closing.wait(step)
                        elif step == CLOSE:
                            return
                        else:
                            sock.sendall(step)
            except OSError:
                self.gone += 1


@contextmanager
def serving() -> Iterator[Server]:
    made = Server()
    try:
        yield made
    finally:
        made.close()


async def everywhere(host: str) -> tuple[list[str], float]:
    if host.startswith("no."):
        raise NoSuchName(host, "not found")
    return ["127.0.0.1"], 600.0


def use(work: Callable[[CurlFetcher], Awaitable[T]], settings: FetchSettings = OPEN) -> T:
    async def main() -> T:
        fetcher = CurlFetcher(
            settings, user_agent="Honeyguide/0.1 (+me@x.test)", resolver=DnsResolver(everywhere)
        )
        try:
            return await work(fetcher)
        finally:
            await fetcher.aclose()

    return asyncio.run(main())


def get(request: Request | Url, settings: FetchSettings = OPEN) -> Response:
    wanted = request if isinstance(request, Request) else Request(request)
    return use(lambda fetcher: fetcher.fetch(wanted), settings)
