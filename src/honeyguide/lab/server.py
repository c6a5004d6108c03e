"""The lab's HTTP server: serves webs under their own host names to any crawler."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from typing import Self

from honeyguide.lab.responses import (
    LAB_HOST,
    LabResponder,
    LabResponse,
    ServingOptions,
    VirtualHost,
    message_response,
)
from honeyguide.lab.web import LabWeb

MAX_HEAD_BYTES = 64 << 10
MAX_BODY_BYTES = 1 << 20
_HEADER_FIELD = re.compile(
    rb"\r\n(host|accept-encoding|if-none-match|connection|content-length|transfer-encoding)"
    rb"[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_GZIP = re.compile(rb"(?:^|[\s,])(?:x-)?gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """What every client of one server gets."""

    responder: LabResponder
    slow_s: float = 30.0
    """How long a client may take to ask, and to read."""
    idle_s: float = 120.0


class LabConnection(asyncio.Protocol):
    """One client: bytes in, one answer at a time out."""

    def __init__(self, terms: ConnectionOptions, present: set[LabConnection]) -> None:
        """``present``: where it enters itself while it lasts."""
        self._terms = terms
        self._present = present
        self._loop = asyncio.get_running_loop()
        self._itself = ""
        """This end of the connection: whoever names it as host means the lab itself."""
        self._buffer = b""
        self._skip = 0
        """Bytes of a request body still to be thrown away."""
        self._waiting = False
        """An answer is being held back, or the client does not read: ask no more."""
        self._ended = False
        """The client has said all it will."""
        self.deadline = self._loop.time() + terms.idle_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        name, port = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._itself = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        self._present.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._present.discard(self)

    def abort(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._buffer:
            self.deadline = self._loop.time() + self._terms.slow_s
        self._buffer += data
        if self._waiting and len(self._buffer) > MAX_HEAD_BYTES:
            self._transport.pause_reading()
        self._answer_requests()

    def eof_received(self) -> bool:
        self._ended = True
        return self._waiting  # True: stay open until the answer is out

    def pause_writing(self) -> None:
        self._waiting = True
        self.deadline = self._loop.time() + self._terms.slow_s

    def resume_writing(self) -> None:
        self._resume_reading()

    def _resume_reading(self) -> None:
        self._waiting = False
        self.deadline = self._loop.time() + self._terms.idle_s
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._answer_requests()
            if self._ended and not self._waiting:
                self._transport.close()

    def _answer_requests(self) -> None:
        """Answer the requests that are whole, unless an answer is still on its way."""
        while self._buffer and not self._waiting and not self._transport.is_closing():
            if self._skip:
                skipped = self._buffer[: self._skip]
                self._skip -= len(skipped)
                self._buffer = self._buffer[len(skipped) :]
                continue
            end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
            if end < 0:
                if len(self._buffer) >= MAX_HEAD_BYTES:
                    self._buffer = b""
                    self._send_response(
                        message_response(431, "That request head is too long."), close=True
                    )
                return
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._answer_request(head)

    def _answer_request(self, head: bytes) -> None:
        line = head.partition(b"\r\n")[0].split(b" ")
        if len(line) != 3 or not line[2].startswith(b"HTTP/1."):
            self._send_response(
                message_response(400, "That is not an HTTP/1.1 request."), close=True
            )
            return
        method, target = line[0], line[1].decode("utf-8", "replace")
        fields = {name.lower(): value for name, value in _HEADER_FIELD.findall(head)}
        length = fields.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY_BYTES:
            self._send_response(message_response(413, "The lab takes no bodies."), close=True)
            return
        self._skip = int(length)
        connection = fields.get(b"connection", b"").lower()
        keep = connection == b"keep-alive" or (line[2] == b"HTTP/1.1" and connection != b"close")
        close = not keep or b"transfer-encoding" in fields
        if method == b"CONNECT":
            text = "The lab speaks plain HTTP only: use http:// addresses."
            self._send_response(message_response(501, text), close=True)
            return
        if scheme := _ABSOLUTE.match(target):
            key = target[scheme.end() :].replace(":443/", "/", 1)
            key = key if "/" in key else key.replace("?", "/?", 1) if "?" in key else key + "/"
        elif target.startswith("/") and b"host" in fields:
            host = fields[b"host"].decode("latin-1").strip()
            key = (LAB_HOST if host == self._itself else host) + target
        else:
            self._send_response(message_response(400, "That request names no host."), close=True)
            return
        if method in (b"GET", b"HEAD"):
            answer = self._terms.responder.respond(key)
        else:
            answer = message_response(405, "The lab answers GET and HEAD.")
        if not answer.status:
            self.abort()
            return
        accepts = _GZIP.search(fields.get(b"accept-encoding", b"")) is not None
        seen = fields.get(b"if-none-match", b"").decode("latin-1")
        out = _encode_response(answer, method == b"HEAD", accepts, seen, close)
        delay = self._terms.responder.serving.latency_s if answer.wait_s is None else answer.wait_s
        if delay <= 0:
            self._write_bytes(out, close)
            return
        self._waiting = True
        self.deadline = self._loop.time() + delay + self._terms.slow_s
        self._loop.call_later(delay, self._write_late, out, close)

    def _send_response(self, answer: LabResponse, close: bool) -> None:
        self._write_bytes(_encode_response(answer, False, False, "", close), close)

    def _write_late(self, out: bytes, close: bool) -> None:
        if not self._transport.is_closing():
            self._waiting = False
            self._write_bytes(out, close)
            if not self._waiting:
                self._resume_reading()

    def _write_bytes(self, out: bytes, close: bool) -> None:
        self.deadline = self._loop.time() + self._terms.idle_s
        self._transport.write(out)
        if close:
            self.deadline = self._loop.time() + self._terms.slow_s
            self._transport.close()


def _encode_response(
    answer: LabResponse, head_only: bool, gzip: bool, seen: str, close: bool
) -> bytes:
    """The bytes of an answer for one client."""
    tail = b"Date: " + formatdate(usegmt=True).encode() + b"\r\n"
    if close:
        tail += b"Connection: close\r\n"
    if answer.etag and seen and (seen.strip() == "*" or answer.etag[2:] in seen):
        return b"HTTP/1.1 304 Not Modified\r\n" + answer.head.partition(b"\r\n")[2] + tail + b"\r\n"
    if answer.status in (204, 304):
        return answer.head + tail + b"\r\n"
    if gzip and answer.packed:
        body = answer.packed
        tail += b"Content-Encoding: gzip\r\n"
    else:
        body = answer.body
    tail += b"Content-Length: %d\r\n\r\n" % len(body)
    return answer.head + tail + (b"" if head_only else body)


# --------------------------------------------------------------------------------------------------
# The lab's server: a forward proxy that knows one recorded web and nothing else.
#
# A crawler is given it as its proxy and asks ``GET http://host/path``; requests in origin form
# are answered by their Host header. It never forwards anything anywhere.
# --------------------------------------------------------------------------------------------------


class LabServer:
    """Serves a recorded web on a local port while its ``async with`` block lasts."""

    def __init__(
        self,
        web: LabWeb,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        serving: ServingOptions | None = None,
        engine: VirtualHost | None = None,
        slow_s: float = 30.0,
        idle_s: float = 120.0,
    ) -> None:
        """``engine`` answers for search.lab; a client may take ``slow_s`` to ask and to read."""
        self.desk = LabResponder(web, serving, engine)
        self.connections: set[LabConnection] = set()
        self._terms = ConnectionOptions(self.desk, slow_s, idle_s)
        self._where = (host, port)
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: LabConnection(self._terms, self.connections), *self._where
        )
        self._sweeper = loop.create_task(self._close_idle())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._sweeper is not None
        self._sweeper.cancel()
        self._server.close()
        for connection in tuple(self.connections):
            connection.abort()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        await asyncio.sleep(0)  # let the transports say goodbye

    @property
    def address(self) -> str:
        """What a crawler is told: ``http://127.0.0.1:8090``."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def _close_idle(self) -> None:
        """One clock for all connections, instead of a timer for each request."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._terms.slow_s / 2))
            for connection in tuple(self.connections):
                if loop.time() > connection.deadline:
                    connection.abort()


def serve_web(
    web: LabWeb,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    serving: ServingOptions | None = None,
    engine: VirtualHost | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until interrupted; ``ready`` is told the address."""

    async def serve() -> None:
        async with LabServer(web, host, port, serving=serving, engine=engine) as server:
            ready(server.address)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


@contextmanager
def serve_in_thread(
    web: LabWeb,
    serving: ServingOptions | None = None,
    engine: VirtualHost | None = None,
) -> Iterator[str]:
    """The address of a lab that runs beside the caller, in this process."""
    started: Future[tuple[str, Callable[[], None]]] = Future()

    async def serve() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def stop() -> None:
            loop.call_soon_threadsafe(done.set)

        try:
            async with LabServer(web, serving=serving, engine=engine) as server:
                started.set_result((server.address, stop))
                await done.wait()
        except OSError as error:
            started.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="honeyguide-lab")
    thread.start()
    address, stop = started.result()
    try:
        yield address
    finally:
        stop()
        thread.join()
