"""The lab's HTTP server: serves webs under their own host names to any crawler."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from typing import NamedTuple, Self, cast

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


class LabRequest(NamedTuple):
    """What a client asks for."""

    key: str = ""
    """``host/path?query``, as the client wrote it."""
    refused: LabResponse | None = None
    """The answer to a request that is no good."""
    head_only: bool = False
    gzip: bool = False
    """The client takes gzip."""
    seen: str = ""
    """Tags of the answers that the client has."""
    length: int = 0
    """Bytes of a body, which is thrown away."""
    close: bool = True
    """The connection ends with the answer."""


def parse_request(head: bytes, own_host: str) -> LabRequest:
    """The request with that head. ``own_host``: this end of the connection; whoever names it as
    host means the lab itself."""
    line = head.partition(b"\r\n")[0].split(b" ")
    if len(line) != 3 or not line[2].startswith(b"HTTP/1."):
        return _refused_request(400, "That is not an HTTP/1.1 request.")
    method, target = line[0], line[1].decode("utf-8", "replace")
    fields = {name.lower(): value for name, value in _HEADER_FIELD.findall(head)}
    length = fields.get(b"content-length", b"0")
    if not length.isdigit() or len(length) > 9 or int(length) > MAX_BODY_BYTES:
        return _refused_request(413, "The lab takes no bodies.")
    if method == b"CONNECT":
        return _refused_request(501, "The lab speaks plain HTTP only: use http:// addresses.")
    if scheme := _ABSOLUTE.match(target):
        key = target[scheme.end() :].replace(":443/", "/", 1)
        key = key if "/" in key else key.replace("?", "/?", 1) if "?" in key else key + "/"
    elif target.startswith("/") and b"host" in fields:
        host = fields[b"host"].decode("latin-1").strip()
        key = (LAB_HOST if host == own_host else host) + target
    else:
        return _refused_request(400, "That request names no host.")
    known = method in (b"GET", b"HEAD")
    connection = fields.get(b"connection", b"").lower()
    keep = connection == b"keep-alive" or (line[2] == b"HTTP/1.1" and connection != b"close")
    return LabRequest(
        key,
        None if known else message_response(405, "The lab answers GET and HEAD."),
        method == b"HEAD",
        _GZIP.search(fields.get(b"accept-encoding", b"")) is not None,
        fields.get(b"if-none-match", b"").decode("latin-1"),
        int(length),
        not keep or b"transfer-encoding" in fields,
    )


def _refused_request(status: int, why: str) -> LabRequest:
    return LabRequest(refused=message_response(status, why))


def _encode_response(answer: LabResponse, request: LabRequest) -> bytes:
    """The bytes of an answer for one client."""
    seen, tail = request.seen, b"Date: " + formatdate(usegmt=True).encode() + b"\r\n"
    if request.close:
        tail += b"Connection: close\r\n"
    if answer.etag and seen and (seen.strip() == "*" or answer.etag[2:] in seen):
        return b"HTTP/1.1 304 Not Modified\r\n" + answer.head.partition(b"\r\n")[2] + tail + b"\r\n"
    if answer.status in (204, 304):
        return answer.head + tail + b"\r\n"
    if request.gzip and answer.packed:
        body = answer.packed
        tail += b"Content-Encoding: gzip\r\n"
    else:
        body = answer.body
    tail += b"Content-Length: %d\r\n\r\n" % len(body)
    return answer.head + tail + (b"" if request.head_only else body)


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
        self.connections: set[asyncio.Task[None]] = set()
        self._slow_s, self._idle_s = slow_s, idle_s
        self._where = (host, port)
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._serve_client, *self._where, limit=MAX_HEAD_BYTES
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        clients = list(self.connections)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        await asyncio.sleep(0)  # let the transports say goodbye

    @property
    def address(self) -> str:
        """What a crawler is told: ``http://127.0.0.1:8090``."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def _serve_client(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer the requests of one client in their order, until it ends or takes too long."""
        client = cast("asyncio.Task[None]", asyncio.current_task())
        self.connections.add(client)
        name, port = (writer.get_extra_info("sockname") or ("", 0))[:2]
        own_host = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        try:
            close = False
            while not close and (request := await self._next_request(reader, own_host)):
                answer = request.refused or self.desk.respond(request.key)
                if not answer.status:
                    return
                wait = self.desk.serving.latency_s if answer.wait_s is None else answer.wait_s
                if wait > 0:
                    await asyncio.sleep(wait)
                async with asyncio.timeout(self._slow_s):
                    writer.write(_encode_response(answer, request))
                    await writer.drain()
                    await reader.readexactly(request.length)
                close = request.close
            async with asyncio.timeout(self._slow_s):
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client is gone, or too slow, or the server ends
        finally:
            writer.transport.abort()
            self.connections.discard(client)

    async def _next_request(self, reader: asyncio.StreamReader, own_host: str) -> LabRequest | None:
        """What the client asks next; None: it says no more."""
        try:
            async with asyncio.timeout(self._idle_s):
                first = await reader.readexactly(1)
            async with asyncio.timeout(self._slow_s):
                return parse_request(first + await reader.readuntil(b"\r\n\r\n"), own_host)
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            return _refused_request(431, "That request head is too long.")


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
